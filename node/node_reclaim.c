#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "node/backend.h"
#include "node/checks.h"

#define PIECE_BYTES (16ULL * 1024 * 1024 * 1024)

void reclaim_request_done(struct reclaim_request *request)
{
    free(request->handle);
    free(request->staging_path);
    volume_capability_done(&request->capability);
}

/* What the capability alone forbids. */
static int check_use(const struct volume_capability *capability, struct error *err)
{
    if (capability->type == ACCESS_TYPE_BLOCK)
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "a block volume has no file system that knows which blocks are unused");
    if (access_mode_is_multi_node_writer(capability->mode))
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "volumes with access mode %s may be mounted on other nodes too",
                         access_mode_name(capability->mode));
    return 0;
}

static int trim_pieces(struct host *host, struct call *call, const char *path, uint64_t *freed,
                       struct error *err)
{
    struct usage usage = {0};

    if (host->ops->usage(host, path, &usage, err) < 0)
        return -1;
    for (uint64_t start = 0; start == 0 || start < usage.total_bytes; start += PIECE_BYTES) {
        /* the last piece has no end: the size does not count what the file system itself needs */
        bool is_last = usage.total_bytes - start <= PIECE_BYTES;
        uint64_t piece = 0;

        call_stage(call, "discarding unused blocks behind %llu of %llu GiB for {age}",
                   (unsigned long long)(start >> 30), (unsigned long long)usage.total_bytes >> 30);
        if (call_check(call, err) < 0 ||
            host->ops->trim(host, path, start, is_last ? UINT64_MAX : PIECE_BYTES, &piece, err) < 0)
            return -1;
        *freed += piece;
        if (is_last)
            break;
    }
    return 0;
}

static int reclaim_staged(const struct node_volumes *volumes, struct call *call,
                          const struct reclaim_request *request, struct error *err)
{
    const struct publish_request place_of = {.handle = request->handle,
                                             .staging_path = request->staging_path};
    _cleanup_staged_place_ struct staged_place place = {0};
    uint64_t freed = 0;

    if (volumes->backend->find_place(volumes, call, &place_of, &place, err) < 0)
        return -1;
    if (place.facts.kind != PATH_DIRECTORY)
        return check_use(&(struct volume_capability){.type = ACCESS_TYPE_BLOCK}, err);
    if (place.facts.is_read_only)
        return error_set(err, STATUS_UNIMPLEMENTED, "it is mounted for reading only");
    if (trim_pieces(volumes->mappers.host, call, place.path, &freed, err) < 0)
        return -1;
    log_info(call, "volume '%s': %llu bytes are unused, and its device knows it", request->handle,
             (unsigned long long)freed);
    return 0;
}

int node_reclaim_space(const struct node_volumes *volumes, struct call *call,
                       const struct reclaim_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (node_check_target(request->handle, "staging_target_path", request->staging_path, err) < 0)
        return -1;
    if (check_use(&request->capability, err) < 0)
        return error_wrap(err, "reclaim space of volume '%s'", request->handle);
    if (node_begin(volumes, request->handle, call, &operation, err) < 0)
        return -1;
    if (reclaim_staged(volumes, call, request, err) < 0)
        return error_wrap(err, "reclaim space of volume '%s'", request->handle);
    return 0;
}
