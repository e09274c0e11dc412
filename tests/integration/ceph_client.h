#pragma once

#include "common/ceph/ceph.h"
#include "tests/test.h"

/* A client of the real cluster through struct ceph_ops; each has a connection of its own. */

enum { FEATURE_LAYERING = 1, FEATURE_EXCLUSIVE_LOCK = 4, FEATURE_JOURNALING = 64, MIB = 1 << 20 };

#define POOL "zone-a"
#define OBJECT "test-ceph-ops"

#define assert_done(call_of_op, err)                                                               \
    do {                                                                                           \
        if ((call_of_op) < 0)                                                                      \
            fail_msg("%s", (err)->message);                                                        \
    } while (0)

#define assert_refused(call_of_op, err, expected)                                                  \
    do {                                                                                           \
        assert_int_equal((call_of_op), -1);                                                        \
        assert_int_equal((err)->status, (expected));                                               \
        error_clear(err);                                                                          \
    } while (0)

struct ceph_client {
    struct ceph *ceph;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct call call;
};

struct ceph *ceph_client_new(void);
/* An attempt to connect, which nobody can end, may be under way for a while. */
void ceph_client_end(struct ceph *ceph);
int ceph_client_connect(struct ceph *ceph, struct call *call, const char *monitors, const char *key,
                        struct ceph_cluster **cluster, struct error *err);

void ceph_client_open(struct ceph_client *f);
void ceph_client_close(struct ceph_client *f);
#define _cleanup_ceph_client_ _cleanup_(ceph_client_close)
/* As the next call does. */
void ceph_client_reconnect(struct ceph_client *f);

void ceph_client_make_image(struct ceph_client *f, const char *name, uint64_t features);
void ceph_client_discard_image(struct ceph_client *f, const char *name);
