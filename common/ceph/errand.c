#include "common/ceph/errand.h"

#include "common/ceph/admission.h"

void errand_init(struct errand *errand, void (*run)(rados_t rados, struct errand *errand),
                 void (*release)(struct errand *errand))
{
    *errand = (struct errand){.run = run, .release = release};
    pthread_mutex_init(&errand->lock, NULL);
    pthread_cond_init(&errand->ended, NULL);
}

void errand_free(struct errand *errand)
{
    pthread_cond_destroy(&errand->ended);
    pthread_mutex_destroy(&errand->lock);
    errand->release(errand);
}

void errand_execute(struct errand *errand, rados_t rados)
{
    errand->run(rados, errand);
    pthread_mutex_lock(&errand->lock);
    errand->has_ended = true;
    const bool is_left = errand->is_left;
    pthread_cond_signal(&errand->ended);
    pthread_mutex_unlock(&errand->lock);
    if (is_left)
        errand_free(errand);
}

bool errand_wait_briefly(struct errand *errand, struct deadline limit)
{
    const struct timespec wake = deadline_timespec(limit);

    pthread_mutex_lock(&errand->lock);
    while (!errand->has_ended && !deadline_has_passed(limit))
        pthread_cond_clockwait(&errand->ended, &errand->lock, CLOCK_MONOTONIC, &wake);
    const bool has_ended = errand->has_ended;
    pthread_mutex_unlock(&errand->lock);
    return has_ended;
}

bool errand_wait(struct errand *errand, const struct call *call, struct deadline give_up)
{
    pthread_mutex_lock(&errand->lock);
    while (!errand->has_ended && !errand->is_left) {
        const struct timespec wake = admission_wake_time(give_up);

        errand->is_left = deadline_has_passed(give_up) || call_is_cancelled(call);
        if (!errand->is_left)
            pthread_cond_clockwait(&errand->ended, &errand->lock, CLOCK_MONOTONIC, &wake);
    }
    const bool has_ended = errand->has_ended;
    pthread_mutex_unlock(&errand->lock);
    return has_ended;
}
