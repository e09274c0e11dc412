#pragma once

#include <cephfs/libcephfs.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/ceph/connections.h"

/*
 * Inside common/ceph: the file systems that one connection has mounted with libcephfs, each once,
 * for all calls. Embedded in the connection, which ends after them. Any thread; nothing is locked
 * over I/O.
 */

/* Names of sessions with metadata servers, so that no two mounts of this process have the same. */
struct session_names;
struct session_names *session_names_new(void);
void session_names_free(struct session_names *names);

struct mounts_options {
    struct connections *connections;
    struct connection *connection;
    struct session_names *names;
    const char *instance; /* as in struct ceph_options; all borrowed */
    const char *cluster_id;
    const char *user;
    int64_t timeout_ms; /* of mounting */
};

struct cephfs_mounts {
    struct mounts_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct cephfs_mount *first;
    atomic_uint count; /* also those that are being unmounted */
};

void cephfs_mounts_init(struct cephfs_mounts *mounts, const struct mounts_options *options);
/* All must have been unmounted. */
void cephfs_mounts_done(struct cephfs_mounts *mounts);
bool cephfs_mounts_any(const struct cephfs_mounts *mounts);
/* Begins to unmount all, which nobody may be using, in threads that keep the connection. */
void cephfs_mounts_retire(struct cephfs_mounts *mounts);

struct cephfs_mounts *connection_mounts(struct connection *connection);

struct cephfs_mount;

/* As fs_open() of ceph_ops.h. */
_must_check_ int cephfs_mounts_join(struct cephfs_mounts *mounts, struct call *call,
                                    const char *fs_name, struct cephfs_mount **mount,
                                    struct error *err);
void cephfs_mount_leave(struct cephfs_mount *mount);

/* A request that libcephfs may block in. The first member of what it works on. */
struct mount_errand {
    struct errand errand;
    struct cephfs_mount *mount;
    int (*ask)(struct ceph_mount_info *handle, struct mount_errand *errand);
    /* A new one that looks at the same file: see cephfs_mounts.c. */
    struct mount_errand *(*make_nudge)(const struct mount_errand *errand);
    int result;
};

/* Runs @errand, which it takes over if it fails, and waits for its end, no longer than the call
 * may. *@what (for messages): "read '/a/b'". On success the caller looks at the result and calls
 * errand_free(). */
_must_check_ int cephfs_mount_run(struct cephfs_mount *mount, struct call *call,
                                  struct mount_errand *errand, int64_t timeout_ms, const char *what,
                                  struct error *err);
