#include "common/base/worker.h"

#include <stdlib.h>

static void *begin(void *object)
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
    if (pthread_create(&worker->thread, NULL, begin, worker) != 0)
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
