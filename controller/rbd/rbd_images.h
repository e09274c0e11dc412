#pragma once

#include "controller/controller.h"

/* Steps on images that several operations share. All are repeatable. */

/* *@image_id (caller frees) is NULL when there is no image of that name. 1 RT. */
_must_check_ int image_find(struct ceph_pool *pool, struct call *call, const char *name,
                            char **image_id, struct error *err);

/*
 * Moves the image to the trash and queues its data (see purge.h); one that is in the trash already,
 * or that is not there at all, is success. Cuts that interrupted clones and snapshots left on it go
 * first. @known_id is what image_find() has just said, or NULL; not what the journal says, which
 * may be the id of an earlier image of that name. FAILED_PRECONDITION when the image is in use,
 * naming by whom, or when it has snapshots that are not this driver's.
 */
_must_check_ int image_discard(struct ceph_pool *pool, struct call *call, const char *name,
                               const char *known_id, struct strmap *queued, struct error *err);

/*
 * An image that the journal knows but whose id is not committed: an earlier call was interrupted
 * while it made it, or is still at it in another process.
 */
struct begun_image {
    struct ceph_pool *pool;
    const char *name;
    const struct strmap *extra;    /* of its journal entry */
    struct ceph_pool *parent_pool; /* for clones; NULL otherwise */
    const char *parent;
    const char *snapshot;
};

/*
 * Finds out what it is worth. librbd's own steps may have been interrupted: an image without a
 * header, a clone without its parent or that the parent does not know. Such a one holds nobody's
 * data, because nobody has its handle, and is removed: *@usable is false and it has to be made
 * again. ABORTED while another process may be at it. What Ceph-CSI began is taken as it is as long
 * as it can be opened.
 */
_must_check_ int image_settle(const struct controller *controller, struct call *call,
                              const struct begun_image *image, bool *usable, struct error *err);

/* Queues what is in the trash under that name: an interrupted deletion left it there. */
_must_check_ int image_queue_trashed(struct ceph_pool *pool, struct call *call, const char *name,
                                     struct strmap *queued, struct error *err);

/* After a failure to make an image that was not there a moment ago: if it is there now, another
 * process makes it, and may not have ended. ABORTED then; other failures stay. Returns -1. */
int another_is_faster(struct error *err);

/* The same after a failure to clone an image that was there a moment ago. It may also be that the
 * image is being flattened, or that its snapshot has served another process and is gone. */
int something_interfered(struct error *err);

/*
 * Makes clone @name of @parent: takes the snapshot if it is not there, clones, and fails with
 * ABORTED if another process turns out to do the same. Does not remove the snapshot.
 */
_must_check_ int image_snapshot_and_clone(struct ceph_pool *parent_pool, struct call *call,
                                          const char *parent, struct ceph_pool *pool,
                                          const char *name, const struct image_options *options,
                                          struct error *err);

/* As the table's functions, but EEXIST (create) and ENOENT (remove) are success. */
_must_check_ int snapshot_ensure(struct ceph_pool *pool, struct call *call, const char *image,
                                 const char *snapshot, struct error *err);
_must_check_ int snapshot_ensure_gone(struct ceph_pool *pool, struct call *call, const char *image,
                                      const char *snapshot, struct error *err);
