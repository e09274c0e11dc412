#pragma once

#include "common/kube/kube_ops.h"
#include "common/topology/cluster_node.h"

/*
 * The nodes of the cluster as the API server knows them, and the changes that a takeover makes to
 * them. What was fenced is written on the Node itself, so that whoever leads next knows it:
 *
 *   metadata.annotations["takeover.DRIVER/fence"]
 *       {"addresses": ["10.0.0.7"], "bootID": "...", "tainted": true}
 *
 * Any thread. Errors as in kube_ops.h.
 */

/* Nodes and CSINodes, one list each. @nodes is empty. An annotation that is none of ours counts as
 * a fence without addresses: none. */
_must_check_ int cluster_nodes_read(struct kube *kube, struct call *call, const char *driver,
                                    struct cluster_nodes *nodes, struct error *err);

/* Sets the label, or removes it where @value is NULL. */
_must_check_ int cluster_node_label(struct kube *kube, struct call *call, const char *node,
                                    const char *key, const char *value, struct error *err);

/* Writes down that all addresses of @node will be fenced, and its boot id unless there is one
 * already. ABORTED if the Node has changed since it was read. */
_must_check_ int cluster_node_record_fence(struct kube *kube, struct call *call, const char *driver,
                                           const struct cluster_node *node, struct error *err);
_must_check_ int cluster_node_forget_fence(struct kube *kube, struct call *call, const char *driver,
                                           const struct cluster_node *node, struct error *err);

/* Adds the taint node.kubernetes.io/out-of-service and writes down that it is ours, or removes
 * both; in one step. ABORTED if the Node has changed meanwhile. */
_must_check_ int cluster_node_taint(struct kube *kube, struct call *call, const char *driver,
                                    const struct cluster_node *node, bool is_out,
                                    struct error *err);
