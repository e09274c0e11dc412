#pragma once

#include <rbd/librbd.h>

#include "common/ceph/ceph_ops.h"

/* Inside of common/ceph: open images, for images.c and snapshots.c. */
struct open_image {
    rbd_image_t handle; /* NULL when closed */
};

_must_check_ int image_open(struct ceph_pool *pool, struct call *call, const char *name,
                            bool read_only, struct open_image *image, struct error *err);
void image_close(struct open_image *image);
#define _cleanup_image_ _cleanup_(image_close)

/* As in ceph_ops.h. */
_must_check_ int image_get_id(struct ceph_pool *pool, struct call *call, const char *name,
                              char **id, struct error *err);

/* What was found in an image's data, its parent's included. */
struct image_search {
    bool has_data; /* an object, at least, was written */
    uint64_t size_bytes;
    uint64_t done_bytes; /* less than the size, without data: the call has been cancelled */
};

/* Looks until there is data, or all was looked at, or @call is cancelled. 0 or a negative errno. */
_must_check_ int image_search(rbd_image_t image, struct call *call, struct image_search *search);

/*
 * Marks the open image as one that this client works on by itself, for long: its watch is not that
 * of a user then, and image_watchers() of other clients leaves it out. The mark is a lock of its
 * own on the header, which hinders no writer and goes with the image. That of a client that died
 * means nothing any more, because no other client ever gets its number. Negative errno; -EBUSY: a
 * snapshot of it is being taken.
 */
_must_check_ int image_work_begin(struct ceph_pool *pool, rbd_image_t image);
void image_work_end(struct ceph_pool *pool, rbd_image_t image);

/*
 * To be called before a snapshot is taken of the open image: a snapshot that is taken while the
 * image is flattened may read as zeros where its parent had data, and so do its clones (librbd
 * 16.2.15 and 20.2.4: one in six). An image without a parent is never flattened, and is not marked:
 * *@cookie stays NULL. image_snapshot_end() takes it back. Negative errno; -EBUSY: a living client
 * works on the image.
 */
_must_check_ int image_snapshot_begin(struct ceph_pool *pool, rbd_image_t image, char **cookie);
void image_snapshot_end(struct ceph_pool *pool, rbd_image_t image, char *cookie);
bool image_has_parent(rbd_image_t image);

/* librbd's progress callback; its object is a struct progress_sink. */
struct progress_sink {
    ceph_progress report; /* may be NULL */
    void *object;
};
/* Right before and after the call that gets it: librbd reports in a thread of its own, but not any
 * more when the call has returned. */
void progress_sink_init(struct progress_sink *sink, ceph_progress report, void *object);
void progress_sink_done(struct progress_sink *sink);
#define _cleanup_progress_sink_ _cleanup_(progress_sink_done)
int image_progress(uint64_t done, uint64_t total, void *object);
