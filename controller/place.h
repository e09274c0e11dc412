#pragma once

#include "controller/place_pools.h"

/*
 * Where a new volume goes: the class's pools, their free space, and the topology that was
 * asked for, brought together for common/topology to decide.
 */
struct placing {
    const struct controller *controller;
    struct call *call;
    const struct class_pools *class;
    const struct credentials *credentials;
    const struct topology_requirement *requirement;
    const char *volume_name;
    const struct strmap *parameters; /* of the request: whose claim it is; NULL: nobody's */
    uint64_t size_bytes;
    const char *rados_namespace; /* of images; "" for CephFS */
    /* of a clone or restore; NULL for an empty volume. Unless the class has crossPoolRestore: copy
     * the volume stays in its pool. */
    const char *source_cluster;
    const char *source_fs;   /* CephFS */
    const char *source_pool; /* CephFS: may be NULL, if Ceph does not report it */
    bool shows_source;       /* CephFS: has no files of its own, and stays where the source's are */
    /* where the request name leads already; NULL: nowhere yet */
    const char *only_cluster;
    const char *only_fs; /* CephFS */
};

/* The decision, and what must be undone with it. Zero-initialise. */
struct place {
    struct pool_entry entry; /* a copy */
    const char *cluster_id;  /* the entry's or the class's; borrowed from @entry or the class */
    const char *fs_name;     /* the same; NULL for RBD */
    const char *data_pool;  /* where its data go; NULL: to the image's pool. Borrowed from @entry */
    struct strmap segments; /* accessible_topology; empty: everywhere */
    uint64_t reserved_bytes; /* in flight, until place_end() */
    bool is_reserved;
    const struct controller *controller;
    char *rados_namespace;
};

/*
 * RESOURCE_EXHAUSTED with the trace when there is no place or no space; INVALID_ARGUMENT naming key
 * and position when the class lists a pool that does not exist. The space counts as used until
 * place_end(). No RT while the figures are fresh.
 */
_must_check_ int place_decide(const struct placing *placing, struct place *place,
                              struct error *err);

/* The creation has ended, with a volume or without. */
void place_end(struct place *place, bool is_made);
void place_done(struct place *place);
#define _cleanup_place_ _cleanup_(place_done)

/* Fills @place for a volume whose name was found and leads to @pool of placing->only_cluster, or
 * with NULL to some pool of placing->only_fs there: the entry of the class with that pool, and what
 * it pins to. Nothing is reserved. */
_must_check_ int place_recover(const struct placing *placing, const char *pool, struct place *place,
                               struct error *err);
