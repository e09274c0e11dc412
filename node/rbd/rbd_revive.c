/*
 * At start: this node is recorded as a client of what is staged, see node_record_clients(). And nbd
 * devices whose rbd-nbd has died, with the container of a previous run or without it.
 * The kernel holds what pods write for a while (reattach-timeout, 300 s by default) and hands it to
 * the new process; after that they get errors. Volumes are found in the mount table, by the
 * image-meta.json beside their mounts. A device that cannot be attached is left as it is: what is
 * mounted from it holds data that nobody else has.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "node/checks.h"
#include "node/mount_table.h"
#include "node/rbd/node_image.h"
#include "node/rbd/rbd_staged.h"
#include "node/staged_users.h"

/* What Ceph-CSI staged has no record of its mode. The one of a writer is the stricter. */
static enum access_mode find_mode(const struct rbd_staged *staged)
{
    enum access_mode recorded = access_mode_find(staged->meta.mode);

    if (recorded != ACCESS_UNKNOWN)
        return recorded;
    return staged->facts.is_read_only ? ACCESS_MULTI_NODE_READER_ONLY : ACCESS_SINGLE_NODE_WRITER;
}

/* The request with which the volume was staged, as far as attaching its device needs it. */
static int rebuild_request(const struct node_volumes *volumes, struct call *call,
                           const char *handle, const char *staging_path,
                           const struct rbd_staged *staged, struct stage_request *request,
                           struct error *err)
{
    const bool is_block = staged->facts.kind == PATH_BLOCK_DEVICE;

    if (staged_user_find(volumes, call, handle, staged->path, &(struct credentials){0}, request,
                         err) < 0)
        return -1;
    request->staging_path = xstrdup(staging_path);
    request->capability.type = is_block ? ACCESS_TYPE_BLOCK : ACCESS_TYPE_MOUNT;
    request->capability.mode = find_mode(staged);
    strmap_merge(&request->context, &staged->meta.context);
    return 0;
}

static int revive_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                         const char *staging_path, struct error *err)
{
    _cleanup_rbd_staged_ struct rbd_staged staged = {0};
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_(stage_request_done) struct stage_request request = {0};

    if (node_begin(volumes, handle, call, &operation, err) < 0 ||
        rbd_staged_look(volumes, call, handle, staging_path, &staged, err) < 0)
        return -1;
    if (!staged.mapper || !staged.mapper->reattaches || rbd_staged_is_complete(&staged))
        return 0;
    if (rebuild_request(volumes, call, handle, staging_path, &staged, &request, err) < 0)
        return error_wrap(err, "it works again when it is staged");
    if (rbd_attach_volume(volumes, call, &request, err) < 0)
        return -1;
    log_info(call, "volume '%s': '%s' has a new %s", handle, staged.meta.device,
             staged.mapper->mounter);
    return 0;
}

int rbd_find_staged(const struct node_volumes *volumes, const struct mount_entry *entry,
                    char **handle, char **staging_path, struct error *err)
{
    const struct mapper *mapper = NULL;

    if (rbd_staged_find_path(volumes, entry, &mapper, staging_path, err) < 0)
        return -1;
    if (*staging_path)
        *handle = xstrdup(strrchr(entry->target, '/') + 1);
    return 0;
}

int rbd_record_client(const struct node_volumes *volumes, struct call *call, const char *handle,
                      const char *staging_path, struct error *err)
{
    _cleanup_rbd_staged_ struct rbd_staged staged = {0};
    _cleanup_(stage_request_done) struct stage_request request = {0};
    _cleanup_node_image_ struct node_image image = {0};
    _cleanup_strmap_ struct strmap metadata = {0};

    if (rbd_staged_look(volumes, call, handle, staging_path, &staged, err) < 0)
        return -1;
    if (!staged.has_meta)
        return 0;
    if (rebuild_request(volumes, call, handle, staging_path, &staged, &request, err) < 0 ||
        node_image_open(volumes, call, &request, &image, err) < 0 ||
        image.pool->ops->image_metadata_get(image.pool, call, image.name, &metadata, err) < 0)
        return -1;
    return node_image_record(volumes, call, &image, &request, &metadata, err);
}

/* As rbd_find_staged(), if the volume's device may have lost its process. */
static int find_revivable(const struct node_volumes *volumes, const struct mount_entry *entry,
                          char **handle, char **staging_path, struct error *err)
{
    const struct mapper *mapper = NULL;

    if (mapper_of_device(&volumes->mappers, rbd_mounted_device(entry, false), &mapper, err) < 0)
        return -1;
    return mapper && mapper->reattaches ? rbd_find_staged(volumes, entry, handle, staging_path, err)
                                        : 0;
}

size_t rbd_revive_volumes(const struct node_volumes *volumes, struct call *call)
{
    struct host *host = volumes->mappers.host;
    _cleanup_error_ struct error err = {0};
    _cleanup_mount_list_ struct mount_list mounts = {0};
    size_t dead = 0;

    if (!mounts_list(host, call, "looking for devices that lost their process", &mounts))
        return 1;
    for (size_t i = 0; i < mounts.count && !call_is_cancelled(call); i++) {
        const char *target = mounts.items[i].target;
        _cleanup_free_ char *handle = NULL;
        _cleanup_free_ char *staging_path = NULL;

        error_clear(&err);
        if (find_revivable(volumes, &mounts.items[i], &handle, &staging_path, &err) == 0 &&
            (!handle || revive_volume(volumes, call, handle, staging_path, &err) == 0))
            continue;
        log_warn(call, "the device that is mounted on '%s': %s", target, err.message);
        dead++;
    }
    return dead;
}
