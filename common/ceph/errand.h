#pragma once

#include <pthread.h>
#include <rados/librados.h>

#include "common/base/call.h"

struct connection;

/*
 * Something that librados may block in for longer than the caller can wait: it runs in a thread of
 * its own (connections_run()), which the caller leaves when its time is up. The first member of
 * what it works on.
 */
struct errand {
    void (*run)(rados_t rados, struct errand *errand); /* in its thread */
    void (*release)(struct errand *errand);            /* frees what it is a member of */
    struct connection *connection;                     /* of connections_run() */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
    bool is_left;  /* by the caller: the thread frees it */
    bool is_apart; /* connections_run() does not limit such errands, nor take them for a use of the
                      connection */
};

void errand_init(struct errand *errand, void (*run)(rados_t rados, struct errand *errand),
                 void (*release)(struct errand *errand));
void errand_free(struct errand *errand);

/* In its thread: runs it, and frees it if nobody waits any more. */
void errand_execute(struct errand *errand, rados_t rados);

/* Waits until @limit at most, whatever the call, and says whether it has run. The caller still
 * waits. */
_must_check_ bool errand_wait_briefly(struct errand *errand, struct deadline limit);
/* True when it has run: the caller frees it. Otherwise @give_up has come or the call is cancelled;
 * the thread owns it from now on. */
_must_check_ bool errand_wait(struct errand *errand, const struct call *call,
                              struct deadline give_up);
