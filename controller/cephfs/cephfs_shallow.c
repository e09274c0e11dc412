/*
 * Volumes that show a snapshot instead of a copy of it. They are a journal entry with the handle of
 * the snapshot and a reference that keeps it alive (see references.h), and nothing else. A snapshot
 * that is deleted while volumes show it stays until the last of them goes.
 *
 * Order of deletion. The snapshot's own entry says that it was deleted before the last reference
 * goes: when a call is interrupted after that, the retry finds no references, and must be able to
 * distinguish a deleted snapshot from one that a volume whose creation was interrupted never
 * referred to.
 */
#include "common/base/memory.h"
#include "common/ceph/references.h"
#include "controller/cephfs/cephfs_backend.h"

/* The snapshot's entry, as far as there is one. */
struct backing_snapshot {
    struct journal journal;
    struct journal_entry entry;
    bool found;
};

static void backing_done(struct backing_snapshot *backing)
{
    journal_entry_done(&backing->entry);
}

static int backing_read(struct call *call, struct ceph_pool *pool, const char *instance,
                        const char *handle, struct backing_snapshot *backing, struct error *err)
{
    struct volume_id id;

    backing->journal = (struct journal){JOURNAL_SNAPSHOT, instance};
    if (volume_id_parse(handle, &id, err) < 0) {
        error_clear(err); /* nothing that could be ours */
        return 0;
    }
    return journal_read(&backing->journal, call, pool, &id.uuid, &backing->entry, &backing->found,
                        err);
}

int cephfs_shallow_find(struct call *call, struct ceph_pool *pool, const char *instance,
                        const char *snapshot, char **subvolume, char **name, struct error *err)
{
    _cleanup_(backing_done) struct backing_snapshot backing = {0};

    if (backing_read(call, pool, instance, snapshot, &backing, err) < 0)
        return -1;
    if (!backing.found || !backing.entry.source)
        return error_set(err, STATUS_NOT_FOUND, "there is no snapshot '%s', which it shows",
                         snapshot);
    *subvolume = TAKE(backing.entry.source);
    *name = TAKE(backing.entry.image_name);
    return 0;
}

static int mark_deleted(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                        const struct journal_entry *entry, struct error *err)
{
    _cleanup_strmap_ struct strmap deleted = {0};

    if (strmap_has(&entry->extra, CEPHFS_KEY_DELETED))
        return 0;
    strmap_set(&deleted, CEPHFS_KEY_DELETED, "1");
    return journal_set(journal, call, pool, &entry->uuid, &deleted, err);
}

/* Removes a snapshot that was deleted and that nobody needs any more. */
static int remove_snapshot(struct call *call, struct ceph_pool *pool,
                           const struct subvolume_group *group,
                           const struct backing_snapshot *backing, struct error *err)
{
    const struct journal_entry *entry = &backing->entry;

    if (entry->source &&
        subvolume_snapshot_remove(group, call, entry->source, entry->image_name, err) < 0)
        return -1;
    if (journal_release_name(&backing->journal, call, pool, entry->request_name, pool->id,
                             &entry->uuid, NULL, err) < 0)
        return -1;
    return journal_remove(&backing->journal, call, pool, &entry->uuid, err);
}

int cephfs_shallow_release(struct call *call, struct ceph_pool *pool,
                           const struct subvolume_group *group, const char *instance,
                           const char *snapshot, const char *name, struct error *err)
{
    _cleanup_(backing_done) struct backing_snapshot backing = {0};
    bool are_masked = false;
    bool is_last = false;

    if (references_are_masked(pool, call, snapshot, &are_masked, err) < 0 ||
        backing_read(call, pool, instance, snapshot, &backing, err) < 0)
        return -1;
    bool is_deleted =
        are_masked || (backing.found && strmap_has(&backing.entry.extra, CEPHFS_KEY_DELETED));
    if (is_deleted && backing.found &&
        mark_deleted(&backing.journal, call, pool, &backing.entry, err) < 0)
        return -1;
    if (references_remove(pool, call, snapshot, name, &is_last, err) < 0)
        return -1;
    if (!is_last || !is_deleted || !backing.found)
        return 0;
    return remove_snapshot(call, pool, group, &backing, err);
}

int cephfs_shallow_forget(struct call *call, struct located *snapshot, bool *is_needed,
                          struct error *err)
{
    const struct journal_entry *entry = &snapshot->entry;
    bool is_last = false;

    if (references_mask(snapshot->pool, call, snapshot->handle, &is_last, err) < 0)
        return -1;
    *is_needed = !is_last;
    if (is_last)
        return 0;
    if (mark_deleted(&snapshot->journal, call, snapshot->pool, entry, err) < 0)
        return -1;
    return journal_release_name(&snapshot->journal, call, snapshot->pool, entry->request_name,
                                snapshot->pool->id, &entry->uuid, NULL, err);
}
