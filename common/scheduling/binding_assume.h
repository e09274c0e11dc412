#pragma once

#include "common/scheduling/binding_check.h"

/*
 * From a decision to bound volumes: assume (in the caches, at once), bind (through the API server),
 * poll until the PV controller and the provisioner have done their part, or revert. One thread per
 * cluster: assuming changes it.
 *
 * A decision must be acted upon before the cluster changes; what was assumed stays valid.
 */
/* One volume that is to be bound, or one claim that is to be provisioned. Owned texts. */
struct bound_item {
    enum choice_kind kind;
    char *ns;
    char *claim;
    char *claim_uid;
    char *pv;              /* STATIC */
    char *version;         /* of the volume or claim when it was assumed */
    bool is_assumed;       /* false: the volume named the claim already, nothing to change */
    bool adds_annotation;  /* STATIC: bound-by-controller */
    char *updated_version; /* what the API server answered; NULL: not known */
};

struct pod_binding {
    char *pod_ns;
    char *pod_name;
    char *node;
    bool is_all_bound;        /* nothing to do */
    struct bound_item *items; /* volumes first, then claims */
    size_t count;
};

/*
 * Reserve. On failure everything assumed so far is restored and @binding is empty. FAILED_
 * PRECONDITION or NOT_FOUND when the cache has moved on.
 */
_must_check_ int binding_assume(struct cluster_objects *cluster, const struct pod_claims *claims,
                                const struct kube_node *node, const struct node_decision *decision,
                                struct pod_binding *binding, struct error *err);

/* Unreserve: gives up what is still only assumed. Repeatable. What the API server has is not
 * undone, as in Kubernetes. */
void binding_revert(struct cluster_objects *cluster, const struct pod_binding *binding);
void pod_binding_done(struct pod_binding *binding);
#define _cleanup_pod_binding_ _cleanup_(pod_binding_done)

/* The two writes that binding makes. Each answers with the object's new version (caller frees) or
 * fails, with ABORTED for a conflict. */
struct binding_api {
    int (*update_pv)(void *object, const struct bound_item *item, char **version,
                     struct error *err);
    int (*update_pvc)(void *object, const struct bound_item *item, const char *node, char **version,
                      struct error *err);
    void *object;
};

/* PreBind, first half: volumes, then claims. On failure those not written are restored; those
 * written stay written. */
_must_check_ int binding_bind(struct cluster_objects *cluster, const struct binding_api *api,
                              struct pod_binding *binding, struct error *err);

enum bind_progress { BIND_WAITING, BIND_DONE, BIND_FAILED };

/* PreBind, second half: to be asked again while it waits, up to the caller's deadline. Looks at
 * stored objects, never at assumptions. @err is set when it failed, in Kubernetes' words. */
enum bind_progress binding_poll(const struct cluster_objects *cluster,
                                const struct pod_binding *binding, struct error *err);
