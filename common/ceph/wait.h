#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/call.h"

/*
 * Waiting for Ceph on behalf of a call: until it answers, the call's time is up, or its caller has
 * gone. A blocked OSD or monitor may take minutes; nobody waits for it longer than he wants to.
 */

/* When the call gives up: its deadline less a tenth of the time left, at most half a second, so that
 * our own words reach the client before its deadline does. */
struct deadline wait_limit(const struct call *call);

/*
 * Sleeps on @changed, with @lock held, until it is signalled or a moment has passed. False when
 * @limit has passed or the call is cancelled: give up. The way to wait for a condition is
 *
 *   while (!condition)
 *       if (!wait_on(&changed, &lock, call, limit))
 *           ...
 */
bool wait_on(pthread_cond_t *changed, pthread_mutex_t *lock, const struct call *call,
             struct deadline limit);

/* CANCELLED when that is why a wait was given up; otherwise DEADLINE_EXCEEDED with the text. */
_printf_(3, 4) int wait_failed(const struct call *call, struct error *err, const char *fmt, ...);

/* A length of time as messages give it: "420 ms", "7 s". */
struct age {
    char text[32];
};

struct age age_of(int64_t ms);

/*
 * Something that another thread finishes, perhaps only after the caller has left. Whoever comes last
 * owns it: after pending_wait() has returned false the finisher disposes of it, because its
 * pending_finish() returns true.
 */
struct pending {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool finished;
    bool left;
};

void pending_init(struct pending *pending);
void pending_done(struct pending *pending);
/* True when it is finished. False when the call gave up: hands off from now on. */
bool pending_wait(struct pending *pending, const struct call *call, struct deadline limit);
/* Once, by the finisher. True when the caller has left. */
bool pending_finish(struct pending *pending);
