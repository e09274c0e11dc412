#pragma once

#include "common/config/session.h"
#include "controller/begun.h"
#include "controller/place.h"

/*
 * One CreateVolume in progress: what both backends share. create_volume.c drives the steps; a
 * backend fills the table below and keeps what is its own in a struct that begins with this one.
 */
struct creation {
    const struct creation_steps *steps;
    const struct controller *controller;
    struct call *call;
    const struct create_request *request;
    struct class_pools class;
    const char *name_prefix; /* of the image or subvolume; borrowed, as the owner */
    const char *owner;       /* namespace of the claim; NULL if it is not known */
    struct strmap metadata;  /* of the image or subvolume, for administrators */
    uint64_t size_bytes;
    bool shows_source; /* the volume has no data of its own: it shows a snapshot */

    /* where the volume is or will be */
    struct session session;
    char *cluster_id;
    struct ceph_pool *directory;  /* has the request name */
    struct ceph_pool *pool;       /* has the volume's journal entry; may be the directory */
    struct ceph_pool *attributes; /* that one, or the directory for Ceph-CSI 3.0 to 3.10 */
    bool wants_place;             /* topology decides */
    struct place place;           /* with topology: what was decided, now or earlier */
    char *data_pool;              /* NULL: the default; see creation_use_data_pool() */
    bool is_placed;               /* all of this is settled */

    struct journal journal;
    struct journal_entry entry;
    bool fresh;             /* this call claimed the name */
    bool is_begun;          /* an earlier one did */
    bool is_same;           /* the entry is that of this request, whoever wrote it */
    struct ceph_work *work; /* tells others that this call is at it; may be NULL */
    struct strmap queued;   /* RBD: data to be removed after a failure; see purge.h */
};

/* What the backends do differently. All may block and are repeatable. */
struct creation_steps {
    size_t size; /* of the backend's struct */
    /* Ceph-CSI from 3.11 on keeps request names beside the volumes. */
    bool has_foreign_names;

    /* Checks the request and fills everything down to shows_source, and the data pool. */
    int (*check)(struct creation *creation, struct error *err);
    /* Opens the source of a clone, unless it is open or there is none, and fits the size to it. */
    int (*open_source)(struct creation *creation, struct error *err);
    /* Opens the pool with the journal of the pool or file system @name. NOT_FOUND. */
    int (*open_named)(struct creation *creation, const char *name, struct ceph_pool **pool,
                      struct error *err);
    /* The volume's journal is in @pool: takes over what follows from it. NOT_FOUND if nothing of
     * that kind is there any more. NULL: nothing follows. */
    int (*enter_pool)(struct creation *creation, const struct ceph_pool *pool, struct error *err);
    /* Says where the source is, if it is open, and in which namespace the volume will be. */
    void (*describe_source)(const struct creation *creation, struct placing *placing);

    /* The name led to a location that this call did not choose: decides what is still open. */
    int (*settle_place)(struct creation *creation, struct error *err);
    /* Adds to a new entry what the backend keeps there. */
    void (*fill_entry)(struct creation *creation, struct journal_entry *entry);
    /* Takes over the place that the entry of an earlier call names. */
    int (*adopt_place)(struct creation *creation, struct error *err);

    /* Sees to it that what the entry stands for exists, is what was asked for, and that the journal
     * says so. */
    int (*make)(struct creation *creation, struct error *err);
    /* Removes what there is of it; the data may be queued. */
    int (*unmake)(struct creation *creation, struct error *err);
    /* The location for the handle, and what a node needs to know. */
    void (*describe)(const struct creation *creation, uint64_t *location, struct strmap *context);
    /* Frees what is the backend's. The pools are still open. */
    void (*done)(struct creation *creation);
};

/* The volume's data are or go there; NULL: to the default. @name is copied. */
void creation_use_data_pool(struct creation *creation, const char *name);

/* Writes the entry of a name that leads to @uuid, or adopts the one that is there: creation->entry.
 * ALREADY_EXISTS if that is another request's. 1 RT; 2 or 3 if the name was there. */
_must_check_ int creation_record(struct creation *creation, const struct uuid_text *uuid,
                                 struct error *err);

/* Whether the Ceph that has @fsid, where the source was found under another clusterID, is the one
 * that the creation has open. */
_must_check_ int creation_is_same_ceph(const struct creation *creation, const char *fsid,
                                       bool *same, struct error *err);

/* Who makes the entry. Borrows from @creation. */
struct begun creation_begun(struct creation *creation);

/* For place_decide() and its siblings. Borrows from @creation. */
struct placing creation_placing(const struct creation *creation);

/* Closes the pools for a while and opens them again, so that a call that waits does not keep them
 * from others. */
void creation_close_pools(struct creation *creation);
_must_check_ int creation_reopen_pools(struct creation *creation, int64_t directory_id,
                                       int64_t pool_id, struct error *err);
