#include "controller/rbd/rbd_images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/begun.h"
#include "controller/rbd/purge.h"

int image_find(struct ceph_pool *pool, struct call *call, const char *name, char **image_id,
               struct error *err)
{
    if (pool->ops->image_get_id(pool, call, name, image_id, err) == 0)
        return 0;
    if (err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    *image_id = NULL;
    return 0;
}

int snapshot_ensure(struct ceph_pool *pool, struct call *call, const char *image,
                    const char *snapshot, struct error *err)
{
    if (pool->ops->snapshot_create(pool, call, image, snapshot, err) == 0)
        return 0;
    return error_ignore(err, STATUS_ALREADY_EXISTS);
}

int snapshot_ensure_gone(struct ceph_pool *pool, struct call *call, const char *image,
                         const char *snapshot, struct error *err)
{
    if (pool->ops->snapshot_remove(pool, call, image, snapshot, err) == 0)
        return 0;
    return error_ignore(err, STATUS_NOT_FOUND);
}

int another_is_faster(struct error *err)
{
    if (err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_wrap(err, "another process of the driver is at the same");
    return error_recode(err, STATUS_ABORTED);
}

int something_interfered(struct error *err)
{
    if (err->status != STATUS_NOT_FOUND)
        return another_is_faster(err);
    error_wrap(err, "a flatten under way, or another process of the driver, interfered; retry");
    return error_recode(err, STATUS_ABORTED);
}

int image_snapshot_and_clone(struct ceph_pool *parent_pool, struct call *call, const char *parent,
                             struct ceph_pool *pool, const char *name,
                             const struct image_options *options, struct error *err)
{
    const struct ceph_ops *ops = parent_pool->ops;
    _cleanup_error_ struct error undo = {0};
    bool made = ops->snapshot_create(parent_pool, call, parent, name, err) == 0;

    if (!made && err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err);
    if (ops->image_clone(parent_pool, call, parent, name, pool, name, options, err) == 0)
        return 0;
    /* The clone is there and was not made from our snapshot, which nobody needs then. */
    if (made && err->status == STATUS_ALREADY_EXISTS &&
        snapshot_ensure_gone(parent_pool, call, parent, name, &undo) < 0)
        log_warn(call, "a snapshot stays until the image is deleted: %s", undo.message);
    return something_interfered(err);
}

/* --- images that were begun --- */

/* A clone is whole when it has its parent and the parent's snapshot knows it. A snapshot that is
 * not there any more has been moved to the trash, which is done only after the clone. */
static int clone_is_whole(struct call *call, const struct begun_image *image,
                          const struct image_facts *facts, bool *whole, struct error *err)
{
    _cleanup_string_list_ struct string_list children = {0};

    *whole = facts->has_parent;
    if (!*whole)
        return 0;
    if (image->parent_pool->ops->snapshot_children(image->parent_pool, call, image->parent,
                                                   image->snapshot, &children, err) == 0) {
        *whole = string_list_has(&children, facts->id);
        return 0;
    }
    return error_ignore(err, STATUS_NOT_FOUND);
}

static int image_is_whole(struct call *call, const struct begun_image *image, bool *whole,
                          struct error *err)
{
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (image->pool->ops->image_get_facts(image->pool, call, image->name, &facts, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* no header */
        *whole = false;
        return 0;
    }
    *whole = true;
    if (!image->parent_pool || !begun_is_written(image->extra))
        return 0;
    return clone_is_whole(call, image, &facts, whole, err);
}

int image_settle(const struct controller *controller, struct call *call,
                 const struct begun_image *image, bool *usable, struct error *err)
{
    if (image_is_whole(call, image, usable, err) < 0)
        return -1;
    if (*usable)
        return 0;
    if (begun_check_abandoned(controller, image->extra, image->name, image->pool->name, err) < 0)
        return -1;
    if (image->pool->ops->image_remove(image->pool, call, image->name, err) == 0)
        return 0;
    return error_ignore(err, STATUS_NOT_FOUND);
}

/* --- discarding --- */

/* True for PREFIX-UUID and PREFIX-UUID-temp, which this driver and Ceph-CSI give to the snapshots
 * that clones are made from. */
static bool is_clone_snapshot(const char *name)
{
    size_t length = strlen(name);
    struct uuid_text uuid;

    if (text_has_suffix(name, IMAGE_SUFFIX_CLONE))
        length -= strlen(IMAGE_SUFFIX_CLONE);
    return uuid_text_at_end(name, length, &uuid);
}

static int remove_clone_snapshots(struct ceph_pool *pool, struct call *call, const char *name,
                                  struct error *err)
{
    _cleanup_(image_snapshots_done) struct image_snapshots snapshots = {0};

    if (pool->ops->snapshot_list(pool, call, name, &snapshots, err) < 0)
        return -1;
    for (size_t i = 0; i < snapshots.count; i++) {
        const struct image_snapshot *item = &snapshots.items[i];

        if (item->kind == SNAPSHOT_TRASH)
            continue; /* goes with its last clone */
        if (item->kind != SNAPSHOT_USER || !is_clone_snapshot(item->name))
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "image '%s' in pool '%s' has snapshot '%s', which this driver did not "
                             "make; remove it first",
                             name, pool->name, item->name);
        if (snapshot_ensure_gone(pool, call, name, item->name, err) < 0)
            return -1;
    }
    return 0;
}

/* Says who uses the image, as far as Ceph knows. */
static int refuse_in_use(struct ceph_pool *pool, const char *name,
                         const struct string_list *watchers, struct error *err)
{
    _cleanup_text_ struct text clients = TEXT_INIT(512);

    for (size_t i = 0; i < watchers->count; i++)
        text_addf(&clients, "%s%s", i ? ", " : "", watchers->items[i]);
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "image '%s' in pool '%s' is in use by client %s; unmap it there first", name,
                     pool->name, text_chars(&clients));
}

static int check_unused(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err)
{
    _cleanup_string_list_ struct string_list watchers = {0};

    if (pool->ops->image_watchers(pool, call, name, &watchers, err) < 0)
        return -1;
    return watchers.count > 0 ? refuse_in_use(pool, name, &watchers, err) : 0;
}

int image_queue_trashed(struct ceph_pool *pool, struct call *call, const char *name,
                        struct strmap *queued, struct error *err)
{
    _cleanup_(trash_entries_done) struct trash_entries entries = {0};

    if (pool->ops->trash_list(pool, call, &entries, err) < 0)
        return -1;
    for (size_t i = 0; i < entries.count; i++)
        if (strcmp(entries.items[i].name, name) == 0)
            purge_add(queued, pool, entries.items[i].id, name);
    return 0;
}

/* Busy although nobody watched a moment ago: somebody has just come, perhaps another process of the
 * driver with the same in mind. The next try can say who. */
static int explain_busy(struct error *err)
{
    if (err->sys_errno == EBUSY || err->sys_errno == ESTALE)
        error_recode(err, STATUS_ABORTED);
    return -1;
}

static int move_to_trash(struct ceph_pool *pool, struct call *call, const char *name,
                         const char *image_id, struct error *err)
{
    bool has_snapshots = false;

    if (pool->ops->image_has_snapshots(pool, call, image_id, &has_snapshots, err) < 0)
        return -1;
    if (has_snapshots && remove_clone_snapshots(pool, call, name, err) < 0)
        return -1;
    if (check_unused(pool, call, name, err) < 0)
        return -1;
    if (pool->ops->trash_move(pool, call, name, err) < 0)
        return explain_busy(err);
    return 0;
}

int image_discard(struct ceph_pool *pool, struct call *call, const char *name, const char *known_id,
                  struct strmap *queued, struct error *err)
{
    _cleanup_free_ char *image_id = known_id ? xstrdup(known_id) : NULL;

    if (!image_id && image_find(pool, call, name, &image_id, err) < 0)
        return -1;
    if (image_id && move_to_trash(pool, call, name, image_id, err) == 0) {
        purge_add(queued, pool, image_id, name);
        return 0;
    }
    if (image_id && err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    return image_queue_trashed(pool, call, name, queued, err);
}
