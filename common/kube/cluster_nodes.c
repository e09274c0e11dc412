#include "common/kube/cluster_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"

#define OUT_OF_SERVICE "node.kubernetes.io/out-of-service"
#define NODES_MAX 20000
#define OUR_TAINT "cephzone" /* its value, where a takeover has added it */

void cluster_nodes_done(struct cluster_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        struct cluster_node *node = &nodes->items[i];

        free_all(node->name, node->version, node->node_id, node->boot_id, node->fenced_boot_id);
        free_all(node->machine, node->fenced_machine);
        strmap_done(&node->labels);
        string_list_done(&node->keys);
        string_list_done(&node->addresses);
        string_list_done(&node->handles);
        string_list_done(&node->fenced_addresses);
        string_list_done(&node->found_addresses);
        string_list_done(&node->draining);
    }
    free(nodes->items);
    *nodes = (struct cluster_nodes){0};
}

/* --- reading --- */

struct node_reading {
    struct cluster_nodes *nodes;
    const char *driver;
    char *drain_prefix;  /* of annotations: "takeover.DRIVER/member." */
    char *volume_prefix; /* of volumes in use: "kubernetes.io/csi/DRIVER^" */
    size_t hint;         /* both lists come in the same order */
};

static void add_once(struct string_list *list, const char *text)
{
    if (!string_list_has(list, text))
        string_list_add(list, text);
}

static bool is_ready(const struct kube_node *item)
{
    for (size_t i = 0; i < item->condition_count; i++)
        if (kube_same(item->conditions[i].type, "Ready"))
            return kube_same(item->conditions[i].status, "True");
    return false;
}

/* The taint that takes a node out of service; NULL if it is in service. */
static const struct kube_taint *find_taint(const struct kube_node *item)
{
    for (size_t i = 0; i < item->taint_count; i++)
        if (kube_same(item->taints[i].key, OUT_OF_SERVICE))
            return &item->taints[i];
    return NULL;
}

static void start_nodes(void *context)
{
    const struct node_reading *reading = context;

    cluster_nodes_done(reading->nodes);
}

static int keep_node(void *context, void *object, struct error *err)
{
    const struct node_reading *reading = context;
    struct kube_node *item = object;
    const struct kube_taint *taint = find_taint(item);

    if (reading->nodes->count >= NODES_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d nodes", NODES_MAX);
    struct cluster_node *node = array_add(reading->nodes->items, reading->nodes->count);
    node->name = TAKE(item->meta.name);
    node->version = xstrdup(kube_or_empty(item->meta.version));
    node->boot_id = xstrdup(kube_or_empty(item->boot_id));
    node->machine = xstrdup(kube_or_empty(item->system_uuid));
    node->is_ready = is_ready(item);
    node->node_id = xstrdup("");
    node->fenced_boot_id = xstrdup("");
    node->fenced_machine = xstrdup("");
    node->is_out_of_service = taint != NULL;
    node->was_tainted = taint && kube_same(taint->value, OUR_TAINT);
    node->labels = item->meta.labels;
    item->meta.labels = (struct strmap){0};
    for (size_t i = 0; i < item->volumes_in_use.count; i++)
        if (text_has_prefix(item->volumes_in_use.items[i], reading->volume_prefix))
            string_list_add(&node->handles,
                            item->volumes_in_use.items[i] + strlen(reading->volume_prefix));
    for (size_t i = 0; i < item->address_count; i++)
        if (kube_same(item->addresses[i].type, "InternalIP") &&
            !text_is_empty(item->addresses[i].address))
            add_once(&node->addresses, item->addresses[i].address);
    node->internal_count = node->addresses.count;
    for (size_t i = 0; i < item->meta.annotations.count; i++) {
        const struct strmap_entry *note = &item->meta.annotations.entries[i];

        if (text_has_prefix(note->key, reading->drain_prefix) && strchr(note->value, '='))
            string_list_add(&node->draining, note->value);
    }
    return 0;
}

static struct cluster_node *find_node(struct node_reading *reading, const char *name)
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

static void start_csi_nodes(void *context)
{
    const struct node_reading *reading = context;

    for (size_t i = 0; i < reading->nodes->count; i++) {
        reading->nodes->items[i].has_driver = false;
        string_list_done(&reading->nodes->items[i].keys);
    }
}

static int add_csi_node(void *context, void *object, struct error *err)
{
    struct node_reading *reading = context;
    const struct kube_csi_node *item = object;
    struct cluster_node *node = find_node(reading, item->meta.name);

    (void)err;
    for (size_t i = 0; node && i < item->driver_count; i++) {
        const struct kube_node_driver *driver = &item->drivers[i];

        if (!kube_same(driver->name, reading->driver))
            continue;
        node->has_driver = true;
        free(node->node_id);
        node->node_id = xstrdup(kube_or_empty(driver->node_id));
        for (size_t j = 0; j < driver->topology_keys.count; j++)
            add_once(&node->keys, driver->topology_keys.items[j]);
    }
    return 0;
}

static struct node_reading reading_begin(struct cluster_nodes *nodes, const char *driver)
{
    return (struct node_reading){
        .nodes = nodes,
        .driver = driver,
        .drain_prefix = xasprintf("takeover.%s/member.", driver),
        .volume_prefix = xasprintf("kubernetes.io/csi/%s^", driver),
    };
}

static void reading_end(struct node_reading *reading)
{
    free(reading->drain_prefix);
    free(reading->volume_prefix);
}

int cluster_nodes_read(struct kube *kube, struct call *call, const char *driver,
                       struct cluster_nodes *out, struct error *err)
{
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};
    _cleanup_(reading_end) struct node_reading reading = reading_begin(&nodes, driver);
    const struct kube_object_query of_nodes = {.kind = KUBE_NODE};
    const struct kube_object_query of_csi_nodes = {.kind = KUBE_CSI_NODE};
    const struct kube_object_sink node_sink = {start_nodes, keep_node, &reading};
    const struct kube_object_sink csi_node_sink = {start_csi_nodes, add_csi_node, &reading};

    if (kube_list_objects(kube, call, &of_nodes, &node_sink, err) < 0 ||
        kube_list_objects(kube, call, &of_csi_nodes, &csi_node_sink, err) < 0)
        return -1;
    *out = nodes;
    nodes = (struct cluster_nodes){0};
    return 0;
}

struct cluster_node *cluster_nodes_add_gone(struct cluster_nodes *nodes, const char *name)
{
    struct cluster_node *node = array_add(nodes->items, nodes->count);

    *node = (struct cluster_node){
        .name = xstrdup(name),
        .version = xstrdup(""),
        .node_id = xstrdup(""),
        .boot_id = xstrdup(""),
        .machine = xstrdup(""),
        .fenced_boot_id = xstrdup(""),
        .fenced_machine = xstrdup(""),
        .is_gone = true,
    };
    return node;
}

/* Caller frees *@object with kube_object_free(). */
static int read_object(struct kube *kube, struct call *call, enum kube_kind kind, const char *name,
                       void **object, struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;

    if (kube_object_path(kind, NULL, name, &path, err) < 0 ||
        kube->ops->get(kube, call, path, &item, err) < 0)
        return -1;
    return kube_object_decode(kind, item, object, err);
}

static int read_named_node(struct kube *kube, struct call *call, const char *driver,
                           const char *name, struct cluster_nodes *nodes, struct error *err)
{
    _cleanup_(reading_end) struct node_reading reading = reading_begin(nodes, driver);
    void *object = NULL;

    if (read_object(kube, call, KUBE_NODE, name, &object, err) < 0)
        return -1;
    int result = keep_node(&reading, object, err);
    kube_object_free(KUBE_NODE, object);
    return result;
}

int cluster_node_find(struct kube *kube, struct call *call, const char *driver, const char *node_id,
                      struct cluster_nodes *nodes, const struct cluster_node **node,
                      struct error *err)
{
    *node = NULL;
    if (read_named_node(kube, call, driver, node_id, nodes, err) == 0) {
        *node = &nodes->items[0];
        return 0;
    }
    /* an id that is no name of an object is refused before anybody is asked */
    if (err->status != STATUS_NOT_FOUND && err->status != STATUS_INVALID_ARGUMENT)
        return -1;
    error_clear(err);
    if (cluster_nodes_read(kube, call, driver, nodes, err) < 0)
        return -1;
    for (size_t i = 0; i < nodes->count && !*node; i++)
        if (strcmp(nodes->items[i].node_id, node_id) == 0)
            *node = &nodes->items[i];
    return 0;
}

/* --- changing --- */

/* Takes ownership of @changes. */
static int patch_node(struct kube *kube, struct call *call, const char *node, json_t *changes,
                      struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *owned = changes;

    if (kube_object_path(KUBE_NODE, NULL, node, &path, err) < 0 ||
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

int cluster_use_is_reported(struct kube *kube, struct call *call, const char *driver,
                            bool *is_reported, struct error *err)
{
    void *object = NULL;

    if (read_object(kube, call, KUBE_CSI_DRIVER, driver, &object, err) < 0)
        return -1;
    *is_reported = ((struct kube_csi_driver *)object)->is_attached;
    kube_object_free(KUBE_CSI_DRIVER, object);
    return 0;
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
                                                OUR_TAINT, "effect", "NoExecute"));
    return taints;
}

int cluster_node_taint(struct kube *kube, struct call *call, const struct cluster_node *node,
                       bool is_out, struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;

    if (kube_object_path(KUBE_NODE, NULL, node->name, &path, err) < 0 ||
        kube->ops->get(kube, call, path, &item, err) < 0)
        return -1;
    if (strcmp(kube_resource_version(item), node->version) != 0)
        return error_set(err, STATUS_ABORTED, "node '%s' has changed meanwhile", node->name);
    return patch_node(kube, call, node->name,
                      json_pack("{s:{s:s}, s:{s:o}}", "metadata", "resourceVersion", node->version,
                                "spec", "taints", changed_taints(item, is_out)),
                      err);
}
