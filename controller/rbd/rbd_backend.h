#pragma once

#include "controller/backend.h"

/* The functions of RBD_BACKEND that have files of their own: see backend.h. */

extern const struct creation_steps RBD_CREATION;

/* Grows the image to @wanted bytes unless it has them. */
_must_check_ int rbd_grow_image(struct ceph_pool *pool, struct call *call, const char *name,
                                uint64_t wanted, struct growth *growth, struct error *err);

_must_check_ int rbd_prepare_snapshot(struct snapshot_work *work, struct error *err);
_must_check_ int rbd_build_snapshot(struct snapshot_work *work, bool takes_source,
                                    struct error *err);
_must_check_ int rbd_describe_snapshot(struct snapshot_work *work, struct snapshot *snapshot,
                                       struct error *err);
void rbd_give_up_snapshot(struct snapshot_work *work);
_must_check_ int rbd_discard_snapshot(const struct controller *controller, struct call *call,
                                      struct located *snapshot,
                                      const struct credentials *credentials, struct error *err);
_must_check_ int rbd_read_snapshot(const struct controller *controller, struct call *call,
                                   struct located *located, const struct credentials *credentials,
                                   struct snapshot *snapshot, struct error *err);
_must_check_ int rbd_snapshot_together(struct snapshot_work *const *works, size_t count,
                                       struct timespec *moment, struct error *err);
