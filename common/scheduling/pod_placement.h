#pragma once

#include "common/kube/objects/kube_objects.h"
#include "common/scheduling/binding_options.h"

/*
 * What keeps a pod off a node besides its volumes, as far as labels and taints go: the scheduler's
 * NodeUnschedulable, TaintToleration and NodeAffinity. Processors, memory, ports and the affinity
 * between pods are not looked at. Pure.
 */

/* NULL if nothing does; else Kubernetes' text, which names no taint from 1.34 on. Caller frees. */
char *pod_placement_check(const struct binding_options *options, const struct kube_pod *pod,
                          const struct kube_node *node);

/* The same for people, to whom the taint is named whatever the version. Caller frees. */
char *pod_placement_explain(const struct kube_pod *pod, const struct kube_node *node);

/* The sum of the weights of the preferred terms that match. */
int64_t pod_placement_preference(const struct kube_pod *pod, const struct kube_node *node);
