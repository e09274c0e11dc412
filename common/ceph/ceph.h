#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/ceph/ceph_ops.h"

/*
 * The real `struct ceph_ops`, on librados and librbd. Any thread.
 *
 * Ceph's own timeouts count whole seconds; the figures below are rounded up.
 */
struct ceph_options {
    int64_t connect_timeout_ms; /* one attempt to reach the monitors of a cluster */
    int64_t mon_op_timeout_ms;  /* one command, one allocation of a snapshot id */
    int64_t osd_op_timeout_ms;  /* one round trip to an OSD, also inside librbd */
    int64_t idle_expiry_ms;     /* a connection that nobody uses is closed after this */
    unsigned pool_workers;      /* calls at work in one pool at once */
    unsigned pool_waiting;      /* calls that may wait for a place in one pool */
    size_t max_connections;     /* in use at once, over all clusters and users */
    const char *ceph_conf;      /* NULL: /etc/ceph/ceph.conf if it can be read. Borrowed */
};

#define CEPH_OPTIONS_DEFAULT                                                                       \
    {                                                                                              \
        .connect_timeout_ms = 15000, .mon_op_timeout_ms = 15000, .osd_op_timeout_ms = 30000,       \
        .idle_expiry_ms = 600000, .pool_workers = 32, .pool_waiting = 64, .max_connections = 64,   \
    }

struct ceph *ceph_new(const struct ceph_options *options);

/*
 * Closes all connections. Every cluster has been disconnected before. Waits a few seconds for
 * attempts to connect and for operations that their callers have left; what Ceph still has not
 * answered then is left to the end of the process. @ceph may be NULL.
 */
void ceph_free(struct ceph *ceph);

/* One connection: @message says who is connected whereto, or why not. */
typedef void (*ceph_report_each)(void *object, const char *cluster_id, bool healthy,
                                 const char *message, time_t since);

/* For the health report: calls @each for every connection that is in use or was lately. */
void ceph_report(struct ceph *ceph, ceph_report_each each, void *object);

DEFINE_CLEANUP(struct ceph, ceph_free)

#define _cleanup_ceph_ _cleanup_(ceph_freep)
