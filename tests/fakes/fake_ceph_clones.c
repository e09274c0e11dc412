#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"

/*
 * Clones of format 2 and the trash of images, because the links between parents and children decide
 * what can leave it. A child hangs on a snapshot of its parent as long as the child itself or one
 * of its snapshots reads from there. Neither the snapshot nor the parent can go away before: the
 * snapshot waits in the parent's snapshot trash, the parent in the pool's trash.
 */

/* --- links --- */

void fake_snapshot_drop(struct fake_ceph *fake, struct fake_image *image, uint64_t snapshot_id)
{
    struct fake_snapshot *snapshot = fake_snapshot_find_id(image, snapshot_id);
    size_t behind = image->snapshot_count - (size_t)(snapshot - image->snapshots) - 1;

    fake_snapshot_done(snapshot);
    memmove(snapshot, snapshot + 1, behind * sizeof(*snapshot));
    image->snapshot_count--;
    fake_image_unlink(fake, image);
}

static bool needs_parent(const struct fake_image *image)
{
    bool needed = image->has_parent;

    for (size_t i = 0; i < image->snapshot_count && !needed; i++)
        needed = image->snapshots[i].has_parent;
    return needed;
}

void fake_image_unlink(struct fake_ceph *fake, struct fake_image *child)
{
    struct fake_image *parent = child->parent;

    if (!parent || needs_parent(child))
        return;
    child->parent = NULL;
    const struct fake_snapshot *snapshot = fake_snapshot_find_id(parent, child->parent_snapshot_id);
    if (snapshot->kind == SNAPSHOT_TRASH && !fake_snapshot_has_children(fake, parent, snapshot->id))
        fake_snapshot_drop(fake, parent, snapshot->id);
}

/* --- clones --- */

/* What librbd takes from the parent when the caller does not say; never the data pool. */
static struct image_options inherit_options(const struct image_options *options,
                                            const struct fake_image *parent)
{
    struct image_options all = *options;

    if (all.features == IMAGE_FEATURES_DEFAULT)
        all.features = parent->features & ~(uint64_t)FEATURE_DATA_POOL;
    if (all.object_order == 0)
        all.object_order = parent->object_order;
    if (all.stripe_unit == 0)
        all.stripe_unit = parent->stripe_unit;
    if (all.stripe_count == 0)
        all.stripe_count = parent->stripe_count;
    return all;
}

static int add_clone(struct fake_ceph *fake, struct fake_image *parent,
                     const struct fake_snapshot *snapshot, const struct ceph_pool *pool,
                     const char *name, const struct image_options *options, struct error *err)
{
    struct image_options all = inherit_options(options, parent);
    struct fake_image *child = NULL;

    if (!(parent->features & FEATURE_LAYERING) || !(all.features & FEATURE_LAYERING))
        return fake_refuse(err, -ENOSYS, pool, "clone without layering", name);
    if (fake_image_add(fake, pool, name, snapshot->size_bytes, &all, &child, err) < 0)
        return -1;
    strmap_merge(&child->metadata, &parent->metadata);
    child->parent = parent;
    child->parent_snapshot_id = snapshot->id;
    child->has_parent = true;
    return 0;
}

static int image_clone(struct ceph_pool *parent_pool, struct call *call, const char *parent,
                       const char *snapshot, struct ceph_pool *pool, const char *name,
                       const struct image_options *options, struct error *err)
{
    struct fake_step step;
    struct fake_image *found =
        fake_image_begin(&step, parent_pool, call, "image_clone", parent, err);
    int result = 0;

    if (!found)
        return -1;
    const struct fake_snapshot *source = fake_snapshot_find(found, snapshot);
    if (source) {
        result = add_clone(step.fake, found, source, pool, name, options, err);
    } else {
        fake_refuse(err, -ENOENT, parent_pool, "image", parent);
        result = error_wrap(err, "clone snapshot '%s'", snapshot);
    }
    return fake_step_end(&step, result, err);
}

/* --- long operations --- */

/* Reports half of the work. False when the caller wants it stopped. */
static bool report_progress(struct fake_step *step, ceph_progress progress, void *object)
{
    bool goes_on = true;

    if (!progress)
        return true;
    fake_step_pause(step);
    for (int percent = 0; percent <= 50 && goes_on; percent += 25)
        goes_on = progress(object, percent) == 0;
    fake_step_resume(step);
    return goes_on;
}

static int refuse_stopped(struct error *err, const struct ceph_pool *pool, const char *name)
{
    fake_refuse(err, -ECANCELED, pool, "image", name);
    return error_recode(err, STATUS_CANCELLED);
}

/* Snapshots of the image go on reading from the parent unless the image has deep-flatten. */
static void flatten(struct fake_ceph *fake, struct fake_image *image)
{
    image->has_parent = false;
    for (size_t i = 0; i < image->snapshot_count; i++)
        if (image->features & FEATURE_DEEP_FLATTEN)
            image->snapshots[i].has_parent = false;
    fake_image_unlink(fake, image);
}

static int image_flatten(struct ceph_pool *pool, struct call *call, const char *name,
                         ceph_progress progress, void *progress_object, struct error *err)
{
    struct fake_step step;
    struct fake_image *image = fake_image_begin(&step, pool, call, "image_flatten", name, err);
    int result = 0;

    if (!image)
        return -1;
    bool goes_on = !image->has_parent || report_progress(&step, progress, progress_object);
    /* others may have changed or removed it meanwhile */
    image = fake_image_find(step.fake, pool->id, pool->rados_namespace, name);
    if (!goes_on)
        result = refuse_stopped(err, pool, name);
    else if (!image)
        result = fake_refuse(err, -ENOENT, pool, "image", name);
    else
        flatten(step.fake, image);
    return fake_step_end(&step, result, err);
}

/* What it counts as written is zeros. */
static int image_sparsify(struct ceph_pool *pool, struct call *call, const char *name,
                          struct error *err)
{
    struct fake_step step;
    struct fake_image *image = fake_image_begin(&step, pool, call, "image_sparsify", name, err);

    if (!image)
        return -1;
    image->has_data = false;
    return fake_step_end(&step, 0, err);
}

/* --- trash --- */

static bool is_in_use(const struct fake_image *image)
{
    return image->watchers.count > 0 || image->holder;
}

static int trash_move(struct ceph_pool *pool, struct call *call, const char *name,
                      struct error *err)
{
    struct fake_step step;
    struct fake_image *image = fake_image_begin_listed(&step, pool, call, "trash_move", name, err);
    int result = 0;

    if (!image)
        return -1;
    if (is_in_use(image))
        result = fake_refuse(err, -EBUSY, pool, "image", name);
    else if (image->mirroring.is_enabled && !image->mirroring.is_primary)
        result = fake_refuse(err, -EINVAL, pool, "image", name);
    else
        image->in_trash = true;
    return fake_step_end(&step, result, err);
}

static bool is_trash_of(const struct fake_image *image, const struct ceph_pool *pool)
{
    return image->in_trash && image->pool_id == pool->id &&
           strcmp(image->rados_namespace, pool->rados_namespace) == 0;
}

static int trash_list(struct ceph_pool *pool, struct call *call, struct trash_entries *entries,
                      struct error *err)
{
    struct trash_entries copies = {0};
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "trash_list", err) < 0)
        return -1;
    copies.items = xcalloc(step.fake->image_count + 1, sizeof(*copies.items));
    for (size_t i = 0; i < step.fake->image_count; i++) {
        const struct fake_image *image = step.fake->images[i];

        if (is_trash_of(image, pool))
            copies.items[copies.count++] = (struct trash_entry){.id = xstrdup(image->id),
                                                                .name = xstrdup(image->name),
                                                                .kept_until = image->kept_until};
    }
    if (fake_step_end(&step, 0, err) < 0) {
        trash_entries_done(&copies);
        return -1;
    }
    *entries = copies;
    return 0;
}

/* Place in the list of images; image_count if it is not in the trash. */
static size_t find_in_trash(const struct fake_ceph *fake, const struct ceph_pool *pool,
                            const char *image_id)
{
    size_t i = 0;

    while (i < fake->image_count &&
           !(is_trash_of(fake->images[i], pool) && strcmp(fake->images[i]->id, image_id) == 0))
        i++;
    return i;
}

static void remove_image(struct fake_ceph *fake, size_t at)
{
    struct fake_image *image = fake->images[at];

    image->has_parent = false;
    fake_image_unlink(fake, image);
    fake->image_count--;
    memmove(fake->images + at, fake->images + at + 1,
            (fake->image_count - at) * sizeof(struct fake_image *));
    fake_image_free(image);
}

/* The negative errno with which librbd refuses to remove what is at @at, or 0. */
static int check_removal(const struct fake_ceph *fake, size_t at)
{
    if (at == fake->image_count)
        return -ENOENT;
    if (fake->images[at]->in_trash && fake->images[at]->kept_until > time(NULL))
        return -EPERM;
    if (is_in_use(fake->images[at]))
        return -EBUSY;
    if (fake->images[at]->in_trash && fake->images[at]->removal_errno)
        return fake->images[at]->removal_errno;
    return fake->images[at]->snapshot_count > 0 ? -ENOTEMPTY : 0;
}

static int trash_remove(struct ceph_pool *pool, struct call *call, const char *image_id,
                        ceph_progress progress, void *progress_object, struct error *err)
{
    struct fake_step step;
    bool goes_on = true;
    int result = 0;

    if (fake_step_begin_in_pool(&step, pool, call, "trash_remove", err) < 0)
        return -1;
    int refused = check_removal(step.fake, find_in_trash(step.fake, pool, image_id));
    if (refused == 0)
        goes_on = report_progress(&step, progress, progress_object);
    /* again: others may have changed it meanwhile */
    size_t at = find_in_trash(step.fake, pool, image_id);
    refused = check_removal(step.fake, at);
    if (!goes_on)
        result = refuse_stopped(err, pool, image_id);
    else if (refused < 0)
        result = fake_refuse(err, refused, pool, "trashed image", image_id);
    else
        remove_image(step.fake, at);
    if (goes_on && refused == -EPERM && step.fake->images[at]->removal_errno == 0)
        error_recode(err, STATUS_FAILED_PRECONDITION);
    return fake_step_end(&step, result, err);
}

static int image_remove(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err)
{
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin_listed(&step, pool, call, "image_remove", name, err);
    size_t at = 0;
    int result = 0;

    if (!image)
        return -1;
    while (step.fake->images[at] != image)
        at++;
    int refused = check_removal(step.fake, at);
    if (refused < 0)
        result = fake_refuse(err, refused, pool, "image", name);
    else
        remove_image(step.fake, at);
    return fake_step_end(&step, result, err);
}

void fake_clone_ops(struct ceph_ops *ops)
{
    ops->image_remove = image_remove;
    ops->image_clone = image_clone;
    ops->image_flatten = image_flatten;
    ops->image_sparsify = image_sparsify;
    ops->trash_move = trash_move;
    ops->trash_list = trash_list;
    ops->trash_remove = trash_remove;
}
