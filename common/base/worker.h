#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/call.h"

/*
 * A thread that does one thing until it is stopped: informer, lease and the like are made of it.
 * Embedded in its owner, who starts it once and stops it once.
 */
struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool stopping; /* seen through the call as well */
    struct call call;     /* without deadline; the thread's own */
    bool awake;           /* somebody called worker_wake() */
    void (*run)(void *object);
    void *object;
};

/* @name is that of the thread (15 bytes) and of the call in the log; borrowed. */
void worker_start(struct worker *worker, const char *name, void (*run)(void *object), void *object);
/* Cancels what the thread waits for and waits for its end. Not from the thread itself. */
void worker_stop(struct worker *worker);

bool worker_is_stopping(const struct worker *worker);
/* By the thread: waits @ms, or until worker_wake(), or until it is stopped. */
void worker_pause(struct worker *worker, int64_t ms);
/* Ends a pause now, or the next one before it begins. Any thread. */
void worker_wake(struct worker *worker);

/* Starts a thread that nobody waits for, with a small stack: for what may hang in the kernel for
 * ever. 0 or a negative errno. */
int worker_start_detached(void *(*run)(void *object), void *object);
