/* The rpcs as far as they are the same for all kinds of volumes; publishing is in publish.c. */
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "node/backend.h"
#include "node/checks.h"
#include "node/mount_table.h"
#include "node/staged_users.h"

/* --- freeing --- */

void stage_request_done(struct stage_request *request)
{
    free(request->handle);
    free(request->staging_path);
    volume_capability_done(&request->capability);
    strmap_done(&request->context);
    credentials_done(&request->credentials);
}

void node_expand_request_done(struct node_expand_request *request)
{
    free(request->handle);
    free(request->volume_path);
    credentials_done(&request->credentials);
}

void volume_stats_done(struct volume_stats *stats)
{
    free(stats->message);
    *stats = (struct volume_stats){0};
}

void staged_place_done(struct staged_place *place)
{
    free(place->path);
    *place = (struct staged_place){0};
}

/* --- NodeStageVolume, NodeUnstageVolume --- */

static int check_staging_path(const struct node_volumes *volumes, const char *path,
                              struct error *err)
{
    struct host *host = volumes->mappers.host;
    struct path_facts facts;
    bool is_dead = false; /* the backend knows what to do with it */

    if (look_at_mount(host, path, &facts, &is_dead, err) < 0)
        return -1;
    if (facts.kind != PATH_DIRECTORY)
        return error_set(err, STATUS_INVALID_ARGUMENT, "staging_target_path '%s' %s", path,
                         facts.kind == PATH_ABSENT ? "does not exist" : "is no folder");
    return 0;
}

int node_stage_volume(const struct node_volumes *volumes, struct call *call,
                      const struct stage_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (node_check_target(request->handle, "staging_target_path", request->staging_path, err) < 0 ||
        node_check_capability(volumes, &request->capability, err) < 0 ||
        node_begin(volumes, request->handle, call, &operation, err) < 0)
        return -1;
    if (check_staging_path(volumes, request->staging_path, err) < 0 ||
        volumes->backend->stage(volumes, call, request, err) < 0)
        return error_wrap(err, "stage volume '%s'", request->handle);
    return 0;
}

int node_unstage_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                        const char *staging_path, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (node_check_target(handle, "staging_target_path", staging_path, err) < 0 ||
        node_begin(volumes, handle, call, &operation, err) < 0)
        return -1;
    if (volumes->backend->unstage(volumes, call, handle, staging_path, err) < 0)
        return error_wrap(err, "unstage volume '%s'", handle);
    staged_users_forget(volumes->users, handle);
    return 0;
}

/* --- NodeGetVolumeStats, NodeExpandVolume --- */

int node_volume_not_there(const char *handle, const char *path, struct error *err)
{
    return error_set(err, STATUS_NOT_FOUND, "volume '%.128s' is not at '%.256s'", handle, path);
}

/* Of the calls that say where the volume is. */
static int check_volume_path(const char *handle, const char *path, struct error *err)
{
    if (node_check_handle(handle, err) < 0)
        return -1;
    if (path[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_path is missing");
    if (node_check_path("volume_path", path, err) == 0)
        return 0;
    error_clear(err); /* nothing can be published there */
    return node_volume_not_there(handle, path, err);
}

int node_get_volume_stats(const struct node_volumes *volumes, struct call *call, const char *handle,
                          const char *volume_path, struct volume_stats *stats, struct error *err)
{
    if (check_volume_path(handle, volume_path, err) < 0)
        return -1;
    stats->message = xstrdup("volume is in a healthy condition");
    if (volumes->backend->get_stats(volumes, call, handle, volume_path, stats, err) < 0)
        return error_wrap(err, "stats of volume '%s'", handle);
    return 0;
}

int volume_stats_failed(struct volume_stats *stats, struct error *err)
{
    if (!errno_is_sickness(err->sys_errno) && err->status != STATUS_DEADLINE_EXCEEDED)
        return -1;
    volume_stats_set_abnormal(stats, err);
    return 0;
}

void volume_stats_set_abnormal(struct volume_stats *stats, struct error *why)
{
    stats->is_abnormal = true;
    free(stats->message);
    stats->message = TAKE(why->message);
    error_clear(why);
}

int node_expand_volume(const struct node_volumes *volumes, struct call *call,
                       const struct node_expand_request *request, uint64_t *size_bytes,
                       struct error *err)
{
    const struct node_backend *backend = volumes->backend;
    _cleanup_operation_ struct operation operation = {0};

    if (!backend->expand)
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "volumes of type %s grow without the node: ControllerExpandVolume is all "
                         "that it takes",
                         backend->type);
    if (check_volume_path(request->handle, request->volume_path, err) < 0)
        return -1;
    if (request->range.required_bytes < 0 || request->range.limit_bytes < 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "capacity_range is negative");
    if (node_begin(volumes, request->handle, call, &operation, err) < 0)
        return -1;
    if (backend->expand(volumes, call, request, size_bytes, err) < 0)
        return error_wrap(err, "expand volume '%s'", request->handle);
    return 0;
}

/* --- at start --- */

void node_recover(const struct node_volumes *volumes, struct call *call)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *reason = NULL;

    if (!host->ops->daemons_survive(host, &reason))
        log_info(call,
                 "volumes of rbd-nbd and ceph-fuse lose their process when this container ends: %s",
                 reason);
    volumes->backend->recover(volumes, call);
}

void node_refresh(const struct node_volumes *volumes, struct call *call)
{
    if (volumes->backend->refresh)
        volumes->backend->refresh(volumes, call);
}

size_t node_revive(const struct node_volumes *volumes, struct call *call)
{
    return volumes->backend->revive(volumes, call);
}
