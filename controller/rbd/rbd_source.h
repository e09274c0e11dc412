#pragma once

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
    uint64_t size_bytes;
};

/*
 * Finds the source of @request and checks that it can be built on: NOT_FOUND if it is not there,
 * INVALID_ARGUMENT if it is in another cluster than @cluster_id, FAILED_PRECONDITION if it is
 * encrypted, ABORTED while it must be flattened first. Caller calls source_done(), also after a
 * failure.
 */
_must_check_ int source_open(const struct controller *controller, struct call *call,
                             const struct create_request *request, const char *cluster_id,
                             struct source *source, struct error *err);
void source_done(struct source *source);

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
