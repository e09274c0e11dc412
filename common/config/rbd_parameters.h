#pragma once

#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strmap.h"
#include "common/ceph/ceph_ops.h"

/*
 * What a StorageClass of the rbd driver says about new volumes. Strings are borrowed from the map
 * that was parsed.
 */
struct rbd_parameters {
    const char *cluster_id;
    const char *pool; /* NULL only with topologyConstrainedPools */
    const char *name_prefix;
    const char *owner; /* PVC namespace; NULL if the provisioner does not pass it */
    struct image_options image;
};

/* INVALID_ARGUMENT naming the key. */
_must_check_ int rbd_parameters_parse(const struct strmap *parameters,
                                      struct rbd_parameters *parsed, struct error *err);

/* "layering,exclusive-lock" to bits, with their dependencies checked. @mounter decides whether
 * journaling is possible. */
_must_check_ int rbd_features_parse(const char *text, const char *mounter, uint64_t *features,
                                    struct error *err);
