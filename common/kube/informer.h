#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/kube/kube_ops.h"

/*
 * A copy of one collection of the API server that keeps itself up to date: one list, then a watch
 * from there on, resumed after each interruption, and a new list whenever the server has forgotten
 * where we were. Failures are waited out with growing pauses; meanwhile the copy stays as it was.
 *
 * One thread of its own, which also calls the handler, one event at a time and with no lock held.
 * All other functions: any thread.
 */
struct informer;

/* Members may be NULL. Items are borrowed and must not be changed; json_deep_copy() keeps one. */
struct informer_handler {
    /* New (@old is NULL) or changed. Not called when a new list brings what is known already. */
    void (*put)(void *object, json_t *item, json_t *old);
    void (*gone)(void *object, json_t *item);
    /* Takes out of a new item what nobody needs, to save memory; managedFields go anyway. */
    void (*trim)(void *object, json_t *item);
};

struct informer_options {
    const char *path; /* of the collection; copied */
    struct informer_handler handler;
    void *object;
    size_t items_max;       /* a larger collection is refused; 0: 100000 */
    int64_t retry_first_ms; /* first pause after a failure; 0: 800 */
    int64_t retry_limit_ms; /* longest pause; 0: 30000 */
};

/* @kube is borrowed until informer_free(). Returns at once. */
struct informer *informer_new(struct kube *kube, const struct informer_options *options);
/* Waits for the thread; not from the handler. NULL is fine. */
void informer_free(struct informer *informer);
DEFINE_CLEANUP(struct informer, informer_free)

/* A copy, which the caller frees: jansson's reference counts are not made for several threads. NULL
 * if there is no such object; @name_space "" if it has none. */
json_t *informer_get(struct informer *informer, const char *name_space, const char *name);

struct informer_health {
    bool synced;       /* a list was complete once */
    bool healthy;      /* the last thing tried has worked */
    int64_t since_ms;  /* on the monotonic clock: since when it is (un)healthy */
    char *last_error;  /* NULL: there was none; kept after recovery */
    uint64_t lists;    /* complete ones */
    uint64_t failures; /* lists and watches that failed */
};

/* Caller frees with informer_health_done(). */
void informer_health(struct informer *informer, struct informer_health *health);
void informer_health_done(struct informer_health *health);
