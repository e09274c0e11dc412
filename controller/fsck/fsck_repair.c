/*
 * Repairs of single findings. Each reads again what it is about to change, because the operator may
 * have thought about the question for an hour, and does nothing when it is not as it was found.
 *
 * Names are removed only while they hold the value that was found. What cannot be guarded by one
 * step of RADOS is read once more afterwards: when a creation turned up in between, the name is put
 * back. Nothing here touches an image that the journal knows, or trash.
 */
#include <string.h>

#include "common/config/session.h"
#include "controller/fsck/fsck_scan.h"
#include "controller/rbd/rbd_images.h"
#include "controller/settle_names.h"

struct repair_work {
    const struct fsck_options *options;
    struct call *call;
    const struct fsck_repair *repair;
    struct session session;
    struct ceph_pool *pool; /* of the image; NULL if it is gone */
    struct ceph_pool *directory;
};

static void repair_work_done(struct repair_work *work)
{
    ceph_pool_close(work->directory);
    ceph_pool_close(work->pool);
    session_close(&work->session);
}

/* *@pool stays NULL when there is no such pool. */
static int open_pool(struct repair_work *work, int64_t id, struct ceph_pool **pool,
                     struct error *err)
{
    struct ceph_cluster *cluster = work->session.cluster;

    if (id < 0 ||
        cluster->ops->pool_open_by_id(cluster, work->call, id,
                                      session_rbd_namespace(&work->session), pool, err) == 0)
        return 0;
    return error_ignore(err, STATUS_NOT_FOUND);
}

static struct begun describe_begun(const struct repair_work *work, const struct journal *journal,
                                   struct journal_entry *entry)
{
    return (struct begun){
        .call = work->call,
        .journal = journal,
        .directory = work->directory,
        .pool = work->pool,
        .entry = entry,
    };
}

/* Whether a process of the driver is making what the uuid stands for. */
static int is_being_made(struct repair_work *work, bool *busy, struct error *err)
{
    const struct journal journal = {work->repair->kind, work->options->instance_id};
    _cleanup_journal_entry_ struct journal_entry entry = {0};
    bool found = false;

    if (work->pool && journal_read(&journal, work->call, work->pool, &work->repair->uuid, &entry,
                                   &found, err) < 0)
        return -1;
    entry.uuid = work->repair->uuid;
    const struct begun begun = describe_begun(work, &journal, &entry);
    return begun_is_busy(&begun, busy, err);
}

/* --- names --- */

static int remove_key(struct repair_work *work, bool *removed, struct error *err)
{
    const struct fsck_repair *repair = work->repair;
    struct ceph_pool *directory = work->directory;

    return directory->ops->omap_remove_if(directory, work->call, repair->directory_object,
                                          repair->key, repair->value, NULL, removed, err);
}

static int restore_key(struct repair_work *work, struct error *err)
{
    const struct fsck_repair *repair = work->repair;
    struct ceph_pool *directory = work->directory;

    if (directory->ops->omap_add(directory, work->call, repair->directory_object, repair->key,
                                 repair->value, err) == 0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return error_wrap(err, "put the name back");
    error_clear(err);
    return 0;
}

static int forget_name(struct repair_work *work, bool *repaired, struct error *err)
{
    const struct journal journal = {work->repair->kind, work->options->instance_id};
    struct journal_entry entry = {.uuid = work->repair->uuid};
    const struct begun begun = describe_begun(work, &journal, &entry);
    const char *request_name = work->repair->key + strlen(journal_key_prefix(journal.kind));
    struct journal_ref ref;

    if (journal_parse_value(work->directory, work->repair->key, work->repair->value, &ref, err) < 0)
        return -1;
    return settle_unwritten(&begun, request_name, ref.image_pool_id, repaired, err);
}

/* --- entries --- */

/* In the pool or in its trash, from where it may be wanted back. What was in the trash when it was
 * found, with the order to remove its data, does not count. */
static int image_exists(struct repair_work *work, bool *exists, struct error *err)
{
    const struct fsck_repair *repair = work->repair;
    _cleanup_(trash_entries_done) struct trash_entries trash = {0};
    _cleanup_free_ char *image_id = NULL;

    *exists = false;
    if (!work->pool)
        return 0;
    if (image_find(work->pool, work->call, repair->image, &image_id, err) < 0 ||
        work->pool->ops->trash_list(work->pool, work->call, &trash, err) < 0)
        return -1;
    *exists = image_id != NULL;
    for (size_t i = 0; i < trash.count; i++)
        if (strcmp(trash.items[i].name, repair->image) == 0 &&
            (!repair->image_id || strcmp(trash.items[i].id, repair->image_id) != 0))
            *exists = true;
    return 0;
}

/* An object that is not there is old. */
static int object_is_old(struct repair_work *work, struct ceph_pool *pool, bool *old,
                         struct error *err)
{
    const struct journal journal = {work->repair->kind, work->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &work->repair->uuid);
    time_t modified = 0;

    if (pool && object_last_write(pool, work->call, object, &modified, err) < 0)
        return -1;
    *old = time(NULL) - modified >= work->options->min_age_s;
    return 0;
}

static int may_forget(struct repair_work *work, bool *may, struct error *err)
{
    bool exists = false;
    bool old = false;
    bool half_old = true;
    bool busy = false;

    if (image_exists(work, &exists, err) < 0 || is_being_made(work, &busy, err) < 0 ||
        object_is_old(work, work->pool, &old, err) < 0 ||
        (work->repair->has_half && object_is_old(work, work->directory, &half_old, err) < 0))
        return -1;
    *may = !exists && old && half_old && !busy;
    return 0;
}

static int forget_entry(struct repair_work *work, bool *repaired, struct error *err)
{
    const struct journal journal = {work->repair->kind, work->options->instance_id};
    const struct uuid_text *uuid = &work->repair->uuid;
    bool may = false;
    bool removed = false;

    if (may_forget(work, &may, err) < 0)
        return -1;
    if (!may)
        return 0;
    if (work->repair->key) {
        if (remove_key(work, &removed, err) < 0)
            return -1;
        if (!removed)
            return 0;
        if (may_forget(work, &may, err) < 0)
            return -1;
        if (!may)
            return restore_key(work, err);
    }
    if ((work->repair->has_half &&
         journal_remove(&journal, work->call, work->directory, uuid, err) < 0) ||
        (work->pool && journal_remove(&journal, work->call, work->pool, uuid, err) < 0))
        return -1;
    *repaired = true;
    return 0;
}

/* --- the rest --- */

static int forget_purge(struct repair_work *work, bool *repaired, struct error *err)
{
    _cleanup_(trash_entries_done) struct trash_entries trash = {0};

    if (work->pool && work->pool->ops->trash_list(work->pool, work->call, &trash, err) < 0)
        return -1;
    for (size_t i = 0; i < trash.count; i++)
        if (strcmp(trash.items[i].id, work->repair->image_id) == 0)
            return 0;
    return remove_key(work, repaired, err);
}

/* What the journal of one pool says of the uuid. */
static int search_pool(struct repair_work *work, const char *name, bool *known, bool *unfinished,
                       struct error *err)
{
    struct ceph_cluster *cluster = work->session.cluster;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (cluster->ops->pool_open(cluster, work->call, name, session_rbd_namespace(&work->session),
                                &pool, err) < 0)
        return -1;
    for (int kind = JOURNAL_VOLUME; kind <= JOURNAL_SNAPSHOT; kind++) {
        const struct journal journal = {(enum journal_kind)kind, work->options->instance_id};
        _cleanup_journal_entry_ struct journal_entry entry = {0};
        bool found = false;

        if (journal_read(&journal, work->call, pool, &work->repair->uuid, &entry, &found, err) < 0)
            return -1;
        *known = *known || found;
        *unfinished = *unfinished || (found && !entry.image_id);
    }
    return 0;
}

/* The same of all pools: clones may be in another one than what they are made from. */
static int search_all_pools(struct repair_work *work, bool *known, bool *unfinished,
                            struct error *err)
{
    struct ceph_cluster *cluster = work->session.cluster;
    _cleanup_string_list_ struct string_list names = {0};

    if (cluster->ops->pool_list(cluster, work->call, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        if (search_pool(work, names.items[i], known, unfinished, err) == 0)
            continue;
        if (err->status != STATUS_NOT_FOUND && err->status != STATUS_PERMISSION_DENIED)
            return -1;
        error_clear(err); /* gone, or not this user's: then nothing that counts on it is offered */
    }
    return 0;
}

/* Who makes such a snapshot writes the entry before and removes the snapshot after: without an
 * entry, and with a finished one, nobody is at work on it. */
static int remove_snapshot(struct repair_work *work, bool *repaired, struct error *err)
{
    bool known = false;
    bool unfinished = false;

    if (search_all_pools(work, &known, &unfinished, err) < 0)
        return -1;
    if (unfinished)
        return 0;
    if (snapshot_ensure_gone(work->pool, work->call, work->repair->image, work->repair->snapshot,
                             err) < 0)
        return -1;
    *repaired = true;
    return 0;
}

/* Its volume may be in the other cluster, or come back with it. */
static int refuse_mirrored(struct repair_work *work, const char *image_id, struct error *err)
{
    struct ceph_pool *pool = work->pool;
    const char *name = work->repair->image;
    struct image_mirroring mirroring = {0};

    if (pool->ops->image_get_mirroring(pool, work->call, name, image_id, &mirroring, err) < 0)
        return -1;
    if (!mirroring.is_enabled)
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "image '%s' in pool '%s' is mirrored and stays; if nobody needs it in either "
                     "cluster, end its mirroring first",
                     name, pool->name);
}

static int discard_image(struct repair_work *work, bool *repaired, struct error *err)
{
    const struct fsck_repair *repair = work->repair;
    const struct journal journal = {JOURNAL_VOLUME, work->options->instance_id};
    _cleanup_strmap_ struct strmap queued = {0};
    _cleanup_free_ char *image_id = NULL;
    bool known = false;
    bool unfinished = false;

    if (search_all_pools(work, &known, &unfinished, err) < 0 ||
        image_find_listed(work->pool, work->call, repair->image, &image_id, err) < 0)
        return -1;
    if (known || !image_id || strcmp(image_id, repair->image_id) != 0)
        return 0;
    if (refuse_mirrored(work, image_id, err) < 0)
        return -1;
    if (image_discard(work->pool, work->call, repair->image, NULL, image_id, &queued, err) < 0 ||
        journal_release_name(&journal, work->call, work->directory, NULL, repair->pool_id,
                             &repair->uuid, &queued, err) < 0)
        return -1;
    *repaired = true;
    return 0;
}

/* All but FSCK_NO_REPAIR. */
static int (*const REPAIRS[])(struct repair_work *work, bool *repaired, struct error *err) = {
    [FSCK_FORGET_NAME] = forget_name,     [FSCK_FORGET_ENTRY] = forget_entry,
    [FSCK_FORGET_PURGE] = forget_purge,   [FSCK_REMOVE_CUT] = remove_snapshot,
    [FSCK_DISCARD_IMAGE] = discard_image,
};

int fsck_repair(const struct fsck_options *options, struct call *call,
                const struct fsck_finding *finding, bool *repaired, struct error *err)
{
    const struct fsck_repair *repair = &finding->repair;
    _cleanup_(repair_work_done) struct repair_work work = {
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
                     options->credentials, &work.session, err) < 0 ||
        open_pool(&work, repair->pool_id, &work.pool, err) < 0 ||
        open_pool(&work, needs_directory ? repair->directory_id : -1, &work.directory, err) < 0)
        return -1;
    if ((needs_pool && !work.pool) || (needs_directory && !work.directory))
        return 0; /* went with its pool */
    if (REPAIRS[repair->action](&work, repaired, err) < 0)
        return error_wrap(err, "repair '%s' in pool '%s'", finding->object, finding->pool);
    return 0;
}
