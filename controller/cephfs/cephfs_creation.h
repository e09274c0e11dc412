#pragma once

#include "controller/cephfs/cephfs_backend.h"

/* CreateVolume for CephFS: what is not in struct creation. */
struct cephfs_creation {
    struct creation base;
    struct cephfs_parameters parameters;
    struct filesystem_list filesystems; /* of the cluster in @listed; read when needed */
    char *listed;
    struct filesystem fs;         /* where the volume is or will be */
    struct subvolume_group group; /* borrows from session and fs */
    struct cephfs_source source;
    bool source_is_open;
    char *path; /* what a node mounts */
};

static inline struct cephfs_creation *cephfs_of(struct creation *creation)
{
    return (struct cephfs_creation *)creation;
}

/* Opens the source, unless it is or there is none, and fits the size to it. INVALID_ARGUMENT if it
 * is not where the volume is, once that is settled. */
_must_check_ int cephfs_open_source(struct creation *creation, struct error *err);

/* The steps make and unmake. ABORTED, with Ceph's words, while Ceph copies. */
_must_check_ int cephfs_make_volume(struct creation *creation, struct error *err);
_must_check_ int cephfs_unmake_volume(struct creation *creation, struct error *err);
