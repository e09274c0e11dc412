#pragma once

#include "common/base/error.h"
#include "common/base/strmap.h"

/* Whether a volume made from a snapshot shows the snapshot itself instead of a copy. */
enum backing { BACKING_BY_MODE, BACKING_SNAPSHOT, BACKING_COPY };

/*
 * What a StorageClass of the cephfs driver says about new volumes. Strings are borrowed from the
 * map that was parsed.
 */
struct cephfs_parameters {
    const char *cluster_id;
    const char *fs_name;   /* NULL only with topologyConstrainedPools */
    const char *data_pool; /* NULL: the file system's default */
    const char *name_prefix;
    const char *owner; /* PVC namespace; NULL if the provisioner does not pass it */
    enum backing backing;
};

/* INVALID_ARGUMENT naming the key. */
_must_check_ int cephfs_parameters_parse(const struct strmap *parameters,
                                         struct cephfs_parameters *parsed, struct error *err);
