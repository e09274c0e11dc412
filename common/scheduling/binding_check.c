#include "common/scheduling/binding_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

/* One node's check under way. */
struct node_check {
    const struct cluster_objects *cluster;
    const struct binding_options *options;
    const struct pod_claims *claims;
    const struct kube_node *node;
    struct node_decision *decision;
    bool is_unbound_ok;
    bool has_space;
};

/* --- bound claims --- */

/* The first claim that does not fit tells the reason. */
static unsigned check_bound(const struct node_check *check)
{
    for (size_t i = 0; i < check->claims->count; i++) {
        const struct pod_claim *item = &check->claims->items[i];

        if (item->kind != CLAIM_BOUND)
            continue;
        if (!item->pv)
            return BINDING_VOLUME_MISSING;
        check->decision->fault = binding_translation_fault(check->cluster, item->pv, check->node);
        if (check->decision->fault)
            return 0;
        if (!binding_fits_bound(check->cluster, item->pv, check->node))
            return BINDING_NODE_AFFINITY;
    }
    return 0;
}

/* --- matching volumes --- */

/* A volume serves one claim of the pod. */
static bool is_taken(const struct node_check *check, const struct kube_pv *pv)
{
    for (size_t i = 0; i < check->claims->delayed_count; i++)
        if (check->decision->choices[check->claims->by_size[i]].pv == pv)
            return true;
    return false;
}

/* Whether the group's volumes could serve the claim on some node, size and labels apart. */
static bool serves(const struct node_check *check, const struct pv_group *group,
                   const struct kube_pvc *claim)
{
    bool asks_attributes = claim->attributes_class && claim->attributes_class[0] != '\0';

    if (group->has_attributes_class != (asks_attributes && check->options->attributes_class))
        return false;
    if (group->has_attributes_class &&
        strcmp(group->attributes_class, claim->attributes_class) != 0)
        return false;
    return group->is_block == kube_volume_mode_is_block(claim->volume_mode) &&
           (group->access_modes & claim->access_modes) == claim->access_modes;
}

/* Where the volumes begin that are large enough. */
static size_t first_large_enough(const struct pv_group *group, const struct quantity *request)
{
    char first_of_all[] = "";

    if (quantity_compare(&group->smallest, request) >= 0)
        return 0;
    const struct kube_pv wanted = {.meta.name = first_of_all, .capacity = *request};
    return pointer_list_locate(&group->pvs, &wanted, cluster_compare_pvs);
}

/* The better of @best and the group's smallest volume that fits. */
static const struct kube_pv *best_in_group(const struct node_check *check,
                                           const struct pv_group *group,
                                           const struct kube_pvc *claim, const struct kube_pv *best)
{
    if (group->pvs.count == 0 || quantity_compare(&group->largest, &claim->request) < 0 ||
        !serves(check, group, claim))
        return best;
    size_t at = first_large_enough(group, &claim->request);
    if (at == group->pvs.count || (best && cluster_compare_pvs(group->pvs.items[at], best) >= 0) ||
        (!group->is_exact &&
         !binding_fits_affinity(group->pvs.items[at], &check->node->meta.labels)))
        return best;
    for (; at < group->pvs.count; at++) {
        const struct kube_pv *pv = group->pvs.items[at];

        if (best && cluster_compare_pvs(pv, best) >= 0)
            return best;
        if (!is_taken(check, pv) && binding_selects(claim, pv))
            return pv;
    }
    return best;
}

static const struct kube_pv *best_in_bucket(const struct node_check *check,
                                            const struct label_bucket *bucket,
                                            const struct kube_pvc *claim,
                                            const struct kube_pv *best)
{
    for (size_t i = 0; bucket && i < bucket->count; i++)
        best = best_in_group(check, label_bucket_item(bucket, i), claim, best);
    return best;
}

static const struct kube_pv *find_volume(const struct node_check *check,
                                         const struct pod_claim *item)
{
    const struct kube_node *node = check->node;

    for (size_t i = 0; i < item->prebound.count; i++) {
        const struct kube_pv *pv = item->prebound.items[i];

        /* this one or none: another volume would leave the one meant for the claim behind */
        if (!is_taken(check, pv))
            return binding_fits_affinity(pv, &node->meta.labels) ? pv : NULL;
    }
    if (!item->index)
        return NULL;
    const struct label_index *groups = &item->index->by_affinity;
    const struct kube_pv *best = best_in_bucket(check, &groups->always, item->claim, NULL);
    for (size_t i = 0; i < node->meta.labels.count; i++)
        best = best_in_bucket(check, label_index_find(groups, node->label_pairs[i]), item->claim,
                              best);
    return best;
}

/* -1 if a claim makes no sense. */
static int match_static(struct node_check *check)
{
    for (size_t i = 0; i < check->claims->delayed_count; i++) {
        size_t at = check->claims->by_size[i];
        const struct pod_claim *item = &check->claims->items[at];

        if (item->selected_node)
            continue;
        if (item->fault) {
            check->decision->fault = item->fault;
            return -1;
        }
        const struct kube_pv *pv = find_volume(check, item);
        if (pv)
            check->decision->choices[at] = (struct claim_choice){CHOICE_STATIC, pv, NULL};
    }
    return 0;
}

/* --- provisioning --- */

/* False ends the check of this node. */
static bool choose_provisioning(struct node_check *check, size_t at)
{
    const struct pod_claim *item = &check->claims->items[at];
    const struct kube_capacity *capacity = NULL;

    if (!binding_has_provisioner(item->class) ||
        !allowed_topologies_match(&item->class->allowed, &check->node->meta.labels)) {
        check->is_unbound_ok = false;
        return false;
    }
    if (item->driver && item->claim->has_request) {
        capacity =
            binding_find_capacity(item->index, check->node, quantity_value(&item->claim->request));
        if (!capacity) {
            check->has_space = false;
            return false;
        }
    }
    check->decision->choices[at] = (struct claim_choice){CHOICE_DYNAMIC, NULL, capacity};
    return true;
}

/* Claims whose node is chosen come first, in the pod's order; then those without a volume, in the
 * order in which volumes were sought. */
static void check_provisions(struct node_check *check)
{
    const struct pod_claims *claims = check->claims;
    bool go_on = true;

    for (size_t i = 0; go_on && i < claims->count; i++)
        if (claims->items[i].kind == CLAIM_DELAYED && claims->items[i].selected_node)
            go_on = choose_provisioning(check, i);
    for (size_t i = 0; go_on && i < claims->delayed_count; i++) {
        size_t at = claims->by_size[i];

        if (!claims->items[at].selected_node && check->decision->choices[at].kind == CHOICE_NONE)
            go_on = choose_provisioning(check, at);
    }
    for (size_t i = 0; !go_on && i < claims->count; i++)
        if (check->decision->choices[i].kind == CHOICE_DYNAMIC)
            check->decision->choices[i] = (struct claim_choice){0};
}

static bool is_selected_elsewhere(const struct node_check *check)
{
    for (size_t i = 0; i < check->claims->count; i++) {
        const struct pod_claim *item = &check->claims->items[i];

        if (item->kind == CLAIM_DELAYED && item->selected_node &&
            strcmp(item->selected_node, check->node->meta.name) != 0)
            return true;
    }
    return false;
}

/* --- the node --- */

void binding_check_node(const struct cluster_objects *cluster,
                        const struct binding_options *options, const struct pod_claims *claims,
                        const struct kube_node *node, struct node_decision *decision)
{
    struct node_check check = {
        .cluster = cluster,
        .options = options,
        .claims = claims,
        .node = node,
        .decision = decision,
        .is_unbound_ok = true,
        .has_space = true,
    };

    decision->verdict = claims->verdict;
    decision->reasons = 0;
    decision->fault = claims->reason;
    if (claims->verdict != BINDING_FITS)
        return;
    for (size_t i = 0; i < claims->count; i++)
        decision->choices[i] = (struct claim_choice){0};
    decision->fault = NULL;
    decision->reasons = check_bound(&check);
    if (decision->fault) {
        decision->verdict = BINDING_FAILED;
        return;
    }
    if (is_selected_elsewhere(&check)) {
        check.is_unbound_ok = false;
    } else if (match_static(&check) < 0) {
        decision->verdict = BINDING_FAILED;
        return;
    } else {
        check_provisions(&check);
    }
    decision->reasons |= check.is_unbound_ok ? 0 : BINDING_NO_VOLUMES;
    decision->reasons |= check.has_space ? 0 : BINDING_NO_SPACE;
    if (decision->reasons)
        decision->verdict = BINDING_REJECTED;
}

void pod_decisions_init(const struct cluster_objects *cluster, const struct pod_claims *claims,
                        struct pod_decisions *decisions)
{
    size_t count = cluster_count(cluster, KUBE_NODE);

    *decisions = (struct pod_decisions){
        .nodes = xcalloc(count + 1, sizeof(*decisions->nodes)),
        .count = count,
        .choices = xcalloc(count * claims->count + 1, sizeof(*decisions->choices)),
    };
    for (size_t i = 0; i < count; i++)
        decisions->nodes[i].choices = decisions->choices + i * claims->count;
}

void binding_check(const struct cluster_objects *cluster, const struct binding_options *options,
                   const struct pod_claims *claims, struct pod_decisions *decisions)
{
    pod_decisions_init(cluster, claims, decisions);
    for (size_t i = 0; i < decisions->count; i++)
        binding_check_node(cluster, options, claims, cluster_at(cluster, KUBE_NODE, i),
                           &decisions->nodes[i]);
}

void pod_decisions_done(struct pod_decisions *decisions)
{
    free(decisions->nodes);
    free(decisions->choices);
    *decisions = (struct pod_decisions){0};
}
