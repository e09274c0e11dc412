#include "common/ceph/rados_operation.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/base/sanitizer.h"

struct operation_in_flight *operation_new(struct ceph_pool *pool)
{
    struct operation_in_flight *operation = xcalloc(1, sizeof(*operation));

    atomic_init(&operation->refs, 2);
    operation->shared = real_pool(pool)->shared;
    shared_io_ref(operation->shared);
    pthread_mutex_init(&operation->lock, NULL);
    pthread_cond_init(&operation->ended, NULL);
    return operation;
}

void operation_unref(struct operation_in_flight *operation)
{
    if (atomic_fetch_sub(&operation->refs, 1) != 1)
        return;
    if (operation->iterator)
        rados_omap_get_end(operation->iterator);
    if (operation->attributes)
        rados_getxattrs_end(operation->attributes);
    if (operation->write)
        rados_release_write_op(operation->write);
    if (operation->read)
        rados_release_read_op(operation->read);
    rados_aio_release(operation->completion);
    shared_io_unref(operation->shared);
    pthread_cond_destroy(&operation->ended);
    pthread_mutex_destroy(&operation->lock);
    free(operation);
}
/* librados' thread. */
static void on_complete(rados_completion_t completion, void *object)
{
    struct operation_in_flight *operation = object;

    tsan_acquire(operation);
    pthread_mutex_lock(&operation->lock);
    operation->result = rados_aio_get_return_value(completion);
    operation->done = true;
    pthread_cond_signal(&operation->ended);
    pthread_mutex_unlock(&operation->lock);
    operation_unref(operation);
}

int operation_wait(const struct ceph_pool *pool, struct operation_in_flight *operation,
                   const struct call *call, struct deadline give_up)
{
    const struct real_cluster *cluster = real_cluster(pool->cluster);
    int result = 0;

    pthread_mutex_lock(&operation->lock);
    while (!operation->done && !deadline_has_passed(give_up) && !call_is_cancelled(call)) {
        const struct timespec wake = admission_wake_time(give_up);

        pthread_cond_clockwait(&operation->ended, &operation->lock, CLOCK_MONOTONIC, &wake);
    }
    result = operation->done ? operation->result : -ETIMEDOUT;
    pthread_mutex_unlock(&operation->lock);
    if (result == -ESHUTDOWN)
        connections_fence(cluster->ceph->connections, cluster->connection);
    return result;
}

void operation_add_completion(struct operation_in_flight *operation)
{
    rados_aio_create_completion2(operation, on_complete, &operation->completion);
    tsan_release(operation);
}
