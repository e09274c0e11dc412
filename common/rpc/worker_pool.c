/*
 * The thread that became idle last gets the next job. So only as many threads are used as there are
 * calls at once, which matters because librados and librbd keep buffers for each thread that ever
 * called them.
 */
#include "common/rpc/worker_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/memory.h"

/* Ample for handlers: librados and librbd run their callbacks on threads of their own. The default
 * of 8 MiB for each of many workers would inflate the memory that the process seems to need. */
#define STACK_BYTES (1u << 20)

struct pool_worker {
    struct worker_pool *pool;
    pthread_t thread;
    pthread_cond_t woken;
    /* under the pool's lock: */
    bool is_idle;
    struct pool_worker *below; /* became idle before it */
};

struct worker_pool {
    unsigned limit; /* of waiting */
    pthread_mutex_t lock;
    /* under the lock: */
    struct pool_worker *idle; /* the one that became idle last */
    struct worker_job *first;
    struct worker_job **last; /* where the next job is linked in */
    unsigned waiting;
    bool stopping;

    struct pool_worker *workers;
    unsigned count;
};

/* Lock held. */
static void wake_one(struct worker_pool *pool)
{
    struct pool_worker *worker = pool->idle;

    if (!worker)
        return; /* all are busy, and look at the queue before they rest */
    pool->idle = worker->below;
    worker->is_idle = false;
    pthread_cond_signal(&worker->woken);
}

/* The next job, NULL when there is none left and the pool is stopping. */
static struct worker_job *take_job(struct pool_worker *worker)
{
    struct worker_pool *pool = worker->pool;

    pthread_mutex_lock(&pool->lock);
    while (!pool->first && !pool->stopping) {
        worker->is_idle = true;
        worker->below = pool->idle;
        pool->idle = worker;
        while (worker->is_idle)
            pthread_cond_wait(&worker->woken, &pool->lock);
    }
    struct worker_job *job = pool->first;
    if (job) {
        pool->first = job->next;
        pool->waiting--;
        if (!pool->first)
            pool->last = &pool->first;
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

static int start_thread(struct worker_pool *pool, const char *name, struct error *err)
{
    /* the kernel keeps 15 characters */
    _cleanup_free_ char *full_name = xasprintf("%.11s-%u", name, pool->count % 1000);
    struct pool_worker *worker = &pool->workers[pool->count];
    pthread_attr_t attributes;

    *worker = (struct pool_worker){.pool = pool, .woken = PTHREAD_COND_INITIALIZER};
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int result = pthread_create(&worker->thread, &attributes, run_jobs, worker);
    pthread_attr_destroy(&attributes);
    if (result != 0)
        return error_set_errno(err, -result, "start worker thread %u", pool->count);
    pthread_setname_np(worker->thread, full_name);
    pool->count++;
    return 0;
}

int worker_pool_new(const char *name, unsigned threads, unsigned queue_limit,
                    struct worker_pool **out, struct error *err)
{
    _cleanup_(worker_pool_freep) struct worker_pool *pool = xcalloc(1, sizeof(*pool));

    pool->limit = queue_limit;
    pool->last = &pool->first;
    pthread_mutex_init(&pool->lock, NULL);
    pool->workers = xcalloc(threads, sizeof(*pool->workers));
    while (pool->count < threads)
        if (start_thread(pool, name, err) < 0)
            return -1;
    *out = TAKE(pool);
    return 0;
}

int worker_pool_submit(struct worker_pool *pool, struct worker_job *job, struct error *err)
{
    job->next = NULL;
    pthread_mutex_lock(&pool->lock);
    bool is_full = pool->waiting >= pool->limit;
    if (!is_full) {
        *pool->last = job;
        pool->last = &job->next;
        pool->waiting++;
        wake_one(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    if (is_full)
        return error_set(err, STATUS_UNAVAILABLE,
                         "all %u workers are busy and %u calls wait for one already", pool->count,
                         pool->limit);
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
    for (unsigned i = 0; i < pool->count; i++) {
        pthread_join(pool->workers[i].thread, NULL);
        pthread_cond_destroy(&pool->workers[i].woken);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}
