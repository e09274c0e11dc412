#pragma once

#include "common/scheduling/binding_check.h"

/*
 * How well a node suits a pod's volumes: 0..100, 0 where the version does not score. Pure.
 *
 * Kubernetes: per class, what is asked in percent of the volumes that would be bound (if there are
 * any; provisioning is then not looked at) or of the capacity where it would be provisioned, drawn
 * through the shape; the mean over the classes. The default shape prefers room that is left.
 *
 * The design documents (options->original_design): "how close the request and the volume are", and
 * volumes that exist before provisioning. They leave the weights open; ours: a claim that finds a
 * volume counts 50 + 50 * request / size, one that is provisioned 0; the mean over the claims.
 */
int64_t binding_score(const struct binding_options *options, const struct pod_claims *claims,
                      const struct node_decision *decision);

/* The shape alone: 0..100 for a utilization in percent. */
int64_t binding_shape(const struct binding_options *options, int64_t utilization);
