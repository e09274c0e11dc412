#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "common/ceph/connections.h"

/*
 * Inside common/ceph: one asynchronous operation of librados. It is waited for no longer than the
 * call may: an OSD that is down keeps it until rados_osd_op_timeout, but not the caller. What
 * librados writes to when the answer comes is therefore owned by the operation, which frees itself
 * when both the caller and the answer are done with it.
 */

#define EXEC_LIMIT 4096

struct operation_in_flight {
    atomic_int refs;
    struct shared_io *shared;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
    int result;
    rados_write_op_t write;
    rados_read_op_t read;
    rados_omap_iter_t iterator;
    int step_result; /* of the one step whose own result matters */
    unsigned char more;
    time_t modified;
    char output[EXEC_LIMIT]; /* of a class call, or the object's data */
    size_t output_length;
    rados_xattrs_iter_t attributes;
    rados_completion_t completion;
};

/* With a reference of the caller's and one of the answer's. The pool stays open for it. */
struct operation_in_flight *operation_new(struct ceph_pool *pool);
void operation_unref(struct operation_in_flight *operation);
DEFINE_CLEANUP(struct operation_in_flight, operation_unref)
#define _cleanup_operation_in_flight_ _cleanup_(operation_unrefp)

/* The last preparation: the next call hands @operation to librados' thread. If librados does not
 * take it, the caller drops the answer's reference too. */
void operation_add_completion(struct operation_in_flight *operation);

/*
 * The operation's result, or ETIMEDOUT if it has not come by @give_up. Every rpc begins with such
 * an operation, so one that is refused because the client has been fenced is noticed here, whatever
 * comes after it.
 */
int operation_wait(const struct ceph_pool *pool, struct operation_in_flight *operation,
                   const struct call *call, struct deadline give_up);
