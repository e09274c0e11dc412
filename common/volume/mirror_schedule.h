#pragma once

#include "common/ceph/ceph_ops.h"

/* When the manager takes the snapshots by which an image is mirrored. One command each. */

/* @interval is "15m", "1h" or "1d", @start_time by ISO 8601 or NULL. One that is there is success;
 * one with another interval stays beside it. */
_must_check_ int mirror_schedule_add(struct ceph_cluster *cluster, struct call *call,
                                     const struct ceph_pool *pool, const char *image,
                                     const char *interval, const char *start_time,
                                     struct error *err);

/* All of the image itself; those of its pool stay. None is success. */
_must_check_ int mirror_schedule_remove(struct ceph_cluster *cluster, struct call *call,
                                        const struct ceph_pool *pool, const char *image,
                                        struct error *err);
