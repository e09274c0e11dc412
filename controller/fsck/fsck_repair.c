/*
 * Repairs of single findings. Each reads again what it is about to change, because the operator may
 * have thought about the question for an hour, and does nothing when it is not as it was found.
 *
 * Names are removed only while they hold the value that was found. What cannot be guarded by one
 * step of RADOS is looked at once more behind it: when a creation turned up in between, the name is
 * put back. Nothing here touches an image that the journal knows, or trash.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/config/session.h"
#include "controller/fsck/fsck.h"
#include "controller/rbd/rbd_images.h"

struct mending {
    const struct fsck_options *options;
    struct call *call;
    const struct fsck_repair *repair;
    struct session session;
    struct ceph_pool *pool; /* of the image; NULL if it is gone */
    struct ceph_pool *directory;
};

static void mending_done(struct mending *mending)
{
    if (mending->directory)
        ceph_pool_close(mending->directory);
    if (mending->pool)
        ceph_pool_close(mending->pool);
    session_close(&mending->session);
}

/* *@pool stays NULL when there is no such pool. */
static int open_pool(struct mending *mending, int64_t id, struct ceph_pool **pool,
                     struct error *err)
{
    struct ceph_cluster *cluster = mending->session.cluster;

    if (id < 0 ||
        cluster->ops->pool_open_by_id(cluster, mending->call, id,
                                      session_rbd_namespace(&mending->session), pool, err) == 0)
        return 0;
    if (err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    return 0;
}

/* Whether volume, snapshot or group of the uuid is in the journal. */
static int is_in_journal(struct mending *mending, bool *found, struct error *err)
{
    const struct journal journal = {mending->repair->kind, mending->options->instance_id};
    _cleanup_journal_entry_ struct journal_entry entry = {0};

    *found = false;
    if (!mending->pool)
        return 0;
    return journal_read(&journal, mending->call, mending->pool, &mending->repair->uuid, &entry,
                        found, err);
}

/* --- names --- */

static int remove_key(struct mending *mending, bool *removed, struct error *err)
{
    const struct fsck_repair *repair = mending->repair;
    struct ceph_pool *directory = mending->directory;

    return directory->ops->omap_remove_if(directory, mending->call, repair->directory_object,
                                          repair->key, repair->value, NULL, removed, err);
}

static int restore_key(struct mending *mending, struct error *err)
{
    const struct fsck_repair *repair = mending->repair;
    struct ceph_pool *directory = mending->directory;

    if (directory->ops->omap_add(directory, mending->call, repair->directory_object, repair->key,
                                 repair->value, err) == 0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return error_wrap(err, "put the name back");
    error_clear(err);
    return 0;
}

static int forget_name(struct mending *mending, bool *repaired, struct error *err)
{
    bool found = false;
    bool removed = false;

    if (is_in_journal(mending, &found, err) < 0)
        return -1;
    if (found)
        return 0;
    if (remove_key(mending, &removed, err) < 0)
        return -1;
    if (!removed)
        return 0;
    if (is_in_journal(mending, &found, err) < 0)
        return -1;
    if (found) /* a retry of the creation came in between */
        return restore_key(mending, err);
    *repaired = true;
    return 0;
}

/* --- entries --- */

/* In the pool or in its trash, from where it may be wanted back. What was in the trash when it was
 * found, with the order to remove its data, does not count. */
static int image_exists(struct mending *mending, bool *exists, struct error *err)
{
    const struct fsck_repair *repair = mending->repair;
    _cleanup_(trash_entries_done) struct trash_entries trash = {0};
    _cleanup_free_ char *image_id = NULL;

    *exists = false;
    if (!mending->pool)
        return 0;
    if (image_find(mending->pool, mending->call, repair->image, &image_id, err) < 0 ||
        mending->pool->ops->trash_list(mending->pool, mending->call, &trash, err) < 0)
        return -1;
    *exists = image_id != NULL;
    for (size_t i = 0; i < trash.count; i++)
        if (strcmp(trash.items[i].name, repair->image) == 0 &&
            (!repair->image_id || strcmp(trash.items[i].id, repair->image_id) != 0))
            *exists = true;
    return 0;
}

static int object_is_old(struct mending *mending, struct ceph_pool *pool, bool *old,
                         struct error *err)
{
    const struct journal journal = {mending->repair->kind, mending->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &mending->repair->uuid);
    time_t modified = 0;

    if (!pool || pool->ops->object_modified(pool, mending->call, object, &modified, err) == 0) {
        *old = time(NULL) - modified >= mending->options->min_age_s;
        return 0;
    }
    if (err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    *old = true; /* nothing there to be young */
    return 0;
}

static int may_forget(struct mending *mending, bool *may, struct error *err)
{
    bool exists = false;
    bool old = false;
    bool half_old = true;

    if (image_exists(mending, &exists, err) < 0 ||
        object_is_old(mending, mending->pool, &old, err) < 0 ||
        (mending->repair->has_half &&
         object_is_old(mending, mending->directory, &half_old, err) < 0))
        return -1;
    *may = !exists && old && half_old;
    return 0;
}

static int remove_objects(struct mending *mending, struct error *err)
{
    const struct journal journal = {mending->repair->kind, mending->options->instance_id};
    const struct uuid_text *uuid = &mending->repair->uuid;

    if (mending->repair->has_half &&
        journal_remove(&journal, mending->call, mending->directory, uuid, err) < 0)
        return -1;
    if (!mending->pool)
        return 0;
    return journal_remove(&journal, mending->call, mending->pool, uuid, err);
}

static int forget_entry(struct mending *mending, bool *repaired, struct error *err)
{
    bool may = false;
    bool removed = false;

    if (may_forget(mending, &may, err) < 0)
        return -1;
    if (!may)
        return 0;
    if (mending->repair->key) {
        if (remove_key(mending, &removed, err) < 0)
            return -1;
        if (!removed)
            return 0;
        if (may_forget(mending, &may, err) < 0)
            return -1;
        if (!may)
            return restore_key(mending, err);
    }
    if (remove_objects(mending, err) < 0)
        return -1;
    *repaired = true;
    return 0;
}

/* --- the rest --- */

static int forget_purge(struct mending *mending, bool *repaired, struct error *err)
{
    _cleanup_(trash_entries_done) struct trash_entries trash = {0};

    if (mending->pool &&
        mending->pool->ops->trash_list(mending->pool, mending->call, &trash, err) < 0)
        return -1;
    for (size_t i = 0; i < trash.count; i++)
        if (strcmp(trash.items[i].id, mending->repair->image_id) == 0)
            return 0;
    return remove_key(mending, repaired, err);
}

/* What the journal of one pool says of the uuid. */
static int ask_pool(struct mending *mending, const char *name, bool *known, bool *unfinished,
                    struct error *err)
{
    struct ceph_cluster *cluster = mending->session.cluster;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (cluster->ops->pool_open(cluster, mending->call, name,
                                session_rbd_namespace(&mending->session), &pool, err) < 0)
        return -1;
    for (int kind = JOURNAL_VOLUME; kind <= JOURNAL_SNAPSHOT; kind++) {
        const struct journal journal = {(enum journal_kind)kind, mending->options->instance_id};
        _cleanup_journal_entry_ struct journal_entry entry = {0};
        bool found = false;

        if (journal_read(&journal, mending->call, pool, &mending->repair->uuid, &entry, &found,
                         err) < 0)
            return -1;
        *known = *known || found;
        *unfinished = *unfinished || (found && !entry.image_id);
    }
    return 0;
}

/* The same of all pools: clones may be in another one than what they are made from. */
static int ask_all_pools(struct mending *mending, bool *known, bool *unfinished, struct error *err)
{
    struct ceph_cluster *cluster = mending->session.cluster;
    _cleanup_string_list_ struct string_list names = {0};

    if (cluster->ops->pool_list(cluster, mending->call, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        if (ask_pool(mending, names.items[i], known, unfinished, err) == 0)
            continue;
        if (err->status != STATUS_NOT_FOUND && err->status != STATUS_PERMISSION_DENIED)
            return -1;
        error_clear(err); /* gone, or not this user's: then nothing that counts on it is offered */
    }
    return 0;
}

/* Who makes a cut writes the entry before and removes it behind it: without an entry, and with a
 * finished one, nobody is at work on it. */
static int remove_cut(struct mending *mending, bool *repaired, struct error *err)
{
    bool known = false;
    bool unfinished = false;

    if (ask_all_pools(mending, &known, &unfinished, err) < 0)
        return -1;
    if (unfinished)
        return 0;
    if (snapshot_ensure_gone(mending->pool, mending->call, mending->repair->image,
                             mending->repair->snapshot, err) < 0)
        return -1;
    *repaired = true;
    return 0;
}

static int discard_image(struct mending *mending, bool *repaired, struct error *err)
{
    const struct fsck_repair *repair = mending->repair;
    const struct journal journal = {JOURNAL_VOLUME, mending->options->instance_id};
    _cleanup_strmap_ struct strmap queued = {0};
    _cleanup_free_ char *image_id = NULL;
    bool known = false;
    bool unfinished = false;

    if (ask_all_pools(mending, &known, &unfinished, err) < 0 ||
        image_find(mending->pool, mending->call, repair->image, &image_id, err) < 0)
        return -1;
    if (known || !image_id || strcmp(image_id, repair->image_id) != 0)
        return 0;
    if (image_discard(mending->pool, mending->call, repair->image, image_id, &queued, err) < 0 ||
        journal_release_name(&journal, mending->call, mending->directory, NULL, repair->pool_id,
                             &repair->uuid, &queued, err) < 0)
        return -1;
    *repaired = true;
    return 0;
}

static int mend(struct mending *mending, bool *repaired, struct error *err)
{
    switch (mending->repair->action) {
    case FSCK_FORGET_NAME:
        return forget_name(mending, repaired, err);
    case FSCK_FORGET_ENTRY:
        return forget_entry(mending, repaired, err);
    case FSCK_FORGET_PURGE:
        return forget_purge(mending, repaired, err);
    case FSCK_REMOVE_CUT:
        return remove_cut(mending, repaired, err);
    case FSCK_DISCARD_IMAGE:
        return discard_image(mending, repaired, err);
    case FSCK_NO_REPAIR:
        break;
    }
    return 0;
}

int fsck_repair(const struct fsck_options *options, struct call *call,
                const struct fsck_finding *finding, bool *repaired, struct error *err)
{
    const struct fsck_repair *repair = &finding->repair;
    _cleanup_(mending_done) struct mending mending = {
        .options = options,
        .call = call,
        .repair = repair,
    };

    *repaired = false;
    if (repair->action == FSCK_NO_REPAIR)
        return 0;
    bool needs_pool = repair->action == FSCK_REMOVE_CUT || repair->action == FSCK_DISCARD_IMAGE;
    bool needs_directory = repair->action != FSCK_REMOVE_CUT;
    if (session_open(options->ceph, options->config, call, finding->cluster_id,
                     options->credentials, &mending.session, err) < 0 ||
        open_pool(&mending, repair->pool_id, &mending.pool, err) < 0 ||
        open_pool(&mending, needs_directory ? repair->directory_id : -1, &mending.directory, err) <
            0)
        return -1;
    if ((needs_pool && !mending.pool) || (needs_directory && !mending.directory))
        return 0; /* went with its pool */
    if (mend(&mending, repaired, err) < 0)
        return error_wrap(err, "repair '%s' in pool '%s'", finding->object, finding->pool);
    return 0;
}
