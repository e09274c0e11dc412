#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"

/* A limited number of threads that process a queue in order, no more of them than there is work
 * for. Any thread. */

/* One piece of work, embedded in the object that it is about. */
struct worker_job {
    void (*run)(struct worker_job *job); /* may free the job */
    struct worker_job *next;
};

struct worker_pool;

struct worker_pool_options {
    const char *name; /* of the threads: up to 11 characters show, followed by a number; static */
    unsigned threads; /* at most, and at least one */
    unsigned queue_limit; /* jobs that wait */
    int64_t idle_ms;      /* after which a thread ends; 0: a minute */
};

_must_check_ int worker_pool_new(const struct worker_pool_options *options,
                                 struct worker_pool **pool, struct error *err);

/* Fails with UNAVAILABLE when the queue is full. The job then still belongs to the caller. */
_must_check_ int worker_pool_submit(struct worker_pool *pool, struct worker_job *job,
                                    struct error *err);

/* Runs what is queued, then ends and joins the threads. NULL is fine. */
void worker_pool_free(struct worker_pool *pool);
DEFINE_CLEANUP(struct worker_pool, worker_pool_free)
