#pragma once

#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strmap.h"

/* What the parameters of StorageClasses of both drivers have in common. Pure. */

/* Keys that the sidecars add begin with it. */
#define CLASS_SIDECAR_PREFIX "csi.storage.k8s.io/"

/* INVALID_ARGUMENT if the id does not fit into a volume handle. */
_must_check_ int class_check_cluster(const char *cluster_id, struct error *err);

/* *@cluster_id (borrowed) is the class's; INVALID_ARGUMENT if it is missing or does not fit into a
 * volume handle. */
_must_check_ int class_get_cluster(const struct strmap *parameters, const char **cluster_id,
                                   struct error *err);

/* INVALID_ARGUMENT if one of @keys is there but empty, which makes no sense for any of them. */
_must_check_ int class_refuse_empty(const struct strmap *parameters, const char *const *keys,
                                    size_t count, struct error *err);

/* INVALID_ARGUMENT if the class asks for encrypted volumes. */
_must_check_ int class_refuse_encryption(const struct strmap *parameters, struct error *err);

/* Puts the parameters that a node needs later into @context: all but topologyConstrainedPools and
 * what the sidecars added. */
void class_parameters_to_context(const struct strmap *parameters, struct strmap *context);
