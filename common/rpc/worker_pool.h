#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"

/* A fixed number of threads that process a queue in order, no more of them than there is work for.
 * Any thread. */

/* One piece of work, embedded in the object that it is about. */
struct worker_job {
    void (*run)(struct worker_job *job); /* may free the job */
    struct worker_job *next;
};

struct worker_pool;

/* @name is that of the threads; up to 11 characters show, followed by a number. At most
 * @queue_limit jobs wait. */
_must_check_ int worker_pool_new(const char *name, unsigned threads, unsigned queue_limit,
                                 struct worker_pool **pool, struct error *err);

/* Fails with UNAVAILABLE when the queue is full. The job then still belongs to the caller. */
_must_check_ int worker_pool_submit(struct worker_pool *pool, struct worker_job *job,
                                    struct error *err);

/* Runs what is queued, then ends and joins the threads. NULL is fine. */
void worker_pool_free(struct worker_pool *pool);
DEFINE_CLEANUP(struct worker_pool, worker_pool_free)
