#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/ceph/ceph_ops.h"

/*
 * Ceph through librados, librbd and libcephfs: the real implementation of ceph_ops.h. Any thread.
 *
 * Zero fields of the options stand for the defaults.
 */
struct ceph_options {
    int64_t connect_timeout_ms; /* one attempt to reach the monitors; 30 s */
    int64_t mon_op_timeout_ms;  /* 30 s */
    int64_t osd_op_timeout_ms;  /* 30 s */
    int64_t idle_expiry_ms;     /* of a connection that nobody uses; 10 min */
    size_t max_connections;     /* 64 */
    const char *ceph_conf;      /* NULL: /etc/ceph/ceph.conf, if it is there */
    enum cephfs_path cephfs_path;
    /* What distinguishes this process from all others that run at the same time, and is the same
     * when it has been started again: so the metadata servers drop what its predecessor held.
     * Borrowed; NULL: nothing. */
    const char *instance;
};

struct ceph *ceph_new(const struct ceph_options *options);
/* Everything opened through it must have been closed. Returns false if an attempt to reach a
 * cluster is still under way, which librados does not let us end: nothing is freed then, and the
 * process can only end by _exit(). */
_must_check_ bool ceph_free(struct ceph *ceph);

/* Reports of each connection whether it is up and, if not, why and since when; and of clusters
 * whose managers have a module that does not answer. */
typedef void ceph_report_fn(void *object, const char *cluster_id, bool healthy, const char *message,
                            time_t since);
void ceph_report(struct ceph *ceph, ceph_report_fn *each, void *object);
/* How many modules do not answer, as a metric_read_fn of the struct ceph. */
double ceph_hanging_modules(void *ceph);
