#include <errno.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "node/checks.h"
#include "node/mount_table.h"
#include "node/rbd/rbd_staged.h"

#define READ_TIMEOUT_MS 5000

/* The device has to answer a read; a file system's own figures come from memory and prove nothing.
 */
static void examine(const struct node_volumes *volumes, struct staged *staged,
                    struct volume_stats *stats, struct error *err)
{
    if (staged_check(staged, "", err) < 0 ||
        io_check(volumes->io_checks, staged->mapped.device, READ_TIMEOUT_MS, err) < 0)
        volume_stats_set_abnormal(stats, err);
}

static int measure(const struct node_volumes *volumes, const struct stats_request *request,
                   const struct path_facts *facts, const struct staged *staged,
                   struct volume_stats *stats, struct error *err)
{
    struct host *host = volumes->mappers.host;

    stats->has_usage = true;
    stats->has_inodes = facts->kind != PATH_BLOCK_DEVICE;
    if (!stats->has_inodes) {
        stats->usage.total_bytes = staged->device.size_bytes;
        return 0;
    }
    if (host->ops->usage(host, request->volume_path, &stats->usage, err) == 0)
        return 0;
    if (!errno_is_sickness(err->sys_errno))
        return -1;
    stats->has_usage = false;
    volume_stats_set_abnormal(stats, err);
    return 0;
}

int rbd_get_stats(const struct node_volumes *volumes, struct call *call,
                  const struct stats_request *request, struct volume_stats *stats,
                  struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *staging_path = NULL;
    _cleanup_staged_ struct staged staged = {0};
    struct path_facts facts;

    if (host->ops->look(host, request->volume_path, &facts, err) < 0) {
        if (!errno_is_sickness(err->sys_errno))
            return -1;
        volume_stats_set_abnormal(stats, err);
        return 0;
    }
    if (!facts.is_mount_point)
        return node_volume_not_there(request->handle, request->volume_path, err);
    if (staging_path_of(volumes, request->handle, request->volume_path, &facts, &staging_path,
                        err) < 0)
        return -1;
    if (!staging_path)
        return node_volume_not_there(request->handle, request->volume_path, err);
    if (staged_look(volumes, call, request->handle, staging_path, &staged, err) < 0)
        return -1;
    examine(volumes, &staged, stats, err);
    return measure(volumes, request, &facts, &staged, stats, err);
}
