#include <errno.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "node/staged.h"

#define READ_TIMEOUT_MS 5000

static const char HEALTHY[] = "volume is in a healthy condition";

/* What a dead file system answers; as in Ceph-CSI these are a condition, not a failure. */
static bool is_sickness(int number)
{
    return number == ENOTCONN || number == ESTALE || number == EIO || number == EACCES ||
           number == EHOSTDOWN || number == EAGAIN || number == ESHUTDOWN || number == ENODEV;
}

static void set_abnormal(struct volume_stats *stats, struct error *why)
{
    stats->is_abnormal = true;
    free(stats->message);
    stats->message = TAKE(why->message);
    error_clear(why);
}

static int not_there(const struct stats_request *request, struct error *err)
{
    return error_set(err, STATUS_NOT_FOUND, "volume '%.128s' is not at '%.256s'", request->handle,
                     request->volume_path);
}

/* The device has to answer a read; a file system's own figures come from memory and prove nothing.
 */
static void examine(const struct node_volumes *volumes, struct staged *staged,
                    struct volume_stats *stats, struct error *err)
{
    if (staged_check(staged, "", err) < 0 ||
        io_check(volumes->io_checks, staged->mapped.device, READ_TIMEOUT_MS, err) < 0)
        set_abnormal(stats, err);
}

static int measure(const struct node_volumes *volumes, const struct stats_request *request,
                   const struct path_facts *facts, const struct staged *staged,
                   struct volume_stats *stats, struct error *err)
{
    struct host *host = volumes->mappers.host;

    stats->has_usage = true;
    stats->is_block = facts->kind == PATH_BLOCK_DEVICE;
    if (stats->is_block) {
        stats->usage.total_bytes = staged->device.size_bytes;
        return 0;
    }
    if (host->ops->usage(host, request->volume_path, &stats->usage, err) == 0)
        return 0;
    if (!is_sickness(err->sys_errno))
        return -1;
    stats->has_usage = false;
    set_abnormal(stats, err);
    return 0;
}

static int get_stats(const struct node_volumes *volumes, struct call *call,
                     const struct stats_request *request, struct volume_stats *stats,
                     struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *staging_path = NULL;
    _cleanup_staged_ struct staged staged = {0};
    struct path_facts facts;

    if (host->ops->look(host, request->volume_path, &facts, err) < 0) {
        if (!is_sickness(err->sys_errno))
            return -1;
        set_abnormal(stats, err);
        return 0;
    }
    if (!facts.is_mount_point)
        return not_there(request, err);
    if (staging_path_of(volumes, request->handle, request->volume_path, &facts, &staging_path,
                        err) < 0)
        return -1;
    if (!staging_path)
        return not_there(request, err);
    if (staged_look(volumes, call, request->handle, staging_path, &staged, err) < 0)
        return -1;
    examine(volumes, &staged, stats, err);
    return measure(volumes, request, &facts, &staged, stats, err);
}

int node_get_volume_stats(const struct node_volumes *volumes, struct call *call,
                          const struct stats_request *request, struct volume_stats *stats,
                          struct error *err)
{
    if (node_check_handle(request->handle, err) < 0)
        return -1;
    if (request->volume_path[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_path is missing");
    if (node_check_path("volume_path", request->volume_path, err) < 0) {
        error_clear(err); /* nothing can be published there */
        return not_there(request, err);
    }
    stats->message = xstrdup(HEALTHY);
    if (get_stats(volumes, call, request, stats, err) < 0)
        return error_wrap(err, "stats of volume '%s'", request->handle);
    return 0;
}
