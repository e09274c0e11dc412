#pragma once

#include "controller/creation.h"
#include "controller/lookup.h"
#include "controller/rbd/rbd_images.h"

/* How many levels a volume adds to the chain of clones that its source ends. */
#define SOURCE_LEVELS 1

/* Where the content of a new volume comes from, ready to be cloned. */
struct source {
    enum source_kind kind;
    struct located located;
    struct operation operation; /* keeps deletion of the source out */
    const char *image;          /* borrowed from located */
    char *cluster_id;           /* by which the class of the new volume may know its Ceph */
    uint64_t size_bytes;
    bool is_to_be_flattened; /* in the background, see source_flatten_behind() */
};

/*
 * Finds the source of @creation's request and checks that it can be built on: NOT_FOUND if it is
 * not there, FAILED_PRECONDITION if it is encrypted, ABORTED while it must be flattened first.
 * Caller calls source_done(), also after a failure.
 */
_must_check_ int source_open(const struct creation *creation, struct source *source,
                             struct error *err);
/* INVALID_ARGUMENT unless the source is in the Ceph that the volume will be in. */
_must_check_ int source_check_cluster(const struct source *source, const struct creation *creation,
                                      struct error *err);
void source_done(struct source *source);

/* Starts the flatten that the length of the source's chain asks for. To be called when the clone is
 * complete: see flatten_if_needed(). Safe on a zeroed source. */
void source_flatten_behind(const struct source *source, const struct creation *creation);

/*
 * Makes the image as a clone of the source; repeatable. A snapshot is an image with a
 * snapshot of the same name on it; a volume gets a snapshot of the new image's name, which goes
 * again as soon as the clone exists.
 */
_must_check_ int source_clone(struct source *source, const struct begun_image *image,
                              const struct image_options *options, struct error *err);

/* Removes the snapshot that an interrupted source_clone() left on the volume. Safe on a zeroed
 * source.
 */
_must_check_ int source_remove_snapshot(struct source *source, struct call *call, const char *name,
                                        struct error *err);
