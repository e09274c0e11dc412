#include "node/staged_secret.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/kube.h"
#include "node/mount_table.h"

#define NAMES_MAX 4 /* of PersistentVolumes, one of which is ours: mounts may share a device */

char *kubelet_path_volume(const char *path)
{
    static const char *const before[] = {
        "/volumes/kubernetes.io~csi/",               /* published: NAME/mount */
        "/kubernetes.io/csi/volumeDevices/publish/", /* a block volume: NAME/POD */
        "/kubernetes.io/csi/volumeDevices/staging/", /* NAME */
        "/kubernetes.io/csi/pv/",                    /* staged by kubelets before 1.24 */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(before); i++) {
        const char *found = strstr(path, before[i]);
        const char *name = found ? found + strlen(before[i]) : "";
        size_t length = strcspn(name, "/");

        if (length > 0)
            return xstrndup(name, length);
    }
    return NULL;
}

/* The names in all paths at which the volume is mounted. */
static int list_names(const struct node_volumes *volumes, const char *path,
                      struct string_list *names, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    _cleanup_string_list_ struct string_list paths = {0};

    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    const struct mount_entry *own = mount_on_top(&mounts, path);
    string_list_add(&paths, path);
    mounts_of_same(&mounts, path, own && strcmp(own->fs_type, "devtmpfs") == 0, &paths);
    for (size_t i = 0; i < paths.count && names->count < NAMES_MAX; i++) {
        _cleanup_free_ char *name = kubelet_path_volume(paths.items[i]);

        if (name && !string_list_has(names, name))
            string_list_add(names, name);
    }
    return 0;
}

/* *@pv (caller frees) stays NULL if there is none of that name, or it is another volume's. */
static int read_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                       const char *name, struct kube_pv **pv, struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;
    void *object = NULL;

    if (kube_object_path(KUBE_PV, NULL, name, &path, err) < 0)
        return -1;
    if (volumes->kube->ops->get(volumes->kube, call, path, &item, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
        return 0;
    }
    if (kube_object_decode(KUBE_PV, item, &object, err) < 0)
        return -1;
    _cleanup_(kube_pv_freep) struct kube_pv *found = object;
    if (kube_same(found->driver, volumes->driver_name) && kube_same(found->handle, handle))
        *pv = TAKE(found);
    return 0;
}

int staged_secret_find(const struct node_volumes *volumes, struct call *call, const char *handle,
                       const char *path, struct stage_request *found, struct error *err)
{
    _cleanup_string_list_ struct string_list names = {0};
    _cleanup_(kube_pv_freep) struct kube_pv *pv = NULL;

    if (!volumes->kube || !volumes->standing)
        return 0;
    if (list_names(volumes, path, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count && !pv; i++)
        if (read_volume(volumes, call, handle, names.items[i], &pv, err) < 0)
            return -1;
    if (!pv || text_is_empty(pv->stage_secret.name) || text_is_empty(pv->stage_secret.ns))
        return 0;
    const struct secret_ref secret = {pv->stage_secret.name, pv->stage_secret.ns};
    if (standing_credentials_of_secret(volumes->standing, call, &secret, &found->credentials, err) <
        0)
        return -1;
    if (found->context.count == 0)
        strmap_merge(&found->context, &pv->attributes);
    return 0;
}
