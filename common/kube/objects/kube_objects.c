#include "common/kube/objects/kube_objects.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

static const struct {
    const char *name;
    bool is_namespaced;
} KINDS[KUBE_KINDS] = {
    [KUBE_NODE] = {"Node", false},
    [KUBE_PV] = {"PersistentVolume", false},
    [KUBE_PVC] = {"PersistentVolumeClaim", true},
    [KUBE_CLASS] = {"StorageClass", false},
    [KUBE_CSI_DRIVER] = {"CSIDriver", false},
    [KUBE_CSI_NODE] = {"CSINode", false},
    [KUBE_CAPACITY] = {"CSIStorageCapacity", true},
    [KUBE_POD] = {"Pod", true},
    [KUBE_ATTACHMENT] = {"VolumeAttachment", false},
};

const char *kube_kind_name(enum kube_kind kind)
{
    return kind < KUBE_KINDS ? KINDS[kind].name : "";
}

enum kube_kind kube_kind_find(const char *name)
{
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        if (strcmp(KINDS[kind].name, name) == 0)
            return (enum kube_kind)kind;
    return KUBE_KINDS;
}

bool kube_kind_is_namespaced(enum kube_kind kind)
{
    return kind < KUBE_KINDS && KINDS[kind].is_namespaced;
}

bool kube_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool kube_volume_mode_is_block(const char *mode)
{
    return mode && strcmp(mode, "Block") == 0;
}

static const char *class_of(const struct kube_meta *meta, const char *class_name)
{
    const char *legacy = strmap_get(&meta->annotations, KUBE_LEGACY_CLASS);

    if (legacy)
        return legacy;
    return class_name ? class_name : "";
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
