/*
 * Kubernetes JSON to structs. Plain members go by one table per kind, which also frees what it
 * decoded. What needs a parser of its own (quantities, selectors, access modes) is taken from the
 * JSON afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/kube/objects/exclusive_disk.h"
#include "common/kube/objects/in_tree.h"
#include "common/kube/objects/kube_objects.h"

static const struct json_field OWNER_FIELDS[] = {
    JSON_FIELD_STRING("kind", struct kube_owner, kind),
    JSON_FIELD_STRING("name", struct kube_owner, name),
    JSON_FIELD_STRING("uid", struct kube_owner, uid),
    JSON_FIELD_BOOL("controller", struct kube_owner, is_controller),
};
static const struct json_table OWNER_TABLE = JSON_TABLE(struct kube_owner, OWNER_FIELDS);

static const struct json_field META_FIELDS[] = {
    JSON_FIELD_STRING("name", struct kube_meta, name),
    JSON_FIELD_STRING("namespace", struct kube_meta, ns),
    JSON_FIELD_STRING("uid", struct kube_meta, uid),
    JSON_FIELD_STRING("resourceVersion", struct kube_meta, version),
    JSON_FIELD_STRING("deletionTimestamp", struct kube_meta, deletion_timestamp),
    JSON_FIELD_STRMAP("labels", struct kube_meta, labels),
    JSON_FIELD_STRMAP("annotations", struct kube_meta, annotations),
    JSON_FIELD_OBJECTS("ownerReferences", struct kube_meta, owners, owner_count, &OWNER_TABLE),
    JSON_FIELD_STRINGS("finalizers", struct kube_meta, finalizers),
};
static const struct json_table META_TABLE = JSON_TABLE(struct kube_meta, META_FIELDS);

/* --- Node --- */

static const struct json_field TAINT_FIELDS[] = {
    JSON_FIELD_STRING("key", struct kube_taint, key),
    JSON_FIELD_STRING("value", struct kube_taint, value),
    JSON_FIELD_STRING("effect", struct kube_taint, effect),
};
static const struct json_table TAINT_TABLE = JSON_TABLE(struct kube_taint, TAINT_FIELDS);

static const struct json_field CONDITION_FIELDS[] = {
    JSON_FIELD_STRING("type", struct kube_condition, type),
    JSON_FIELD_STRING("status", struct kube_condition, status),
};
static const struct json_table CONDITION_TABLE =
    JSON_TABLE(struct kube_condition, CONDITION_FIELDS);

static const struct json_field ADDRESS_FIELDS[] = {
    JSON_FIELD_STRING("type", struct kube_address, type),
    JSON_FIELD_STRING("address", struct kube_address, address),
};
static const struct json_table ADDRESS_TABLE = JSON_TABLE(struct kube_address, ADDRESS_FIELDS);

static const struct json_field NODE_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_node, meta, &META_TABLE),
    JSON_FIELD_BOOL("spec.unschedulable", struct kube_node, is_unschedulable),
    JSON_FIELD_OBJECTS("spec.taints", struct kube_node, taints, taint_count, &TAINT_TABLE),
    JSON_FIELD_OBJECTS("status.conditions", struct kube_node, conditions, condition_count,
                       &CONDITION_TABLE),
    JSON_FIELD_OBJECTS("status.addresses", struct kube_node, addresses, address_count,
                       &ADDRESS_TABLE),
    JSON_FIELD_STRINGS("status.volumesInUse", struct kube_node, volumes_in_use),
    JSON_FIELD_STRING("status.nodeInfo.bootID", struct kube_node, boot_id),
    JSON_FIELD_STRING("status.nodeInfo.systemUUID", struct kube_node, system_uuid),
};
static const struct json_table NODE_TABLE = JSON_TABLE(struct kube_node, NODE_FIELDS);

/* --- PersistentVolume --- */

static const struct json_field CLAIM_REF_FIELDS[] = {
    JSON_FIELD_STRING("namespace", struct kube_claim_ref, ns),
    JSON_FIELD_STRING("name", struct kube_claim_ref, name),
    JSON_FIELD_STRING("uid", struct kube_claim_ref, uid),
};
static const struct json_table CLAIM_REF_TABLE =
    JSON_TABLE(struct kube_claim_ref, CLAIM_REF_FIELDS);

static const struct json_field SECRET_REF_FIELDS[] = {
    JSON_FIELD_STRING("namespace", struct kube_secret_ref, ns),
    JSON_FIELD_STRING("name", struct kube_secret_ref, name),
};
static const struct json_table SECRET_REF_TABLE =
    JSON_TABLE(struct kube_secret_ref, SECRET_REF_FIELDS);

static const struct json_field PV_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_pv, meta, &META_TABLE),
    JSON_FIELD_STRING("spec.storageClassName", struct kube_pv, class_name),
    JSON_FIELD_STRING("spec.volumeMode", struct kube_pv, volume_mode),
    JSON_FIELD_STRING("spec.volumeAttributesClassName", struct kube_pv, attributes_class),
    JSON_FIELD_STRING("spec.persistentVolumeReclaimPolicy", struct kube_pv, reclaim_policy),
    JSON_FIELD_PRESENT("spec.claimRef", struct kube_pv, has_claim),
    JSON_FIELD_OBJECT("spec.claimRef", struct kube_pv, claim, &CLAIM_REF_TABLE),
    JSON_FIELD_PRESENT("spec.nodeAffinity", struct kube_pv, has_affinity),
    JSON_FIELD_STRING("spec.csi.driver", struct kube_pv, driver),
    JSON_FIELD_STRING("spec.csi.volumeHandle", struct kube_pv, handle),
    JSON_FIELD_STRMAP("spec.csi.volumeAttributes", struct kube_pv, attributes),
    JSON_FIELD_OBJECT("spec.csi.controllerExpandSecretRef", struct kube_pv, expand_secret,
                      &SECRET_REF_TABLE),
    JSON_FIELD_OBJECT("spec.csi.nodeStageSecretRef", struct kube_pv, stage_secret,
                      &SECRET_REF_TABLE),
    JSON_FIELD_STRING("status.phase", struct kube_pv, phase),
};
static const struct json_table PV_TABLE = JSON_TABLE(struct kube_pv, PV_FIELDS);

/* --- PersistentVolumeClaim --- */

static const struct json_field PVC_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_pvc, meta, &META_TABLE),
    JSON_FIELD_STRING("spec.storageClassName", struct kube_pvc, class_name),
    JSON_FIELD_STRING("spec.volumeMode", struct kube_pvc, volume_mode),
    JSON_FIELD_STRING("spec.volumeAttributesClassName", struct kube_pvc, attributes_class),
    JSON_FIELD_STRING("spec.volumeName", struct kube_pvc, volume_name),
    JSON_FIELD_STRING("status.phase", struct kube_pvc, phase),
};
static const struct json_table PVC_TABLE = JSON_TABLE(struct kube_pvc, PVC_FIELDS);

/* --- storage.k8s.io --- */

static const struct json_field CLASS_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_class, meta, &META_TABLE),
    JSON_FIELD_STRING("provisioner", struct kube_class, provisioner),
    JSON_FIELD_STRMAP("parameters", struct kube_class, parameters),
};
static const struct json_table CLASS_TABLE = JSON_TABLE(struct kube_class, CLASS_FIELDS);

static const struct json_field CSI_DRIVER_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_csi_driver, meta, &META_TABLE),
    JSON_FIELD_BOOL("spec.storageCapacity", struct kube_csi_driver, tracks_capacity),
    JSON_FIELD_BOOL("spec.preventPodSchedulingIfMissing", struct kube_csi_driver,
                    must_be_on_the_node),
    JSON_FIELD_BOOL("spec.podInfoOnMount", struct kube_csi_driver, tells_pods),
    JSON_FIELD_BOOL("spec.seLinuxMount", struct kube_csi_driver, mounts_labelled),
    JSON_FIELD_STRING("spec.fsGroupPolicy", struct kube_csi_driver, fs_group_policy),
};
static const struct json_table CSI_DRIVER_TABLE =
    JSON_TABLE(struct kube_csi_driver, CSI_DRIVER_FIELDS);

static const struct json_field NODE_DRIVER_FIELDS[] = {
    JSON_FIELD_STRING("name", struct kube_node_driver, name),
    JSON_FIELD_STRING("nodeID", struct kube_node_driver, node_id),
    JSON_FIELD_STRINGS("topologyKeys", struct kube_node_driver, topology_keys),
    JSON_FIELD_INT("allocatable.count", struct kube_node_driver, limit),
    JSON_FIELD_PRESENT("allocatable.count", struct kube_node_driver, has_limit),
};
static const struct json_table NODE_DRIVER_TABLE =
    JSON_TABLE(struct kube_node_driver, NODE_DRIVER_FIELDS);

static const struct json_field CSI_NODE_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_csi_node, meta, &META_TABLE),
    JSON_FIELD_OBJECTS("spec.drivers", struct kube_csi_node, drivers, driver_count,
                       &NODE_DRIVER_TABLE),
};
static const struct json_table CSI_NODE_TABLE = JSON_TABLE(struct kube_csi_node, CSI_NODE_FIELDS);

static const struct json_field CAPACITY_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_capacity, meta, &META_TABLE),
    JSON_FIELD_STRING("storageClassName", struct kube_capacity, class_name),
    JSON_FIELD_STRMAP("nodeTopology.matchLabels", struct kube_capacity, match_labels),
};
static const struct json_table CAPACITY_TABLE = JSON_TABLE(struct kube_capacity, CAPACITY_FIELDS);

static const struct json_field ATTACHMENT_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_attachment, meta, &META_TABLE),
    JSON_FIELD_STRING("spec.attacher", struct kube_attachment, attacher),
    JSON_FIELD_STRING("spec.nodeName", struct kube_attachment, node_name),
    JSON_FIELD_STRING("spec.source.persistentVolumeName", struct kube_attachment, pv_name),
};
static const struct json_table ATTACHMENT_TABLE =
    JSON_TABLE(struct kube_attachment, ATTACHMENT_FIELDS);

/* --- Pod --- */

static const struct json_field VOLUME_FIELDS[] = {
    JSON_FIELD_STRING("name", struct kube_pod_volume, name),
    JSON_FIELD_STRING("persistentVolumeClaim.claimName", struct kube_pod_volume, claim_name),
    JSON_FIELD_STRING("csi.driver", struct kube_pod_volume, driver),
};
static const struct json_table VOLUME_TABLE = JSON_TABLE(struct kube_pod_volume, VOLUME_FIELDS);

static const struct json_field TOLERATION_FIELDS[] = {
    JSON_FIELD_STRING("key", struct kube_toleration, key),
    JSON_FIELD_STRING("operator", struct kube_toleration, op),
    JSON_FIELD_STRING("value", struct kube_toleration, value),
    JSON_FIELD_STRING("effect", struct kube_toleration, effect),
};
static const struct json_table TOLERATION_TABLE =
    JSON_TABLE(struct kube_toleration, TOLERATION_FIELDS);

static const struct json_field POD_FIELDS[] = {
    JSON_FIELD_OBJECT("metadata", struct kube_pod, meta, &META_TABLE),
    JSON_FIELD_STRING("spec.nodeName", struct kube_pod, node_name),
    JSON_FIELD_OBJECTS("spec.volumes", struct kube_pod, volumes, volume_count, &VOLUME_TABLE),
    JSON_FIELD_STRMAP("spec.nodeSelector", struct kube_pod, node_selector),
    JSON_FIELD_OBJECTS("spec.tolerations", struct kube_pod, tolerations, toleration_count,
                       &TOLERATION_TABLE),
    JSON_FIELD_STRING("status.phase", struct kube_pod, phase),
};
static const struct json_table POD_TABLE = JSON_TABLE(struct kube_pod, POD_FIELDS);

/* --- what tables cannot say --- */

/* The value at a path like "spec.capacity.storage"; NULL if there is none or null. */
static const json_t *value_at(const json_t *value, const char *path)
{
    while (value && path[0] != '\0') {
        size_t length = strcspn(path, ".");

        value = json_object_getn(value, path, length);
        path += length;
        path += path[0] == '.';
    }
    return json_is_null(value) ? NULL : value;
}

static int decode_quantity(const json_t *root, const char *path, struct quantity *quantity,
                           bool *is_there, struct error *err)
{
    const json_t *value = value_at(root, path);

    *is_there = value != NULL;
    if (!value)
        return 0;
    /* YAML writers leave out the quotes, and the API server takes the number */
    _cleanup_free_ char *number =
        json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
    const char *text = number ? number : json_string_value(value);
    if (!text)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: expected a quantity", path);
    return quantity_parse(text, quantity, err) < 0 ? error_wrap(err, "%s", path) : 0;
}

static int decode_access_modes(const json_t *root, unsigned *modes, struct error *err)
{
    static const struct {
        const char *name;
        unsigned mode;
    } MODES[] = {
        {"ReadWriteOnce", KUBE_ACCESS_RWO},
        {"ReadOnlyMany", KUBE_ACCESS_ROX},
        {"ReadWriteMany", KUBE_ACCESS_RWX},
        {"ReadWriteOncePod", KUBE_ACCESS_RWOP},
    };
    const json_t *list = value_at(root, "spec.accessModes");

    if (list && !json_is_array(list))
        return error_set(err, STATUS_INVALID_ARGUMENT, "spec.accessModes: expected an array");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = kube_or_empty(json_string_value(json_array_get(list, i)));
        size_t at = 0;

        while (at < ARRAY_LENGTH(MODES) && strcmp(MODES[at].name, name) != 0)
            at++;
        if (at == ARRAY_LENGTH(MODES))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "spec.accessModes[%zu]: there is no access mode '%.40s'", i, name);
        *modes |= MODES[at].mode;
    }
    return 0;
}

static int decode_node_selector(const json_t *root, const char *path,
                                struct node_selector *selector, bool *is_there, struct error *err)
{
    const json_t *value = value_at(root, path);

    *is_there = value != NULL;
    if (value && node_selector_decode(value, selector, err) < 0)
        return error_wrap(err, "%s", path);
    return 0;
}

static int decode_label_selector(const json_t *root, const char *path,
                                 struct label_selector *selector, struct error *err)
{
    const json_t *value = value_at(root, path);

    if (value && label_selector_decode(value, selector, err) < 0)
        return error_wrap(err, "%s", path);
    return 0;
}

/* Nearly all volumes are CSI's; the others are translated here, once, and not in each check of a
 * node. */
static int decode_in_tree(const json_t *root, struct kube_pv *pv, struct error *err)
{
    _cleanup_error_ struct error fault = {0};
    char *disk = NULL;

    pv->plugin = in_tree_find_source(json_object_get(root, "spec"), &disk);
    if (!pv->plugin)
        return 0;
    free(pv->handle);
    pv->handle = disk;
    if (in_tree_handle(pv->plugin, root, &pv->handle, &fault) < 0)
        pv->translation_fault = xasprintf("could not translate pv: %s", fault.message);
    json_auto_t *required = in_tree_translate(pv->plugin, root);
    pv->has_translated = required && !json_is_null(required);
    if (pv->has_translated && node_selector_decode(required, &pv->translated, err) < 0)
        return error_wrap(err, "spec.nodeAffinity.required as of %s", pv->plugin->driver);
    return 0;
}

static int finish_pv(const json_t *root, void *object, struct error *err)
{
    struct kube_pv *pv = object;
    bool ignored = false;

    if (decode_quantity(root, "spec.capacity.storage", &pv->capacity, &ignored, err) < 0 ||
        decode_access_modes(root, &pv->access_modes, err) < 0)
        return -1;
    if (decode_node_selector(root, "spec.nodeAffinity.required", &pv->required, &pv->has_required,
                             err) < 0)
        return -1;
    return pv->driver ? 0 : decode_in_tree(root, pv, err);
}

static int finish_pvc(const json_t *root, void *object, struct error *err)
{
    struct kube_pvc *claim = object;

    if (decode_quantity(root, "spec.resources.requests.storage", &claim->request,
                        &claim->has_request, err) < 0 ||
        decode_access_modes(root, &claim->access_modes, err) < 0)
        return -1;
    return decode_label_selector(root, "spec.selector", &claim->selector, err);
}

static int finish_class(const json_t *root, void *object, struct error *err)
{
    struct kube_class *class = object;
    const json_t *mode = value_at(root, "volumeBindingMode");
    const json_t *old_mode = value_at(root, "bindingMode"); /* as the first design spelt it */
    const json_t *allowed = value_at(root, "allowedTopologies");

    mode = mode ? mode : old_mode;
    if (kube_same(json_string_value(mode), "Immediate"))
        class->mode = KUBE_BINDING_IMMEDIATE;
    else if (kube_same(json_string_value(mode), "WaitForFirstConsumer"))
        class->mode = KUBE_BINDING_WAIT;
    else if (mode)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "volumeBindingMode: expected 'Immediate' or 'WaitForFirstConsumer'");
    if (allowed && allowed_topologies_decode(allowed, &class->allowed, err) < 0)
        return error_wrap(err, "allowedTopologies");
    return 0;
}

static int finish_csi_driver(const json_t *root, void *object, struct error *err)
{
    (void)err;
    ((struct kube_csi_driver *)object)->is_attached =
        !json_is_false(value_at(root, "spec.attachRequired"));
    return 0;
}

static int finish_capacity(const json_t *root, void *object, struct error *err)
{
    struct kube_capacity *capacity = object;

    if (decode_quantity(root, "capacity", &capacity->capacity, &capacity->has_capacity, err) < 0 ||
        decode_quantity(root, "maximumVolumeSize", &capacity->maximum, &capacity->has_maximum,
                        err) < 0)
        return -1;
    return decode_label_selector(root, "nodeTopology", &capacity->topology, err);
}

static void name_volume(const struct kube_pod *pod, const json_t *value,
                        struct kube_pod_volume *volume)
{
    volume->exclusive = exclusive_disk_decode(value);
    if (value_at(value, "persistentVolumeClaim")) {
        volume->kind = KUBE_VOLUME_CLAIM;
    } else if (value_at(value, "ephemeral")) {
        volume->kind = KUBE_VOLUME_EPHEMERAL;
        free(volume->claim_name);
        volume->claim_name = xasprintf("%s-%s", pod->meta.name, volume->name ? volume->name : "");
    } else if (value_at(value, "csi")) {
        volume->kind = KUBE_VOLUME_CSI;
    } else {
        volume->plugin = in_tree_find_source(value, &volume->disk);
        if (volume->plugin)
            volume->kind = KUBE_VOLUME_IN_TREE;
    }
}

/* A preference is a selector of one term with a weight. */
static int decode_preference(const json_t *value, struct kube_preference *preference,
                             struct error *err)
{
    const json_t *weight = value_at(value, "weight");
    const json_t *term = value_at(value, "preference");

    if (weight && !json_is_integer(weight))
        return error_set(err, STATUS_INVALID_ARGUMENT, "weight: expected a whole number");
    preference->weight = json_integer_value(weight);
    if (!term)
        return 0;
    json_auto_t *selector = json_pack("{s:[O]}", "nodeSelectorTerms", (json_t *)(uintptr_t)term);
    return node_selector_decode(selector, &preference->selector, err);
}

static int decode_preferences(const json_t *root, struct kube_pod *pod, struct error *err)
{
    static const char PATH[] =
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution";
    const json_t *list = value_at(root, PATH);

    if (!list)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > KUBE_LIST_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: expected an array of at most %d", PATH,
                         KUBE_LIST_MAX);
    pod->preferences = xcalloc(json_array_size(list) + 1, sizeof(*pod->preferences));
    for (; pod->preference_count < json_array_size(list); pod->preference_count++) {
        size_t i = pod->preference_count;

        if (decode_preference(json_array_get(list, i), &pod->preferences[i], err) < 0)
            return error_wrap(err, "%s[%zu]", PATH, i);
    }
    return 0;
}

static unsigned needs_of_container(const json_t *container)
{
    const json_t *requests = value_at(container, "resources.requests");
    const json_t *ports = value_at(container, "ports");
    unsigned needs = json_object_size(requests) > 0 ? KUBE_NEED_REQUESTS : 0;

    for (size_t i = 0; i < json_array_size(ports); i++)
        if (json_integer_value(value_at(json_array_get(ports, i), "hostPort")) > 0)
            needs |= KUBE_NEED_PORTS;
    return needs;
}

/* Members of an unexpected type count as missing. */
static unsigned needs_of_pod(const json_t *root)
{
    static const struct {
        const char *path;
        enum kube_pod_need need;
    } LISTS[] = {
        {"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
         KUBE_NEED_AFFINITY},
        {"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution",
         KUBE_NEED_ANTI_AFFINITY},
        {"spec.resourceClaims", KUBE_NEED_DEVICES},
        {"spec.schedulingGates", KUBE_NEED_GATES},
    };
    const json_t *containers = value_at(root, "spec.containers");
    const json_t *spread = value_at(root, "spec.topologySpreadConstraints");
    unsigned needs = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(LISTS); i++)
        needs |= json_array_size(value_at(root, LISTS[i].path)) > 0 ? LISTS[i].need : 0;
    for (size_t i = 0; i < json_array_size(containers); i++)
        needs |= needs_of_container(json_array_get(containers, i));
    for (size_t i = 0; i < json_array_size(spread); i++)
        if (kube_same(json_string_value(value_at(json_array_get(spread, i), "whenUnsatisfiable")),
                      "DoNotSchedule"))
            needs |= KUBE_NEED_SPREAD;
    return needs;
}

static int finish_pod(const json_t *root, void *object, struct error *err)
{
    struct kube_pod *pod = object;
    const json_t *volumes = value_at(root, "spec.volumes");

    pod->needs = needs_of_pod(root);
    for (size_t i = 0; i < pod->volume_count; i++)
        name_volume(pod, json_array_get(volumes, i), &pod->volumes[i]);
    if (decode_preferences(root, pod, err) < 0)
        return -1;
    return decode_node_selector(
        root, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        &pod->required, &pod->has_required, err);
}

static void done_pv(void *object)
{
    struct kube_pv *pv = object;

    node_selector_done(&pv->required);
    node_selector_done(&pv->translated);
    free(pv->translation_fault);
}

static void done_pvc(void *object)
{
    label_selector_done(&((struct kube_pvc *)object)->selector);
}

static void done_class(void *object)
{
    allowed_topologies_done(&((struct kube_class *)object)->allowed);
}

static void done_capacity(void *object)
{
    label_selector_done(&((struct kube_capacity *)object)->topology);
}

static void done_pod(void *object)
{
    struct kube_pod *pod = object;

    for (size_t i = 0; i < pod->volume_count; i++) {
        free(pod->volumes[i].disk);
        exclusive_disk_free(pod->volumes[i].exclusive);
    }
    node_selector_done(&pod->required);
    /* one more than counted may be half-decoded */
    for (size_t i = 0; pod->preferences && i <= pod->preference_count; i++)
        node_selector_done(&pod->preferences[i].selector);
    free(pod->preferences);
}

/* --- any kind --- */

static const struct {
    const struct json_table *table;
    int (*finish)(const json_t *root, void *object, struct error *err);
    void (*done)(void *object);
} DECODERS[KUBE_KINDS] = {
    [KUBE_NODE] = {&NODE_TABLE, NULL, NULL},
    [KUBE_PV] = {&PV_TABLE, finish_pv, done_pv},
    [KUBE_PVC] = {&PVC_TABLE, finish_pvc, done_pvc},
    [KUBE_CLASS] = {&CLASS_TABLE, finish_class, done_class},
    [KUBE_CSI_DRIVER] = {&CSI_DRIVER_TABLE, finish_csi_driver, NULL},
    [KUBE_CSI_NODE] = {&CSI_NODE_TABLE, NULL, NULL},
    [KUBE_CAPACITY] = {&CAPACITY_TABLE, finish_capacity, done_capacity},
    [KUBE_POD] = {&POD_TABLE, finish_pod, done_pod},
    [KUBE_ATTACHMENT] = {&ATTACHMENT_TABLE, NULL, NULL},
};

/* Before anything is decoded: refuses lists and maps of a size that no API server would store. */
static int check_limits(const json_t *root, struct error *err)
{
    static const struct {
        const char *path;
        size_t limit;
    } LIMITS[] = {
        {"metadata.labels", KUBE_LABELS_MAX},
        {"metadata.annotations", KUBE_LABELS_MAX},
        {"metadata.ownerReferences", KUBE_LIST_MAX},
        {"metadata.finalizers", KUBE_LIST_MAX},
        {"spec.nodeSelector", KUBE_LABELS_MAX},
        {"spec.csi.volumeAttributes", KUBE_LABELS_MAX},
        {"spec.volumes", KUBE_LIST_MAX},
        {"spec.drivers", KUBE_LIST_MAX},
        {"spec.taints", KUBE_LIST_MAX},
        {"spec.tolerations", KUBE_LIST_MAX},
        {"spec.accessModes", KUBE_LIST_MAX},
        {"status.conditions", KUBE_LIST_MAX},
        {"status.addresses", KUBE_LIST_MAX},
        {"status.volumesInUse", KUBE_LIST_MAX},
        {"parameters", KUBE_LABELS_MAX},
        {"allowedTopologies", KUBE_LIST_MAX},
        {"nodeTopology.matchLabels", KUBE_LABELS_MAX},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(LIMITS); i++) {
        const json_t *value = value_at(root, LIMITS[i].path);
        size_t count = json_is_object(value) ? json_object_size(value) : json_array_size(value);

        if (count > LIMITS[i].limit)
            return error_set(err, STATUS_INVALID_ARGUMENT, "%s: %zu entries, at most %zu are read",
                             LIMITS[i].path, count, LIMITS[i].limit);
    }
    return 0;
}

/* What the API server accepts as names of these kinds; they are printed in commands for people. */
static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-");

    return text[length] == '\0' && length > 0 && length <= KUBE_NAME_MAX && text[0] != '-';
}

static int check_meta(enum kube_kind kind, struct kube_meta *meta, struct error *err)
{
    if (!meta->name || meta->name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "metadata.name is missing");
    if (!is_name(meta->name))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "metadata.name: no name of lower-case letters, digits, '-' and '.' of at "
                         "most %d bytes",
                         KUBE_NAME_MAX);
    if (!kube_kind_is_namespaced(kind))
        return 0;
    if (!meta->ns || meta->ns[0] == '\0') {
        free(meta->ns);
        meta->ns = xstrdup("default");
    }
    if (!is_name(meta->ns))
        return error_set(err, STATUS_INVALID_ARGUMENT, "metadata.namespace: no name");
    return 0;
}

static int decode_into(enum kube_kind kind, const json_t *value, void *object, struct error *err)
{
    if (!json_is_object(value))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected an object");
    if (check_limits(value, err) < 0 || json_decode(value, DECODERS[kind].table, object, err) < 0 ||
        check_meta(kind, object, err) < 0)
        return -1;
    return DECODERS[kind].finish ? DECODERS[kind].finish(value, object, err) : 0;
}

int kube_object_decode(enum kube_kind kind, const json_t *value, void **object, struct error *err)
{
    void *made = xcalloc(1, DECODERS[kind].table->size);

    if (decode_into(kind, value, made, err) < 0) {
        error_wrap(err, "%s '%.80s'", kube_kind_name(kind), kube_name(value));
        kube_object_free(kind, made);
        return -1;
    }
    *object = made;
    return 0;
}

void kube_object_free(enum kube_kind kind, void *object)
{
    if (!object)
        return;
    if (DECODERS[kind].done)
        DECODERS[kind].done(object);
    json_free_fields(DECODERS[kind].table, object);
    free(object);
}
