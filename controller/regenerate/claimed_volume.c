#include "controller/regenerate/claimed_volume.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/volume/migration.h"

static bool has_attribute(const struct kube_pv *pv, const char *attribute)
{
    return strmap_get_or(&pv->attributes, attribute, NULL) != NULL;
}

enum unclaimed claimed_volume_judge(const struct kube_pv *pv, const char *driver_name)
{
    if (!kube_same(pv->driver, driver_name))
        return UNCLAIMED_FOREIGN;
    if (!text_is_empty(pv->meta.deletion_timestamp))
        return UNCLAIMED_DELETING;
    if (text_is_empty(pv->claim.name))
        return UNCLAIMED_FREE;
    if (kube_same(strmap_get(&pv->attributes, PARAM_STATIC_VOLUME), "true"))
        return UNCLAIMED_STATIC;
    if (migrated_id_is(kube_or_empty(pv->handle)))
        return UNCLAIMED_MIGRATED;
    /* what only CephFS' classes and volumes have */
    if (has_attribute(pv, PARAM_FS_NAME) || has_attribute(pv, PARAM_SUBVOLUME_NAME) ||
        has_attribute(pv, PARAM_ROOT_PATH))
        return UNCLAIMED_CEPHFS;
    /* the API server insists on a handle; without one there is nothing to look up */
    return text_is_empty(pv->handle) ? UNCLAIMED_MIGRATED : UNCLAIMED_NOT;
}

struct secret_ref claimed_volume_secret(const struct kube_pv *pv)
{
    const struct kube_secret_ref *const refs[] = {&pv->expand_secret, &pv->stage_secret};

    for (size_t i = 0; i < ARRAY_LENGTH(refs); i++)
        if (!text_is_empty(refs[i]->name) && !text_is_empty(refs[i]->ns))
            return (struct secret_ref){refs[i]->name, refs[i]->ns};
    return (struct secret_ref){0};
}

static void keep_only(json_t *object, const char *const *keys)
{
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;

    json_object_foreach_safe(object, next, key, value)
    {
        bool is_kept = false;

        for (size_t i = 0; keys[i]; i++)
            is_kept = is_kept || strcmp(keys[i], key) == 0;
        if (!is_kept)
            json_object_del(object, key);
    }
}

void claimed_volume_trim(json_t *pv, const char *driver_name)
{
    static const char *const whole[] = {"metadata", "spec", NULL};
    static const char *const metadata[] = {"name", "uid", "resourceVersion", "deletionTimestamp",
                                           NULL};
    static const char *const spec[] = {"csi", "claimRef", NULL};
    static const char *const claim[] = {"name", "namespace", NULL};
    static const char *const nothing[] = {NULL};
    json_t *content = json_object_get(pv, "spec");
    const bool is_ours = strcmp(kube_object_driver(KUBE_PV, pv), driver_name) == 0;

    keep_only(content, is_ours ? spec : nothing);
    keep_only(pv, whole);
    keep_only(json_object_get(pv, "metadata"), metadata);
    keep_only(json_object_get(content, "claimRef"), claim);
}
