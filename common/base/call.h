#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/deadline.h"
#include "common/base/text.h"

/*
 * What travels with one piece of work through all layers: who it is in the log, how long it may
 * take, whether anybody still waits for it, and what it is doing right now. An rpc has one; so have
 * background tasks. The worker that owns it may change it; any thread may ask for its stage.
 */
struct call {
    uint64_t id;
    const char *method; /* "CreateVolume"; borrowed for the life of the call */
    char *request_id;   /* request name or volume handle, for the log; NULL before it is known */
    struct deadline deadline;
    const atomic_bool *cancelled; /* NULL: cannot be cancelled */
    pthread_mutex_t lock;         /* over the two below */
    char *stage;
    int64_t stage_since_ms;
};

void call_init(struct call *call, uint64_t id, const char *method, struct deadline deadline);
void call_done(struct call *call);

/* For the log; set once, when the request has been decoded. */
void call_set_request_id(struct call *call, const char *request_id);

/*
 * Says what happens from now on, as a phrase that follows "has been", with {age} where the time
 * belongs: "waiting {age} for the monitors of cluster 'c1'". @call may be NULL.
 */
_printf_(2, 3) void call_stage(struct call *call, const char *fmt, ...);

/* Appends "CreateVolume 'pvc-1' has been waiting 12 s for ..." */
void call_describe(struct call *call, struct text *text);

/* True when the client has gone or the deadline has passed: do not start another expensive step. */
bool call_is_cancelled(const struct call *call);
/* Waits for something that has no event. Fails as call_check() as soon as the call is cancelled. */
_must_check_ int call_pause(const struct call *call, int64_t ms, struct error *err);
/* Fails with CANCELLED or DEADLINE_EXCEEDED when call_is_cancelled(). */
_must_check_ int call_check(const struct call *call, struct error *err);
