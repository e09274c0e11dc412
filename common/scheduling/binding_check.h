#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/scheduling/binding_options.h"
#include "common/scheduling/cluster_objects.h"

/*
 * The scheduler's VolumeBinding predicate: can this pod's volumes be had on this node? In two
 * steps, as in Kubernetes: what is the same for all nodes once (binding_prepare), then each node
 * (binding_check_node, or binding_check for all). Pure; any thread while the cluster does not
 * change. Results borrow from the cluster and are void after any change of it.
 *
 * Where Kubernetes leaves the order open, ours is: volumes by size, then name; capacities by
 * namespace and name; claims of one size in the pod's order.
 *
 * Cost: preparing is a few lookups per claim; a node costs one probe per label and class and a
 * binary search in each group of volumes that its labels lead to, however many volumes there are.
 */

/* Kubernetes' reasons, in the order in which it gives them. */
enum binding_reason {
    BINDING_NODE_AFFINITY = 1,
    BINDING_NO_VOLUMES = 2,
    BINDING_NO_SPACE = 4,
    BINDING_VOLUME_MISSING = 8,
};
#define BINDING_REASONS 4

/* The text of one reason, as Kubernetes writes it. */
const char *binding_reason_text(enum binding_reason reason);

/* On how many nodes each reason was given, in the order in which they came up. */
struct reason_counts {
    struct string_list reasons;
    size_t *counts;
};

void reason_counts_add(struct reason_counts *counts, const char *reason);
void reason_counts_done(struct reason_counts *counts);
#define _cleanup_reason_counts_ _cleanup_(reason_counts_done)

/* What it says of a pod with a claim that should be bound already. */
#define BINDING_UNBOUND_IMMEDIATE "pod has unbound immediate PersistentVolumeClaims"

enum binding_verdict {
    BINDING_FITS,
    BINDING_SKIPPED,  /* no claims: nothing to check */
    BINDING_REJECTED, /* UnschedulableAndUnresolvable */
    BINDING_FAILED,   /* the scheduler reports an error and tries again */
};

enum claim_kind { CLAIM_BOUND, CLAIM_DELAYED, CLAIM_IMMEDIATE };

struct pod_claim {
    const struct kube_pvc *claim;
    enum claim_kind kind;
    const struct kube_class *class;       /* of DELAYED */
    const struct kube_pv *pv;             /* of BOUND; NULL: missing */
    const char *selected_node;            /* of DELAYED; NULL: not chosen yet */
    const struct class_index *index;      /* NULL: no volumes and no capacities of the class */
    const struct kube_csi_driver *driver; /* of the class's provisioner, if it tracks capacity */
    struct pointer_list prebound;         /* volumes meant for this claim that are of any use */
    char *fault;                          /* makes matching fail */
};

struct pod_claims {
    const struct kube_pod *pod;
    enum binding_verdict verdict; /* REJECTED and FAILED: for the whole pod */
    char *reason;
    struct pod_claim *items; /* in the pod's order; a claim used twice is there twice */
    size_t count;
    size_t *by_size; /* positions of DELAYED ones, in the order in which volumes are sought */
    size_t delayed_count;
    size_t bound_count;
};

/* PreFilter. Caller calls pod_claims_done(). */
void binding_prepare(const struct cluster_objects *cluster, const struct binding_options *options,
                     const struct kube_pod *pod, struct pod_claims *claims);
void pod_claims_done(struct pod_claims *claims);
#define _cleanup_pod_claims_ _cleanup_(pod_claims_done)

enum choice_kind { CHOICE_NONE, CHOICE_STATIC, CHOICE_DYNAMIC };

/* What a node means for one claim. */
struct claim_choice {
    enum choice_kind kind;
    const struct kube_pv *pv;             /* STATIC */
    const struct kube_capacity *capacity; /* DYNAMIC; NULL where none is looked at */
};

struct node_decision {
    enum binding_verdict verdict;
    unsigned reasons;
    const char *fault;            /* FAILED; borrowed from the claims or a volume */
    struct claim_choice *choices; /* one per claim, in the pod's order */
};

/* Filter for one node. @decision->choices has a place for each claim. */
void binding_check_node(const struct cluster_objects *cluster,
                        const struct binding_options *options, const struct pod_claims *claims,
                        const struct kube_node *node, struct node_decision *decision);

/* The second of the scheduler's caches: what was decided for each node, from check to bind. */
struct pod_decisions {
    struct node_decision *nodes; /* in the order of the cluster's nodes */
    size_t count;
    struct claim_choice *choices;
};

void binding_check(const struct cluster_objects *cluster, const struct binding_options *options,
                   const struct pod_claims *claims, struct pod_decisions *decisions);
/* One decision per node, none of them made yet: for callers that look at some nodes only. */
void pod_decisions_init(const struct cluster_objects *cluster, const struct pod_claims *claims,
                        struct pod_decisions *decisions);
void pod_decisions_done(struct pod_decisions *decisions);
#define _cleanup_pod_decisions_ _cleanup_(pod_decisions_done)

/* --- the rules by themselves --- */

/* spec.volumeName is set and the annotation bind-completed is there. The phase does not count. */
bool binding_is_bound(const struct kube_pvc *claim);
/* The volume names this claim: name, namespace, and uid unless it has none. */
bool binding_is_meant_for(const struct kube_pv *pv, const struct kube_pvc *claim);
/* Size, volume mode, attributes class, not being deleted: what even a volume that names the claim
 * must have. */
bool binding_is_usable(const struct binding_options *options, const struct kube_pv *pv,
                       const struct kube_pvc *claim);
/* The volume has the labels that the claim selects; a selector that makes no sense selects none. */
bool binding_selects(const struct kube_pvc *claim, const struct kube_pv *pv);
/* The class makes volumes, rather than waiting for an administrator who does. */
bool binding_has_provisioner(const struct kube_class *class);
/* The pod's volume is a claim: one that it names or one of its own. */
bool binding_uses_claim(const struct kube_pod_volume *volume);
/* Node affinity alone; no affinity fits everywhere. */
bool binding_fits_affinity(const struct kube_pv *pv, const struct strmap *labels);
/* The same for a volume that is bound, or about to be: on nodes where its plugin was migrated the
 * affinity of the CSI volume counts that stands for it (in_tree.h). INVALID_ARGUMENT for a term
 * that makes no sense, FAILED_PRECONDITION "no matching NodeSelectorTerms". */
_must_check_ int binding_check_bound(const struct cluster_objects *cluster,
                                     const struct kube_pv *pv, const struct kube_node *node,
                                     struct error *err);
bool binding_fits_bound(const struct cluster_objects *cluster, const struct kube_pv *pv,
                        const struct kube_node *node);
/* Why the volume cannot be one of the CSI driver that has taken its plugin over on the node, which
 * the scheduler treats as an error; NULL if nothing is wrong. Borrowed. */
const char *binding_translation_fault(const struct cluster_objects *cluster,
                                      const struct kube_pv *pv, const struct kube_node *node);
/* The affinity by which these two judge; NULL: every node will do. */
const struct node_selector *binding_affinity_on(const struct cluster_objects *cluster,
                                                const struct kube_pv *pv,
                                                const struct kube_node *node);
/* The capacity that has space for @request on the node; NULL if none has. */
const struct kube_capacity *binding_find_capacity(const struct class_index *index,
                                                  const struct kube_node *node, int64_t request);
/* maximumVolumeSize, else capacity; false if there is neither. */
bool binding_capacity_limit(const struct kube_capacity *capacity, int64_t *limit);
