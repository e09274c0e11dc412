#include "controller/regenerate/claimed_volume.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/kube.h"
#include "common/volume/migration.h"

static bool is_of(const json_t *pv, const char *driver_name)
{
    return strcmp(kube_text(pv, "spec", "csi", "driver", NULL), driver_name) == 0;
}

static bool is_true(const json_t *pv, const char *attribute)
{
    return strcmp(kube_text(pv, "spec", "csi", "volumeAttributes", attribute, NULL), "true") == 0;
}

static bool has(const json_t *pv, const char *attribute)
{
    return !text_is_empty(kube_text(pv, "spec", "csi", "volumeAttributes", attribute, NULL));
}

/* What only CephFS' classes and volumes have. */
static bool is_cephfs(const json_t *pv)
{
    return has(pv, "fsName") || has(pv, "subvolumeName") || has(pv, "rootPath");
}

static enum unclaimed judge(const json_t *pv, const char *driver_name)
{
    if (!is_of(pv, driver_name))
        return UNCLAIMED_FOREIGN;
    if (!text_is_empty(kube_text(pv, "metadata", "deletionTimestamp", NULL)))
        return UNCLAIMED_DELETING;
    if (text_is_empty(kube_text(pv, "spec", "claimRef", "name", NULL)))
        return UNCLAIMED_FREE;
    if (is_true(pv, "staticVolume"))
        return UNCLAIMED_STATIC;
    if (migrated_id_is(kube_text(pv, "spec", "csi", "volumeHandle", NULL)))
        return UNCLAIMED_MIGRATED;
    return is_cephfs(pv) ? UNCLAIMED_CEPHFS : UNCLAIMED_NOT;
}

static bool take_secret(const json_t *pv, const char *ref, struct secret_ref *secret)
{
    const char *name = kube_text(pv, "spec", "csi", ref, "name", NULL);
    const char *name_space = kube_text(pv, "spec", "csi", ref, "namespace", NULL);

    if (text_is_empty(name) || text_is_empty(name_space))
        return false;
    *secret = (struct secret_ref){xstrdup(name), xstrdup(name_space)};
    return true;
}

static void take_attributes(const json_t *pv, struct strmap *attributes)
{
    json_t *csi = json_object_get(json_object_get(pv, "spec"), "csi");
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(json_object_get(csi, "volumeAttributes"), key, value)
    {
        if (json_is_string(value))
            strmap_set(attributes, key, json_string_value(value));
    }
}

enum unclaimed claimed_volume_decode(const json_t *pv, const char *driver_name,
                                     struct claimed_volume *volume)
{
    enum unclaimed reason = judge(pv, driver_name);

    if (reason != UNCLAIMED_NOT)
        return reason;
    *volume = (struct claimed_volume){
        .pv_name = xstrdup(kube_name(pv)),
        .pv_uid = xstrdup(kube_text(pv, "metadata", "uid", NULL)),
        .handle = xstrdup(kube_text(pv, "spec", "csi", "volumeHandle", NULL)),
        .claim_namespace = xstrdup(kube_text(pv, "spec", "claimRef", "namespace", NULL)),
        .claim_name = xstrdup(kube_text(pv, "spec", "claimRef", "name", NULL)),
    };
    if (!take_secret(pv, "controllerExpandSecretRef", &volume->secret))
        take_secret(pv, "nodeStageSecretRef", &volume->secret);
    take_attributes(pv, &volume->attributes);
    return UNCLAIMED_NOT;
}

void claimed_volume_done(struct claimed_volume *volume)
{
    free(volume->pv_name);
    free(volume->pv_uid);
    free(volume->handle);
    free(volume->claim_namespace);
    free(volume->claim_name);
    free(volume->secret.name);
    free(volume->secret.namespace_name);
    strmap_done(&volume->attributes);
    *volume = (struct claimed_volume){0};
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

    keep_only(content, is_of(pv, driver_name) ? spec : nothing);
    keep_only(pv, whole);
    keep_only(json_object_get(pv, "metadata"), metadata);
    keep_only(json_object_get(content, "claimRef"), claim);
}
