/* Snapshots of images, the trash, and images whose writers are held off. */
#include <errno.h>
#include <rbd/librbd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/connections.h"
#include "common/ceph/images.h"
#include "common/ceph/on_disk.h"

#define SNAPSHOTS_FIRST 64 /* librbd says when there are more */
#define TRASH_FIRST 256
#define NAME_LIMIT 4096

static int fail_snapshot(struct error *err, int result, const char *what,
                         const struct ceph_pool *pool, const char *image, const char *snapshot)
{
    return error_set_errno(err, result, "%s snapshot '%s@%s' in pool '%s'", what, image, snapshot,
                           pool->name);
}

/* The one way to take a snapshot. @flags are those of rbd_snap_create2(). */
static int make_snapshot(struct ceph_pool *pool, rbd_image_t image, const char *image_name,
                         const char *snapshot, uint32_t flags, struct error *err)
{
    _cleanup_progress_sink_ struct progress_sink nobody;
    char *cookie = NULL;

    int result = image_snapshot_begin(pool, image, &cookie);
    if (result == -EBUSY)
        return error_set(err, STATUS_ABORTED,
                         "image '%s' in pool '%s' is being detached from its ancestors, and a "
                         "snapshot that is taken meanwhile may lose data: '%s' is taken when that "
                         "is done; retry",
                         image_name, pool->name, snapshot);
    if (result < 0)
        return fail_snapshot(err, result, "mark the image of", pool, image_name, snapshot);
    progress_sink_init(&nobody, NULL, NULL);
    result = rbd_snap_create2(image, snapshot, flags, image_progress, &nobody);
    image_snapshot_end(pool, image, cookie);
    return result < 0 ? fail_snapshot(err, result, "make", pool, image_name, snapshot) : 0;
}

static int snapshot_create(struct ceph_pool *pool, struct call *call, const char *image,
                           const char *snapshot, struct error *err)
{
    _cleanup_image_ struct open_image opened = {0};

    if (image_open(pool, call, image, false, &opened, err) < 0)
        return -1;
    call_stage(call, "making snapshot '%s@%s' in pool '%s' for {age}", image, snapshot, pool->name);
    return make_snapshot(pool, opened.handle, image, snapshot, 0, err);
}

static int snapshot_remove(struct ceph_pool *pool, struct call *call, const char *image,
                           const char *snapshot, struct error *err)
{
    _cleanup_image_ struct open_image opened = {0};

    if (image_open(pool, call, image, false, &opened, err) < 0)
        return -1;
    call_stage(call, "removing snapshot '%s@%s' in pool '%s' for {age}", image, snapshot,
               pool->name);
    int result = rbd_snap_remove(opened.handle, snapshot);
    return result < 0 ? fail_snapshot(err, result, "remove", pool, image, snapshot) : 0;
}

/* --- listing --- */

static enum snapshot_namespace read_snapshot_kind(rbd_image_t image, uint64_t id)
{
    static const enum snapshot_namespace kinds[] = {
        [RBD_SNAP_NAMESPACE_TYPE_USER] = SNAPSHOT_USER,
        [RBD_SNAP_NAMESPACE_TYPE_GROUP] = SNAPSHOT_GROUP,
        [RBD_SNAP_NAMESPACE_TYPE_TRASH] = SNAPSHOT_TRASH,
        [RBD_SNAP_NAMESPACE_TYPE_MIRROR] = SNAPSHOT_MIRROR,
    };
    rbd_snap_namespace_type_t type = RBD_SNAP_NAMESPACE_TYPE_USER;

    if (rbd_snap_get_namespace_type(image, id, &type) < 0 || type >= ARRAY_LENGTH(kinds))
        return SNAPSHOT_OTHER;
    return kinds[type];
}

static void take_snapshot(rbd_image_t image, const rbd_snap_info_t *info,
                          struct image_snapshot *snapshot)
{
    char original[NAME_LIMIT] = "";

    *snapshot = (struct image_snapshot){
        .name = xstrdup(info->name),
        .kind = read_snapshot_kind(image, info->id),
    };
    if (snapshot->kind != SNAPSHOT_TRASH)
        return;
    if (rbd_snap_get_trash_namespace(image, info->id, original, sizeof(original)) < 0)
        original[0] = '\0';
    snapshot->original_name = xstrdup(original);
}

static int snapshot_list(struct ceph_pool *pool, struct call *call, const char *image,
                         struct image_snapshots *snapshots, struct error *err)
{
    _cleanup_image_ struct open_image opened = {0};
    _cleanup_free_ rbd_snap_info_t *found = NULL;
    int max = SNAPSHOTS_FIRST;
    int count = -ERANGE;

    if (image_open(pool, call, image, true, &opened, err) < 0)
        return -1;
    for (int tries = 0; count == -ERANGE && tries < 5; tries++) { /* @max becomes enough */
        found = xreallocarray(found, (size_t)max, sizeof(*found));
        count = rbd_snap_list(opened.handle, found, &max);
    }
    if (count < 0)
        return error_set_errno(err, count, "list the snapshots of image '%s' in pool '%s'", image,
                               pool->name);
    snapshots->items = xcalloc((size_t)count, sizeof(*snapshots->items));
    snapshots->count = (size_t)count;
    for (int i = 0; i < count; i++)
        take_snapshot(opened.handle, &found[i], &snapshots->items[i]);
    rbd_snap_list_end(found);
    return 0;
}

static int snapshot_children(struct ceph_pool *pool, struct call *call, const char *image,
                             const char *snapshot, struct string_list *image_ids, struct error *err)
{
    _cleanup_image_ struct open_image opened = {0};
    _cleanup_free_ rbd_linked_image_spec_t *children = NULL;
    size_t count = SNAPSHOTS_FIRST;

    if (image_open(pool, call, image, true, &opened, err) < 0)
        return -1;
    int result = rbd_snap_set(opened.handle, snapshot);
    if (result >= 0)
        result = -ERANGE;
    for (int tries = 0; result == -ERANGE && tries < 5; tries++) { /* @count becomes enough */
        children = xreallocarray(children, count, sizeof(*children));
        result = rbd_list_children3(opened.handle, children, &count);
    }
    if (result < 0)
        return fail_snapshot(err, result, "list the clones of", pool, image, snapshot);
    for (size_t i = 0; i < count; i++)
        string_list_add(image_ids, children[i].image_id);
    rbd_linked_image_spec_list_cleanup(children, count);
    return 0;
}

/* --- trash --- */

/*
 * librbd (16.2) hides why the trash did not take an image: in a full pool that has had no trash so
 * far it answers ENOENT, and the image is where it was. Callers must not believe that it is gone.
 */
static bool image_is_there(struct ceph_pool *pool, struct call *call, const char *name)
{
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};

    return pool->ops->image_get_id(pool, call, name, &id, &err) == 0 ||
           err.status != STATUS_NOT_FOUND;
}

static int trash_move(struct ceph_pool *pool, struct call *call, const char *name,
                      struct error *err)
{
    call_stage(call, "moving image '%s' in pool '%s' to the trash for {age}", name, pool->name);
    if (call_check(call, err) < 0)
        return -1;
    int result = rbd_trash_move(real_pool(pool)->io, name, 0);
    if (result == -ENOENT && image_is_there(pool, call, name))
        return error_set(
            err, STATUS_RESOURCE_EXHAUSTED,
            "move image '%s' in pool '%s' to the trash: the trash does not take it; is "
            "the pool full?",
            name, pool->name);
    if (result < 0)
        return error_set_errno(err, result, "move image '%s' in pool '%s' to the trash", name,
                               pool->name);
    return 0;
}

static int trash_list(struct ceph_pool *pool, struct call *call, struct trash_entries *entries,
                      struct error *err)
{
    _cleanup_free_ rbd_trash_image_info_t *found = NULL;
    size_t count = TRASH_FIRST;
    int result = -ERANGE;

    call_stage(call, "listing the trash of pool '%s' for {age}", pool->name);
    for (int tries = 0; result == -ERANGE && tries < 5; tries++) { /* @count becomes enough */
        found = xreallocarray(found, count, sizeof(*found));
        result = rbd_trash_list(real_pool(pool)->io, found, &count);
    }
    if (result < 0)
        return error_set_errno(err, result, "list the trash of pool '%s'", pool->name);
    entries->items = xcalloc(count, sizeof(*entries->items));
    entries->count = count;
    for (size_t i = 0; i < count; i++)
        entries->items[i] = (struct trash_entry){xstrdup(found[i].id), xstrdup(found[i].name),
                                                 found[i].deferment_end_time};
    rbd_trash_list_cleanup(found, count);
    return 0;
}

/* Why librbd does not remove it: it is not time yet, or the user may not. */
static int refuse_removal(struct ceph_pool *pool, const char *image_id, struct error *err)
{
    rbd_trash_image_info_t info;

    error_set_errno(err, -EPERM, "remove image '%s' from the trash of pool '%s'", image_id,
                    pool->name);
    if (rbd_trash_get(real_pool(pool)->io, image_id, &info) < 0)
        return -1;
    const bool is_kept = info.deferment_end_time > time(NULL);
    rbd_trash_get_cleanup(&info);
    if (!is_kept)
        return -1;
    error_wrap(err, "somebody wants it kept for some time ('rbd trash ls --long' says until when)");
    return error_recode(err, STATUS_FAILED_PRECONDITION);
}

/*
 * librbd died when it had moved the image to the trash, but not yet said so there: it refuses to
 * remove such an image for ever. Moving takes the name from the list of images last, so that
 * nothing but that word is missing once the list does not have the id. Done by the id, because the
 * name may belong to another image by now.
 */
static int finish_move(struct ceph_pool *pool, struct call *call, const char *image_id,
                       struct error *err)
{
    enum { NORMAL = 0, MOVING = 1, STATES = 2 };
    size_t id_length = 0;
    size_t length = 0;
    _cleanup_free_ char *id = object_exec_string(image_id, 0, &id_length);
    _cleanup_free_ char *change = object_exec_string(image_id, STATES, &length);
    char output[NAME_LIMIT];
    size_t output_length = 0;

    if (object_exec(pool, call, RBD_DIRECTORY, "dir_get_name", id, id_length, output,
                    sizeof(output), &output_length, err) == 0)
        return error_set(err, STATUS_ABORTED,
                         "image '%s' in pool '%s' is being moved to the trash; retry later",
                         image_id, pool->name);
    if (error_ignore(err, STATUS_NOT_FOUND) < 0)
        return -1;
    change[length - 2] = NORMAL;
    change[length - 1] = MOVING; /* what it must be before */
    return object_exec(pool, call, RBD_TRASH, "trash_state_set", change, length, output,
                       sizeof(output), &output_length, err);
}

static int trash_remove(struct ceph_pool *pool, struct call *call, const char *image_id,
                        ceph_progress progress, void *progress_object, struct error *err)
{
    call_stage(call, "removing the data of image '%s' in pool '%s' for {age}", image_id,
               pool->name);
    if (call_check(call, err) < 0)
        return -1;
    _cleanup_progress_sink_ struct progress_sink sink;
    progress_sink_init(&sink, progress, progress_object);
    int result =
        rbd_trash_remove_with_progress(real_pool(pool)->io, image_id, false, image_progress, &sink);
    if (result == -EUCLEAN) {
        if (finish_move(pool, call, image_id, err) < 0)
            return error_wrap(err, "finish its move to the trash");
        result = rbd_trash_remove_with_progress(real_pool(pool)->io, image_id, false,
                                                image_progress, &sink);
    }
    if (result == -EPERM)
        return refuse_removal(pool, image_id, err);
    if (result < 0)
        return error_set_errno(err, result, "remove image '%s' from the trash of pool '%s'",
                               image_id, pool->name);
    return 0;
}

/* --- images whose writers are held off --- */

struct real_hold {
    struct image_hold base;
    struct ceph_pool *pool; /* borrowed */
    struct open_image image;
};

static void hold_release(struct image_hold *hold)
{
    struct real_hold *real = (struct real_hold *)hold;

    image_close(&real->image); /* gives the lock back */
    free(real->base.image_name);
    free(real);
}

static int image_hold(struct ceph_pool *pool, struct call *call, const char *name,
                      struct image_hold **out, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    uint64_t features = 0;

    if (image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    call_stage(call, "waiting {age} for the exclusive lock of image '%s' in pool '%s'", name,
               pool->name);
    int result = rbd_get_features(image.handle, &features);
    if (result == 0)
        result = features & IMAGE_FEATURE_EXCLUSIVE_LOCK
                     ? rbd_lock_acquire(image.handle, RBD_LOCK_MODE_EXCLUSIVE)
                     : -EOPNOTSUPP;
    if (result == -EOPNOTSUPP)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' in pool '%s' has no feature 'exclusive-lock', without "
                         "which nothing keeps its writers still",
                         name, pool->name);
    if (result < 0)
        return error_set_errno(err, result, "lock image '%s' in pool '%s'", name, pool->name);
    struct real_hold *hold = xcalloc(1, sizeof(*hold));
    *hold = (struct real_hold){{pool->ops, xstrdup(name)}, pool, image};
    image = (struct open_image){0};
    *out = &hold->base;
    return 0;
}

static int hold_snapshot(struct image_hold *hold, struct call *call, const char *snapshot,
                         struct error *err)
{
    struct real_hold *real = (struct real_hold *)hold;

    if (call_check(call, err) < 0)
        return -1;
    /* Without quiescing: the writers cannot get the lock to empty their caches, we hold it. */
    return make_snapshot(real->pool, real->image.handle, hold->image_name, snapshot,
                         RBD_SNAP_CREATE_SKIP_QUIESCE, err);
}

void snapshots_register(struct ceph_ops *ops)
{
    ops->snapshot_create = snapshot_create;
    ops->snapshot_remove = snapshot_remove;
    ops->snapshot_list = snapshot_list;
    ops->snapshot_children = snapshot_children;
    ops->trash_move = trash_move;
    ops->trash_list = trash_list;
    ops->trash_remove = trash_remove;
    ops->image_hold = image_hold;
    ops->hold_snapshot = hold_snapshot;
    ops->hold_release = hold_release;
}
