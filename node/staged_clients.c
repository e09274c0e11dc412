/*
 * At start: a takeover fences the clients that volumes have recorded. One that an older version or
 * Ceph-CSI has staged need not have a record of this node.
 */
#include "common/base/log.h"
#include "node/backend.h"
#include "node/checks.h"
#include "node/mount_table.h"

static bool may_be_tried_again(const struct error *err)
{
    return err->status == STATUS_UNAVAILABLE || err->status == STATUS_DEADLINE_EXCEEDED ||
           err->status == STATUS_ABORTED;
}

/* What is unstaged meanwhile is not there any more. */
static int record_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                         const char *staging_path, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    return node_begin(volumes, handle, call, &operation, err) < 0
               ? -1
               : volumes->backend->record(volumes, call, handle, staging_path, err);
}

size_t node_record_clients(const struct node_volumes *volumes, struct call *call,
                           struct strmap *recorded)
{
    struct host *host = volumes->mappers.host;
    _cleanup_error_ struct error err = {0};
    _cleanup_mount_list_ struct mount_list mounts = {0};
    size_t open = 0;

    if (!mounts_list(host, call, "looking for volumes without a record of this node", &mounts))
        return 1;
    for (size_t i = 0; i < mounts.count && !call_is_cancelled(call); i++) {
        _cleanup_free_ char *handle = NULL;
        _cleanup_free_ char *path = NULL;

        error_clear(&err);
        if (volumes->backend->find_staged(volumes, &mounts.items[i], &handle, &path, &err) < 0)
            log_warn(call, "what is mounted on '%s': %s", mounts.items[i].target, err.message);
        if (!handle || strmap_has(recorded, handle))
            continue;
        if (record_volume(volumes, call, handle, path, &err) < 0) {
            if (may_be_tried_again(&err)) {
                open++;
                continue;
            }
            log_warn(call,
                     "volume '%s' may have no record of this node, and a takeover may have "
                     "to wait for it: %s",
                     handle, err.message);
        }
        strmap_set(recorded, handle, "");
    }
    return open;
}
