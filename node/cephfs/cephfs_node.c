/* CephFS' part of the rpcs, but for NodeStageVolume, which has a file of its own. */
#include <errno.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "node/backend.h"
#include "node/cephfs/cephfs_staged.h"
#include "node/checks.h"
#include "node/mount_table.h"
#include "node/staged_users.h"

#define ANSWER_TIMEOUT_MS 5000

/* --- NodeUnstageVolume --- */

static int unstage_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                          const char *staging_path, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {0};

    if (cephfs_staged_look(volumes, handle, staging_path, &staged, err) < 0)
        return -1;
    bool is_alone = staged.client && !staged.is_dead && !staged.is_shared;
    if ((is_alone && check_unpublished(host, staged.path, false, err) < 0) ||
        cephfs_staged_unmount(volumes, call, &staged, err) < 0)
        return -1;
    return host->ops->remove(host, staged.info_path, err);
}

/* --- where it is staged --- */

/* What NodeStageVolume was asked for, as far as it is known; the rest is what is asked now. */
static int make_request(const struct node_volumes *volumes, struct call *call,
                        const struct publish_request *request, struct cephfs_staged *staged,
                        struct stage_request *again, struct error *err)
{
    const struct mount_info *info = &staged->info;
    const struct credentials *own =
        request->credentials.user ? &request->credentials : &info->credentials;
    const bool is_known = staged->has_info && info->capability.mode != ACCESS_UNKNOWN;

    if (staged_user_find(volumes, call, request->handle, own, again, err) < 0)
        return -1;
    again->staging_path = xstrdup(request->staging_path);
    volume_capability_copy(is_known ? &info->capability : &request->capability, &again->capability);
    strmap_merge(&again->context, &info->context);
    strmap_merge(&again->context, &request->context);
    return 0;
}

/* ceph-fuse died, perhaps with the container of a former life: the volume is staged again, if a
 * Ceph user is known. Otherwise @err says what is wrong with what is staged. */
static int mend(const struct node_volumes *volumes, struct call *call,
                const struct publish_request *request, struct cephfs_staged *staged,
                struct error *err)
{
    _cleanup_(stage_request_done) struct stage_request again = {0};
    _cleanup_error_ struct error why = {0};

    if (make_request(volumes, call, request, staged, &again, &why) < 0) {
        if (cephfs_staged_check(staged, err) < 0)
            error_hint(err, "NodePublishVolume cannot, without a Ceph user: %s", why.message);
        return -1;
    }
    log_info(call, "staging the volume anew, because %s",
             staged->is_dead ? "its client died" : "its mount is gone");
    if (cephfs_stage_volume(volumes, call, &again, err) < 0)
        return -1;
    cephfs_staged_done(staged);
    return cephfs_staged_look(volumes, request->handle, request->staging_path, staged, err);
}

static int find_place(const struct node_volumes *volumes, struct call *call,
                      const struct publish_request *request, struct staged_place *place,
                      struct error *err)
{
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {0};

    if (cephfs_staged_look(volumes, request->handle, request->staging_path, &staged, err) < 0)
        return -1;
    if ((staged.is_dead || (staged.has_info && !staged.is_mounted)) &&
        mend(volumes, call, request, &staged, err) < 0)
        return -1;
    if (cephfs_staged_check(&staged, err) < 0)
        return -1;
    *place =
        (struct staged_place){xstrdup(request->staging_path), staged.facts, staged.facts.device};
    return 0;
}

static int owns_mount(const struct node_volumes *volumes, const struct mount_entry *entry,
                      bool is_block, bool *owns, struct error *err)
{
    (void)volumes, (void)is_block, (void)err;
    *owns = cephfs_client_of(entry);
    return 0;
}

/* --- NodeGetVolumeStats --- */

/* Whether the mount at the path is this volume's. What another driver staged does not tell. */
static int is_volume(const struct node_volumes *volumes, const char *handle,
                     const struct mount_list *mounts, const struct mount_entry *entry, bool *is,
                     struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *path = cephfs_info_path(volumes, handle);
    _cleanup_mount_info_ struct mount_info info = {0};
    _cleanup_free_ char *text = NULL;

    *is = cephfs_client_of(entry);
    if (!*is)
        return 0;
    if (host->ops->read_text(host, path, &text, err) < 0 ||
        (text && mount_info_parse(text, &info, err) < 0))
        return -1;
    const struct mount_entry *staged =
        info.staging_path ? mount_on_top(mounts, info.staging_path) : NULL;
    if (staged && strcmp(entry->target, info.staging_path) != 0)
        *is = staged->device == entry->device;
    return 0;
}

/* The mount table knows what is mounted without asking it, which might hang. */
static int get_stats(const struct node_volumes *volumes, struct call *call, const char *handle,
                     const char *volume_path, struct volume_stats *stats, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    bool is = false;

    (void)call;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    const struct mount_entry *entry = mount_on_top(&mounts, volume_path);
    if (entry && is_volume(volumes, handle, &mounts, entry, &is, err) < 0)
        return -1;
    if (!is)
        return node_volume_not_there(handle, volume_path, err);
    if (io_check_folder(volumes->io_checks, volume_path, ANSWER_TIMEOUT_MS, err) < 0 ||
        host->ops->usage(host, volume_path, &stats->usage, err) < 0)
        return volume_stats_failed(stats, err);
    stats->has_usage = true;
    return 0;
}

const struct node_backend CEPHFS_NODE_BACKEND = {
    .type = "cephfs",
    .thing = "mount of CephFS",
    .check_capabilities = capability_list_check_cephfs,
    .stage = cephfs_stage_volume,
    .unstage = unstage_volume,
    .find_place = find_place,
    .owns_mount = owns_mount,
    .get_stats = get_stats,
    .recover = cephfs_recover,
    .revive = cephfs_revive,
};
