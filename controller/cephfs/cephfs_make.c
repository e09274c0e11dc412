/*
 * The middle of CreateVolume: a subvolume, a clone, or a reference to a snapshot.
 *
 * A clone of a volume is made from a snapshot of it that bears the new subvolume's name, as
 * Ceph-CSI does it. Ceph copies in the background. The call waits for the end of a copy, because
 * small ones are done in seconds and a sidecar that gets ABORTED retries late; but only so
 * long, and only so many calls at once, so that workers remain for others.
 *
 * A manager that dies between the two places where it notes a copy, the new subvolume and its
 * queue, leaves a subvolume that stays pending and cannot be removed. Then the entry gets another
 * name, in this order: the process makes sure that it is alone; the snapshot of the old name goes,
 * of which nobody would know later; the entry changes, guarded. A retry finds the old name still
 * pending and does the same again, or the new one, of which nothing is there yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/references.h"
#include "controller/cephfs/cephfs_creation.h"
#include "controller/fingerprint.h"

#define WAIT_MAX_MS 30000
#define WAITERS_MAX 32
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 2000
#define REMOVE_TRIES 5

static bool is_committed(const struct cephfs_creation *creation)
{
    return strmap_has(&creation->base.entry.extra, CEPHFS_KEY_COMPLETE);
}

/* Whether Ceph-CSI has reserved the name. */
static bool is_foreign(const struct cephfs_creation *creation)
{
    return !creation->base.fresh && !fingerprint_is_present(&creation->base.entry.extra);
}

static int commit(struct cephfs_creation *creation, struct error *err)
{
    _cleanup_strmap_ struct strmap complete = {0};

    if (is_committed(creation))
        return 0;
    if (!creation->base.shows_source &&
        subvolume_set_metadata(&creation->group, creation->base.call,
                               creation->base.entry.image_name, NULL, &creation->base.metadata,
                               err) < 0)
        return -1;
    strmap_set(&complete, CEPHFS_KEY_COMPLETE, "1");
    if (is_foreign(creation)) /* may lack a name */
        return journal_set(&creation->base.journal, creation->base.call, creation->base.pool,
                           &creation->base.entry.uuid, &complete, err);
    return journal_set_for_image(&creation->base.journal, creation->base.call, creation->base.pool,
                                 &creation->base.entry.uuid, creation->base.entry.image_name,
                                 &complete, err);
}

/* Takes over path and size of the subvolume; *@found is false if there is none. */
static int look(struct cephfs_creation *creation, bool *found, struct error *err)
{
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    *found = false;
    if (subvolume_get_facts(&creation->group, creation->base.call, creation->base.entry.image_name,
                            &facts, err) < 0) {
        return error_ignore(err, STATUS_NOT_FOUND);
    }
    *found = true;
    free(creation->path);
    creation->path = TAKE(facts.path);
    if (facts.size_bytes) /* without a quota it holds whatever was asked for */
        creation->base.size_bytes = facts.size_bytes;
    return 0;
}

/* As look(), for one that must be there. */
static int look_again(struct cephfs_creation *creation, struct error *err)
{
    bool found = false;

    if (look(creation, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, STATUS_ABORTED, "subvolume '%s' was removed while it was being made",
                         creation->base.entry.image_name);
    return 0;
}

/* --- an empty one --- */

static int make_empty(struct cephfs_creation *creation, struct error *err)
{
    if (subvolume_create(&creation->group, creation->base.call, creation->base.entry.image_name,
                         creation->base.size_bytes, creation->base.data_pool, err) < 0)
        return -1;
    return look_again(creation, err);
}

/* --- a clone --- */

/* The subvolume that has the snapshot; NULL if there was none to make, or it is not known. */
static const char *snapshot_source(const struct cephfs_creation *creation)
{
    const char *recorded = strmap_get(&creation->base.entry.extra, CEPHFS_KEY_CLONED);

    if (recorded)
        return recorded;
    return creation->source.snapshot ? NULL : creation->source.subvolume;
}

static struct subvolume_group source_group(const struct cephfs_creation *creation)
{
    struct subvolume_group group = cephfs_source_group(&creation->group, &creation->base.entry);

    if (creation->source.group)
        group.name = creation->source.group;
    return group;
}

static int remove_source_snapshot(struct cephfs_creation *creation, struct error *err)
{
    const struct subvolume_group group = source_group(creation);
    const char *source = snapshot_source(creation);

    if (!source)
        return 0;
    /* for a moment after its end the clone still counts as pending */
    for (int tries = 1;; tries++) {
        if (subvolume_snapshot_remove(&group, creation->base.call, source,
                                      creation->base.entry.image_name, err) == 0)
            return 0;
        if (err->status != STATUS_ABORTED || tries == REMOVE_TRIES ||
            !creation->base.controller->clone_waiters)
            return -1;
        error_clear(err);
        if (call_pause(creation->base.call, PAUSE_FIRST_MS * tries, err) < 0)
            return -1;
    }
}

/* From Ceph 18.2 on the managers take no clone while all their threads copy: it is begun when one
 * is free, and so waited for like its end. */
static int note_busy(struct clone_status *status, struct error *err)
{
    if (err->sys_errno != EAGAIN || !strstr(err->message, "cloner threads are busy"))
        return -1;
    error_clear(err);
    clone_status_done(status);
    status->words =
        xstrdup("not begun: all cloner threads of the managers are busy, of which there "
                "are mgr/volumes/max_concurrent_clones");
    return 0;
}

/* @status says so if it could not be begun yet. */
static int begin_clone(struct cephfs_creation *creation, struct clone_status *status,
                       struct error *err)
{
    const struct cephfs_source *source = &creation->source;
    const char *name = creation->base.entry.image_name;

    if (cephfs_open_source(&creation->base, err) < 0)
        return -1;
    const struct subvolume_group group = source_group(creation);
    const char *snapshot = source->snapshot ? source->snapshot : name;
    if (!source->snapshot && subvolume_snapshot_create(&group, creation->base.call,
                                                       source->subvolume, snapshot, err) < 0)
        return -1;
    if (subvolume_clone(&group, creation->base.call, source->subvolume, snapshot, &creation->group,
                        name, creation->base.data_pool, err) == 0)
        return 0;
    if (note_busy(status, err) == 0)
        return 0;
    /* begun by another process: its state is checked next */
    return error_ignore(err, STATUS_ALREADY_EXISTS);
}

/* --- a clone that the manager has lost --- */

/* Opens the source of a restore for a look. False if it is unknown whether it is there. */
static bool open_source_for_look(struct cephfs_creation *creation, bool *found)
{
    const uint64_t size_bytes = creation->base.size_bytes; /* of the entry: fitted before */
    _cleanup_error_ struct error err = {0};

    *found = cephfs_open_source(&creation->base, &err) == 0;
    creation->base.size_bytes = size_bytes;
    if (*found || err.status == STATUS_NOT_FOUND)
        return true;
    log_v(2, creation->base.call, "whether the copy is lost cannot be said: %s", err.message);
    return false;
}

/* Whether nothing is to be copied from the snapshot that the clone is made from. One that is gone
 * says so too: Ceph keeps it as long as there is. */
static int has_no_copies(struct cephfs_creation *creation, bool *none, struct error *err)
{
    const char *subvolume = snapshot_source(creation);
    const char *snapshot = creation->base.entry.image_name;
    struct subvolume_snapshot_facts facts = {0};
    bool found = true;

    *none = false;
    if (!subvolume) {
        if (!open_source_for_look(creation, &found))
            return 0;
        subvolume = creation->source.subvolume;
        snapshot = creation->source.snapshot ? creation->source.snapshot : snapshot;
    }
    const struct subvolume_group group = source_group(creation);
    if (found &&
        subvolume_snapshot_get_facts(&group, creation->base.call, subvolume, snapshot, &facts,
                                     err) < 0 &&
        error_ignore(err, STATUS_NOT_FOUND) < 0)
        return -1;
    *none = !facts.has_pending_clones;
    return 0;
}

/* @creation's clone waits to be copied. A copy that ends between the questions is not taken for
 * lost: the state is asked for last. */
static int is_copy_lost(struct cephfs_creation *creation, bool *is_lost, struct error *err)
{
    const bool was_open = creation->source_is_open;
    bool none = false;

    *is_lost = false;
    int result = has_no_copies(creation, &none, err);
    if (!was_open) { /* others may have it while this call waits */
        cephfs_source_done(&creation->source);
        creation->source_is_open = false;
    }
    if (result < 0 || !none)
        return result;
    if (subvolume_clone_cancel(&creation->group, creation->base.call,
                               creation->base.entry.image_name, is_lost, err) < 0)
        return error_ignore(err, STATUS_NOT_FOUND);
    return 0;
}

static int rename_entry(struct cephfs_creation *creation, struct error *err)
{
    struct creation *base = &creation->base;
    const struct uuid_text uuid = uuid_text_generate();
    _cleanup_free_ char *name = xasprintf("%s%s", base->name_prefix, uuid.chars);
    _cleanup_strmap_ struct strmap renamed = {0};

    strmap_set(&renamed, JOURNAL_KEY_IMAGE_NAME, name);
    if (journal_set_for_image(&base->journal, base->call, base->pool, &base->entry.uuid,
                              base->entry.image_name, &renamed, err) < 0)
        return -1;
    free(base->entry.image_name);
    base->entry.image_name = TAKE(name);
    return 0;
}

/* Gives up a clone whose copy the manager has lost, and begins one of another name. */
static int replace_if_lost(struct cephfs_creation *creation, struct clone_status *status,
                           struct error *err)
{
    const struct begun begun = creation_begun(&creation->base);
    const char *name = creation->base.entry.image_name;
    bool is_lost = false;

    if (is_copy_lost(creation, &is_lost, err) < 0)
        return -1;
    if (!is_lost)
        return 0;
    if (is_foreign(creation))
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "the manager died when Ceph-CSI had begun to clone subvolume '%s', which "
                         "stays pending for ever; remove directory '/volumes/%s/%s' of file system "
                         "'%s' and retry",
                         name, creation->group.name, name, creation->group.fs_name);
    if (begun_take_over(&begun, creation->base.work, err) < 0)
        return -1;
    cephfs_warn_of_lost_clone(&creation->group, creation->base.call, name);
    if (remove_source_snapshot(creation, err) < 0 || rename_entry(creation, err) < 0)
        return -1;
    clone_status_done(status);
    return begin_clone(creation, status, err);
}

/* --- the way of a clone --- */

/* Sees how far the clone is, and begins it if need be. One that failed, or was not even begun, is
 * removed and made again, once per call. */
static int advance_clone(struct cephfs_creation *creation, bool *failed_before,
                         struct clone_status *status, struct error *err)
{
    const char *name = creation->base.entry.image_name;

    clone_status_done(status);
    if (subvolume_clone_status(&creation->group, creation->base.call, name, status, err) < 0)
        return -1;
    if (status->state == CLONE_NONE)
        return begin_clone(creation, status, err);
    if (status->state == CLONE_QUEUED && creation->base.pool) /* closed while the call waits */
        return replace_if_lost(creation, status, err);
    if (status->state != CLONE_FAILED && status->state != CLONE_NO_COPY)
        return 0;
    if (status->state == CLONE_NO_COPY && is_foreign(creation))
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "subvolume '%s', which Ceph-CSI made, is no copy of the source; if no "
                         "volume uses it, remove it and retry",
                         name);
    log_warn(creation->base.call, "clone '%s' %s", name, status->words);
    if (subvolume_remove(&creation->group, creation->base.call, name, err) < 0)
        return -1;
    if (*failed_before)
        return error_set(err, STATUS_INTERNAL, "Ceph could not copy the source to '%s': %s", name,
                         status->words);
    *failed_before = true;
    return begin_clone(creation, status, err);
}

static bool may_wait(const struct cephfs_creation *creation)
{
    atomic_uint *waiters = creation->base.controller->clone_waiters;

    if (!waiters)
        return false;
    if (atomic_fetch_add(waiters, 1) < WAITERS_MAX)
        return true;
    atomic_fetch_sub(waiters, 1);
    return false;
}

static int not_yet(const struct clone_status *status, struct error *err)
{
    return error_set(err, STATUS_ABORTED, "Ceph has not ended copying the source (%s); retry later",
                     status->words ? status->words : "just begun");
}

/* Asks until the clone is complete or the time is up. */
static int poll_clone(struct cephfs_creation *creation, struct clone_status *status,
                      struct error *err)
{
    const struct deadline end = deadline_in_ms(WAIT_MAX_MS);
    int64_t pause_ms = PAUSE_FIRST_MS;
    bool failed_before = false;

    for (;;) {
        if (advance_clone(creation, &failed_before, status, err) < 0)
            return -1;
        if (status->state == CLONE_COMPLETE)
            return 0;
        /* a caller that waits no longer must hear why */
        if (deadline_has_passed(end) ||
            deadline_remaining_ms(creation->base.call->deadline) < 2 * pause_ms + PAUSE_MAX_MS)
            return not_yet(status, err);
        call_stage(creation->base.call, "waiting {age} until Ceph has copied the source (%s)",
                   status->words ? status->words : "just begun");
        if (call_pause(creation->base.call, pause_ms, err) < 0)
            return -1;
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

/* Waits without a place in the pool, which others can use meanwhile. */
static int wait_for_clone(struct cephfs_creation *creation, struct clone_status *status,
                          struct error *err)
{
    _cleanup_error_ struct error failure = {0};
    struct error *reopened = err;
    const int64_t directory_id = creation->base.directory->id;
    const int64_t pool_id = creation->base.pool->id;

    if (!may_wait(creation))
        return not_yet(status, err);
    creation_close_pools(&creation->base);
    int result = poll_clone(creation, status, err);
    atomic_fetch_sub(creation->base.controller->clone_waiters, 1);
    if (result < 0)
        reopened = &failure; /* the first error is the one to report */
    if (creation_reopen_pools(&creation->base, directory_id, pool_id, reopened) < 0)
        return -1;
    return result;
}

static int grow_clone(struct cephfs_creation *creation, struct error *err)
{
    const uint64_t wanted = creation->base.size_bytes;
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (subvolume_get_facts(&creation->group, creation->base.call, creation->base.entry.image_name,
                            &facts, err) < 0)
        return -1;
    creation->path = TAKE(facts.path);
    creation->base.size_bytes = facts.size_bytes > wanted ? facts.size_bytes : wanted;
    if (facts.size_bytes >= wanted)
        return 0;
    return subvolume_resize(&creation->group, creation->base.call, creation->base.entry.image_name,
                            wanted, err);
}

static int make_clone(struct cephfs_creation *creation, struct error *err)
{
    _cleanup_(clone_status_done) struct clone_status status = {0};
    bool failed_before = false;

    if (creation->base.fresh ? begin_clone(creation, &status, err) < 0
                             : advance_clone(creation, &failed_before, &status, err) < 0)
        return -1;
    if (status.state != CLONE_COMPLETE && wait_for_clone(creation, &status, err) < 0)
        return -1;
    /* of what Ceph-CSI began, only the source says where the snapshot is; it may be gone meanwhile
     */
    if (!fingerprint_is_present(&creation->base.entry.extra) &&
        cephfs_open_source(&creation->base, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
    }
    if (grow_clone(creation, err) < 0)
        return -1;
    return remove_source_snapshot(creation, err);
}

/* --- one that shows its snapshot --- */

static int make_reference(struct cephfs_creation *creation, struct error *err)
{
    const struct cephfs_source *source = &creation->source;
    struct subvolume_snapshot_facts facts;

    if (cephfs_open_source(&creation->base, err) < 0)
        return -1;
    if (references_add(creation->base.pool, creation->base.call, source->snapshot_handle,
                       creation->base.entry.image_name, err) < 0)
        return -1;
    /* from now on it stays; but another process may have removed it just before */
    return subvolume_snapshot_get_facts(&creation->group, creation->base.call, source->subvolume,
                                        source->snapshot, &facts, err);
}

static int make_shallow(struct cephfs_creation *creation, struct error *err)
{
    if (!is_committed(creation) && make_reference(creation, err) < 0)
        return -1;
    if (cephfs_open_source(&creation->base, err) < 0) {
        /* deleted, which the volume does not notice; only its path is not known here */
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
    }
    if (creation->source.root)
        creation->path = xstrdup(creation->source.root);
    return 0;
}

/* --- the whole --- */

/* Makes what is not there. One that is committed, or that Ceph-CSI has made, may have grown since
 * and is only examined. */
static int make_subvolume(struct cephfs_creation *creation, struct error *err)
{
    const bool is_clone = creation->base.request->source_kind != SOURCE_NONE;
    bool found = false;

    if ((is_committed(creation) || (is_foreign(creation) && !is_clone)) &&
        look(creation, &found, err) < 0)
        return -1;
    if (found)
        return 0;
    return is_clone ? make_clone(creation, err) : make_empty(creation, err);
}

int cephfs_make_volume(struct creation *base, struct error *err)
{
    struct cephfs_creation *creation = cephfs_of(base);

    if ((base->shows_source ? make_shallow(creation, err) : make_subvolume(creation, err)) < 0 ||
        capacity_range_check(&base->request->range, base->size_bytes, err) < 0)
        return -1;
    return commit(creation, err);
}

int cephfs_unmake_volume(struct creation *base, struct error *err)
{
    struct cephfs_creation *creation = cephfs_of(base);
    const char *name = base->entry.image_name;
    const char *backing = cephfs_backing(&base->entry);

    if (backing)
        return cephfs_shallow_release(base->call, base->pool, &creation->group,
                                      base->controller->instance_id, backing, name, err);
    if (cephfs_remove_subvolume(&creation->group, base->call, name, err) < 0)
        return -1;
    return remove_source_snapshot(creation, err);
}
