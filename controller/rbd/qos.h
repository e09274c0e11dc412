#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strmap.h"
#include "common/ceph/ceph_ops.h"

/*
 * Limits on the I/O of a volume, as parameters of a class and as the image's metadata. A class has
 * one of three forms:
 *
 *   options   librbd's own (rbd_qos_iops_limit, rbd_qos_write_bps_burst, ...), kept as conf_NAME,
 *             where librbd looks for them; "0" is none. This driver's, not Ceph-CSI's.
 *   policy    Ceph-CSI's for rbd-nbd: baseIops and so on. What they come to for the volume's size
 *             is kept as conf_rbd_qos_KIND_limit, and the policy beside it, so that the limits grow
 *             with the volume. A kind without its base has no limit.
 *   maxima    Ceph-CSI's for krbd: nothing but maxReadIops, maxWriteIops, maxReadBps, maxWriteBps.
 *             Nodes read them from the metadata and set them for the cgroups of pods
 *             (node/rbd/rbd_limits.c).
 *
 * The parameters and their names are CLASS_LIMIT's. Any thread.
 */

/* What a VolumeAttributesClass may say: INVALID_ARGUMENT, naming the key, for an unknown one, a bad
 * value, and options mixed with others. */
_must_check_ int qos_check(const struct strmap *mutable_parameters, struct error *err);

/* Adds the metadata of a volume of this size. @parameters were checked, and may have others too.
 * Pure. */
void qos_to_metadata(const struct strmap *parameters, uint64_t size_bytes, struct strmap *entries);

/* Whether the key of an image's metadata is a limit, or a part of a policy. Pure. */
bool qos_has_key(const char *key);

/* Makes @wanted the limits of the image, and lifts all others. 2 RT, and what
 * image_metadata_change() takes if there is a difference. */
_must_check_ int qos_apply(struct ceph_pool *pool, struct call *call, const char *image,
                           const struct strmap *wanted, struct error *err);

/* Before an image grows to @size_bytes: its limits by the policy that it has, if any. */
_must_check_ int qos_grow(struct ceph_pool *pool, struct call *call, const char *image,
                          uint64_t size_bytes, struct error *err);
