#include "controller/rbd/rbd_metadata.h"

#include "common/base/text.h"
#include "common/volume/client_records.h"

static const char *const VOLUME_KEYS[] = {
    "csi.storage.k8s.io/pvc/name",
    "csi.storage.k8s.io/pvc/namespace",
    "csi.storage.k8s.io/pv/name",
};

static const char *const SNAPSHOT_KEYS[] = {
    "csi.storage.k8s.io/volumesnapshot/name",
    "csi.storage.k8s.io/volumesnapshot/namespace",
    "csi.storage.k8s.io/volumesnapshotcontent/name",
};

#define CLUSTER_NAME_KEY "csi.ceph.com/cluster/name"

/* Keys, or beginnings of keys, that speak of one image and not of its clones. */
static const char *const INHERITED[] = {
    "csi.storage.k8s.io/",
    CLUSTER_NAME_KEY,
    CLIENT_RECORD_RBD,
    "conf_rbd_qos_",
};

void metadata_collect(const struct controller *controller, enum metadata_kind kind,
                      const struct strmap *parameters, struct strmap *entries)
{
    const char *const *keys = kind == METADATA_VOLUME ? VOLUME_KEYS : SNAPSHOT_KEYS;

    if (!controller->set_metadata)
        return;
    for (size_t i = 0; i < ARRAY_LENGTH(VOLUME_KEYS); i++) {
        const char *value = strmap_get_or(parameters, keys[i], NULL);

        if (value)
            strmap_set(entries, keys[i], value);
    }
    if (!text_is_empty(controller->cluster_name))
        strmap_set(entries, CLUSTER_NAME_KEY, controller->cluster_name);
}

void metadata_of_claim(const char *claim_name, const char *claim_namespace, const char *pv_name,
                       const char *cluster_name, struct strmap *entries)
{
    const char *const values[] = {claim_name, claim_namespace, pv_name};

    for (size_t i = 0; i < ARRAY_LENGTH(VOLUME_KEYS); i++)
        strmap_set(entries, VOLUME_KEYS[i], values[i]);
    if (!text_is_empty(cluster_name))
        strmap_set(entries, CLUSTER_NAME_KEY, cluster_name);
}

static int find_inherited(struct ceph_pool *pool, struct call *call, const char *name,
                          const struct strmap *kept, struct string_list *removed, struct error *err)
{
    _cleanup_strmap_ struct strmap present = {0};

    if (pool->ops->image_metadata_get(pool, call, name, &present, err) < 0)
        return -1;
    for (size_t i = 0; i < present.count; i++)
        for (size_t k = 0; k < ARRAY_LENGTH(INHERITED); k++)
            if (text_has_prefix(present.entries[i].key, INHERITED[k]) &&
                !strmap_has(kept, present.entries[i].key))
                string_list_add(removed, present.entries[i].key);
    return 0;
}

int metadata_apply(struct ceph_pool *pool, struct call *call, const char *name, bool is_clone,
                   const struct strmap *entries, const struct string_list *removed,
                   struct error *err)
{
    _cleanup_string_list_ struct string_list all_removed = {0};

    for (size_t i = 0; removed && i < removed->count; i++)
        string_list_add(&all_removed, removed->items[i]);
    if (is_clone && find_inherited(pool, call, name, entries, &all_removed, err) < 0)
        return -1;
    if (entries->count == 0 && all_removed.count == 0)
        return 0;
    return pool->ops->image_metadata_change(pool, call, name, entries, &all_removed, err);
}
