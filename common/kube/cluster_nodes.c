#include "common/kube/cluster_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"

#define NODES "/api/v1/nodes"
#define CSINODES "/apis/storage.k8s.io/v1/csinodes"
#define OUT_OF_SERVICE "node.kubernetes.io/out-of-service"
#define NODES_MAX 20000
#define RECORD_BYTES_MAX 16384
#define VOLUME_PREFIX "kubernetes.io/csi/"

static char *annotation_key(const char *driver)
{
    return xasprintf("takeover.%s/fence", driver);
}

/* --- reading --- */

struct reading {
    struct cluster_nodes *nodes;
    const char *driver;
    char *annotation;
    size_t hint; /* both lists come in the same order */
};

static void add_strings(const json_t *array, struct string_list *list)
{
    size_t i = 0;
    json_t *value = NULL;

    json_array_foreach(array, i, value)
    {
        if (json_is_string(value) && !string_list_has(list, json_string_value(value)))
            string_list_add(list, json_string_value(value));
    }
}

struct record {
    struct string_list addresses;
    char *boot_id;
    bool tainted;
};

static const struct json_field RECORD_FIELDS[] = {
    JSON_FIELD_STRINGS("addresses", struct record, addresses),
    JSON_FIELD_STRING("bootID", struct record, boot_id),
    JSON_FIELD_BOOL("tainted", struct record, tainted),
};
static const struct json_table RECORD = JSON_TABLE(struct record, RECORD_FIELDS);

static void take_record(const char *text, struct cluster_node *node)
{
    _cleanup_error_ struct error err = {0};
    struct record record = {0};
    json_auto_t *json = NULL;

    if (text[0] && strlen(text) <= RECORD_BYTES_MAX &&
        json_load_text(text, strlen(text), "annotation", &json, &err) == 0 &&
        json_decode(json, &RECORD, &record, &err) == 0) {
        node->fenced_addresses = record.addresses;
        node->fenced_boot_id = TAKE(record.boot_id);
        node->was_tainted = record.tainted;
        record.addresses = (struct string_list){0};
    }
    json_free_fields(&RECORD, &record);
    if (!node->fenced_boot_id)
        node->fenced_boot_id = xstrdup("");
}

static void take_labels(const json_t *item, struct cluster_node *node)
{
    json_t *labels = json_object_get(json_object_get(item, "metadata"), "labels");
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(labels, key, value)
    {
        if (json_is_string(value))
            strmap_set(&node->labels, key, json_string_value(value));
    }
}

static void take_draining(const json_t *item, const char *driver, struct string_list *draining)
{
    _cleanup_free_ char *start = xasprintf("takeover.%s/member.", driver);
    json_t *annotations = json_object_get(json_object_get(item, "metadata"), "annotations");
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(annotations, key, value)
    {
        if (text_has_prefix(key, start) && json_is_string(value) &&
            strchr(json_string_value(value), '='))
            string_list_add(draining, json_string_value(value));
    }
}

static void take_addresses(const json_t *status, struct cluster_node *node)
{
    size_t i = 0;
    json_t *address = NULL;

    json_array_foreach(json_object_get(status, "addresses"), i, address)
    {
        const char *text = kube_text(address, "address", NULL);

        if (strcmp(kube_text(address, "type", NULL), "InternalIP") == 0 && text[0] &&
            !string_list_has(&node->addresses, text))
            string_list_add(&node->addresses, text);
    }
}

static bool is_ready(const json_t *status)
{
    size_t i = 0;
    json_t *condition = NULL;

    json_array_foreach(json_object_get(status, "conditions"), i, condition)
    {
        if (strcmp(kube_text(condition, "type", NULL), "Ready") == 0)
            return strcmp(kube_text(condition, "status", NULL), "True") == 0;
    }
    return false;
}

static bool has_taint(const json_t *taints)
{
    size_t i = 0;
    json_t *taint = NULL;

    json_array_foreach(taints, i, taint)
    {
        if (strcmp(kube_text(taint, "key", NULL), OUT_OF_SERVICE) == 0)
            return true;
    }
    return false;
}

/* "kubernetes.io/csi/DRIVER^HANDLE" */
static void take_handles(const json_t *volumes, const char *driver, struct string_list *handles)
{
    _cleanup_free_ char *start = xasprintf(VOLUME_PREFIX "%s^", driver);
    size_t i = 0;
    json_t *volume = NULL;

    json_array_foreach(volumes, i, volume)
    {
        if (json_is_string(volume) && text_has_prefix(json_string_value(volume), start))
            string_list_add(handles, json_string_value(volume) + strlen(start));
    }
}

static void start_nodes(void *object)
{
    const struct reading *reading = object;

    cluster_nodes_done(reading->nodes);
}

static int take_node(void *object, json_t *item, struct error *err)
{
    const struct reading *reading = object;
    const json_t *status = json_object_get(item, "status");

    if (reading->nodes->count >= NODES_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d nodes", NODES_MAX);
    struct cluster_node *node = cluster_nodes_add(reading->nodes);
    node->name = xstrdup(kube_name(item));
    node->version = xstrdup(kube_resource_version(item));
    node->boot_id = xstrdup(kube_text(status, "nodeInfo", "bootID", NULL));
    node->is_ready = is_ready(status);
    node->node_id = xstrdup("");
    node->is_out_of_service = has_taint(json_object_get(json_object_get(item, "spec"), "taints"));
    take_handles(json_object_get(status, "volumesInUse"), reading->driver, &node->handles);
    take_labels(item, node);
    take_draining(item, reading->driver, &node->draining);
    take_addresses(status, node);
    take_record(kube_text(item, "metadata", "annotations", reading->annotation, NULL), node);
    return 0;
}

static struct cluster_node *find_node(struct reading *reading, const char *name)
{
    struct cluster_nodes *nodes = reading->nodes;

    for (size_t i = 0; i < nodes->count; i++) {
        size_t at = (reading->hint + i) % nodes->count;

        if (strcmp(nodes->items[at].name, name) == 0) {
            reading->hint = at + 1;
            return &nodes->items[at];
        }
    }
    return NULL;
}

static void start_csinodes(void *object)
{
    const struct reading *reading = object;

    for (size_t i = 0; i < reading->nodes->count; i++) {
        reading->nodes->items[i].has_driver = false;
        string_list_done(&reading->nodes->items[i].keys);
    }
}

static int take_csinode(void *object, json_t *item, struct error *err)
{
    struct reading *reading = object;
    struct cluster_node *node = find_node(reading, kube_name(item));
    size_t i = 0;
    json_t *driver = NULL;

    (void)err;
    if (!node)
        return 0;
    json_array_foreach(json_object_get(json_object_get(item, "spec"), "drivers"), i, driver)
    {
        if (strcmp(kube_text(driver, "name", NULL), reading->driver) != 0)
            continue;
        node->has_driver = true;
        free(node->node_id);
        node->node_id = xstrdup(kube_text(driver, "nodeID", NULL));
        add_strings(json_object_get(driver, "topologyKeys"), &node->keys);
    }
    return 0;
}

int cluster_nodes_read(struct kube *kube, struct call *call, const char *driver,
                       struct cluster_nodes *out, struct error *err)
{
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};
    _cleanup_free_ char *annotation = annotation_key(driver);
    _cleanup_free_ char *nodes_version = NULL;
    _cleanup_free_ char *csinodes_version = NULL;
    struct reading reading = {.nodes = &nodes, .driver = driver, .annotation = annotation};
    const struct kube_list_sink node_sink = {start_nodes, take_node, &reading};
    const struct kube_list_sink csinode_sink = {start_csinodes, take_csinode, &reading};

    if (kube_list(kube, call, NODES, NULL, &node_sink, &nodes_version, err) < 0 ||
        kube_list(kube, call, CSINODES, NULL, &csinode_sink, &csinodes_version, err) < 0)
        return -1;
    *out = nodes;
    nodes = (struct cluster_nodes){0};
    return 0;
}

/* --- changing --- */

/* Takes @changes over. */
static int patch_node(struct kube *kube, struct call *call, const char *node, json_t *changes,
                      struct error *err)
{
    const struct kube_location location = {.api = "v1", .resource = "nodes", .name = node};
    _cleanup_free_ char *path = NULL;
    json_auto_t *owned = changes;

    if (kube_path(&location, &path, err) < 0 ||
        kube->ops->patch(kube, call, path, owned, NULL, err) < 0)
        return error_wrap(err, "change node '%s'", node);
    return 0;
}

/* "topology.DRIVER/member.zone.zone-a" -> "takeover.DRIVER/member.zone.zone-a" */
static char *drain_key(const char *driver, const char *key)
{
    const char *slash = strrchr(key, '/');

    return xasprintf("takeover.%s/%s", driver, slash ? slash + 1 : key);
}

int cluster_node_serve(struct kube *kube, struct call *call, const char *driver, const char *node,
                       const char *key, const char *domain, bool serves, struct error *err)
{
    _cleanup_free_ char *note = drain_key(driver, key);
    const bool drains = !serves && strchr(domain, '=');

    return patch_node(kube, call, node,
                      json_pack("{s:{s:{s:s?}, s:{s:s?}}}", "metadata", "labels", key,
                                serves ? "true" : NULL, "annotations", note,
                                drains ? domain : NULL),
                      err);
}

int cluster_node_drained(struct kube *kube, struct call *call, const char *driver, const char *node,
                         const char *key, struct error *err)
{
    _cleanup_free_ char *note = drain_key(driver, key);

    return patch_node(kube, call, node, json_pack("{s:{s:{s:n}}}", "metadata", "annotations", note),
                      err);
}

int cluster_use_is_told(struct kube *kube, struct call *call, const char *driver, bool *is_told,
                        struct error *err)
{
    const struct kube_location location = {
        .api = "storage.k8s.io/v1", .resource = "csidrivers", .name = driver};
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;

    if (kube_path(&location, &path, err) < 0 || kube->ops->get(kube, call, path, &item, err) < 0)
        return -1;
    /* Kubernetes fills it in; true unless somebody says otherwise */
    *is_told = !json_is_false(json_object_get(json_object_get(item, "spec"), "attachRequired"));
    return 0;
}

static json_t *all_addresses(const struct cluster_node *node)
{
    json_t *array = json_array();
    _cleanup_string_list_ struct string_list seen = {0};
    const struct string_list *const lists[] = {&node->fenced_addresses, &node->addresses};

    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        for (size_t j = 0; j < lists[i]->count; j++) {
            if (string_list_has(&seen, lists[i]->items[j]))
                continue;
            string_list_add(&seen, lists[i]->items[j]);
            json_array_append_new(array, json_string(lists[i]->items[j]));
        }
    return array;
}

/* The annotation's text; NULL for none. Caller frees. */
static char *record_text(const struct cluster_node *node, bool is_tainted)
{
    json_auto_t *record =
        json_pack("{s:o, s:s, s:b}", "addresses", all_addresses(node), "bootID",
                  text_is_empty(node->fenced_boot_id) ? node->boot_id : node->fenced_boot_id,
                  "tainted", is_tainted);

    return json_dumps(record, JSON_COMPACT);
}

static int annotate(struct kube *kube, struct call *call, const char *driver,
                    const struct cluster_node *node, const char *text, struct error *err)
{
    _cleanup_free_ char *key = annotation_key(driver);

    return patch_node(kube, call, node->name,
                      json_pack("{s:{s:s, s:{s:s?}}}", "metadata", "resourceVersion", node->version,
                                "annotations", key, text),
                      err);
}

int cluster_node_record_fence(struct kube *kube, struct call *call, const char *driver,
                              const struct cluster_node *node, struct error *err)
{
    _cleanup_free_ char *text = record_text(node, node->was_tainted);

    return annotate(kube, call, driver, node, text, err);
}

int cluster_node_forget_fence(struct kube *kube, struct call *call, const char *driver,
                              const struct cluster_node *node, struct error *err)
{
    return annotate(kube, call, driver, node, NULL, err);
}

/* The taints of the Node with ours or without. A merge patch replaces the whole list. */
static json_t *changed_taints(const json_t *item, bool is_out)
{
    json_t *taints = json_array();
    size_t i = 0;
    json_t *taint = NULL;

    json_array_foreach(json_object_get(json_object_get(item, "spec"), "taints"), i, taint)
    {
        if (strcmp(kube_text(taint, "key", NULL), OUT_OF_SERVICE) != 0)
            json_array_append(taints, taint);
    }
    if (is_out)
        json_array_append_new(taints, json_pack("{s:s, s:s, s:s}", "key", OUT_OF_SERVICE, "value",
                                                "cephzone", "effect", "NoExecute"));
    return taints;
}

int cluster_node_taint(struct kube *kube, struct call *call, const char *driver,
                       const struct cluster_node *node, bool is_out, struct error *err)
{
    const struct kube_location location = {.api = "v1", .resource = "nodes", .name = node->name};
    _cleanup_free_ char *key = annotation_key(driver);
    _cleanup_free_ char *text = record_text(node, is_out);
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;

    if (kube_path(&location, &path, err) < 0 || kube->ops->get(kube, call, path, &item, err) < 0)
        return -1;
    if (strcmp(kube_resource_version(item), node->version) != 0)
        return error_set(err, STATUS_ABORTED, "node '%s' has changed meanwhile", node->name);
    return patch_node(kube, call, node->name,
                      json_pack("{s:{s:s, s:{s:s}}, s:{s:o}}", "metadata", "resourceVersion",
                                node->version, "annotations", key, text, "spec", "taints",
                                changed_taints(item, is_out)),
                      err);
}
