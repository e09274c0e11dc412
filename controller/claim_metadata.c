#include "controller/claim_metadata.h"

#include "common/base/text.h"
#include "common/ceph/on_disk.h"

static const char *const VOLUME_KEYS[] = {
    METADATA_PVC_NAME,
    METADATA_PVC_NAMESPACE,
    METADATA_PV_NAME,
};

static const char *const SNAPSHOT_KEYS[] = {
    METADATA_SNAPSHOT_NAME,
    METADATA_SNAPSHOT_NAMESPACE,
    METADATA_CONTENT_NAME,
};

void claim_metadata_collect(const struct controller *controller, enum metadata_kind kind,
                            const struct strmap *parameters, struct strmap *entries)
{
    const char *const *keys = kind == METADATA_VOLUME ? VOLUME_KEYS : SNAPSHOT_KEYS;

    for (size_t i = 0; i < ARRAY_LENGTH(VOLUME_KEYS); i++) {
        const char *value = strmap_get_or(parameters, keys[i], NULL);

        if (value)
            strmap_set(entries, keys[i], value);
    }
    if (!text_is_empty(controller->cluster_name))
        strmap_set(entries, METADATA_CLUSTER_NAME, controller->cluster_name);
}

void claim_metadata_of(const char *claim_name, const char *claim_namespace, const char *pv_name,
                       const char *cluster_name, struct strmap *entries)
{
    const char *const values[] = {claim_name, claim_namespace, pv_name};

    for (size_t i = 0; i < ARRAY_LENGTH(VOLUME_KEYS); i++)
        strmap_set(entries, VOLUME_KEYS[i], values[i]);
    if (!text_is_empty(cluster_name))
        strmap_set(entries, METADATA_CLUSTER_NAME, cluster_name);
}
