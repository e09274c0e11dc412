#pragma once

#include "common/ceph/filesystem.h"
#include "common/ceph/journal.h"
#include "common/config/session.h"
#include "common/volume/volume_id.h"

struct located;

/* Where to look for volumes. All borrowed. */
struct locator {
    struct ceph *ceph;
    struct config_file *config;
    const char *instance_id;  /* --instanceid */
    const char *mapping_path; /* --clustermapping; NULL: none */
    /* Opens located->pool, to which the location in the handle leads; the session is open.
     * NOT_FOUND if the location is gone. NULL: it is an RBD pool. */
    int (*open)(void *object, struct call *call, const struct credentials *credentials,
                struct located *located, struct error *err);
    void *object;
    bool
        knows_migrated; /* volumes of Kubernetes' in-tree rbd driver have no journal: refuse them */
};

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

/*
 * NOT_FOUND when the handle is not ours, its pool is gone or it is not in the journal, nor where
 * cluster-mapping.json leads. INVALID_ARGUMENT for migrated volumes, if they are known. 1 RT,
 * more only for the split form. Caller calls located_done() after success.
 */
_must_check_ int volume_locate(const struct locator *locator, struct call *call,
                               enum journal_kind kind, const char *handle,
                               const struct credentials *credentials, struct located *located,
                               struct error *err);

/* For a locator of CephFS: opens the metadata pool of the file system in the handle, in
 * config.json's RADOS namespace or, where that names none, @flag (--radosnamespacecephfs; may be
 * NULL). */
_must_check_ int located_open_filesystem(struct located *located, struct call *call,
                                         const char *flag, struct error *err);

/* Removes name and attributes of something whose image is gone; sets @queued (may be NULL) in the
 * directory in the same step that removes the name. */
_must_check_ int located_release(struct located *located, struct call *call,
                                 const struct strmap *queued, struct error *err);

/* Safe on a zeroed one. */
void located_done(struct located *located);
#define _cleanup_located_ _cleanup_(located_done)
