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
#include "common/config/session.h"

#define POOL_ID_DIGITS 16
#define CLAIM_MS 10000 /* for opening an image */
#define BUSY_TRIES 45  /* a client that died counts for 30 s */
#define BUSY_PAUSE_MS 1000
#define PATIENCE 30 /* a burst of deletions may hold up removal this many quiet times */

struct purge {
    const struct controller *controller;
    char *key; /* of the task */
    char *cluster_id;
    struct credentials credentials;
    int64_t directory_id;
    char *rados_namespace;
};

struct purger {
    int64_t quiet_ms;
    atomic_llong deleted_ms; /* when something was last queued */
    pthread_mutex_t lock;
    struct string_list visited; /* directories that this process has scanned, by key */
    struct purge **waiting;     /* those with images whose clones are not gone yet, which may be
                                   queued in other directories */
    size_t waiting_count;
};

/* What one pass over the keys came to. */
struct pass {
    unsigned removed;
    unsigned blocked; /* by clones, or busy */
    unsigned busy;    /* somebody has the image open, which soon passes */
};

struct purger *purger_new(int64_t quiet_ms)
{
    struct purger *purger = xcalloc(1, sizeof(*purger));

    purger->quiet_ms = quiet_ms;
    pthread_mutex_init(&purger->lock, NULL);
    return purger;
}

static void purge_release(void *object)
{
    struct purge *purge = object;

    free(purge->key);
    free(purge->cluster_id);
    free(purge->rados_namespace);
    credentials_done(&purge->credentials);
    free(purge);
}

void purger_free(struct purger *purger)
{
    for (size_t i = 0; i < purger->waiting_count; i++)
        purge_release(purger->waiting[i]);
    free(purger->waiting);
    string_list_done(&purger->visited);
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
static int remove_data(struct ceph_cluster *cluster, struct call *call, int64_t pool_id,
                       const char *rados_namespace, const char *image_id, struct pass *pass,
                       bool *gone, struct error *err)
{
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    *gone = true;
    if (cluster->ops->pool_open_by_id(cluster, call, pool_id, rados_namespace, &pool, err) == 0 &&
        cluster->ops->trash_remove(pool, call, image_id, NULL, NULL, err) == 0)
        return 0;
    if (err->status == STATUS_NOT_FOUND) {
        error_clear(err); /* an earlier try came this far */
        return 0;
    }
    if (err->sys_errno != ENOTEMPTY && err->sys_errno != EBUSY)
        return -1;
    pass->blocked++;
    pass->busy += err->sys_errno == EBUSY;
    error_clear(err);
    *gone = false;
    return 0;
}

/* --- one process at a time ----------------------------------------------------------------------
 *
 * librbd aborts the process when two clients remove the same image at once. So whoever begins says
 * so in the directory; later on the open image keeps others out.
 */

struct removal {
    const struct controller *controller;
    struct ceph_pool *directory;
    const char *object; /* the directory's */
    char *key;
    char *value; /* "PROCESS MILLISECONDS" */
};

static void removal_done(struct removal *removal)
{
    free(removal->key);
    free(removal->value);
}

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A claim of our own, or one of a process that has had the time to open the image, or has died. */
static bool may_take_over(const struct removal *removal, const char *value)
{
    const char *process = removal->controller->process_id.chars;
    const char *began = strchr(value, ' ');

    return text_has_prefix(value, process) || !began ||
           llabs(now_ms() - strtoll(began, NULL, 10)) > CLAIM_MS;
}

/* *@mine is false while another process begins to remove the image. */
static int claim_removal(struct removal *removal, struct call *call, bool *mine, struct error *err)
{
    const struct ceph_ops *ops = removal->directory->ops;
    _cleanup_free_ char *present = NULL;
    bool removed = false;

    *mine = true;
    for (int tries = 0; tries < 2; tries++) {
        if (ops->omap_add(removal->directory, call, removal->object, removal->key, removal->value,
                          err) == 0)
            return 0;
        if (err->status != STATUS_ALREADY_EXISTS)
            return -1;
        error_clear(err);
        free(TAKE(present));
        if (ops->omap_get(removal->directory, call, removal->object, removal->key, &present, err) <
            0)
            return -1;
        if (present && !may_take_over(removal, present))
            break;
        if (present && ops->omap_remove_if(removal->directory, call, removal->object, removal->key,
                                           present, NULL, &removed, err) < 0)
            return -1;
    }
    *mine = false;
    return 0;
}

static int release_removal(struct removal *removal, struct call *call, struct error *err)
{
    bool removed = false;

    return removal->directory->ops->omap_remove_if(removal->directory, call, removal->object,
                                                   removal->key, removal->value, NULL, &removed,
                                                   err);
}

static int purge_key(const struct purge *purge, struct ceph_cluster *cluster, struct call *call,
                     struct ceph_pool *directory, const char *object,
                     const struct strmap_entry *item, struct pass *pass, struct error *err)
{
    _cleanup_(removal_done) struct removal removal = {
        .controller = purge->controller,
        .directory = directory,
        .object = object,
        .key = xasprintf(PURGE_CLAIM_KEY "%s", item->key + strlen(PURGE_KEY)),
        .value = xasprintf("%s %lld", purge->controller->process_id.chars, now_ms()),
    };
    const char *image_id = NULL;
    int64_t pool_id = 0;
    bool gone = false;
    bool removed = false;

    if (!purge_key_parse(item->key, &pool_id, &image_id))
        return error_set(err, STATUS_DATA_LOSS, "'%s' is not a purge key", item->key);
    bool mine = false;
    if (claim_removal(&removal, call, &mine, err) < 0)
        return -1;
    if (!mine) {
        pass->blocked++;
        pass->busy++;
        return 0;
    }
    if (remove_data(cluster, call, pool_id, directory->rados_namespace, image_id, pass, &gone,
                    err) < 0)
        return error_wrap(err, "remove the data of image '%s'", item->value);
    if (release_removal(&removal, call, err) < 0)
        return -1;
    if (!gone)
        return 0;
    pass->removed++;
    return directory->ops->omap_remove_if(directory, call, object, item->key, item->value, NULL,
                                          &removed, err);
}

/* One pass over one directory object. */
static int purge_directory(const struct purge *purge, struct ceph_cluster *cluster,
                           struct call *call, struct ceph_pool *directory, enum journal_kind kind,
                           struct pass *pass, struct error *err)
{
    const struct journal journal = {kind, purge->controller->instance_id};
    _cleanup_free_ char *object = journal_directory(&journal);
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    while (more) {
        _cleanup_strmap_ struct strmap keys = {0};

        if (directory->ops->omap_list(directory, call, object, after, PURGE_KEY, &keys, &more,
                                      err) < 0) {
            return error_ignore(err, STATUS_NOT_FOUND); /* no volume has ever been here */
        }
        for (size_t i = 0; i < keys.count; i++)
            if (call_check(call, err) < 0 ||
                purge_key(purge, cluster, call, directory, object, &keys.entries[i], pass, err) < 0)
                return -1;
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

/* Passes until nothing is left, or nothing that could go soon. @total is right after a failure too.
 */
static int purge_all(const struct purge *purge, struct ceph_cluster *cluster, struct call *call,
                     struct ceph_pool *directory, struct pass *total, struct error *err)
{
    static const enum journal_kind kinds[] = {JOURNAL_VOLUME, JOURNAL_SNAPSHOT};
    unsigned patience = purge->controller->purger->quiet_ms > 0 ? BUSY_TRIES : 0;
    struct pass pass;

    do {
        pass = (struct pass){0};
        int result = 0;
        for (size_t i = 0; i < ARRAY_LENGTH(kinds) && result == 0; i++)
            result = purge_directory(purge, cluster, call, directory, kinds[i], &pass, err);
        total->removed += pass.removed;
        total->blocked = pass.blocked;
        if (result < 0)
            return -1;
        log_v(4, call, "removed the data of %u image(s), %u must wait", pass.removed, pass.blocked);
    } while (is_worth_another(&pass, &patience, call));
    return 0;
}

static struct purge *purge_copy(const struct purge *purge)
{
    struct purge *copy = xcalloc(1, sizeof(*copy));

    *copy = (struct purge){
        .controller = purge->controller,
        .key = xstrdup(purge->key),
        .cluster_id = xstrdup(purge->cluster_id),
        .credentials = {.user = xstrdup(purge->credentials.user)},
        .directory_id = purge->directory_id,
        .rados_namespace = xstrdup(purge->rados_namespace),
    };
    secret_copy(&copy->credentials.key, &purge->credentials.key);
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

static const struct task_kind PURGE = {purge_run, purge_release, "purge"};

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

static int purge_run(void *object, struct call *call, struct error *err)
{
    const struct purge *purge = object;
    _cleanup_session_ struct session session = {0};
    _cleanup_ceph_pool_ struct ceph_pool *directory = NULL;

    wait_for_quiet(purge, call);
    if (session_open(purge->controller->ceph, purge->controller->config, call, purge->cluster_id,
                     &purge->credentials, &session, err) < 0 ||
        session.cluster->ops->pool_open_by_id(session.cluster, call, purge->directory_id,
                                              purge->rados_namespace, &directory, err) < 0)
        return -1;
    set_waiting(purge, true); /* at once: a clone may go while this looks at its parent */
    struct pass total = {0};
    int result = purge_all(purge, session.cluster, call, directory, &total, err);
    if (result == 0 && total.blocked == 0)
        set_waiting(purge, false);
    if (total.removed > 0)
        wake_others(purge);
    return result;
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
        .credentials = {.user = xstrdup(credentials->user)},
        .directory_id = directory->id,
        .rados_namespace = xstrdup(directory->rados_namespace),
    };
    secret_copy(&purge->credentials.key, &credentials->key);
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

    pthread_mutex_lock(&purger->lock);
    bool known = string_list_has(&purger->visited, key);
    if (!known)
        string_list_add(&purger->visited, key);
    pthread_mutex_unlock(&purger->lock);
    if (!known)
        purge_start(controller, cluster_id, credentials, directory);
}
