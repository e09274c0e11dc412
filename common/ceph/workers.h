#pragma once

#include <pthread.h>

#include "common/ceph/connections.h"

/*
 * Inside common/ceph: what one connection is at work on, and the objects that it watches so that
 * others can ask (work_begin(), work_ask() in ceph_ops.h). Embedded in the connection. Any thread;
 * nothing is locked over I/O.
 */
struct workers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct watched_object *watched;
    struct real_work *works;
    unsigned unwatching; /* requests that workers_done() waits for */
};

void workers_init(struct workers *workers);
/* Before the connection ends: says goodbye, so that nobody has to wait until the watches expire.
 * No work may stand. */
void workers_done(struct workers *workers);

struct workers *connection_workers(struct connection *connection);
