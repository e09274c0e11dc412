#pragma once

#include "controller/controller.h"

/*
 * Keeping chains of clones short. Every restore and every clone makes a chain longer by one, every
 * read of data that a clone does not have walks up the chain, and librbd refuses 16. From the soft
 * limit on an image is detached from its parent in the background; at the hard limit nothing is
 * built on it before that is done.
 */
enum flatten_plan { FLATTEN_NOT, FLATTEN_BEHIND, FLATTEN_FIRST };

/* Pure. @depth is the number of ancestors of the image that is to be built on; @reserve how many
 * levels the operation adds. */
enum flatten_plan flatten_plan(const struct clone_limits *limits, unsigned depth, unsigned reserve);

/* The number of ancestors; counting ends at one in the trash. Opens one image per ancestor. */
_must_check_ int image_depth(struct ceph_cluster *cluster, struct call *call,
                             struct ceph_pool *pool, const char *name, unsigned *depth,
                             struct error *err);

/*
 * A restore or clone that left its source's pool (crossPoolRestore: copy) has to be flattened, or
 * it would be lost together with the other pool. That it has to be is said by a key in the
 * directory object of volumes in its own pool, before anybody gets its handle:
 *
 *   cephzone.flatten.IMAGEID -> image name
 *
 * A task works on it, is repeated with backoff until it succeeds, and then removes the key. After a
 * restart, the first call that uses the pool starts it again.
 */

/* Whose image is to be flattened, and as whom. All borrowed. */
struct flatten_target {
    const char *cluster_id;
    const struct credentials *credentials;
    const struct ceph_pool *pool;
    const char *image;
};

/* Sets the key: from here on the image will be flattened, whoever does it. Does not start it. */
_must_check_ int flatten_queue(const struct controller *controller, struct call *call,
                               struct ceph_pool *pool, const char *image, const char *image_id,
                               struct error *err);

/*
 * Whether the image has such a key. What is built on it then has to be flattened too: it reads from
 * the other pool through a snapshot of the image, which keeps its parent when the image is
 * flattened. To be asked before that snapshot is taken. 2 RT.
 */
_must_check_ int flatten_is_queued(const struct controller *controller, struct call *call,
                                   struct ceph_pool *pool, const char *image, bool *queued,
                                   struct error *err);

/* Starts what the keys of the pool say and is not under way; removes those of images that are gone.
 */
_must_check_ int flatten_resume(const struct controller *controller, struct call *call,
                                const char *cluster_id, const struct credentials *credentials,
                                struct ceph_pool *pool, struct error *err);

/* Starts it unless it is under way. */
void flatten_start(const struct controller *controller, const struct flatten_target *target);

/* Appends "37 % done", "waiting to begin" or "failed: ..." */
void flatten_describe(const struct controller *controller, const struct flatten_target *target,
                      struct text *text);

/*
 * Does what the plan says for an image that is to be built on: nothing, or a start and ABORTED with
 * the progress, so that the caller comes back. *@behind: the caller is to call flatten_start() when
 * it has built, not before: no snapshot of an image is taken while it is flattened.
 */
_must_check_ int flatten_if_needed(const struct controller *controller, struct call *call,
                                   struct ceph_cluster *cluster, struct ceph_pool *pool,
                                   const struct flatten_target *target, unsigned reserve,
                                   bool *behind, struct error *err);

/*
 * Snapshots of one image are limited too. Above the lower limit the clones of its oldest trashed
 * snapshots are detached in the background, which frees these; above the upper one the call fails
 * with RESOURCE_EXHAUSTED as well.
 */
_must_check_ int snapshots_make_room(const struct controller *controller, struct call *call,
                                     const struct flatten_target *target, struct ceph_pool *pool,
                                     struct error *err);
