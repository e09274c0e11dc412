#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "node/mount_table.h"
#include "node/rbd/rbd_staged.h"

/* Pods still see the volume: the device would stay in use, and what is under them must not go. */
static int check_unpublished(const struct node_volumes *volumes, const struct staged *staged,
                             struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    _cleanup_string_list_ struct string_list targets = {0};

    if (!staged->facts.is_mount_point || staged->is_dead || staged->mapped.is_dead)
        return 0;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    mounts_of_same(&mounts, staged->path, staged->facts.kind == PATH_BLOCK_DEVICE, &targets);
    if (targets.count > 0)
        return error_set(err, STATUS_FAILED_PRECONDITION, "it is still published at '%s'%s",
                         targets.items[0], targets.count > 1 ? " and elsewhere" : "");
    return 0;
}

/* Something is mounted, but no image-meta.json says what: it goes only if a mapper knows its
 * device, and is then unmapped by that. (The fuse mapper finds exports that nobody uses when it
 * starts.) */
static int adopt(const struct node_volumes *volumes, struct staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    const struct mapper *mapper = NULL;
    const char *device = NULL;

    if (staged->has_meta || !staged->facts.is_mount_point)
        return 0;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++)
        if (strcmp(mounts.items[i].target, staged->path) == 0)
            device = staged->facts.kind == PATH_BLOCK_DEVICE ? mounts.items[i].root + 1
                                                             : mounts.items[i].source;
    if (device && mapper_of_device(&volumes->mappers, device, &mapper, err) < 0)
        return -1;
    if (!mapper)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "'%s' is a mount of '%s', which is no RBD device of this driver",
                         staged->path, device ? device : "?");
    if (mapper == &MAPPER_FUSE)
        return 0;
    staged->mapper = mapper;
    staged->meta.unmap_options = xstrdup("");
    staged->mapped.device =
        strncmp(device, "/dev/", 5) == 0 ? xstrdup(device) : xasprintf("/dev/%s", device);
    return 0;
}

int rbd_unstage_volume(const struct node_volumes *volumes, struct call *call,
                       const struct unstage_request *request, struct error *err)
{
    _cleanup_staged_ struct staged staged = {0};

    if (staged_look(volumes, call, request->handle, request->staging_path, &staged, err) < 0)
        return -1;
    if (staged.meta.is_encrypted)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "it is encrypted, which this driver cannot close yet; the driver that "
                         "staged it can");
    if (check_unpublished(volumes, &staged, err) < 0 || adopt(volumes, &staged, err) < 0)
        return -1;
    return staged_remove(volumes, call, &staged, err);
}
