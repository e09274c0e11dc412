#pragma once

#include "controller/cephfs.h"

/* All that one creation works on; shared by the files that CreateVolume is made of. */
struct cephfs_creation {
    const struct controller *controller;
    struct call *call;
    const struct create_request *request;
    struct cephfs_parameters parameters;
    struct cephfs_place place;
    bool is_shallow;        /* shows its snapshot */
    struct strmap metadata; /* for people who look at subvolumes */
    uint64_t size_bytes;
    struct journal journal;
    struct session session;
    struct filesystem fs;
    struct subvolume_group group; /* borrows from the two above */
    struct ceph_pool *pool;       /* the journal's */
    struct journal_entry entry;
    struct cephfs_source source;
    bool source_is_open;
    bool fresh; /* this call claimed the name */
    char *path; /* what a node mounts */
};

/* Opens the source, unless it is or there is none, and fits the size to it. */
_must_check_ int cephfs_creation_open_source(struct cephfs_creation *creation, struct error *err);

/* Opens the journal's pool. */
_must_check_ int cephfs_creation_open_pool(struct cephfs_creation *creation, struct error *err);

/* Sees to it that what the entry stands for exists and is what was asked for, and that the journal
 * says so. ABORTED, with Ceph's words, while Ceph copies. */
_must_check_ int cephfs_creation_make(struct cephfs_creation *creation, struct error *err);

/* Removes what there is of it. */
_must_check_ int cephfs_creation_unmake(struct cephfs_creation *creation, struct error *err);
