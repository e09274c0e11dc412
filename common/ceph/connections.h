#pragma once

#include <rados/librados.h>
#include <stdatomic.h>

#include "common/ceph/admission.h"
#include "common/ceph/breaker.h"
#include "common/ceph/ceph.h"
#include "common/ceph/errand.h"

/* Inside common/ceph: the connections behind ceph_new(), and the real types behind ceph_ops.h. */

struct connection;
struct connections;

struct real_ceph {
    struct ceph base;
    struct ceph_ops ops;
    struct ceph_options options;
    struct connections *connections;
    struct admission *admission;
    struct admission *managers; /* apart: a command needs nothing else to end, so whoever has a
                                   place in a pool can wait here without a deadlock */
    struct admission *filesystems;
    struct breaker *breaker;
};

struct real_cluster {
    struct ceph_cluster base;
    struct real_ceph *ceph;
    struct connection *connection;
    rados_t rados; /* borrowed from the connection */
};

/* librados forgets that a read under way needs its ioctx, and when a connection ends it forgets
 * what is under way altogether: both stay until the pool has been closed and every operation in it
 * has been answered. */
struct shared_io {
    atomic_int refs;
    struct connections *connections;
    struct connection *connection;
    rados_ioctx_t io;
};

void shared_io_ref(struct shared_io *shared);
void shared_io_unref(struct shared_io *shared);

struct real_pool {
    struct ceph_pool base;
    rados_ioctx_t io; /* borrowed from shared */
    struct shared_io *shared;
    struct admission_place place;
};

struct connections *connections_new(const struct ceph_options *options);
/* False, and nothing is freed, if an attempt or an operation is still under way. */
_must_check_ bool connections_free(struct connections *connections);

/*
 * Joins the connection for @target, making it if need be. One attempt is under way at a time; it
 * runs in a thread of its own and goes on when the caller's time is up, for the next one.
 * @for_manager: the connection is for manager commands, see command.c.
 */
_must_check_ int connections_join(struct connections *connections, struct call *call,
                                  const struct ceph_target *target, bool for_manager,
                                  struct connection **connection, rados_t *rados,
                                  struct error *err);
/* Joins the connection for manager commands of the same cluster and user. */
_must_check_ int connections_join_manager(struct connections *connections, struct call *call,
                                          const struct connection *connection,
                                          struct connection **manager, struct error *err);
/* Keeps a connection that the caller has joined for another user of it, who leaves it as well. */
void connections_keep(struct connections *connections, struct connection *connection);
void connections_leave(struct connections *connections, struct connection *connection);
/* The OSDs refuse the connection for good (ESHUTDOWN): nobody joins it any more. */
void connections_fence(struct connections *connections, struct connection *connection);
/* True if the client is this process: @connection or another one to the same Ceph. Clients of
 * another Ceph may have the same id. */
bool connections_have_client(struct connections *connections, const struct connection *connection,
                             int64_t client);

/*
 * Runs the errand in a thread of its own, which keeps the connection until it returns. UNAVAILABLE,
 * and the errand is freed, when too many such threads of this connection are blocked already; never
 * for an errand that is apart.
 */
_must_check_ int connections_run(struct connections *connections, struct connection *connection,
                                 struct errand *errand, struct error *err);

void connections_report(struct connections *connections, ceph_report_fn *each, void *object);

/* Each file adds its functions to the table. */
void commands_register(struct ceph_ops *ops);
void objects_register(struct ceph_ops *ops);
void workers_register(struct ceph_ops *ops);
void images_register(struct ceph_ops *ops);
void image_users_register(struct ceph_ops *ops);
void image_metadata_register(struct ceph_ops *ops);
void snapshots_register(struct ceph_ops *ops);
void mirroring_register(struct ceph_ops *ops);
void cephfs_files_register(struct ceph_ops *ops);

/* As in ceph_ops.h. */
int pool_settle(struct ceph_pool *pool, struct call *call, size_t groups, size_t min_size,
                struct error *err);

/* Waits until the connection has the OSD map that the monitors have now, no longer than the call
 * may. */
_must_check_ int cluster_refresh_map(struct ceph_cluster *cluster, struct call *call,
                                     struct error *err);

static inline struct real_pool *real_pool(struct ceph_pool *pool)
{
    return (struct real_pool *)pool;
}

static inline struct real_cluster *real_cluster(struct ceph_cluster *cluster)
{
    return (struct real_cluster *)cluster;
}

/* A class call on one object: @input to @output, which holds up to @limit bytes; *@length is set.
 * Waits no longer than the call may. */
_must_check_ int object_exec(struct ceph_pool *pool, struct call *call, const char *object,
                             const char *method, const void *input, size_t input_length,
                             char *output, size_t limit, size_t *length, struct error *err);
/* A string as RBD's class takes it, length and bytes, with @extra zeros behind it for what follows.
 * Caller frees; *@length is that of all. */
char *object_exec_string(const char *text, size_t extra, size_t *length);
/* omap_list() of ceph_ops.h. */
_must_check_ int object_list_keys(struct ceph_pool *pool, struct call *call, const char *object,
                                  const char *after, const char *prefix, struct strmap *entries,
                                  bool *more, struct error *err);
/* Sets and removes keys of an object that must exist, in one step. */
_must_check_ int object_change_keys(struct ceph_pool *pool, struct call *call, const char *object,
                                    const struct strmap *set, const struct string_list *removed,
                                    struct error *err);
