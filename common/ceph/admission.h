#pragma once

#include <stdint.h>

#include "common/base/call.h"
#include "common/base/error.h"

/*
 * Who may work in which pool. A pool whose OSDs are dead keeps every call that enters it until its
 * time-out; the limit keeps such calls from taking all workers, so that other pools go on.
 *
 * Any thread. Nothing is held over I/O.
 */
struct admission;

struct admission_options {
    unsigned running; /* calls at once in one pool */
    unsigned waiting; /* further calls that may wait for a place */
    int64_t stall_ms; /* after which a full pool that makes no progress refuses; 0: 3 s */
    const char *kind; /* for messages, before the name: "pool" if NULL */
    const char *hint; /* for messages: what may be wrong; "are its OSDs up?" if NULL */
};

struct admission *admission_new(const struct admission_options *options);
/* All places must have been given back. */
void admission_free(struct admission *admission);

/* A place in a pool; zero-initialise. */
struct admission_place {
    struct admission_place *next;
    struct pool_gate *gate;
    const struct call *call;
};

/*
 * Takes a place in pool @pool_id of cluster @cluster_id for @call. A full pool makes the call wait
 * until its deadline is near (DEADLINE_EXCEEDED) or it is cancelled; a full pool in which nothing
 * has ended for the stall time refuses at once (UNAVAILABLE), and so does one with too many
 * waiting.
 *
 * A call that has a place anywhere gets another one without waiting: calls that need two pools
 * could wait for each other otherwise.
 */
_must_check_ int admission_enter(struct admission *admission, struct call *call,
                                 const char *cluster_id, int64_t pool_id, const char *pool_name,
                                 struct admission_place *place, struct error *err);
void admission_leave(struct admission *admission, struct admission_place *place);

/* The time by which a waiting call gives up, so that its own message reaches the caller before the
 * deadline does. */
struct deadline admission_deadline(const struct call *call);
/* When a call that waits for an event wakes up in any case: at @give_up, or before, to see whether
 * its caller has gone. For pthread_cond_clockwait(CLOCK_MONOTONIC). */
struct timespec admission_wake_time(struct deadline give_up);
