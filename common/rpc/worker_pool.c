/*
 * The thread that became idle last gets the next job. So only as many threads are used as there are
 * calls at once, which matters because librados and librbd keep buffers for each thread that ever
 * called them. Threads are started when there is work for them, and end when there was none for
 * long; one stays.
 */
#include "common/rpc/worker_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/memory.h"

/* Ample for handlers: librados and librbd run their callbacks on threads of their own. The default
 * of 8 MiB for each of many workers would inflate the memory that the process seems to need. */
#define STACK_BYTES (1u << 20)
#define IDLE_DEFAULT_MS 60000

/* A place for a thread, which comes and goes. */
struct pool_worker {
    struct worker_pool *pool;
    pthread_t thread;
    pthread_cond_t woken;
    /* under the pool's lock: */
    bool is_running;
    bool is_joinable; /* set once it was started, until it has been joined */
    bool is_coming;   /* started or woken, and has not looked at the queue since */
    bool is_idle;
    struct pool_worker *below; /* became idle before it */
};

struct worker_pool {
    struct worker_pool_options options;
    pthread_mutex_t lock;
    /* under the lock: */
    struct pool_worker *idle; /* the one that became idle last */
    struct worker_job *first;
    struct worker_job **last; /* where the next job is linked in */
    unsigned waiting;
    unsigned coming; /* workers; each takes a job */
    bool stopping;

    struct pool_worker *workers; /* as many as options.threads */
};

/* --- the threads --- */

/* Lock held. */
static void leave_idle(struct worker_pool *pool, struct pool_worker *worker)
{
    struct pool_worker **link = &pool->idle;

    while (*link != worker)
        link = &(*link)->below;
    *link = worker->below;
    worker->is_idle = false;
}

/* Waits for a job, or the end. False when there was nothing to do for long. Lock held, given up
 * while waiting. */
static bool rest(struct worker_pool *pool, struct pool_worker *worker)
{
    const struct timespec until = deadline_timespec(deadline_in_ms(pool->options.idle_ms));
    int result = 0;

    worker->is_idle = true;
    worker->below = pool->idle;
    pool->idle = worker;
    while (worker->is_idle && result == 0)
        result = pthread_cond_clockwait(&worker->woken, &pool->lock, CLOCK_MONOTONIC, &until);
    if (!worker->is_idle)
        return true;
    leave_idle(pool, worker);
    return false;
}

/* Lock held. */
static void set_coming(struct pool_worker *worker, bool is_coming)
{
    worker->pool->coming += is_coming;
    worker->pool->coming -= worker->is_coming;
    worker->is_coming = is_coming;
}

/* The next job, NULL when the thread shall end. */
static struct worker_job *take_job(struct pool_worker *worker)
{
    struct worker_pool *pool = worker->pool;
    bool stays = true;

    pthread_mutex_lock(&pool->lock);
    set_coming(worker, false);
    while (stays && !pool->first && !pool->stopping) {
        stays = rest(pool, worker) || worker == pool->workers;
        set_coming(worker, false);
    }
    struct worker_job *job = pool->first;
    if (job) {
        pool->first = job->next;
        pool->waiting--;
        if (!pool->first)
            pool->last = &pool->first;
    } else {
        worker->is_running = false;
    }
    pthread_mutex_unlock(&pool->lock);
    return job;
}

static void *run_jobs(void *argument)
{
    struct pool_worker *worker = argument;
    struct worker_job *job = NULL;

    while ((job = take_job(worker)))
        job->run(job);
    return NULL;
}

/* Lock held; a thread that is joined here has nothing left to do. Negative errno. */
static int start_thread(struct worker_pool *pool, struct pool_worker *worker)
{
    /* the kernel keeps 15 characters */
    _cleanup_free_ char *name =
        xasprintf("%.11s-%u", pool->options.name, (unsigned)(worker - pool->workers) % 1000);
    pthread_attr_t attributes;

    if (worker->is_joinable)
        pthread_join(worker->thread, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int result = pthread_create(&worker->thread, &attributes, run_jobs, worker);
    pthread_attr_destroy(&attributes);
    worker->is_running = worker->is_joinable = result == 0;
    set_coming(worker, result == 0);
    if (result == 0)
        pthread_setname_np(worker->thread, name);
    return -result;
}

/* Lock held. */
static void wake_one(struct worker_pool *pool)
{
    struct pool_worker *worker = pool->idle;

    leave_idle(pool, worker);
    set_coming(worker, true);
    pthread_cond_signal(&worker->woken);
}

/* Lock held. */
static void fetch_one(struct worker_pool *pool)
{
    if (pool->idle) {
        wake_one(pool);
        return;
    }
    for (unsigned i = 0; i < pool->options.threads; i++)
        if (!pool->workers[i].is_running) {
            int result = start_thread(pool, &pool->workers[i]);

            if (result < 0)
                log_warn(NULL, "cannot start another worker, the call waits for one: %s",
                         strerrordesc_np(-result));
            return;
        }
    /* all are busy, and look at the queue before they rest */
}

/* --- the pool --- */

int worker_pool_new(const struct worker_pool_options *options, struct worker_pool **out,
                    struct error *err)
{
    _cleanup_(worker_pool_freep) struct worker_pool *pool = xcalloc(1, sizeof(*pool));

    pool->options = *options;
    if (options->idle_ms == 0)
        pool->options.idle_ms = IDLE_DEFAULT_MS;
    pool->last = &pool->first;
    pthread_mutex_init(&pool->lock, NULL);
    pool->workers = xcalloc(options->threads, sizeof(*pool->workers));
    for (unsigned i = 0; i < options->threads; i++)
        pool->workers[i] = (struct pool_worker){.pool = pool, .woken = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&pool->lock);
    int result = start_thread(pool, &pool->workers[0]); /* which stays, so that nothing is stuck */
    pthread_mutex_unlock(&pool->lock);
    if (result < 0)
        return error_set_errno(err, result, "start a worker thread");
    *out = TAKE(pool);
    return 0;
}

int worker_pool_submit(struct worker_pool *pool, struct worker_job *job, struct error *err)
{
    job->next = NULL;
    pthread_mutex_lock(&pool->lock);
    bool is_full = pool->waiting >= pool->options.queue_limit;
    if (!is_full) {
        *pool->last = job;
        pool->last = &job->next;
        pool->waiting++;
        if (pool->waiting > pool->coming)
            fetch_one(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    if (is_full)
        return error_set(err, STATUS_UNAVAILABLE,
                         "all %u workers are busy and %u calls wait for one already",
                         pool->options.threads, pool->options.queue_limit);
    return 0;
}

void worker_pool_free(struct worker_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    while (pool->idle)
        wake_one(pool);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->options.threads; i++) {
        if (pool->workers[i].is_joinable)
            pthread_join(pool->workers[i].thread, NULL);
        pthread_cond_destroy(&pool->workers[i].woken);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}
