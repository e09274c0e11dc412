#pragma once

#include "common/scheduling/binding_assume.h"
#include "common/topology/registration.h"

/*
 * The other actors of volume binding, on a snapshot: the API server as far as it takes the
 * scheduler's writes, the PV controller, an external provisioner and kubelet. For simulating a
 * cluster, and for tests of what waits for them. Objects are changed in place with new versions, so
 * assumptions about them end as they would with the event. One thread.
 */
struct actors {
    struct cluster_objects *cluster;
    const struct binding_options *options;
    uint64_t next_version; /* larger than any in the cluster */
    uint64_t volumes_made;
    /* Called with each change, for requeueing; may be NULL. */
    void (*notify)(void *object, enum kube_kind kind, const void *changed, bool is_new);
    void *notify_object;
};

void actors_init(struct actors *actors, struct cluster_objects *cluster,
                 const struct binding_options *options);

/* The API server for binding_bind(): ABORTED when the object has another version than was assumed.
 */
struct binding_api actors_api(struct actors *actors);

/*
 * The PV controller looks at one claim: finishes a volume and a claim that name each other, binds a
 * claim that need not wait to the smallest volume that fits, and leaves a claim that waits for its
 * consumer alone. Returns whether it changed anything.
 */
bool pv_controller_sync(struct actors *actors, struct kube_pvc *claim);

enum provision_outcome {
    PROVISION_NOTHING, /* not its business: bound, waiting, or no such provisioner */
    PROVISION_DONE,
    PROVISION_RESCHEDULE, /* the annotation selected-node is gone: the scheduler chooses again */
    PROVISION_RETRY,      /* would be tried again and again on the same node */
};

/*
 * The provisioner looks at one claim. The volume is pinned as this driver's would be: to the
 * membership keys of the chosen segments if there are any, else to the segments. Space is taken
 * from the CSIStorageCapacity objects of the class that cover the node; without enough of it the
 * answer is RESOURCE_EXHAUSTED. *@why (caller frees) describes failures.
 */
enum provision_outcome provisioner_sync(struct actors *actors, struct kube_pvc *claim, char **why);

/*
 * Kubelet registers a driver on a node: the segments become labels, the keys, node ID and limit an
 * entry in the CSINode, which is made if there is none and made anew if it belongs to a Node of
 * that name that is gone. FAILED_PRECONDITION when a label has another value, or when the driver is
 * registered with another node ID or other keys; kubelet then takes the driver out of the CSINode,
 * so that the same again succeeds in the second case. INVALID_ARGUMENT without a node ID.
 */
_must_check_ int kubelet_register(struct actors *actors, struct kube_node *node,
                                  const struct node_report *report, struct error *err);
/* Kubelet asks a registered driver again, which it does for the limit: labels stay as they are, and
 * other keys are refused. */
_must_check_ int kubelet_refresh(struct actors *actors, const struct kube_node *node,
                                 const struct node_report *report, struct error *err);
/* The driver's socket is gone. Its labels stay on the Node. */
void kubelet_deregister(struct actors *actors, struct kube_node *node, const char *driver);

/* What the actors in other files share: the next version, which the caller frees; what follows a
 * change of a claim in place; and the events. */
char *actors_next_version(struct actors *actors);
void actors_changed_claim(struct actors *actors, struct kube_pvc *claim);
void actors_notify(struct actors *actors, enum kube_kind kind, const void *object, bool is_new);

/* Moves a pod to a node; NULL: off its node. */
void actors_place_pod(struct actors *actors, struct kube_pod *pod, const char *node);
/* The node's labels were changed in place. */
void actors_relabelled(struct actors *actors, struct kube_node *node);
