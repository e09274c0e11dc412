#pragma once

#include <pthread.h>
#include <time.h>

#include "common/base/condition.h"
#include "common/base/worker.h"
#include "common/kube/lease.h"

/*
 * A thread that acts while its process is the leader by a Lease, and how it is doing, for the
 * health report. Embedded in its owner. Every action must be repeatable: one that was begun as the
 * leader may end after another process took over.
 */
struct leader {
    struct lease *lease;
    struct worker worker;
    pthread_mutex_t lock; /* over the one below */
    struct condition state;
};

/* Competes for the Lease from now on; @options need no callbacks. The owner then starts
 * @leader->worker. */
_must_check_ int leader_init(struct leader *leader, struct kube *kube,
                             const struct lease_options *options, struct error *err);
/* Stops the thread and gives the Lease back. */
void leader_done(struct leader *leader);

/* Asked before each action: the Lease is held, and the thread is not to stop. @leader is a struct
 * leader, so that this can be passed as a callback. */
bool leader_may_act(void *leader);

/* As condition_note() and condition_is_healthy(); any thread. */
enum condition_news leader_note(struct leader *leader, const char *fault);
bool leader_is_healthy(struct leader *leader, char **message, time_t *since);
