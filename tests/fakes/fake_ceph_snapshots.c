#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"

/* Snapshots of images, and what the test can say about other clients of an image. */

void fake_snapshot_done(struct fake_snapshot *snapshot)
{
    free(snapshot->name);
    free(snapshot->original_name);
}

struct fake_snapshot *fake_snapshot_find(const struct fake_image *image, const char *name)
{
    for (size_t i = 0; i < image->snapshot_count; i++)
        if (image->snapshots[i].kind == SNAPSHOT_USER &&
            strcmp(image->snapshots[i].name, name) == 0)
            return &image->snapshots[i];
    return NULL;
}

struct fake_snapshot *fake_snapshot_find_id(const struct fake_image *image, uint64_t id)
{
    for (size_t i = 0; i < image->snapshot_count; i++)
        if (image->snapshots[i].id == id)
            return &image->snapshots[i];
    return NULL;
}

void fake_snapshot_add(struct fake_ceph *fake, struct fake_image *image, const char *name,
                       enum snapshot_namespace kind)
{
    image->snapshots =
        xreallocarray(image->snapshots, image->snapshot_count + 1, sizeof(*image->snapshots));
    image->snapshots[image->snapshot_count++] = (struct fake_snapshot){
        .id = ++fake->last_snapshot,
        .name = xstrdup(name),
        .kind = kind,
        .size_bytes = image->size_bytes,
        .has_parent = image->has_parent,
    };
}

bool fake_snapshot_has_children(const struct fake_ceph *fake, const struct fake_image *image,
                                uint64_t snapshot_id)
{
    for (size_t i = 0; i < fake->image_count; i++)
        if (fake->images[i]->parent == image && fake->images[i]->parent_snapshot_id == snapshot_id)
            return true;
    return false;
}

static int snapshot_create(struct ceph_pool *pool, struct call *call, const char *image,
                           const char *snapshot, struct error *err)
{
    struct fake_step step;
    struct fake_image *found = fake_image_begin(&step, pool, call, "snapshot_create", image, err);
    int result = 0;

    if (!found)
        return -1;
    if (fake_snapshot_find(found, snapshot)) {
        fake_refuse(err, -EEXIST, pool, "image", image);
        result = error_wrap(err, "create snapshot '%s'", snapshot);
    } else {
        fake_snapshot_add(step.fake, found, snapshot, SNAPSHOT_USER);
    }
    return fake_step_end(&step, result, err);
}

/* The name in the trash has the form of a uuid, as librbd's has. */
static void move_to_snapshot_trash(struct fake_snapshot *snapshot)
{
    snapshot->kind = SNAPSHOT_TRASH;
    snapshot->original_name = snapshot->name;
    snapshot->name = xasprintf("7a5e0000-0000-4000-8000-%012llx", (unsigned long long)snapshot->id);
}

static int snapshot_remove(struct ceph_pool *pool, struct call *call, const char *image,
                           const char *snapshot, struct error *err)
{
    struct fake_step step;
    struct fake_image *found = fake_image_begin(&step, pool, call, "snapshot_remove", image, err);
    int result = 0;

    if (!found)
        return -1;
    struct fake_snapshot *removed = fake_snapshot_find(found, snapshot);
    if (!removed) {
        fake_refuse(err, -ENOENT, pool, "image", image);
        result = error_wrap(err, "remove snapshot '%s'", snapshot);
    } else if (fake_snapshot_has_children(step.fake, found, removed->id)) {
        move_to_snapshot_trash(removed);
    } else {
        fake_snapshot_drop(step.fake, found, removed->id);
    }
    return fake_step_end(&step, result, err);
}

static void copy_snapshots(const struct fake_image *image, struct image_snapshots *copies)
{
    copies->items = xcalloc(image->snapshot_count + 1, sizeof(*copies->items));
    for (size_t i = 0; i < image->snapshot_count; i++) {
        const struct fake_snapshot *snapshot = &image->snapshots[i];
        const char *original = snapshot->original_name;

        copies->items[copies->count++] = (struct image_snapshot){
            .name = xstrdup(snapshot->name),
            .kind = snapshot->kind,
            .original_name = original ? xstrdup(original) : NULL,
        };
    }
}

static int snapshot_list(struct ceph_pool *pool, struct call *call, const char *image,
                         struct image_snapshots *snapshots, struct error *err)
{
    struct image_snapshots copies = {0};
    struct fake_step step;
    const struct fake_image *found =
        fake_image_begin(&step, pool, call, "snapshot_list", image, err);

    if (!found)
        return -1;
    copy_snapshots(found, &copies);
    if (fake_step_end(&step, 0, err) < 0) {
        image_snapshots_done(&copies);
        return -1;
    }
    *snapshots = copies;
    return 0;
}

static int snapshot_children(struct ceph_pool *pool, struct call *call, const char *image,
                             const char *snapshot, struct string_list *image_ids, struct error *err)
{
    struct fake_step step;
    const struct fake_image *found =
        fake_image_begin(&step, pool, call, "snapshot_children", image, err);
    int result = 0;

    if (!found)
        return -1;
    const struct fake_snapshot *parent = fake_snapshot_find(found, snapshot);
    if (!parent)
        result = fake_refuse(err, -ENOENT, pool, "snapshot", snapshot);
    for (size_t i = 0; parent && i < step.fake->image_count; i++) {
        const struct fake_image *child = step.fake->images[i];

        if (child->parent == found && child->parent_snapshot_id == parent->id)
            string_list_add(image_ids, child->id);
    }
    return fake_step_end(&step, result, err);
}

void fake_snapshot_ops(struct ceph_ops *ops)
{
    ops->snapshot_children = snapshot_children;
    ops->snapshot_create = snapshot_create;
    ops->snapshot_remove = snapshot_remove;
    ops->snapshot_list = snapshot_list;
}

/* --- what other clients do --- */

struct fake_image *fake_image_named(const struct fake_ceph *fake, const char *pool,
                                    const char *image)
{
    const char *slash = strchrnul(pool, '/');
    _cleanup_free_ char *pool_name = xstrndup(pool, (size_t)(slash - pool));
    const struct fake_pool *found = fake_pool_find(fake, pool_name);

    assert(found);
    struct fake_image *named =
        fake_image_find(fake, found->id, *slash == '/' ? slash + 1 : "", image);
    assert(named);
    return named;
}

void fake_ceph_set_watcher(struct fake_ceph *fake, const char *pool, const char *image,
                           const char *address)
{
    pthread_mutex_lock(&fake->lock);
    struct fake_image *found = fake_image_named(fake, pool, image);
    if (address)
        string_list_add(&found->watchers, address);
    else
        string_list_done(&found->watchers);
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_cut_image(struct fake_ceph *fake, const char *pool, const char *image)
{
    pthread_mutex_lock(&fake->lock);
    struct fake_image *found = fake_image_named(fake, pool, image);
    while (found->snapshot_count > 0)
        fake_snapshot_drop(fake, found, found->snapshots[0].id);
    found->is_half = true;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_cut_object_map(struct fake_ceph *fake, const char *pool, const char *image)
{
    pthread_mutex_lock(&fake->lock);
    fake_image_named(fake, pool, image)->lacks_map = true;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_set_locker(struct fake_ceph *fake, const char *pool, const char *image,
                          const char *locker)
{
    pthread_mutex_lock(&fake->lock);
    struct fake_image *found = fake_image_named(fake, pool, image);
    if (locker)
        string_list_add(&found->lockers, locker);
    else
        string_list_done(&found->lockers);
    pthread_mutex_unlock(&fake->lock);
}

/* In the trash or not. */
static struct fake_image *find_anywhere(struct fake_ceph *fake, const char *pool, const char *image)
{
    const int64_t pool_id = fake_pool_find(fake, pool)->id;
    size_t i = 0;

    while (fake->images[i]->pool_id != pool_id || strcmp(fake->images[i]->name, image) != 0)
        i++;
    return fake->images[i];
}

void fake_ceph_trash_until(struct fake_ceph *fake, const char *pool, const char *image,
                           time_t until)
{
    pthread_mutex_lock(&fake->lock);
    struct fake_image *found = find_anywhere(fake, pool, image);
    found->in_trash = true;
    found->kept_until = until;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_refuse_removal(struct fake_ceph *fake, const char *pool, const char *image,
                              int negative_errno)
{
    pthread_mutex_lock(&fake->lock);
    find_anywhere(fake, pool, image)->removal_errno = negative_errno;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_set_data(struct fake_ceph *fake, const char *pool, const char *image)
{
    pthread_mutex_lock(&fake->lock);
    fake_image_named(fake, pool, image)->has_data = true;
    pthread_mutex_unlock(&fake->lock);
}

bool fake_ceph_has_data(struct fake_ceph *fake, const char *pool, const char *image)
{
    pthread_mutex_lock(&fake->lock);
    bool has_data = fake_image_named(fake, pool, image)->has_data;
    pthread_mutex_unlock(&fake->lock);
    return has_data;
}

void fake_ceph_add_snapshot(struct fake_ceph *fake, const char *pool, const char *image,
                            const char *snapshot, enum snapshot_namespace kind)
{
    pthread_mutex_lock(&fake->lock);
    fake_snapshot_add(fake, fake_image_named(fake, pool, image), snapshot, kind);
    pthread_mutex_unlock(&fake->lock);
}
