/* Images that rbd-mirror copies to another cluster, or from one. */
#include <errno.h>
#include <rbd/librbd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/connections.h"
#include "common/ceph/images.h"
#include "common/ceph/on_disk.h"

#define ENTRY_LIMIT 4096 /* mode, state, an id */

/* Whether the pool's list of mirrored images has it. Few pools have such a list at all, and no
 * image has to be opened to read it. */
static int is_listed(struct ceph_pool *pool, struct call *call, const char *image_id, bool *listed,
                     struct error *err)
{
    size_t length = 0;
    _cleanup_free_ char *input = object_exec_string(image_id, 0, &length);
    char output[ENTRY_LIMIT];
    size_t output_length = 0;

    *listed = object_exec(pool, call, RBD_MIRRORING, "mirror_image_get", input, length, output,
                          sizeof(output), &output_length, err) == 0;
    return *listed ? 0 : error_ignore(err, STATUS_NOT_FOUND);
}

static int image_get_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                               const char *image_id, struct image_mirroring *mirroring,
                               struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    rbd_mirror_image_info_t info = {0};
    bool listed = false;

    if (is_listed(pool, call, image_id, &listed, err) < 0)
        return -1;
    *mirroring = (struct image_mirroring){0};
    if (!listed)
        return 0;
    if (image_open(pool, call, name, true, &image, err) < 0)
        return -1;
    int result = rbd_mirror_image_get_info(image.handle, &info, sizeof(info));
    if (result < 0)
        return error_set_errno(err, result, "ask whether image '%s' in pool '%s' is mirrored", name,
                               pool->name);
    mirroring->is_enabled = info.state != RBD_MIRROR_IMAGE_DISABLED;
    mirroring->is_primary = mirroring->is_enabled && info.primary;
    mirroring->is_ending = info.state == RBD_MIRROR_IMAGE_DISABLING;
    rbd_mirror_image_get_info_cleanup(&info);
    return 0;
}

/* --- what rbd-mirror is told --- */

/* librbd would only say that the argument is invalid. */
static int check_pool_mode(struct ceph_pool *pool, struct error *err)
{
    rbd_mirror_mode_t mode = RBD_MIRROR_MODE_DISABLED;
    int result = rbd_mirror_mode_get(real_pool(pool)->io, &mode);

    if (result < 0)
        return error_set_errno(err, result, "ask how pool '%s' is mirrored", pool->name);
    if (mode == RBD_MIRROR_MODE_IMAGE)
        return 0;
    return error_set(
        err, STATUS_FAILED_PRECONDITION,
        "pool '%s'%s%s is %s; set it up with 'rbd mirror pool enable %s%s%s image'", pool->name,
        pool->rados_namespace[0] ? ", namespace " : "", pool->rados_namespace,
        mode == RBD_MIRROR_MODE_POOL ? "mirrored as a whole, not image by image" : "not mirrored",
        pool->name, pool->rados_namespace[0] ? "/" : "", pool->rados_namespace);
}

static int add_journal(rbd_image_t image)
{
    uint64_t features = 0;
    int result = rbd_get_features(image, &features);

    if (result < 0 || (features & RBD_FEATURE_JOURNALING))
        return result;
    if (!(features & RBD_FEATURE_EXCLUSIVE_LOCK))
        result = rbd_update_features(image, RBD_FEATURE_EXCLUSIVE_LOCK, 1);
    return result < 0 ? result : rbd_update_features(image, RBD_FEATURE_JOURNALING, 1);
}

static int image_enable_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                                  enum mirroring_mode mode, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    const bool has_journal = mode == MIRRORING_JOURNAL;

    if (check_pool_mode(pool, err) < 0 || image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    int result = has_journal ? add_journal(image.handle) : 0;
    if (result == 0)
        result =
            rbd_mirror_image_enable2(image.handle, has_journal ? RBD_MIRROR_IMAGE_MODE_JOURNAL
                                                               : RBD_MIRROR_IMAGE_MODE_SNAPSHOT);
    if (result == -EINVAL && image_has_parent(image.handle))
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' in pool '%s' is a clone of an image that is not mirrored; "
                         "detach it first ('flattenMode: force' in the class does so)",
                         name, pool->name);
    return result < 0
               ? error_set_errno(err, result, "mirror image '%s' in pool '%s'", name, pool->name)
               : 0;
}

/* Opens the image, does one thing to it, and tells what failed. */
static int change_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                            int (*change)(rbd_image_t image, bool force), bool force,
                            const char *what, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};

    if (image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    call_stage(call, "busy for {age}: %s image '%s' in pool '%s'", what, name, pool->name);
    int result = change(image.handle, force);
    return result < 0
               ? error_set_errno(err, result, "%s image '%s' in pool '%s'", what, name, pool->name)
               : 0;
}

static int image_disable_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                                   bool force, struct error *err)
{
    return change_mirroring(pool, call, name, rbd_mirror_image_disable, force,
                            "end the mirroring of", err);
}

static int image_promote(struct ceph_pool *pool, struct call *call, const char *name, bool force,
                         struct error *err)
{
    if (change_mirroring(pool, call, name, rbd_mirror_image_promote, force, "promote", err) == 0)
        return 0;
    if (err->sys_errno == EBUSY)
        error_hint(err, "it is primary in another cluster, or was there when last heard of; "
                        "demote it there, or force this");
    return -1;
}

static int demote(rbd_image_t image, bool force)
{
    (void)force;
    return rbd_mirror_image_demote(image);
}

static int image_demote(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err)
{
    return change_mirroring(pool, call, name, demote, false, "demote", err);
}

static int resync(rbd_image_t image, bool force)
{
    (void)force;
    return rbd_mirror_image_resync(image);
}

static int image_resync(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err)
{
    return change_mirroring(pool, call, name, resync, false, "copy anew", err);
}

/* --- what rbd-mirror says --- */

static enum mirror_state state_of(rbd_mirror_image_status_state_t state)
{
    switch (state) {
    case MIRROR_IMAGE_STATUS_STATE_ERROR:
        return MIRROR_ERROR;
    case MIRROR_IMAGE_STATUS_STATE_SYNCING:
    case MIRROR_IMAGE_STATUS_STATE_STARTING_REPLAY:
        return MIRROR_SYNCING;
    case MIRROR_IMAGE_STATUS_STATE_REPLAYING:
        return MIRROR_REPLAYING;
    case MIRROR_IMAGE_STATUS_STATE_STOPPING_REPLAY:
    case MIRROR_IMAGE_STATUS_STATE_STOPPED:
        return MIRROR_STOPPED;
    case MIRROR_IMAGE_STATUS_STATE_UNKNOWN:
        break;
    }
    return MIRROR_UNKNOWN;
}

static int image_mirror_sites(struct ceph_pool *pool, struct call *call, const char *name,
                              struct mirror_sites *sites, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    rbd_mirror_image_global_status_t status = {0};

    if (image_open(pool, call, name, true, &image, err) < 0)
        return -1;
    int result = rbd_mirror_image_get_global_status(image.handle, &status, sizeof(status));
    if (result < 0)
        return error_set_errno(err, result, "ask how image '%s' in pool '%s' is mirrored", name,
                               pool->name);
    for (size_t i = 0; i < status.site_statuses_count; i++) {
        const rbd_mirror_image_site_status_t *site = &status.site_statuses[i];

        *array_add(sites->items, sites->count) = (struct mirror_site){
            .is_local = strcmp(site->mirror_uuid, RBD_MIRROR_IMAGE_STATUS_LOCAL_MIRROR_UUID) == 0,
            .is_up = site->up,
            .state = state_of(site->state),
            .description = xstrdup(site->description),
        };
    }
    rbd_mirror_image_global_status_cleanup(&status);
    return 0;
}

void mirroring_register(struct ceph_ops *ops)
{
    ops->image_get_mirroring = image_get_mirroring;
    ops->image_enable_mirroring = image_enable_mirroring;
    ops->image_disable_mirroring = image_disable_mirroring;
    ops->image_promote = image_promote;
    ops->image_demote = image_demote;
    ops->image_resync = image_resync;
    ops->image_mirror_sites = image_mirror_sites;
}
