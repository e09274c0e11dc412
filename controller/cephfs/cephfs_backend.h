#pragma once

#include "common/ceph/on_disk.h"
#include "common/ceph/subvolume.h"
#include "common/config/cephfs_parameters.h"
#include "common/usage/subvolume_count.h"
#include "controller/backend.h"

/*
 * CephFS' part of the rpcs. A volume is a subvolume of the group that config.json names, a snapshot
 * one of the subvolume; both come from commands to the manager. The journal is in the metadata
 * pool. A volume that only reads from a snapshot needs no subvolume: see cephfs_shallow.c.
 */

/* Where the subvolumes are; borrows from its arguments. */
struct subvolume_group cephfs_group(const struct session *session, const struct filesystem *fs);

/* The group of the subvolume from which the volume of @entry was cloned; borrows from both. */
struct subvolume_group cephfs_source_group(const struct subvolume_group *group,
                                           const struct journal_entry *entry);

/* The snapshot that the volume shows; NULL if it has a subvolume of its own. Borrowed. */
const char *cephfs_backing(const struct journal_entry *entry);

/* As subvolume_remove(), also for a clone whose copy has not begun. One whose copy the manager has
 * lost, which Ceph cannot remove, counts as removed: a warning says what is left. */
_must_check_ int cephfs_remove_subvolume(const struct subvolume_group *group, struct call *call,
                                         const char *name, struct error *err);
void cephfs_warn_of_lost_clone(const struct subvolume_group *group, const struct call *call,
                               const char *name);

extern const struct creation_steps CEPHFS_CREATION;

/* --- sources and clones --- */

/* What a new volume is filled from. Zero-initialise. */
struct cephfs_source {
    struct operation operation;                 /* keeps deletion of the source out */
    char cluster_id[VOLUME_ID_CLUSTER_MAX + 1]; /* by which the new volume's class may know it */
    char *fsid;
    char *group;           /* of the subvolume; "" for none */
    char *rados_namespace; /* of the journal */
    struct filesystem fs;
    char *data_pool; /* NULL: Ceph does not report it */
    char *subvolume;
    char *snapshot;        /* NULL: must be taken first */
    char *snapshot_handle; /* NULL with @snapshot */
    char *root;            /* the directory above the subvolume's own */
    uint64_t size_bytes;   /* 0: not known */
};

/*
 * Finds the source of @request. NOT_FOUND if it is not there. A volume that shows a snapshot stands
 * for that snapshot. A snapshot that was deleted but is still there will do if the new volume was
 * @begun before. Caller calls cephfs_source_done(), also after a failure.
 */
_must_check_ int cephfs_source_open(const struct controller *controller, struct call *call,
                                    const struct create_request *request, bool begun,
                                    struct cephfs_source *source, struct error *err);
void cephfs_source_done(struct cephfs_source *source);

/* --- volumes that show a snapshot --- */

/*
 * Gives up volume @name's claim to @snapshot (a handle), and removes the snapshot if it was deleted
 * and nobody else needs it. Repeatable.
 */
_must_check_ int cephfs_shallow_release(struct call *call, struct ceph_pool *pool,
                                        const struct subvolume_group *group, const char *instance,
                                        const char *snapshot, const char *name, struct error *err);

/* Lets go of a deleted snapshot: *@is_needed says that volumes still show it. Then it stays, but
 * its name is free and its entry says that it is deleted. */
_must_check_ int cephfs_shallow_forget(struct call *call, struct located *snapshot, bool *is_needed,
                                       struct error *err);

/* Where the snapshot with that handle is: the owner frees both names. NOT_FOUND. 1 RT. */
_must_check_ int cephfs_shallow_find(struct call *call, struct ceph_pool *pool,
                                     const char *instance, const char *snapshot, char **subvolume,
                                     char **name, struct error *err);

/* --- snapshots --- */

_must_check_ int cephfs_check_snapshot_class(const struct strmap *parameters, struct error *err);
_must_check_ int cephfs_prepare_snapshot(struct snapshot_work *work, struct error *err);
_must_check_ int cephfs_build_snapshot(struct snapshot_work *work, bool takes_source,
                                       struct error *err);
_must_check_ int cephfs_describe_snapshot(struct snapshot_work *work, struct snapshot *snapshot,
                                          struct error *err);
void cephfs_give_up_snapshot(struct snapshot_work *work);
_must_check_ int cephfs_discard_snapshot(const struct controller *controller, struct call *call,
                                         struct located *snapshot,
                                         const struct credentials *credentials, struct error *err);
_must_check_ int cephfs_read_snapshot(const struct controller *controller, struct call *call,
                                      struct located *located,
                                      const struct credentials *credentials,
                                      struct snapshot *snapshot, struct error *err);
_must_check_ int cephfs_snapshot_together(struct snapshot_work *const *works, size_t count,
                                          struct timespec *moment, struct error *err);
