#include "common/kube/objects/kube_objects.h"

#include <stdarg.h>
#include <string.h>

static const struct {
    const char *name;
    const char *api;
    const char *resource;
    bool is_namespaced;
} KINDS[KUBE_KINDS + 1] = {
    [KUBE_NODE] = {"Node", "v1", "nodes", false},
    [KUBE_PV] = {"PersistentVolume", "v1", "persistentvolumes", false},
    [KUBE_PVC] = {"PersistentVolumeClaim", "v1", "persistentvolumeclaims", true},
    [KUBE_CLASS] = {"StorageClass", "storage.k8s.io/v1", "storageclasses", false},
    [KUBE_CSI_DRIVER] = {"CSIDriver", "storage.k8s.io/v1", "csidrivers", false},
    [KUBE_CSI_NODE] = {"CSINode", "storage.k8s.io/v1", "csinodes", false},
    [KUBE_CAPACITY] = {"CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities", true},
    [KUBE_POD] = {"Pod", "v1", "pods", true},
    [KUBE_ATTACHMENT] = {"VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", false},
    [KUBE_KINDS] = {"", "", "", false},
};

const char *kube_kind_name(enum kube_kind kind)
{
    return KINDS[kind].name;
}

enum kube_kind kube_kind_find(const char *name)
{
    int kind = 0;

    while (kind < KUBE_KINDS && strcmp(KINDS[kind].name, name) != 0)
        kind++;
    return (enum kube_kind)kind;
}

bool kube_kind_is_namespaced(enum kube_kind kind)
{
    return KINDS[kind].is_namespaced;
}

const char *kube_kind_api(enum kube_kind kind)
{
    return KINDS[kind].api;
}

const char *kube_kind_resource(enum kube_kind kind)
{
    return KINDS[kind].resource;
}

int kube_kind_check(enum kube_kind kind, const char *name, struct error *err)
{
    if (strcmp(KINDS[kind].name, name) == 0)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT, "kind: expected '%s', found '%.40s'",
                     KINDS[kind].name, name);
}

const char *kube_text(const json_t *item, ...)
{
    const char *key = NULL;
    va_list keys;

    va_start(keys, item);
    while (item && (key = va_arg(keys, const char *)))
        item = json_object_get(item, key);
    va_end(keys);
    return json_is_string(item) ? json_string_value(item) : "";
}

const char *kube_name(const json_t *item)
{
    return kube_text(item, "metadata", "name", NULL);
}

const char *kube_namespace(const json_t *item)
{
    return kube_text(item, "metadata", "namespace", NULL);
}

const char *kube_resource_version(const json_t *item)
{
    return kube_text(item, "metadata", "resourceVersion", NULL);
}

const char *kube_object_driver(enum kube_kind kind, const json_t *value)
{
    switch (kind) {
    case KUBE_PV:
        return kube_text(value, "spec", "csi", "driver", NULL);
    case KUBE_CLASS:
        return kube_text(value, "provisioner", NULL);
    case KUBE_ATTACHMENT:
        return kube_text(value, "spec", "attacher", NULL);
    default:
        return "";
    }
}

bool kube_pod_is_on_node(const struct kube_pod *pod)
{
    return !kube_same(pod->node_name, "") && !kube_same(pod->phase, "Succeeded") &&
           !kube_same(pod->phase, "Failed");
}

bool kube_same(const char *a, const char *b)
{
    return strcmp(kube_or_empty(a), kube_or_empty(b)) == 0;
}

bool kube_volume_mode_is_block(const char *mode)
{
    return mode && strcmp(mode, "Block") == 0;
}

time_t kube_time_parse(const char *text)
{
    struct tm utc = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) : NULL;

    if (!rest)
        return 0;
    rest += rest[0] == '.' ? 1 + strspn(rest + 1, "0123456789") : 0;
    return strcmp(rest, "Z") == 0 ? timegm(&utc) : 0;
}

bool kube_capacity_is_stale(const struct kube_capacity *capacity, time_t now)
{
    time_t refreshed =
        kube_time_parse(strmap_get(&capacity->meta.annotations, KUBE_CAPACITY_HEARTBEAT));

    return refreshed > 0 && now - refreshed > CAPACITY_STALE_S;
}

static const char *class_of(const struct kube_meta *meta, const char *class_name)
{
    const char *legacy = strmap_get(&meta->annotations, KUBE_LEGACY_CLASS);

    return legacy ? legacy : kube_or_empty(class_name);
}

const char *kube_pv_class(const struct kube_pv *pv)
{
    return class_of(&pv->meta, pv->class_name);
}

const char *kube_pvc_class(const struct kube_pvc *claim)
{
    return class_of(&claim->meta, claim->class_name);
}

bool kube_pvc_is_owned_by(const struct kube_pvc *claim, const struct kube_pod *pod)
{
    for (size_t i = 0; i < claim->meta.owner_count; i++)
        if (claim->meta.owners[i].is_controller)
            return kube_same(claim->meta.owners[i].uid, pod->meta.uid);
    return false;
}
