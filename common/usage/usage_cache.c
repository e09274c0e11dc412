#include "common/usage/usage_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/tasks.h"
#include "common/config/session.h"

/* Apart, because figures must not wait behind long listings of volumes. */
#define FIGURE_THREADS 2
#define LISTING_THREADS 2
#define STALE_PATIENCE_MS 2000
#define ASK_TIMEOUT_MS 30000
#define LISTING_TIMEOUT_MS 600000

struct usage_snapshot {
    atomic_int refs;
    struct cluster_usage usage;
};

/* Head of what the cache keeps under a key, in a list: clusters, users and pools are few. */
struct entry {
    struct entry *next;
    char *key;
};

/* The figures of one cluster as one user sees them. */
struct figures {
    struct entry entry;
    struct usage_snapshot *snapshot; /* NULL until the first answer */
    int64_t taken_ms;
    uint64_t answers;     /* counts rounds of questions, failed ones too */
    bool is_asked;        /* a round is under way: nobody else begins one */
    struct error failure; /* of the last round; clear after a good one */
};

/* The volumes of one pool. */
struct volume_listing {
    struct entry entry;
    bool is_known;
    bool has_bytes;
    bool need_bytes; /* somebody asked for them: from then on they are listed too */
    bool is_asked;   /* a round is under way, with bytes if asked_bytes */
    bool asked_bytes;
    int64_t listed_ms;
    uint64_t rounds;
    int64_t bytes;         /* as listed, and what our calls did since; may be briefly wrong */
    int64_t volumes;       /* the same */
    int64_t changed_bytes; /* by our calls, since the process began */
    int64_t changed_volumes;
    uint64_t in_flight_bytes;
    uint64_t in_flight_volumes;
};

struct usage_cache {
    struct usage_cache_options options;
    struct tasks *figure_tasks;
    struct tasks *listing_tasks;
    pthread_mutex_t lock; /* over the lists */
    pthread_cond_t changed;
    pthread_mutex_t placement;
    usage_changed_fn *notify; /* NULL: nobody */
    void *notify_object;
    struct entry *figures;  /* struct figures */
    struct entry *listings; /* struct volume_listing */
};

/* Whom a background task asks, and about what. */
struct usage_question {
    struct usage_cache *cache;
    char *key;
    char *cluster_id;
    char *pool;
    char *rados_namespace;
    char *fs_name;
    struct credentials credentials;
};

static void question_release(void *object)
{
    struct usage_question *question = object;

    free_all(question->key, question->cluster_id, question->pool, question->rados_namespace,
             question->fs_name);
    credentials_done(&question->credentials);
    free(question);
}

static struct usage_question *question_new(struct usage_cache *cache, const char *key,
                                           const char *cluster_id,
                                           const struct credentials *credentials)
{
    struct usage_question *question = xcalloc(1, sizeof(*question));

    *question = (struct usage_question){.cache = cache,
                                        .key = xstrdup(key),
                                        .cluster_id = xstrdup(cluster_id),
                                        .credentials = {.user = xstrdup(credentials->user)}};
    secret_copy(&question->credentials.key, &credentials->key);
    return question;
}

struct usage_cache *usage_cache_new(const struct usage_cache_options *options)
{
    struct usage_cache *cache = xcalloc(1, sizeof(*cache));

    cache->options = *options;
    cache->figure_tasks = tasks_new(FIGURE_THREADS);
    cache->listing_tasks = tasks_new(LISTING_THREADS);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->changed, NULL);
    pthread_mutex_init(&cache->placement, NULL);
    return cache;
}

bool usage_cache_stop(struct usage_cache *cache, int64_t timeout_ms)
{
    bool figures = tasks_stop(cache->figure_tasks, timeout_ms);

    return tasks_stop(cache->listing_tasks, timeout_ms) && figures;
}

void usage_snapshot_unref(struct usage_snapshot *snapshot)
{
    if (atomic_fetch_sub(&snapshot->refs, 1) != 1)
        return;
    cluster_usage_done(&snapshot->usage);
    free(snapshot);
}

const struct cluster_usage *usage_snapshot_usage(const struct usage_snapshot *snapshot)
{
    return &snapshot->usage;
}

/* Lock held. What is not there is added, zeroed, with @size bytes. */
static void *find_entry(struct entry **list, const char *key, size_t size)
{
    struct entry *entry = *list;

    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next;
    if (!entry) {
        entry = xcalloc(1, size);
        entry->key = xstrdup(key);
        entry->next = *list;
        *list = entry;
    }
    return entry;
}

static void free_entries(struct entry *entry)
{
    while (entry) {
        struct entry *next = entry->next;

        free_all(entry->key, entry);
        entry = next;
    }
}

void usage_cache_free(struct usage_cache *cache)
{
    tasks_free(cache->figure_tasks);
    tasks_free(cache->listing_tasks);
    for (struct entry *entry = cache->figures; entry; entry = entry->next) {
        struct figures *figures = (struct figures *)entry;

        if (figures->snapshot)
            usage_snapshot_unref(figures->snapshot);
        error_clear(&figures->failure);
    }
    free_entries(cache->figures);
    free_entries(cache->listings);
    pthread_mutex_destroy(&cache->placement);
    pthread_cond_destroy(&cache->changed);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* --- figures --- */

static struct figures *find_figures(struct usage_cache *cache, const char *key)
{
    return find_entry(&cache->figures, key, sizeof(struct figures));
}

/* The task's call has no deadline of its own. */
static int ask_figures(void *object, struct call *task, struct error *err)
{
    const struct usage_question *question = object;
    struct usage_cache *cache = question->cache;
    _cleanup_session_ struct session session = {0};
    _cleanup_usage_snapshot_ struct usage_snapshot *snapshot = xcalloc(1, sizeof(*snapshot));
    struct call call;

    call_init(&call, task->id, task->method, deadline_in_ms(ASK_TIMEOUT_MS));
    call.cancelled = task->cancelled;
    atomic_init(&snapshot->refs, 1);
    int result = session_open(cache->options.ceph, cache->options.config, &call,
                              question->cluster_id, &question->credentials, &session, err);
    if (result == 0)
        result = cluster_usage_ask(session.cluster, &call, cache->options.subvolumes != NULL,
                                   &snapshot->usage, err);
    call_done(&call);
    pthread_mutex_lock(&cache->lock);
    struct figures *figures = find_figures(cache, question->key);
    figures->answers++;
    figures->is_asked = false;
    error_clear(&figures->failure);
    if (result == 0) {
        if (figures->snapshot)
            usage_snapshot_unref(figures->snapshot);
        figures->snapshot = TAKE(snapshot);
        figures->taken_ms = clock_monotonic_ms();
    } else {
        error_set(&figures->failure, err->status, "%s", err->message);
    }
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
    return result;
}

static const struct task_kind FIGURES = {
    .run = ask_figures, .release = question_release, .name = "capacity"};

int usage_cache_get(struct usage_cache *cache, struct call *call, const char *cluster_id,
                    const struct credentials *credentials, struct usage_snapshot **snapshot,
                    struct error *err)
{
    _cleanup_free_ char *key = xasprintf("%s as client.%s", cluster_id, credentials->user);
    int result = 0;

    pthread_mutex_lock(&cache->lock);
    struct figures *figures = find_figures(cache, key);
    uint64_t answers = figures->answers;
    int64_t age_ms = clock_monotonic_ms() - figures->taken_ms;
    if (!figures->is_asked && (!figures->snapshot || age_ms > cache->options.max_age_ms / 2)) {
        figures->is_asked = true;
        tasks_start(cache->figure_tasks, key, &FIGURES,
                    question_new(cache, key, cluster_id, credentials));
    }
    if (!figures->snapshot || age_ms > cache->options.max_age_ms) {
        const struct deadline limit = deadline_earlier(
            call->deadline, deadline_in_ms(figures->snapshot ? STALE_PATIENCE_MS : ASK_TIMEOUT_MS));
        const struct timespec wake = deadline_timespec(limit);

        call_stage(call, "waiting {age} for the capacity of cluster '%s'", cluster_id);
        while (figures->answers == answers && !deadline_has_passed(limit))
            pthread_cond_clockwait(&cache->changed, &cache->lock, CLOCK_MONOTONIC, &wake);
    }
    if (figures->snapshot) {
        *snapshot = figures->snapshot;
        atomic_fetch_add(&figures->snapshot->refs, 1);
    } else if (figures->failure.message) {
        result = error_set(err, figures->failure.status, "%s", figures->failure.message);
    } else {
        result = error_set(err, STATUS_UNAVAILABLE,
                           "the monitors of cluster '%s' have not reported its capacity yet",
                           cluster_id);
    }
    pthread_mutex_unlock(&cache->lock);
    return result;
}

/* --- volumes --- */

static struct volume_listing *find_listing(struct usage_cache *cache, const char *key)
{
    return find_entry(&cache->listings, key, sizeof(struct volume_listing));
}

/* Locks the cache and finds the listing of @pool. */
static struct volume_listing *lock_listing(struct usage_cache *cache, const struct usage_pool *pool)
{
    _cleanup_free_ char *key =
        xasprintf("%s/%s/%s", pool->cluster_id, pool->pool, pool->rados_namespace);

    pthread_mutex_lock(&cache->lock);
    return find_listing(cache, key);
}

static int add_sizes(struct ceph_pool *pool, struct call *call, const struct strmap *images,
                     int64_t *bytes, struct error *err)
{
    for (size_t i = 0; i < images->count; i++) {
        uint64_t size = 0;

        if (call_check(call, err) < 0)
            return -1;
        if (pool->ops->image_get_size(pool, call, images->entries[i].value, &size, err) < 0) {
            if (err->status != STATUS_NOT_FOUND)
                return -1;
            error_clear(err); /* gone since */
        }
        *bytes += (int64_t)size;
    }
    return 0;
}

static int list_pool(const struct usage_question *question, struct call *call, bool with_bytes,
                     int64_t *volumes, int64_t *bytes, struct error *err)
{
    const struct usage_cache_options *options = &question->cache->options;
    _cleanup_session_ struct session session = {0};
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;
    _cleanup_strmap_ struct strmap images = {0};

    if (session_open(options->ceph, options->config, call, question->cluster_id,
                     &question->credentials, &session, err) < 0)
        return -1;
    if (question->fs_name)
        return subvolume_count(options->subvolumes, &session, call, question->fs_name,
                               question->pool, volumes, bytes, err);
    if (session.cluster->ops->pool_open(session.cluster, call, question->pool,
                                        question->rados_namespace, &pool, err) < 0 ||
        pool->ops->image_list(pool, call, &images, err) < 0)
        return -1;
    *volumes = (int64_t)images.count;
    return with_bytes ? add_sizes(pool, call, &images, bytes, err) : 0;
}

static int run_listing(void *object, struct call *task, struct error *err)
{
    const struct usage_question *question = object;
    struct usage_cache *cache = question->cache;
    int64_t volumes = 0;
    int64_t bytes = 0;
    struct call call;

    pthread_mutex_lock(&cache->lock);
    struct volume_listing *listing = find_listing(cache, question->key);
    listing->is_asked = true; /* also when it runs again for later callers */
    listing->asked_bytes = listing->need_bytes;
    const struct volume_listing before = *listing;
    pthread_mutex_unlock(&cache->lock);
    call_init(&call, task->id, task->method, deadline_in_ms(LISTING_TIMEOUT_MS));
    call.cancelled = task->cancelled;
    int result = list_pool(question, &call, before.need_bytes, &volumes, &bytes, err);
    call_done(&call);
    pthread_mutex_lock(&cache->lock);
    if (result == 0) {
        /* What our calls did meanwhile may be in the listing or not: it is not worth being exact
         * about, and the next listing knows. */
        listing->volumes = volumes + listing->changed_volumes - before.changed_volumes;
        listing->bytes = bytes + listing->changed_bytes - before.changed_bytes;
        listing->has_bytes = before.need_bytes;
        listing->is_known = true;
        listing->listed_ms = clock_monotonic_ms();
    }
    listing->rounds++;
    listing->is_asked = false;
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
    return result;
}

static const struct task_kind LISTING = {
    .run = run_listing, .release = question_release, .name = "list-volumes"};

/* Lock held. One round at a time; one that is under way without the bytes that are needed now is
 * followed by another. Returns the round that will have the answer. */
static uint64_t start_listing(struct usage_cache *cache, struct volume_listing *listing,
                              const struct usage_pool *pool, const struct credentials *credentials)
{
    bool is_under_way = listing->is_asked;

    if (is_under_way && (listing->asked_bytes || !listing->need_bytes))
        return listing->rounds + 1;
    struct usage_question *question =
        question_new(cache, listing->entry.key, pool->cluster_id, credentials);
    question->pool = xstrdup(pool->pool);
    question->rados_namespace = xstrdup(pool->rados_namespace);
    question->fs_name = pool->fs_name ? xstrdup(pool->fs_name) : NULL;
    listing->is_asked = true;
    listing->asked_bytes = is_under_way ? listing->asked_bytes : listing->need_bytes;
    tasks_start(cache->listing_tasks, listing->entry.key, &LISTING, question);
    return listing->rounds + (is_under_way ? 2 : 1);
}

static bool has_answer(const struct volume_listing *listing, bool need_bytes)
{
    return listing->is_known && (listing->has_bytes || !need_bytes);
}

static uint64_t not_negative(int64_t value)
{
    return value < 0 ? 0 : (uint64_t)value;
}

struct pool_provision usage_cache_provision(struct usage_cache *cache, struct call *call,
                                            const struct usage_pool *pool,
                                            const struct credentials *credentials, bool need_bytes)
{
    struct volume_listing *listing = lock_listing(cache, pool);
    uint64_t round = listing->rounds;

    listing->need_bytes |= need_bytes;
    if (!has_answer(listing, need_bytes) ||
        clock_monotonic_ms() - listing->listed_ms > cache->options.listing_age_ms)
        round = start_listing(cache, listing, pool, credentials);
    if (!has_answer(listing, need_bytes) && call) {
        const struct timespec limit = deadline_timespec(call->deadline);
        int waited = 0;

        call_stage(call, "waiting {age} until the volumes of pool '%s' are counted", pool->pool);
        while (!has_answer(listing, need_bytes) && listing->rounds < round && waited == 0 &&
               !call_is_cancelled(call))
            waited = pthread_cond_clockwait(&cache->changed, &cache->lock, CLOCK_MONOTONIC, &limit);
    }
    struct pool_provision provision = {
        .bytes = not_negative(listing->bytes),
        .in_flight = listing->in_flight_bytes,
        .volumes = not_negative(listing->volumes) + listing->in_flight_volumes,
        .is_known = has_answer(listing, need_bytes),
    };
    pthread_mutex_unlock(&cache->lock);
    return provision;
}

/* --- our own calls --- */

/* Lock held. */
static void change_listing(struct usage_cache *cache, struct volume_listing *listing,
                           int64_t volumes, int64_t bytes)
{
    listing->volumes += volumes;
    listing->bytes += bytes;
    listing->changed_volumes += volumes;
    listing->changed_bytes += bytes;
    if (cache->notify)
        cache->notify(cache->notify_object);
}

void usage_cache_creation_begins(struct usage_cache *cache, const struct usage_pool *pool,
                                 uint64_t size_bytes)
{
    struct volume_listing *listing = lock_listing(cache, pool);

    listing->in_flight_volumes++;
    listing->in_flight_bytes += size_bytes;
    pthread_mutex_unlock(&cache->lock);
}

void usage_cache_creation_ends(struct usage_cache *cache, const struct usage_pool *pool,
                               uint64_t size_bytes, bool is_made)
{
    struct volume_listing *listing = lock_listing(cache, pool);

    listing->in_flight_volumes--;
    listing->in_flight_bytes -= size_bytes;
    if (is_made)
        change_listing(cache, listing, 1, (int64_t)size_bytes);
    pthread_mutex_unlock(&cache->lock);
}

void usage_cache_deletion(struct usage_cache *cache, const struct usage_pool *pool,
                          uint64_t size_bytes)
{
    struct volume_listing *listing = lock_listing(cache, pool);

    change_listing(cache, listing, -1, -(int64_t)size_bytes);
    pthread_mutex_unlock(&cache->lock);
}

void usage_cache_growth(struct usage_cache *cache, const struct usage_pool *pool,
                        uint64_t more_bytes)
{
    struct volume_listing *listing = lock_listing(cache, pool);

    change_listing(cache, listing, 0, (int64_t)more_bytes);
    pthread_mutex_unlock(&cache->lock);
}

void usage_cache_notify(struct usage_cache *cache, usage_changed_fn *changed, void *object)
{
    pthread_mutex_lock(&cache->lock);
    cache->notify = changed;
    cache->notify_object = object;
    pthread_mutex_unlock(&cache->lock);
}

void usage_cache_lock_placement(struct usage_cache *cache)
{
    pthread_mutex_lock(&cache->placement);
}

void usage_cache_unlock_placement(struct usage_cache *cache)
{
    pthread_mutex_unlock(&cache->placement);
}
