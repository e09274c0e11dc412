#pragma once

#include "controller/cephfs/cephfs_backend.h"
#include "controller/place.h"

/* All that one creation works on; shared by the files that CreateVolume is made of. */
struct cephfs_creation {
    const struct controller *controller;
    struct call *call;
    const struct create_request *request;
    struct cephfs_parameters parameters;
    struct class_pools class;
    bool wants_place;       /* topology decides */
    struct place place;     /* with topology: what was decided, now or earlier */
    const char *data_pool;  /* NULL: the file system's default; borrowed */
    bool is_shallow;        /* shows its snapshot */
    struct strmap metadata; /* for people who look at subvolumes */
    uint64_t size_bytes;
    struct journal journal;
    struct session session;
    const char *cluster_id;       /* where the volume is or will be; borrowed */
    struct filesystem fs;         /* the same */
    bool is_placed;               /* the two above are settled */
    struct subvolume_group group; /* borrows from session and fs */
    struct ceph_pool *pool;       /* of the volume's attributes: the metadata pool of fs */
    int64_t directory_id;         /* of the pool with the request name */
    struct ceph_pool *directory;  /* that pool; may be the same as pool */
    struct journal_entry entry;
    struct cephfs_source source;
    bool source_is_open;
    bool fresh;    /* this call claimed the name */
    bool is_begun; /* an earlier one did */
    char *path;    /* what a node mounts */
};

/* Opens the source, unless it is or there is none, and fits the size to it. INVALID_ARGUMENT if it
 * is not where the volume is, once that is settled. */
_must_check_ int cephfs_creation_open_source(struct cephfs_creation *creation, struct error *err);

/* Finds out where the volume is or will be, and opens the pools of its journal. */
_must_check_ int cephfs_creation_open_place(struct cephfs_creation *creation, struct error *err);
/* The name leads to the file system with that metadata pool: goes there. NOT_FOUND if there is
 * none. */
_must_check_ int cephfs_creation_follow(struct cephfs_creation *creation, int64_t metadata_pool_id,
                                        struct error *err);
/* Decides for a data pool of the file system that the name leads to, unless that was done. */
_must_check_ int cephfs_creation_settle_place(struct cephfs_creation *creation, struct error *err);
/* What was decided, in the volume's entry. */
void cephfs_creation_write_place(const struct cephfs_creation *creation, struct strmap *extra);
void cephfs_creation_read_place(struct cephfs_creation *creation, const struct strmap *extra);

/* Opens the pools of the journal, for a call that closed them for a while. */
_must_check_ int cephfs_creation_open_pools(struct cephfs_creation *creation, struct error *err);
void cephfs_creation_close_pools(struct cephfs_creation *creation);

/* Sees to it that what the entry stands for exists and is what was asked for, and that the journal
 * says so. ABORTED, with Ceph's words, while Ceph copies. */
_must_check_ int cephfs_creation_make(struct cephfs_creation *creation, struct error *err);

/* Removes what there is of it. */
_must_check_ int cephfs_creation_unmake(struct cephfs_creation *creation, struct error *err);
