#pragma once

#include "common/scheduling/library/library.h"

/*
 * Pods that are on a node as far as the scheduler has decided, before the API server knows: they
 * count there for limits and for others. The stored pod has the node's name; events that do not
 * have it yet get it when they come in. One thread, as the cluster.
 */
struct assumed_pod {
    char *ns;
    char *name;
    char *uid;
    char *node;
    uint64_t generation; /* at which it was assumed: tells it from a later one of that name */
};

/* The pod is stored, and has no node. */
void assumed_pods_add(struct czs_cluster *cluster, struct kube_pod *pod, const char *node);
/* Takes the pod off its node, if it is still the one assumed at @generation. */
void assumed_pods_revert(struct czs_cluster *cluster, const char *ns, const char *name,
                         uint64_t generation);
/* Before @object is put: it gets the node that is assumed, or ends the assumption. */
void assumed_pods_receive(struct czs_cluster *cluster, struct kube_pod *object);
void assumed_pods_forget(struct czs_cluster *cluster, const char *ns, const char *name);
void assumed_pods_done(struct named_list *assumed);
