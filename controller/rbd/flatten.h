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

/* Whose image is to be flattened, and as whom. All borrowed. */
struct flatten_target {
    const char *cluster_id;
    const struct credentials *credentials;
    const struct ceph_pool *pool;
    const char *image;
};

/* Starts it unless it is under way. */
void flatten_start(const struct controller *controller, const struct flatten_target *target);

/* Appends "37 % done", "waiting to begin" or "failed: ..." */
void flatten_describe(const struct controller *controller, const struct flatten_target *target,
                      struct text *text);

/*
 * Does what the plan says for an image that is to be built on: nothing, a start, or a start and
 * ABORTED with the progress, so that the caller comes back.
 */
_must_check_ int flatten_if_needed(const struct controller *controller, struct call *call,
                                   struct ceph_cluster *cluster, struct ceph_pool *pool,
                                   const struct flatten_target *target, unsigned reserve,
                                   struct error *err);

/*
 * Snapshots of one image are limited too. Above the lower limit the clones of its oldest trashed
 * snapshots are detached in the background, which frees these; above the upper one the call fails
 * with RESOURCE_EXHAUSTED as well.
 */
_must_check_ int snapshots_make_room(const struct controller *controller, struct call *call,
                                     const struct flatten_target *target, struct ceph_pool *pool,
                                     struct error *err);
