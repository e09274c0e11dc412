#include "common/base/worker.h"

#include <stdlib.h>

/* Of a detached thread; includes the static TLS of the Ceph libraries. */
#define SMALL_STACK_BYTES ((size_t)256 * 1024)

static void *run_worker(void *object)
{
    struct worker *worker = object;

    worker->run(worker->object);
    return NULL;
}

void worker_start(struct worker *worker, const char *name, void (*run)(void *object), void *object)
{
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    atomic_init(&worker->stopping, false);
    worker->awake = false;
    worker->run = run;
    worker->object = object;
    call_init(&worker->call, 0, name, deadline_never());
    worker->call.cancelled = &worker->stopping;
    if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
        abort();
    pthread_setname_np(worker->thread, name);
}

void worker_stop(struct worker *worker)
{
    atomic_store(&worker->stopping, true);
    worker_wake(worker);
    pthread_join(worker->thread, NULL);
    call_done(&worker->call);
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
}

bool worker_is_stopping(const struct worker *worker)
{
    return atomic_load(&worker->stopping);
}

void worker_pause(struct worker *worker, int64_t ms)
{
    struct deadline deadline = deadline_in_ms(ms);
    const struct timespec until = deadline_timespec(deadline);

    pthread_mutex_lock(&worker->lock);
    while (!worker->awake && !atomic_load(&worker->stopping) && !deadline_has_passed(deadline))
        pthread_cond_clockwait(&worker->wake, &worker->lock, CLOCK_MONOTONIC, &until);
    worker->awake = false;
    pthread_mutex_unlock(&worker->lock);
}

void worker_wake(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->awake = true;
    pthread_cond_broadcast(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}

int worker_start_detached(void *(*run)(void *object), void *object)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, SMALL_STACK_BYTES);
    int failed = pthread_create(&thread, &attributes, run, object);
    pthread_attr_destroy(&attributes);
    return -failed;
}
