#include "tests/fakes/cluster_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

static _Noreturn void fail(const char *line, const char *why)
{
    fprintf(stderr, "cluster script: %s: '%s'\n", why, line);
    abort();
}

/* --- words --- */

static struct string_list split(const char *text, const char *separators)
{
    struct string_list list = {0};

    while (*text) {
        size_t length = strcspn(text, separators);

        if (length > 0) {
            _cleanup_free_ char *word = xstrndup(text, length);
            string_list_add(&list, word);
        }
        text += length;
        text += *text != '\0';
    }
    return list;
}

/* The value of key=value among the words; NULL if there is none. */
static const char *get(const struct string_list *words, const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 2; i < words->count; i++)
        if (strncmp(words->items[i], key, length) == 0 && words->items[i][length] == '=')
            return words->items[i] + length + 1;
    return NULL;
}

static bool has(const struct string_list *words, const char *flag)
{
    for (size_t i = 2; i < words->count; i++)
        if (strcmp(words->items[i], flag) == 0)
            return true;
    return false;
}

static void set(json_t *object, const char *key, const char *value)
{
    if (value)
        json_object_set_new(object, key, json_string(value));
}

/* --- selectors --- */

static json_t *values_json(const char *text)
{
    _cleanup_string_list_ struct string_list list = split(text, ",");
    json_t *values = json_array();

    for (size_t i = 0; i < list.count; i++)
        json_array_append_new(values,
                              json_string(strcmp(list.items[i], "''") == 0 ? "" : list.items[i]));
    return values;
}

static json_t *expression(const char *key, size_t length, const char *op, json_t *values)
{
    json_t *made = json_pack("{s:s%, s:s}", "key", key, length, "operator", op);

    if (values)
        json_object_set_new(made, "values", values);
    return made;
}

static json_t *requirement_json(const char *text)
{
    size_t length = strcspn(text, ":!?><~");
    const char *rest = text + length;

    if (text[0] == '!')
        return expression(text + 1, strlen(text + 1), "DoesNotExist", NULL);
    switch (*rest) {
    case ':':
        return expression(text, length, "In", values_json(rest + 1));
    case '!':
        return expression(text, length, "NotIn", values_json(rest + 1));
    case '?':
        return expression(text, length, "Exists", NULL);
    case '>':
        return expression(text, length, "Gt", values_json(rest + 1));
    case '<':
        return expression(text, length, "Lt", values_json(rest + 1));
    case '~': {
        const char *colon = strchr(rest, ':');
        size_t op_length = colon ? (size_t)(colon - rest - 1) : strlen(rest + 1);
        _cleanup_free_ char *op = xstrndup(rest + 1, op_length);

        return expression(text, length, op, colon ? values_json(colon + 1) : NULL);
    }
    default:
        fail(text, "no requirement");
    }
}

static json_t *term_json(const char *text)
{
    _cleanup_string_list_ struct string_list list = split(text, "+");
    json_t *term = json_object();

    if (strcmp(text, "{}") == 0)
        return term;
    for (size_t i = 0; i < list.count; i++) {
        bool is_field = list.items[i][0] == '@';
        const char *key = is_field ? "matchFields" : "matchExpressions";
        json_t *made = requirement_json(list.items[i] + is_field);

        if (is_field)
            json_object_set_new(made, "key",
                                json_string(strncmp(list.items[i], "@name", 5) == 0
                                                ? "metadata.name"
                                                : "metadata.other"));
        if (!json_object_get(term, key))
            json_object_set_new(term, key, json_array());
        json_array_append_new(json_object_get(term, key), made);
    }
    return term;
}

static json_t *node_selector_json(const char *text)
{
    _cleanup_string_list_ struct string_list list = split(text, "|");
    json_t *terms = json_array();

    for (size_t i = 0; i < list.count; i++)
        json_array_append_new(terms, term_json(list.items[i]));
    return json_pack("{s:o}", "nodeSelectorTerms", terms);
}

/* "*" selects everything; "k:v" is matchLabels, everything else matchExpressions. */
static json_t *label_selector_json(const char *text)
{
    _cleanup_string_list_ struct string_list list = split(text, "+");
    json_t *selector = json_object();

    if (strcmp(text, "*") == 0)
        return selector;
    for (size_t i = 0; i < list.count; i++) {
        json_auto_t *made = requirement_json(list.items[i]);
        const json_t *values = json_object_get(made, "values");

        if (strcmp(json_string_value(json_object_get(made, "operator")), "In") == 0 &&
            json_array_size(values) == 1) {
            if (!json_object_get(selector, "matchLabels"))
                json_object_set_new(selector, "matchLabels", json_object());
            json_object_set(json_object_get(selector, "matchLabels"),
                            json_string_value(json_object_get(made, "key")),
                            json_array_get(values, 0));
            continue;
        }
        if (!json_object_get(selector, "matchExpressions"))
            json_object_set_new(selector, "matchExpressions", json_array());
        json_array_append(json_object_get(selector, "matchExpressions"), made);
    }
    return selector;
}

static json_t *allowed_json(const char *text)
{
    _cleanup_string_list_ struct string_list list = split(text, "|");
    json_t *terms = json_array();

    for (size_t i = 0; i < list.count; i++) {
        json_auto_t *term = term_json(list.items[i]);
        json_t *expressions = json_object_get(term, "matchExpressions");

        for (size_t j = 0; j < json_array_size(expressions); j++)
            json_object_del(json_array_get(expressions, j), "operator");
        json_array_append_new(terms, expressions
                                         ? json_pack("{s:O}", "matchLabelExpressions", expressions)
                                         : json_object());
    }
    return terms;
}

static json_t *map_json(const char *text)
{
    _cleanup_string_list_ struct string_list list = split(text, ",");
    json_t *map = json_object();

    for (size_t i = 0; i < list.count; i++) {
        char *colon = strchr(list.items[i], ':');

        if (!colon)
            fail(text, "no map");
        *colon = '\0';
        json_object_set_new(map, list.items[i], json_string(colon + 1));
    }
    return map;
}

static json_t *modes_json(const char *text)
{
    static const struct {
        const char *word;
        const char *mode;
    } MODES[] = {{"RWO", "ReadWriteOnce"},
                 {"ROX", "ReadOnlyMany"},
                 {"RWX", "ReadWriteMany"},
                 {"RWOP", "ReadWriteOncePod"}};
    _cleanup_string_list_ struct string_list list = split(text ? text : "RWO", ",");
    json_t *modes = json_array();

    for (size_t i = 0; i < list.count; i++)
        for (size_t j = 0; j < ARRAY_LENGTH(MODES); j++)
            if (strcmp(MODES[j].word, list.items[i]) == 0)
                json_array_append_new(modes, json_string(MODES[j].mode));
    return modes;
}

/* --- objects --- */

static json_t *metadata(const struct string_list *words)
{
    _cleanup_free_ char *uid = xasprintf("%s-%s", words->items[0], words->items[1]);
    const char *version = get(words, "version");
    json_t *meta = json_pack("{s:s, s:s, s:s, s:{}, s:{}}", "name", words->items[1], "uid",
                             get(words, "uid") ? get(words, "uid") : uid, "resourceVersion",
                             version ? version : "1", "labels", "annotations");

    set(meta, "namespace", get(words, "ns"));
    if (has(words, "deleted"))
        set(meta, "deletionTimestamp", "2026-01-01T00:00:00Z");
    if (get(words, "labels"))
        json_object_set_new(meta, "labels", map_json(get(words, "labels")));
    if (get(words, "annotations"))
        json_object_set_new(meta, "annotations", map_json(get(words, "annotations")));
    if (get(words, "legacy"))
        set(json_object_get(meta, "annotations"), KUBE_LEGACY_CLASS, get(words, "legacy"));
    if (get(words, "owner"))
        json_object_set_new(meta, "ownerReferences",
                            json_pack("[{s:s, s:s, s:b}]", "kind", "Pod", "uid",
                                      get(words, "owner"), "controller", 1));
    return meta;
}

static json_t *taint_json(const char *text, const char *operator_key)
{
    _cleanup_string_list_ struct string_list parts = split(text, ":");
    json_t *taint = json_object();

    set(taint, "key", parts.count > 0 && strcmp(parts.items[0], "*") != 0 ? parts.items[0] : NULL);
    if (parts.count > 1 && strcmp(parts.items[1], "*") == 0)
        set(taint, operator_key, "Exists");
    else if (parts.count > 1)
        set(taint, "value", parts.items[1]);
    if (parts.count > 2)
        set(taint, "effect", parts.items[2]);
    return taint;
}

static json_t *node_json(const struct string_list *words)
{
    json_t *node = json_pack("{s:o, s:{}}", "metadata", metadata(words), "spec");
    json_t *labels = json_object_get(json_object_get(node, "metadata"), "labels");
    json_t *spec = json_object_get(node, "spec");

    for (size_t i = 2; i < words->count; i++) {
        char *equals = strchr(words->items[i], '=');

        if (!equals || strncmp(words->items[i], "taint=", 6) == 0 ||
            strncmp(words->items[i], "version=", 8) == 0)
            continue;
        *equals = '\0';
        json_object_set_new(labels, words->items[i], json_string(equals + 1));
        *equals = '=';
    }
    if (has(words, "unschedulable"))
        json_object_set_new(spec, "unschedulable", json_true());
    if (get(words, "taint"))
        json_object_set_new(spec, "taints",
                            json_pack("[o]", taint_json(get(words, "taint"), "operator")));
    if (has(words, "notready"))
        json_object_set_new(
            node, "status",
            json_pack("{s:[{s:s, s:s}]}", "conditions", "type", "Ready", "status", "False"));
    return node;
}

static json_t *class_json(const struct string_list *words)
{
    const char *mode = get(words, "mode");
    json_t *class = json_pack("{s:o}", "metadata", metadata(words));

    set(class, "provisioner", get(words, "provisioner") ? get(words, "provisioner") : "csi.test");
    if (!mode || strcmp(mode, "wait") == 0)
        set(class, "volumeBindingMode", "WaitForFirstConsumer");
    else if (strcmp(mode, "immediate") == 0)
        set(class, "volumeBindingMode", "Immediate");
    if (get(words, "allowed"))
        json_object_set_new(class, "allowedTopologies", allowed_json(get(words, "allowed")));
    return class;
}

static json_t *claim_ref_json(const char *text)
{
    _cleanup_string_list_ struct string_list parts = split(text, "/");
    json_t *ref = json_object();

    if (parts.count < 2)
        fail(text, "no claim");
    set(ref, "namespace", parts.items[0]);
    set(ref, "name", parts.items[1]);
    set(ref, "uid", parts.count > 2 ? parts.items[2] : NULL);
    return ref;
}

/* "gce-pd:disk": plugin and disk. */
static void set_in_tree(json_t *volume, const char *text)
{
    static const struct {
        const char *plugin;
        const char *source;
        const char *id;
    } SOURCES[] = {{"aws-ebs", "awsElasticBlockStore", "volumeID"},
                   {"gce-pd", "gcePersistentDisk", "pdName"},
                   {"azure-disk", "azureDisk", "diskURI"},
                   {"cinder", "cinder", "volumeID"},
                   {"portworx-volume", "portworxVolume", "volumeID"},
                   {"rbd", "rbd", "image"}};
    const char *colon = strchr(text, ':');

    for (size_t i = 0; colon && i < ARRAY_LENGTH(SOURCES); i++)
        if (strlen(SOURCES[i].plugin) == (size_t)(colon - text) &&
            strncmp(SOURCES[i].plugin, text, (size_t)(colon - text)) == 0) {
            json_object_set_new(volume, SOURCES[i].source,
                                json_pack("{s:s}", SOURCES[i].id, colon + 1));
            return;
        }
    fail(text, "no in-tree volume");
}

static json_t *pv_json(const struct string_list *words)
{
    const char *size = get(words, "size");
    const char *affinity = get(words, "affinity");
    json_t *spec = json_pack("{s:o, s:{s:s}}", "accessModes", modes_json(get(words, "modes")),
                             "capacity", "storage", size ? size : "1Gi");

    set(spec, "storageClassName", get(words, "class"));
    set(spec, "volumeMode", get(words, "mode"));
    set(spec, "volumeAttributesClassName", get(words, "attributes"));
    if (get(words, "claim"))
        json_object_set_new(spec, "claimRef", claim_ref_json(get(words, "claim")));
    if (get(words, "driver"))
        json_object_set_new(
            spec, "csi",
            json_pack("{s:s, s:s}", "driver", get(words, "driver"), "volumeHandle",
                      get(words, "handle") ? get(words, "handle") : words->items[1]));
    if (get(words, "in-tree"))
        set_in_tree(spec, get(words, "in-tree"));
    if (affinity && strcmp(affinity, "null") == 0)
        json_object_set_new(spec, "nodeAffinity", json_object());
    else if (affinity)
        json_object_set_new(spec, "nodeAffinity",
                            json_pack("{s:o}", "required", node_selector_json(affinity)));
    return json_pack("{s:o, s:o, s:{s:s}}", "metadata", metadata(words), "spec", spec, "status",
                     "phase", get(words, "phase") ? get(words, "phase") : "Available");
}

static json_t *pvc_json(const struct string_list *words)
{
    const char *size = get(words, "size");
    json_t *meta = metadata(words);
    json_t *annotations = json_object_get(meta, "annotations");
    json_t *spec = json_pack("{s:o}", "accessModes", modes_json(get(words, "modes")));

    if (!size || strcmp(size, "none") != 0)
        json_object_set_new(spec, "resources",
                            json_pack("{s:{s:s}}", "requests", "storage", size ? size : "1Gi"));
    set(spec, "storageClassName", get(words, "class"));
    set(spec, "volumeMode", get(words, "mode"));
    set(spec, "volumeName", get(words, "volume"));
    set(spec, "volumeAttributesClassName", get(words, "attributes"));
    if (has(words, "bound"))
        set(annotations, KUBE_BIND_COMPLETED, "yes");
    set(annotations, KUBE_SELECTED_NODE, get(words, "selected"));
    if (get(words, "selector"))
        json_object_set_new(spec, "selector", label_selector_json(get(words, "selector")));
    return json_pack("{s:o, s:o, s:{s:s*}}", "metadata", meta, "spec", spec, "status", "phase",
                     get(words, "phase"));
}

static json_t *driver_json(const struct string_list *words)
{
    return json_pack("{s:o, s:{s:b, s:b}}", "metadata", metadata(words), "spec", "storageCapacity",
                     has(words, "capacity"), "preventPodSchedulingIfMissing",
                     has(words, "required"));
}

static json_t *csi_node_json(const struct string_list *words)
{
    json_t *drivers = json_array();

    for (size_t i = 2; i < words->count; i++) {
        _cleanup_string_list_ struct string_list parts = split(words->items[i], ":");

        if (strchr(words->items[i], '='))
            continue;
        json_t *driver = json_pack("{s:s, s:s}", "name", parts.items[0], "nodeID", "id");
        if (parts.count > 1 && strcmp(parts.items[1], "-") != 0)
            json_object_set_new(
                driver, "allocatable",
                json_pack("{s:I}", "count", (json_int_t)strtoll(parts.items[1], NULL, 10)));
        if (parts.count > 2)
            json_object_set_new(driver, "topologyKeys", values_json(parts.items[2]));
        json_array_append_new(drivers, driver);
    }
    json_t *meta = metadata(words);
    set(json_object_get(meta, "annotations"), KUBE_MIGRATED_PLUGINS, get(words, "migrated"));
    return json_pack("{s:o, s:{s:o}}", "metadata", meta, "spec", "drivers", drivers);
}

static json_t *capacity_json(const struct string_list *words)
{
    json_t *capacity = json_pack("{s:o}", "metadata", metadata(words));

    set(capacity, "storageClassName", get(words, "class"));
    set(capacity, "capacity", get(words, "size"));
    set(capacity, "maximumVolumeSize", get(words, "max"));
    if (get(words, "topology"))
        json_object_set_new(capacity, "nodeTopology", label_selector_json(get(words, "topology")));
    return capacity;
}

static void add_preferences(json_t *affinity, const char *text)
{
    _cleanup_string_list_ struct string_list list = split(text, ";");
    json_t *preferences = json_array();

    for (size_t i = 0; i < list.count; i++) {
        const char *at = strchr(list.items[i], '@');

        json_array_append_new(preferences, json_pack("{s:I, s:o}", "weight",
                                                     (json_int_t)strtoll(list.items[i], NULL, 10),
                                                     "preference", term_json(at + 1)));
    }
    json_object_set_new(affinity, "preferredDuringSchedulingIgnoredDuringExecution", preferences);
}

static json_t *pod_json(const struct string_list *words)
{
    _cleanup_string_list_ struct string_list claims =
        split(get(words, "claims") ? get(words, "claims") : "", ",");
    json_t *volumes = json_array();
    json_t *spec = json_pack("{s:O}", "volumes", volumes);
    json_t *affinity = json_object();

    for (size_t i = 0; i < claims.count; i++)
        json_array_append_new(volumes,
                              json_pack("{s:s, s:{s:s}}", "name", claims.items[i],
                                        "persistentVolumeClaim", "claimName",
                                        strcmp(claims.items[i], "''") == 0 ? "" : claims.items[i]));
    if (get(words, "ephemeral"))
        json_array_append_new(
            volumes, json_pack("{s:s, s:{}}", "name", get(words, "ephemeral"), "ephemeral"));
    if (get(words, "inline"))
        json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", "inline", "csi",
                                                 "driver", get(words, "inline")));
    if (get(words, "in-tree")) {
        json_t *volume = json_pack("{s:s}", "name", "disk");

        set_in_tree(volume, get(words, "in-tree"));
        json_array_append_new(volumes, volume);
    }
    if (has(words, "emptydir"))
        json_array_append_new(volumes, json_pack("{s:s, s:{}}", "name", "empty", "emptyDir"));
    json_decref(volumes);
    set(spec, "nodeName", get(words, "on"));
    if (get(words, "selector"))
        json_object_set_new(spec, "nodeSelector", map_json(get(words, "selector")));
    if (get(words, "affinity"))
        json_object_set_new(affinity, "requiredDuringSchedulingIgnoredDuringExecution",
                            node_selector_json(get(words, "affinity")));
    if (get(words, "prefer"))
        add_preferences(affinity, get(words, "prefer"));
    json_object_set_new(spec, "affinity", json_pack("{s:o}", "nodeAffinity", affinity));
    if (get(words, "tolerate"))
        json_object_set_new(spec, "tolerations",
                            json_pack("[o]", taint_json(get(words, "tolerate"), "operator")));
    return json_pack("{s:o, s:o, s:{s:s*}}", "metadata", metadata(words), "spec", spec, "status",
                     "phase", get(words, "phase"));
}

static json_t *attachment_json(const struct string_list *words)
{
    json_t *spec = json_object();

    set(spec, "attacher", get(words, "attacher"));
    set(spec, "nodeName", get(words, "on"));
    json_object_set_new(spec, "source",
                        json_pack("{s:s*}", "persistentVolumeName", get(words, "pv")));
    return json_pack("{s:o, s:o}", "metadata", metadata(words), "spec", spec);
}

static const struct {
    const char *word;
    enum kube_kind kind;
    json_t *(*make)(const struct string_list *words);
} OBJECTS[] = {
    {"node", KUBE_NODE, node_json},
    {"class", KUBE_CLASS, class_json},
    {"pv", KUBE_PV, pv_json},
    {"pvc", KUBE_PVC, pvc_json},
    {"driver", KUBE_CSI_DRIVER, driver_json},
    {"csinode", KUBE_CSI_NODE, csi_node_json},
    {"capacity", KUBE_CAPACITY, capacity_json},
    {"pod", KUBE_POD, pod_json},
    {"attachment", KUBE_ATTACHMENT, attachment_json},
};

static void *decode(const char *line, const json_t *json, enum kube_kind kind)
{
    _cleanup_error_ struct error err = {0};
    void *object = NULL;

    if (kube_object_decode(kind, json, &object, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        fail(line, "not decoded");
    }
    return object;
}

bool cluster_script_is_object(const char *line)
{
    for (size_t i = 0; i < ARRAY_LENGTH(OBJECTS); i++) {
        size_t length = strlen(OBJECTS[i].word);

        if (strncmp(line, OBJECTS[i].word, length) == 0 && line[length] == ' ')
            return true;
    }
    return strncmp(line, "json ", 5) == 0;
}

void *cluster_script_object(const char *line, enum kube_kind *kind)
{
    _cleanup_string_list_ struct string_list words = split(line, " ");

    if (strncmp(line, "json ", 5) == 0) {
        json_auto_t *json = json_loads(line + 5, 0, NULL);

        if (!json)
            fail(line, "no JSON");
        *kind = kube_kind_find(json_string_value(json_object_get(json, "kind")));
        return decode(line, json, *kind);
    }
    for (size_t i = 0; words.count >= 2 && i < ARRAY_LENGTH(OBJECTS); i++)
        if (strcmp(OBJECTS[i].word, words.items[0]) == 0) {
            json_auto_t *json = OBJECTS[i].make(&words);

            if (!json)
                fail(line, "not made");
            *kind = OBJECTS[i].kind;
            return decode(line, json, *kind);
        }
    fail(line, "no object");
}

void cluster_script(struct cluster_objects *cluster, const char *text)
{
    _cleanup_string_list_ struct string_list lines = split(text, "\n");

    for (size_t i = 0; i < lines.count; i++) {
        const char *line = lines.items[i] + strspn(lines.items[i], " ");
        enum kube_kind kind = KUBE_KINDS;

        if (line[0] == '\0' || line[0] == '#')
            continue;
        void *object = cluster_script_object(line, &kind);
        cluster_put(cluster, kind, object);
    }
}

struct binding_options newest_binding_options(void)
{
    struct binding_options options;
    _cleanup_error_ struct error err = {0};

    if (binding_options_parse("", &options, &err) < 0)
        fail("", err.message);
    return options;
}
