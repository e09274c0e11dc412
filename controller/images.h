#pragma once

#include "controller/controller.h"

/* Steps on images that several operations share. All are repeatable. */

/* *@image_id (caller frees) is NULL when there is no image of that name. 1 RT. */
_must_check_ int image_find(struct ceph_pool *pool, struct call *call, const char *name,
                            char **image_id, struct error *err);

/*
 * Moves the image to the trash and queues its data (see purge.h); one that is in the trash already,
 * or that is not there at all, is success. Cuts that interrupted clones and snapshots left on it go
 * first. @known_id may be NULL. FAILED_PRECONDITION when the image is in use, naming by whom, or
 * when it has snapshots that are not this driver's.
 */
_must_check_ int image_discard(struct ceph_pool *pool, struct call *call, const char *name,
                               const char *known_id, struct strmap *queued, struct error *err);

/* As the table's functions, but EEXIST (create) and ENOENT (remove) are success. */
_must_check_ int snapshot_ensure(struct ceph_pool *pool, struct call *call, const char *image,
                                 const char *snapshot, struct error *err);
_must_check_ int snapshot_ensure_gone(struct ceph_pool *pool, struct call *call, const char *image,
                                      const char *snapshot, struct error *err);

/* Statuses after which the caller repeats the request, so that what was begun must stay. */
bool status_is_final(enum status status);
