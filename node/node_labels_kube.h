#pragma once

#include <stdint.h>

#include "common/kube/kube_ops.h"
#include "node/node_labels.h"

/*
 * The labels of the Kubernetes node of that name as a source, see common/kube/kube_node_labels.h:
 * kept up to date by a thread of its own, from which nothing that happens to the API server takes
 * away what was known. @kube is borrowed until node_labels_done(). INVALID_ARGUMENT if @node is no
 * name of a node. @retry_first_ms: first pause after a failure, 0: the usual one.
 */
_must_check_ int node_labels_from_kube(struct kube *kube, const char *node, int64_t retry_first_ms,
                                       struct node_labels_source *source, struct error *err);
