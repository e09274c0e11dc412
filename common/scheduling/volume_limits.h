#pragma once

#include "common/kube/objects/in_tree.h"
#include "common/scheduling/binding_check.h"

/*
 * How many volumes of a driver a node may have: the scheduler's NodeVolumeLimits. A volume is known
 * by "driver/handle"; one that is not provisioned yet by "driver/-NAMESPACE/CLAIM". Volumes of
 * in-tree plugins count for the CSI driver that took over, on nodes where it did.
 *
 * What is in use on a node is counted once and kept in the cluster until pods, claims, volumes or
 * attachments there change: hence the cluster is not const and this is for one thread.
 */
enum limits_verdict {
    LIMITS_FIT,
    LIMITS_UNSCHEDULABLE, /* may change when pods leave the node */
    LIMITS_UNRESOLVABLE,
    LIMITS_FAILED,
};

/* What the pod brings along, once for all nodes. */
struct pod_volume_keys {
    enum limits_verdict verdict; /* UNRESOLVABLE or FAILED: for all nodes */
    char *reason;
    struct string_list keys;               /* unique */
    struct string_list drivers;            /* of each key */
    const struct in_tree_plugin **plugins; /* of each key; NULL for CSI volumes */
};

void volume_limits_prepare(const struct cluster_objects *cluster, const struct kube_pod *pod,
                           struct pod_volume_keys *keys);
void pod_volume_keys_done(struct pod_volume_keys *keys);
#define _cleanup_pod_volume_keys_ _cleanup_(pod_volume_keys_done)

struct limits_decision {
    enum limits_verdict verdict;
    const char *driver; /* the one that does not fit; borrowed */
    int64_t limit;
    int64_t in_use; /* on the node before */
    int64_t added;  /* by the pod */
    char *reason;   /* Kubernetes' text; NULL if it fits. Caller frees. */
};

void volume_limits_check(struct cluster_objects *cluster, const struct binding_options *options,
                         const struct pod_volume_keys *keys, const struct kube_node *node,
                         struct limits_decision *decision);

/* The node's entry for a driver; NULL if it is not registered there. */
const struct kube_node_driver *volume_limits_driver(const struct cluster_objects *cluster,
                                                    const char *node, const char *driver);
