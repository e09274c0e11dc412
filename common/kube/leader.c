#include "common/kube/leader.h"

int leader_init(struct leader *leader, struct kube *kube, const struct lease_options *options,
                struct error *err)
{
    if (lease_new(kube, options, &leader->lease, err) < 0)
        return -1;
    pthread_mutex_init(&leader->lock, NULL);
    return 0;
}

void leader_done(struct leader *leader)
{
    worker_stop(&leader->worker);
    lease_free(leader->lease);
    condition_done(&leader->state);
    pthread_mutex_destroy(&leader->lock);
}

bool leader_may_act(void *object)
{
    struct leader *leader = object;

    return !worker_is_stopping(&leader->worker) && lease_is_held(leader->lease);
}

enum condition_news leader_note(struct leader *leader, const char *fault)
{
    pthread_mutex_lock(&leader->lock);
    enum condition_news news = condition_note(&leader->state, fault);
    pthread_mutex_unlock(&leader->lock);
    return news;
}

bool leader_is_healthy(struct leader *leader, char **message, time_t *since)
{
    pthread_mutex_lock(&leader->lock);
    bool healthy = condition_is_healthy(&leader->state, message, since);
    pthread_mutex_unlock(&leader->lock);
    return healthy;
}
