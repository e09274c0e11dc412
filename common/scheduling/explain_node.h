#pragma once

#include "common/scheduling/explain.h"

/* What explain.c and explain_node.c have between them: everything that is the same for all nodes,
 * and the diagnosis of one. */
struct explain_run {
    struct cluster_objects *cluster;
    const struct binding_options *options;
    const struct kube_pod *pod;
    struct pod_restrictions restrictions;
    struct pod_claims claims;
    struct pod_volume_keys keys;
    struct pod_zones zones;
    const char *rejection; /* of the pod as a whole; NULL: none. Borrowed from one of the above */
};

void explain_node(struct explain_run *run, const struct kube_node *node,
                  const struct node_decision *decision, struct explained_node *row);

/* "zone-a" for the key of its membership, NULL for other keys; level and value. Caller frees. */
char *explain_membership(const char *key, char **level);
/* The driver in a key "topology.DRIVER/zone"; NULL for other keys. Caller frees. */
char *explain_driver_of_key(const char *key);
/* What a volume asks of its nodes, for people: "zone zone-a", "rack in r1, r2 and zone zone-b".
 * Caller frees. */
char *explain_affinity(const struct kube_pv *pv);
