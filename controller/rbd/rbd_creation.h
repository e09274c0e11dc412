#pragma once

#include "common/config/rbd_parameters.h"
#include "common/config/session.h"
#include "controller/place.h"
#include "controller/rbd/rbd_source.h"

/* All that the making of one RBD volume works on. */
struct creation {
    const struct controller *controller;
    struct call *call;
    const struct create_request *request;
    struct rbd_parameters parameters;
    struct class_pools class;
    struct strmap metadata;
    uint64_t size_bytes;
    struct journal journal;
    struct session session;
    const char *cluster_id;      /* where the volume is or will be; borrowed */
    struct ceph_pool *directory; /* where the request name is */
    struct ceph_pool *pool;      /* where the image is: the directory's or other_pool; borrowed */
    struct ceph_pool *other_pool;
    struct ceph_pool *attributes; /* where the uuid's attributes are: the image's pool, or the
                                     directory's for Ceph-CSI 3.0 to 3.10; borrowed */
    struct place place;           /* with topology: what was decided, now or earlier */
    struct journal_entry entry;
    struct source source;
    bool source_is_open;
    bool fresh; /* this call claimed the name */
};

/*
 * Opens the pools of the volume: where its name was found or, for a new one, where the class and
 * the topology that was asked for put it.
 */
_must_check_ int creation_open_pools(struct creation *creation, struct error *err);

/* Finds or makes the entry that the request name leads to. */
_must_check_ int creation_reserve(struct creation *creation, struct error *err);

/* Opens the source of a clone, unless it is open, and fits the size to it. */
_must_check_ int creation_open_source(struct creation *creation, struct error *err);
