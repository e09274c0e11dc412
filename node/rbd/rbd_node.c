/* RBD's part of the rpcs; NodeStageVolume and NodeExpandVolume have files of their own. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "node/backend.h"
#include "node/mount_table.h"
#include "node/rbd/rbd_staged.h"

#define READ_TIMEOUT_MS 5000

/* --- NodeUnstageVolume --- */

/* Something is mounted, but no image-meta.json says what: it goes only if a mapper knows its
 * device, and is unmapped if the device is enough for that. (Other mappers find exports that
 * nobody uses when the driver starts.) */
static int adopt_mount(const struct node_volumes *volumes, struct rbd_staged *staged,
                       struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    const struct mount_entry *entry = NULL;
    const struct mapper *mapper = NULL;

    if (staged->has_meta || !staged->facts.is_mount_point)
        return 0;
    if (mount_find(host, staged->path, &mounts, &entry, err) < 0)
        return -1;
    const char *device =
        entry ? rbd_mounted_device(entry, staged->facts.kind == PATH_BLOCK_DEVICE) : "?";
    if (mapper_of_device(&volumes->mappers, device, &mapper, err) < 0)
        return -1;
    if (!mapper)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "'%s' is a mount of '%s', which is no RBD device of this driver",
                         staged->path, device);
    if (!mapper->unmaps_by_device)
        return 0;
    staged->mapper = mapper;
    staged->meta.unmap_options = xstrdup("");
    staged->mapped.device = xasprintf("%s%s", text_has_prefix(device, "/") ? "" : "/dev/", device);
    return 0;
}

static int unstage_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                          const char *staging_path, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_rbd_staged_ struct rbd_staged staged = {0};

    if (rbd_staged_look(volumes, call, handle, staging_path, &staged, err) < 0)
        return -1;
    if (staged.has_meta) {
        const struct image_spec spec = rbd_staged_spec(&staged);

        if (rbd_staged_begin(volumes, call, &spec, &operation, err) < 0)
            return -1;
        rbd_staged_done(&staged); /* another volume of the image may have been at it */
        if (rbd_staged_look(volumes, call, handle, staging_path, &staged, err) < 0)
            return -1;
    }
    if (staged.meta.is_encrypted)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "it is encrypted, which this driver cannot close yet; the driver that "
                         "staged it can");
    bool is_alive = staged.facts.is_mount_point && !staged.is_dead && !staged.mapped.is_dead;
    if ((is_alive && check_unpublished(volumes->mappers.host, staged.path,
                                       staged.facts.kind == PATH_BLOCK_DEVICE, err) < 0) ||
        adopt_mount(volumes, &staged, err) < 0)
        return -1;
    return rbd_staged_remove(volumes, call, &staged, err);
}

/* --- NodePublishVolume, NodeUnpublishVolume --- */

static int find_place(const struct node_volumes *volumes, struct call *call,
                      const struct publish_request *request, struct staged_place *place,
                      struct error *err)
{
    _cleanup_rbd_staged_ struct rbd_staged staged = {0};

    if (rbd_staged_look(volumes, call, request->handle, request->staging_path, &staged, err) < 0 ||
        rbd_staged_check(&staged, request->handle, err) < 0)
        return -1;
    *place = (struct staged_place){
        .facts = staged.facts,
        .device = staged.device.number,
        .has_cgroup_limits = staged.mapper && staged.mapper->has_cgroup_limits,
    };
    place->path = TAKE(staged.path);
    return 0;
}

static int owns_mount(const struct node_volumes *volumes, const struct mount_entry *entry,
                      bool is_block, bool *owns, struct error *err)
{
    const struct mapper *mapper = NULL;

    if (mapper_of_device(&volumes->mappers, rbd_mounted_device(entry, is_block), &mapper, err) < 0)
        return -1;
    *owns = mapper;
    return 0;
}

/* --- NodeGetVolumeStats --- */

static int get_stats(const struct node_volumes *volumes, struct call *call, const char *handle,
                     const char *path, struct volume_stats *stats, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_rbd_staged_ struct rbd_staged staged = {0};
    struct path_facts facts;

    if (host->ops->look(host, path, &facts, err) < 0)
        return volume_stats_failed(stats, err);
    if (rbd_staged_look_from(volumes, call, handle, path, &facts, &staged, err) < 0)
        return -1;
    /* The device has to answer a read; a file system's figures come from memory, and prove nothing.
     */
    if (rbd_staged_check(&staged, "", err) < 0 ||
        io_check(volumes->io_checks, staged.mapped.device, READ_TIMEOUT_MS, err) < 0)
        volume_stats_set_abnormal(stats, err);
    stats->has_inodes = facts.kind != PATH_BLOCK_DEVICE;
    if (!stats->has_inodes)
        stats->usage.total_bytes = staged.device.size_bytes;
    else if (host->ops->usage(host, path, &stats->usage, err) < 0)
        return volume_stats_failed(stats, err);
    stats->has_usage = true;
    return 0;
}

/* --- at start --- */

static void recover_mappings(const struct node_volumes *volumes, struct call *call)
{
    for (size_t i = 0; MAPPERS[i]; i++) {
        _cleanup_error_ struct error err = {0};

        if (MAPPERS[i]->recover && MAPPERS[i]->recover(&volumes->mappers, call, &err) < 0)
            log_warn(call, "looking for what a previous run left: %s", err.message);
    }
}

const struct node_backend RBD_NODE_BACKEND = {
    .type = "rbd",
    .thing = "RBD device",
    .check_capabilities = capability_list_check_rbd,
    .stage = rbd_stage_volume,
    .unstage = unstage_volume,
    .find_place = find_place,
    .published = rbd_limit_published,
    .owns_mount = owns_mount,
    .get_stats = get_stats,
    .expand = rbd_expand_volume,
    .recover = recover_mappings,
    .find_staged = rbd_find_staged,
    .record = rbd_record_client,
    .revive = rbd_revive_volumes,
    .refresh = rbd_refresh_limits,
};
