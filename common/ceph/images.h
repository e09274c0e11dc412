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
