#include "controller/rbd/rbd_images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/volume/image_clients.h"
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

int image_find_listed(struct ceph_pool *pool, struct call *call, const char *name, char **image_id,
                      struct error *err)
{
    *image_id = NULL;
    if (pool->ops->image_get_listed_id(pool, call, name, image_id, err) == 0)
        return 0;
    return error_ignore(err, STATUS_NOT_FOUND);
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

/* The same after a failure to clone an image that was there a moment ago. It may also be that the
 * image is being flattened, or that its snapshot has served another process and is gone. */
static int something_interfered(struct error *err)
{
    if (err->status != STATUS_NOT_FOUND)
        return another_is_faster(err);
    error_wrap(err, "a flatten under way, or another process of the driver, interfered; retry");
    return error_recode(err, STATUS_ABORTED);
}

/* A user's snapshot of that name; what cannot be listed is taken to be there. */
static bool snapshot_is_there(struct ceph_pool *pool, struct call *call, const char *image,
                              const char *snapshot)
{
    _cleanup_(image_snapshots_done) struct image_snapshots list = {0};
    _cleanup_error_ struct error err = {0};

    if (pool->ops->snapshot_list(pool, call, image, &list, &err) < 0)
        return true;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == SNAPSHOT_USER && strcmp(list.items[i].name, snapshot) == 0)
            return true;
    return false;
}

int image_clone_kept(struct ceph_pool *parent_pool, struct call *call, const char *parent,
                     const char *snapshot, struct ceph_pool *pool, const char *name,
                     const struct image_options *options, struct error *err)
{
    _cleanup_free_ char *image_id = NULL;
    _cleanup_error_ struct error unknown = {0};

    if (parent_pool->ops->image_clone(parent_pool, call, parent, snapshot, pool, name, options,
                                      err) == 0)
        return 0;
    /* another process removes the snapshot only when it has made the image */
    if (err->status != STATUS_NOT_FOUND || snapshot_is_there(parent_pool, call, parent, snapshot) ||
        image_find(pool, call, name, &image_id, &unknown) < 0 || image_id)
        return something_interfered(err);
    error_clear(err);
    error_set(err, STATUS_FAILED_PRECONDITION,
              "snapshot '%s@%s' in pool '%s' is gone: it is being deleted, or was removed by hand",
              parent, snapshot, parent_pool->name);
    return error_hint(err, "use another snapshot");
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

static int image_is_whole(const struct begun_image *image, bool *whole, struct error *err)
{
    struct call *call = image->begun.call;
    const struct journal_entry *entry = image->begun.entry;
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (image->pool->ops->image_get_facts(image->pool, call, entry->image_name, &facts, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* no header */
        *whole = false;
        return 0;
    }
    *whole = true;
    if (!begun_is_written(&entry->extra))
        return 0;
    if (image->pool->ops->image_has_objects(image->pool, call, facts.id, facts.features, whole,
                                            err) < 0)
        return -1;
    if (!*whole || !image->parent_pool)
        return 0;
    return clone_is_whole(call, image, &facts, whole, err);
}

/* Removes one that nobody is at. */
static int remove_begun(const struct begun_image *image, struct error *err)
{
    if (begun_take_over(&image->begun, image->work, err) < 0)
        return -1;
    if (image->pool->ops->image_remove(image->pool, image->begun.call,
                                       image->begun.entry->image_name, err) == 0)
        return 0;
    return error_ignore(err, STATUS_NOT_FOUND);
}

int image_settle(const struct begun_image *image, bool *usable, struct error *err)
{
    if (image_is_whole(image, usable, err) < 0)
        return -1;
    return *usable ? 0 : remove_begun(image, err);
}

static int is_in_trash(struct ceph_pool *pool, struct call *call, const char *image_id, bool *is_in,
                       struct error *err)
{
    _cleanup_(trash_entries_done) struct trash_entries entries = {0};

    if (pool->ops->trash_list(pool, call, &entries, err) < 0)
        return -1;
    *is_in = false;
    for (size_t i = 0; i < entries.count; i++)
        *is_in = *is_in || strcmp(entries.items[i].id, image_id) == 0;
    return 0;
}

int image_clear_remnant(const struct begun_image *image, struct error *err)
{
    struct ceph_pool *pool = image->pool;
    struct call *call = image->begun.call;
    const char *name = image->begun.entry->image_name;
    _cleanup_free_ char *image_id = NULL;
    bool was_trashed = false;

    if (image_find_listed(pool, call, name, &image_id, err) < 0)
        return -1;
    if (!image_id)
        return 0;
    if (is_in_trash(pool, call, image_id, &was_trashed, err) < 0)
        return -1;
    if (!was_trashed)
        return remove_begun(image, err);
    /* a deletion was interrupted: moving it once more ends that, and its data stay in the trash */
    if (begun_take_over(&image->begun, image->work, err) < 0)
        return -1;
    if (pool->ops->trash_move(pool, call, name, err) == 0)
        return 0;
    return error_ignore(err, STATUS_NOT_FOUND);
}

/* --- clones --- */

static int clone_begun(const struct begun_image *image, const struct image_options *options,
                       struct error *err)
{
    const char *name = image->begun.entry->image_name;

    return image->parent_pool->ops->image_clone(image->parent_pool, image->begun.call,
                                                image->parent, name, image->pool, name, options,
                                                err);
}

/* librbd was interrupted while it took the snapshot: that is there, but cannot be cloned, because
 * its object map is missing. Nothing was made from it yet, so that another one does as well. */
static int retake_and_clone(const struct begun_image *image, const struct image_options *options,
                            struct error *err)
{
    struct ceph_pool *parent_pool = image->parent_pool;
    const char *name = image->begun.entry->image_name;
    struct call *call = image->begun.call;

    error_clear(err);
    if (begun_take_over(&image->begun, image->work, err) < 0 ||
        snapshot_ensure_gone(parent_pool, call, image->parent, name, err) < 0 ||
        parent_pool->ops->snapshot_create(parent_pool, call, image->parent, name, err) < 0)
        return -1;
    return clone_begun(image, options, err);
}

int image_snapshot_and_clone(const struct begun_image *image, const struct image_options *options,
                             struct error *err)
{
    struct ceph_pool *parent_pool = image->parent_pool;
    struct call *call = image->begun.call;
    const char *name = image->begun.entry->image_name;
    _cleanup_error_ struct error undo = {0};
    bool made = parent_pool->ops->snapshot_create(parent_pool, call, image->parent, name, err) == 0;

    if (!made && err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err);
    if (clone_begun(image, options, err) == 0 ||
        (!made && err->status == STATUS_NOT_FOUND && retake_and_clone(image, options, err) == 0))
        return 0;
    /* The clone is there and was not made from our snapshot, which nobody needs then. */
    if (made && err->status == STATUS_ALREADY_EXISTS &&
        snapshot_ensure_gone(parent_pool, call, image->parent, name, &undo) < 0)
        log_warn(call, "a snapshot stays until the image is deleted: %s", undo.message);
    return something_interfered(err);
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

        if (item->kind == SNAPSHOT_TRASH || item->kind == SNAPSHOT_MIRROR)
            continue; /* goes with its last clone, or with the mirroring */
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

int image_check_unused(struct ceph_pool *pool, struct call *call, const char *name,
                       const struct image_mirroring *mirroring, struct error *err)
{
    _cleanup_string_list_ struct string_list users = {0};

    if (image_clients(pool, call, name, mirroring, &users, err) < 0)
        return -1;
    return users.count > 0 ? refuse_in_use(pool, name, &users, err) : 0;
}

/* One that is to be kept is queued too: its time may come years after the last call for it. */
static void queue_trashed(struct ceph_pool *pool, struct call *call,
                          const struct trash_entry *entry, const char *recorded_id,
                          struct strmap *queued)
{
    if (recorded_id && strcmp(entry->id, recorded_id) != 0) {
        log_warn(call,
                 "image '%s' in the trash of pool '%s' is left there: its id is %s, that of the "
                 "volume or snapshot is %s; if nobody needs it: rbd trash rm %s/%s",
                 entry->name, pool->name, entry->id, recorded_id, pool->name, entry->id);
        return;
    }
    if (entry->kept_until > time(NULL))
        log_info(call,
                 "image '%s' in the trash of pool '%s' is to be kept for %lld s more; its data are "
                 "removed after that",
                 entry->name, pool->name, (long long)(entry->kept_until - time(NULL)));
    purge_add(queued, pool, entry->id, entry->name);
}

int image_queue_trashed(struct ceph_pool *pool, struct call *call, const char *name,
                        const char *recorded_id, struct strmap *queued, struct error *err)
{
    _cleanup_(trash_entries_done) struct trash_entries entries = {0};

    if (pool->ops->trash_list(pool, call, &entries, err) < 0)
        return -1;
    for (size_t i = 0; i < entries.count; i++)
        if (strcmp(entries.items[i].name, name) == 0)
            queue_trashed(pool, call, &entries.items[i], recorded_id, queued);
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
                         const char *image_id, const struct image_mirroring *mirroring,
                         struct error *err)
{
    bool has_snapshots = false;

    if (pool->ops->image_has_snapshots(pool, call, image_id, &has_snapshots, err) < 0)
        return -1;
    if (has_snapshots && remove_clone_snapshots(pool, call, name, err) < 0)
        return -1;
    if (image_check_unused(pool, call, name, mirroring, err) < 0)
        return -1;
    if ((mirroring->is_enabled &&
         pool->ops->image_disable_mirroring(pool, call, name, false, err) < 0) ||
        pool->ops->trash_move(pool, call, name, err) < 0)
        return explain_busy(err);
    return 0;
}

/* What only librbd's list knows: an interrupted creation, or a move to the trash, which is in the
 * trash already. In either case the move ends it. */
static int discard_remnant(struct ceph_pool *pool, struct call *call, const char *name,
                           struct strmap *queued, struct error *err)
{
    _cleanup_free_ char *image_id = NULL;

    if (image_find_listed(pool, call, name, &image_id, err) < 0)
        return -1;
    if (!image_id)
        return 0;
    if (pool->ops->trash_move(pool, call, name, err) == 0)
        purge_add(queued, pool, image_id, name);
    else if (err->status != STATUS_NOT_FOUND)
        return explain_busy(err);
    error_clear(err);
    return 0;
}

int image_discard(struct ceph_pool *pool, struct call *call, const char *name, const char *known_id,
                  const char *recorded_id, struct strmap *queued, struct error *err)
{
    _cleanup_free_ char *image_id = known_id ? xstrdup(known_id) : NULL;
    struct image_mirroring mirroring = {0};

    if (!image_id && image_find(pool, call, name, &image_id, err) < 0)
        return -1;
    if (image_id && pool->ops->image_get_mirroring(pool, call, name, image_id, &mirroring, err) < 0)
        return -1;
    if (mirroring.is_enabled && !mirroring.is_primary) {
        log_info(call,
                 "image '%s' in pool '%s' stays: it is a copy of one in another cluster, and "
                 "rbd-mirror removes it when that goes",
                 name, pool->name);
        return 0;
    }
    if (image_id && move_to_trash(pool, call, name, image_id, &mirroring, err) == 0) {
        purge_add(queued, pool, image_id, name);
        return 0;
    }
    if (image_id && err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    if (discard_remnant(pool, call, name, queued, err) < 0)
        return -1;
    return image_queue_trashed(pool, call, name, recorded_id, queued, err);
}
