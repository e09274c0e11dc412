/*
 * NodeGetVolumeHealth. Callers may ask for a volume that they failed to stage or publish, and need
 * not say where it is: the paths of the request are tried first, then those where the mount table
 * or the driver's own notes have the volume.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "node/backend.h"
#include "node/checks.h"

/* The condition of the volume at @path; *@found is false if it is not there. */
static int examine_path(const struct node_volumes *volumes, struct call *call, const char *handle,
                        const char *path, struct volume_stats *stats, bool *found,
                        struct error *err)
{
    *found = false;
    if (!path || path[0] == '\0')
        return 0;
    if (node_get_volume_stats(volumes, call, handle, path, stats, err) == 0) {
        *found = true;
        return 0;
    }
    volume_stats_done(stats);
    *stats = (struct volume_stats){0};
    return error_ignore(err, STATUS_NOT_FOUND);
}

/* Where the volume is staged: *@path, which the caller frees, stays NULL if it is not. */
static int find_mounted(const struct node_volumes *volumes, struct call *call, const char *wanted,
                        char **path, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count && !*path; i++) {
        _cleanup_error_ struct error reason = {0};
        _cleanup_free_ char *handle = NULL;
        _cleanup_free_ char *staging_path = NULL;

        if (volumes->backend->find_staged(volumes, &mounts.items[i], &handle, &staging_path,
                                          &reason) < 0)
            log_v(2, call, "what is mounted on '%s': %s", mounts.items[i].target, reason.message);
        else if (handle && strcmp(handle, wanted) == 0)
            *path = xstrdup(mounts.items[i].target);
    }
    if (!*path && volumes->backend->recall_path)
        return volumes->backend->recall_path(volumes, wanted, path, err);
    return 0;
}

int node_get_volume_health(const struct node_volumes *volumes, struct call *call,
                           const struct health_request *request, struct volume_stats *stats,
                           struct error *err)
{
    const char *handle = request->handle;
    const char *named[] = {request->publish_path, request->staging_path};
    _cleanup_free_ char *path = NULL;
    bool found = false;

    if (node_check_handle(handle, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(named) && !found; i++)
        if (examine_path(volumes, call, handle, named[i], stats, &found, err) < 0)
            return -1;
    if (!found && find_mounted(volumes, call, handle, &path, err) < 0)
        return error_wrap(err, "health of volume '%s'", handle);
    if (!found && examine_path(volumes, call, handle, path, stats, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, STATUS_NOT_FOUND, "volume '%s' is not mounted on this node", handle);
    return 0;
}
