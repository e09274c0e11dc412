#pragma once

#include "common/ceph/filesystem.h"
#include "common/volume/session.h"
#include "controller/controller.h"

/* A volume, snapshot or group that was found by its handle, with all that is needed to work on it.
 */
struct located {
    char handle[VOLUME_ID_LENGTH_MAX + 1]; /* as asked; "" if it was not found by its handle */
    struct volume_id id; /* where it is: elsewhere than the handle says after a failover */
    struct journal journal;
    struct session session;
    struct filesystem fs;        /* CephFS: which one; the pool is its metadata pool */
    struct ceph_pool *pool;      /* where the image is */
    struct ceph_pool *directory; /* where the request name is: pool or other_pool; borrowed */
    struct ceph_pool *other_pool;
    struct journal_entry entry;
    bool split; /* written by Ceph-CSI 3.0 to 3.10 with topology: the attributes are not in the
                   image's pool but in an object of the same name beside the directory */
};

/* A place that may have a journal: a pool, and for CephFS the file system whose metadata it holds.
 */
struct location {
    int64_t pool_id;
    struct filesystem fs;
};

struct location_list {
    struct location *items;
    size_t count;
};

void location_list_done(struct location_list *list);

/*
 * NOT_FOUND when the handle is not ours, its pool is gone or it is not in the journal, nor where
 * cluster-mapping.json leads. INVALID_ARGUMENT for migrated volumes, which have no journal. 1 RT,
 * more only for the split form. Caller calls located_done() after success.
 */
_must_check_ int locate(const struct controller *controller, struct call *call,
                        enum journal_kind kind, const char *handle,
                        const struct credentials *credentials, struct located *located,
                        struct error *err);

/* Removes name and attributes of something whose image is gone; sets @queued (may be NULL) in the
 * directory in the same step that removes the name. */
_must_check_ int located_release(struct located *located, struct call *call,
                                 const struct strmap *queued, struct error *err);

/* Safe on a zeroed one. */
void located_done(struct located *located);
#define _cleanup_located_ _cleanup_(located_done)
