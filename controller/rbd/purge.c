#include "controller/rbd/purge.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/newest_credentials.h"
#include "common/config/session.h"
#include "controller/rbd/flatten.h"
#include "controller/rbd/purge_claim.h"
#include "controller/rbd/task_gauges.h"

#define POOL_ID_DIGITS 16
#define BUSY_TRIES 45 /* a client that died counts for 30 s */
#define BUSY_PAUSE_MS 1000
#define PATIENCE 30 /* a burst of deletions may hold up removal this many quiet times */
#define RETRY_FIRST_MS 5000
#define RETRY_LIMIT_MS 600000
#define BUSY_AGAIN_MS 60000
#define BLOCKED_AGAIN_MS 3600000 /* clones of other drivers go unseen, and so does time */

struct purge {
    const struct controller *controller;
    char *key; /* of the task */
    char *cluster_id;
    struct credentials credentials;
    int64_t directory_id;
    char *rados_namespace;
};

struct purger {
    struct task_gauges gauges;
    struct newest_credentials *newest;
    int64_t quiet_ms;
    atomic_llong deleted_ms; /* when something was last queued */
    pthread_mutex_t lock;
    struct string_list visited; /* directories that this process has scanned, by key */
    struct purge **waiting;     /* those with images whose clones are not gone yet, which may be
                                   queued in other directories */
    size_t waiting_count;
};

/* What a pass over the keys came to. */
struct pass {
    unsigned removed;
    unsigned blocked; /* by clones, busy, or to be kept for some time */
    unsigned busy;    /* somebody has the image open, which soon passes */
};

/* One run of the task: passes until nothing more can be done now. */
struct run {
    const struct purge *purge;
    struct ceph_cluster *cluster;
    struct ceph_pool *directory;
    struct pass last;
    unsigned removed;
    struct string_list failed; /* keys of images that could not be removed in this run */
    struct string_list silent; /* pools that do not answer, by their ids */
    struct error *first;       /* why the first of them failed */
};

struct purger *purger_new(int64_t quiet_ms)
{
    struct purger *purger = xcalloc(1, sizeof(*purger));

    purger->quiet_ms = quiet_ms;
    purger->newest = newest_credentials_new();
    pthread_mutex_init(&purger->lock, NULL);
    return purger;
}

void purger_register(struct purger *purger, struct tasks *tasks, struct metrics *metrics)
{
    task_gauges_register(&purger->gauges, tasks, metrics);
}

void purger_credentials(const struct controller *controller, const char *cluster_id,
                        const struct credentials *known, struct credentials *credentials)
{
    newest_credentials_get(controller->purger->newest, cluster_id, known, credentials);
}

/* A call brought them. If its user has a new key, what failed with the old one need not wait. */
static void note_credentials(const struct controller *controller, const char *cluster_id,
                             const struct credentials *credentials)
{
    if (newest_credentials_note(controller->purger->newest, cluster_id, credentials))
        tasks_hurry(controller->tasks);
}

static void purge_release(void *object)
{
    struct purge *purge = object;

    free_all(purge->key, purge->cluster_id, purge->rados_namespace);
    credentials_done(&purge->credentials);
    free(purge);
}

void purger_free(struct purger *purger)
{
    for (size_t i = 0; i < purger->waiting_count; i++)
        purge_release(purger->waiting[i]);
    free(purger->waiting);
    string_list_done(&purger->visited);
    newest_credentials_free(purger->newest);
    pthread_mutex_destroy(&purger->lock);
    free(purger);
}

void purge_add(struct strmap *queued, const struct ceph_pool *pool, const char *image_id,
               const char *image_name)
{
    _cleanup_free_ char *key =
        xasprintf(PURGE_KEY "%016llx.%s", (unsigned long long)pool->id, image_id);

    strmap_set(queued, key, image_name);
}

bool purge_key_parse(const char *key, int64_t *pool_id, const char **image_id)
{
    const char *digits = key + strlen(PURGE_KEY);
    char *end = NULL;

    *pool_id = (int64_t)strtoull(digits, &end, 16);
    *image_id = end + 1;
    return end == digits + POOL_ID_DIGITS && *end == '.' && end[1] != '\0';
}

/* Removes one image's data. *@gone is false when it is not possible yet. */
static int remove_data(struct run *run, struct call *call, int64_t pool_id, const char *image_id,
                       bool *gone, struct error *err)
{
    struct ceph_cluster *cluster = run->cluster;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    *gone = true;
    if (cluster->ops->pool_open_by_id(cluster, call, pool_id, run->directory->rados_namespace,
                                      &pool, err) == 0 &&
        cluster->ops->trash_remove(pool, call, image_id, NULL, NULL, err) == 0)
        return 0;
    if (err->status == STATUS_NOT_FOUND) {
        error_clear(err); /* an earlier try came this far */
        return 0;
    }
    *gone = false;
    const bool is_kept = err->sys_errno == EPERM && err->status == STATUS_FAILED_PRECONDITION;
    if (err->sys_errno != ENOTEMPTY && err->sys_errno != EBUSY && !is_kept)
        return -1;
    run->last.blocked++;
    run->last.busy += err->sys_errno == EBUSY;
    error_clear(err);
    return 0;
}

/* The claim is given back whatever became of the image. */
static int remove_claimed(struct run *run, struct call *call, const char *object, const char *key,
                          bool *gone, struct error *err)
{
    _cleanup_purge_claim_ struct purge_claim claim = {0};
    _cleanup_error_ struct error release = {0};
    const char *image_id = NULL;
    int64_t pool_id = 0;
    bool mine = false;

    if (!purge_key_parse(key, &pool_id, &image_id))
        return error_set(err, STATUS_DATA_LOSS, "'%s' is not a purge key; remove it by hand", key);
    purge_claim_init(&claim, run->purge->controller, run->directory, object, key);
    if (purge_claim_take(&claim, call, &mine, err) < 0)
        return -1;
    if (!mine) {
        run->last.blocked++;
        run->last.busy++;
        *gone = false;
        return 0;
    }
    int result = remove_data(run, call, pool_id, image_id, gone, err);
    if (purge_claim_release(&claim, call, &release) == 0 || result < 0)
        return result;
    *err = release;
    release = (struct error){0};
    return -1;
}

static int purge_key(struct run *run, struct call *call, const char *object,
                     const struct strmap_entry *item, struct error *err)
{
    bool gone = false;
    bool removed = false;

    if (remove_claimed(run, call, object, item->key, &gone, err) < 0)
        return error_wrap(err, "remove the data of image '%s'", item->value);
    if (!gone)
        return 0;
    run->last.removed++;
    return run->directory->ops->omap_remove_if(run->directory, call, object, item->key, item->value,
                                               NULL, &removed, err);
}

/* The part of a purge key that names the pool. Caller frees. */
static char *pool_of_key(const char *key)
{
    return xstrndup(key + strlen(PURGE_KEY), strnlen(key + strlen(PURGE_KEY), POOL_ID_DIGITS));
}

/* What cannot be removed does not keep the others: they may be in pools that are well. In a pool
 * that does not answer, each try would take the whole time limit. */
static void note_failure(struct run *run, const char *key, struct error *err)
{
    _cleanup_free_ char *pool = pool_of_key(key);

    if (err->status == STATUS_UNAVAILABLE || err->status == STATUS_DEADLINE_EXCEEDED)
        string_list_add(&run->silent, pool);
    string_list_add(&run->failed, key);
    if (run->first->message)
        error_clear(err);
    else
        *run->first = *err;
    *err = (struct error){0};
}

static bool is_given_up(const struct run *run, const char *key)
{
    _cleanup_free_ char *pool = pool_of_key(key);

    return string_list_has(&run->failed, key) || string_list_has(&run->silent, pool);
}

/* One pass over one directory object. */
static int purge_directory(struct run *run, struct call *call, enum journal_kind kind,
                           struct error *err)
{
    const struct journal journal = {kind, run->purge->controller->instance_id};
    _cleanup_free_ char *object = journal_directory(&journal);
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    while (more) {
        _cleanup_strmap_ struct strmap keys = {0};

        if (run->directory->ops->omap_list(run->directory, call, object, after, PURGE_KEY, &keys,
                                           &more, err) < 0)
            return error_ignore(err, STATUS_NOT_FOUND); /* no volume has ever been here */
        for (size_t i = 0; i < keys.count; i++) {
            if (call_check(call, err) < 0)
                return -1;
            if (!is_given_up(run, keys.entries[i].key) &&
                purge_key(run, call, object, &keys.entries[i], err) < 0)
                note_failure(run, keys.entries[i].key, err);
        }
        if (keys.count == 0)
            return 0;
        free(after);
        after = xstrdup(keys.entries[keys.count - 1].key);
    }
    return 0;
}

/* Whether another pass may do more: the removal of a clone frees its parent, and who has an image
 * open may be another driver that just examined it. */
static bool is_worth_another(const struct pass *pass, unsigned *patience, const struct call *call)
{
    _cleanup_error_ struct error cancelled = {0};

    if (pass->removed > 0)
        return true;
    if (pass->busy == 0 || *patience == 0)
        return false;
    (*patience)--;
    return call_pause(call, BUSY_PAUSE_MS, &cancelled) == 0;
}

/* Passes until nothing is left, or nothing that could go soon. @run is right after a failure too.
 */
static int purge_all(struct run *run, struct call *call, struct error *err)
{
    static const enum journal_kind kinds[] = {JOURNAL_VOLUME, JOURNAL_SNAPSHOT};
    unsigned patience = run->purge->controller->purger->quiet_ms > 0 ? BUSY_TRIES : 0;

    do {
        run->last = (struct pass){0};
        int result = 0;
        for (size_t i = 0; i < ARRAY_LENGTH(kinds) && result == 0; i++)
            result = purge_directory(run, call, kinds[i], err);
        run->removed += run->last.removed;
        if (result < 0)
            return -1;
        log_v(4, call, "removed the data of %u image(s), %u must wait, %zu cannot be removed",
              run->last.removed, run->last.blocked, run->failed.count);
    } while (is_worth_another(&run->last, &patience, call));
    if (run->failed.count == 0)
        return 0;
    *err = *run->first;
    *run->first = (struct error){0};
    return error_wrap(err, "%zu deleted image(s) keep their data for now; the first",
                      run->failed.count);
}

static struct purge *purge_copy(const struct purge *purge)
{
    struct purge *copy = xcalloc(1, sizeof(*copy));

    *copy = (struct purge){
        .controller = purge->controller,
        .key = xstrdup(purge->key),
        .cluster_id = xstrdup(purge->cluster_id),
        .directory_id = purge->directory_id,
        .rados_namespace = xstrdup(purge->rados_namespace),
    };
    credentials_copy(&copy->credentials, &purge->credentials);
    return copy;
}

static void set_waiting(const struct purge *purge, bool waits)
{
    struct purger *purger = purge->controller->purger;
    size_t i = 0;

    pthread_mutex_lock(&purger->lock);
    while (i < purger->waiting_count && strcmp(purger->waiting[i]->key, purge->key) != 0)
        i++;
    bool known = i < purger->waiting_count;
    if (waits && !known) {
        purger->waiting = xreallocarray(purger->waiting, i + 1, sizeof(struct purge *));
        purger->waiting[purger->waiting_count++] = purge_copy(purge);
    } else if (!waits && known) {
        purge_release(purger->waiting[i]);
        purger->waiting[i] = purger->waiting[--purger->waiting_count];
    }
    pthread_mutex_unlock(&purger->lock);
}

static int purge_run(void *object, struct call *call, struct error *err);

static const struct task_kind PURGE = {.run = purge_run,
                                       .release = purge_release,
                                       .name = "purge",
                                       .retry_first_ms = RETRY_FIRST_MS,
                                       .retry_limit_ms = RETRY_LIMIT_MS};

/* Images in other directories may have waited for what was removed here. */
static void wake_others(const struct purge *purge)
{
    struct purger *purger = purge->controller->purger;

    pthread_mutex_lock(&purger->lock);
    for (size_t i = 0; i < purger->waiting_count; i++)
        if (strcmp(purger->waiting[i]->key, purge->key) != 0)
            tasks_start(purge->controller->tasks, purger->waiting[i]->key, &PURGE,
                        purge_copy(purger->waiting[i]));
    pthread_mutex_unlock(&purger->lock);
}

/* Lets a burst of deletions pass: removal would take the OSDs' time from it. What ends it is that
 * nothing happens, so there is nothing to wait for but time. */
static void wait_for_quiet(const struct purge *purge, const struct call *call)
{
    const struct purger *purger = purge->controller->purger;
    _cleanup_error_ struct error cancelled = {0};
    struct deadline limit = deadline_in_ms(purger->quiet_ms * PATIENCE);

    while (clock_monotonic_ms() - atomic_load(&purger->deleted_ms) < purger->quiet_ms &&
           !deadline_has_passed(limit) && call_pause(call, 20, &cancelled) == 0)
        ;
}

static void run_done(struct run *run)
{
    string_list_done(&run->failed);
    string_list_done(&run->silent);
}

static int purge_run(void *object, struct call *call, struct error *err)
{
    const struct purge *purge = object;
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_session_ struct session session = {0};
    _cleanup_ceph_pool_ struct ceph_pool *directory = NULL;
    _cleanup_error_ struct error first = {0};
    _cleanup_error_ struct error resume = {0};

    wait_for_quiet(purge, call);
    purger_credentials(purge->controller, purge->cluster_id, &purge->credentials, &credentials);
    if (session_open(purge->controller->ceph, purge->controller->config, call, purge->cluster_id,
                     &credentials, &session, err) < 0 ||
        session.cluster->ops->pool_open_by_id(session.cluster, call, purge->directory_id,
                                              purge->rados_namespace, &directory, err) < 0)
        return -1;
    /* what else was left undone in the pool; if that fails, the removal of data goes on */
    const bool is_resumed = flatten_resume(purge->controller, call, purge->cluster_id, &credentials,
                                           directory, &resume) == 0;
    set_waiting(purge, true); /* at once: a clone may go while this looks at its parent */
    _cleanup_(run_done) struct run run = {
        .purge = purge, .cluster = session.cluster, .directory = directory, .first = &first};
    int result = purge_all(&run, call, err);
    if (result == 0 && run.last.blocked == 0)
        set_waiting(purge, false);
    else if (result == 0)
        task_come_back(call, run.last.busy > 0 ? BUSY_AGAIN_MS : BLOCKED_AGAIN_MS);
    if (run.removed > 0)
        wake_others(purge);
    if (result < 0 || is_resumed)
        return result;
    *err = resume;
    resume = (struct error){0};
    return -1;
}

static char *task_key(const char *cluster_id, const struct ceph_pool *directory)
{
    return xasprintf("purge:%s/%lld/%s", cluster_id, (long long)directory->id,
                     directory->rados_namespace);
}

void purge_start(const struct controller *controller, const char *cluster_id,
                 const struct credentials *credentials, const struct ceph_pool *directory)
{
    struct purge *purge = xcalloc(1, sizeof(*purge));

    *purge = (struct purge){
        .controller = controller,
        .key = task_key(cluster_id, directory),
        .cluster_id = xstrdup(cluster_id),
        .directory_id = directory->id,
        .rados_namespace = xstrdup(directory->rados_namespace),
    };
    credentials_copy(&purge->credentials, credentials);
    note_credentials(controller, cluster_id, credentials);
    atomic_store(&controller->purger->deleted_ms, clock_monotonic_ms());
    tasks_start(controller->tasks, purge->key, &PURGE, purge);
}

int purge_queue(const struct controller *controller, struct call *call, const char *cluster_id,
                const struct credentials *credentials, struct ceph_pool *directory,
                const struct strmap *queued, struct error *err)
{
    const struct journal journal = {JOURNAL_VOLUME, controller->instance_id};
    const struct uuid_text none = {0};

    if (queued->count == 0)
        return 0;
    if (journal_release_name(&journal, call, directory, NULL, directory->id, &none, queued, err) <
        0)
        return -1;
    purge_start(controller, cluster_id, credentials, directory);
    return 0;
}

void purge_resume(const struct controller *controller, const char *cluster_id,
                  const struct credentials *credentials, const struct ceph_pool *directory)
{
    struct purger *purger = controller->purger;
    _cleanup_free_ char *key = task_key(cluster_id, directory);

    note_credentials(controller, cluster_id, credentials);
    pthread_mutex_lock(&purger->lock);
    bool known = string_list_has(&purger->visited, key);
    if (!known)
        string_list_add(&purger->visited, key);
    pthread_mutex_unlock(&purger->lock);
    if (!known)
        purge_start(controller, cluster_id, credentials, directory);
}
