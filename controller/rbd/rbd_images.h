#pragma once

#include "controller/begun.h"

/* Steps on images that several operations share. All are repeatable. */

/* *@image_id (caller frees) is NULL when there is no image of that name. 1 RT. */
_must_check_ int image_find(struct ceph_pool *pool, struct call *call, const char *name,
                            char **image_id, struct error *err);

/* The same for what librbd's list of images has. Only that knows what is left of an image when
 * librbd was interrupted near the begin of its creation, or near the end of its removal. 1 RT. */
_must_check_ int image_find_listed(struct ceph_pool *pool, struct call *call, const char *name,
                                   char **image_id, struct error *err);

/* FAILED_PRECONDITION, naming them, while clients have the image open (image_clients.h). */
_must_check_ int image_check_unused(struct ceph_pool *pool, struct call *call, const char *name,
                                    const struct image_mirroring *mirroring, struct error *err);

/*
 * Moves the image to the trash and queues its data (see purge.h); one that is in the trash already,
 * or that is not there at all, is success. What librbd left of it when it was interrupted counts as
 * the image. Cuts that interrupted clones and snapshots left on it go
 * first. @known_id is what image_find() has just said, or NULL; not what the journal says, which
 * may be the id of an earlier image of that name. @recorded_id is that: see image_queue_trashed().
 * FAILED_PRECONDITION when the image is in use, naming by whom, or when it has snapshots that are
 * not this driver's. The mirroring of an image that is primary ends; one that is the copy of
 * another cluster's stays, which is success as well: it is rbd-mirror's.
 */
_must_check_ int image_discard(struct ceph_pool *pool, struct call *call, const char *name,
                               const char *known_id, const char *recorded_id, struct strmap *queued,
                               struct error *err);

/*
 * An image that the journal knows but whose id is not committed: an earlier call was interrupted
 * while it made it, or is still at it in another process.
 */
struct begun_image {
    struct begun begun; /* its journal entry; the image is in the same pool */
    const struct ceph_work *work;
    struct ceph_pool *pool;
    struct ceph_pool *parent_pool; /* for clones; NULL otherwise */
    const char *parent;
    const char *snapshot;
};

/*
 * Finds out what it is worth. librbd's own steps may have been interrupted: an image without a
 * header or object map, a clone without its parent or that the parent does not know. Such a one
 * holds nobody's data, because nobody has its handle, and is removed: *@usable is false and it has
 * to be made again. ABORTED while another process may be at it. What Ceph-CSI began is taken as it
 * is as long as it can be opened.
 */
_must_check_ int image_settle(const struct begun_image *image, bool *usable, struct error *err);

/*
 * For an image that image_find() does not find: removes what is left of it if librbd was
 * interrupted when only its list of images had the name, or still had it. librbd would refuse to
 * make the image. ABORTED while another process may be at it. 1 RT if nothing is left.
 */
_must_check_ int image_clear_remnant(const struct begun_image *image, struct error *err);

/*
 * Queues what is in the trash under that name: an interrupted deletion left it there, or somebody
 * moved it. What he wants kept for some time goes after that. @recorded_id is that of the journal:
 * an image with another one is not the journal's, and stays. NULL: the journal knows none.
 */
_must_check_ int image_queue_trashed(struct ceph_pool *pool, struct call *call, const char *name,
                                     const char *recorded_id, struct strmap *queued,
                                     struct error *err);

/* After a failure to make an image that was not there a moment ago: if it is there now, another
 * process makes it, and may not have ended. ABORTED then; other failures stay. Returns -1. */
int another_is_faster(struct error *err);

/*
 * Makes clone @name of a snapshot that is there as long as it is needed. FAILED_PRECONDITION if it
 * is gone nevertheless, ABORTED if another process turns out to do the same or a flatten is under
 * way.
 */
_must_check_ int image_clone_kept(struct ceph_pool *parent_pool, struct call *call,
                                  const char *parent, const char *snapshot, struct ceph_pool *pool,
                                  const char *name, const struct image_options *options,
                                  struct error *err);

/*
 * Makes the image as a clone of its parent: takes the snapshot if it is not there, clones, and
 * fails with ABORTED if another process turns out to do the same. Does not remove the snapshot.
 */
_must_check_ int image_snapshot_and_clone(const struct begun_image *image,
                                          const struct image_options *options, struct error *err);

/* As the table's functions, but EEXIST (create) and ENOENT (remove) are success. */
_must_check_ int snapshot_ensure(struct ceph_pool *pool, struct call *call, const char *image,
                                 const char *snapshot, struct error *err);
_must_check_ int snapshot_ensure_gone(struct ceph_pool *pool, struct call *call, const char *image,
                                      const char *snapshot, struct error *err);
