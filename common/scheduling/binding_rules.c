/* The small rules that several steps of volume binding share. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/objects/in_tree.h"
#include "common/scheduling/binding_check.h"

const char *binding_reason_text(enum binding_reason reason)
{
    switch (reason) {
    case BINDING_NODE_AFFINITY:
        return "node(s) didn't match PersistentVolume's node affinity";
    case BINDING_NO_VOLUMES:
        return "node(s) didn't find available persistent volumes to bind";
    case BINDING_NO_SPACE:
        return "node(s) did not have enough free storage";
    case BINDING_VOLUME_MISSING:
        return "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
    }
    return "";
}

void reason_counts_add(struct reason_counts *counts, const char *reason)
{
    size_t at = 0;

    while (at < counts->reasons.count && strcmp(counts->reasons.items[at], reason) != 0)
        at++;
    if (at == counts->reasons.count) {
        size_t count = at;

        string_list_add(&counts->reasons, reason);
        array_add(counts->counts, count);
    }
    counts->counts[at]++;
}

void reason_counts_done(struct reason_counts *counts)
{
    string_list_done(&counts->reasons);
    free(counts->counts);
}

bool binding_is_bound(const struct kube_pvc *claim)
{
    return !kube_same(claim->volume_name, "") &&
           strmap_has(&claim->meta.annotations, KUBE_BIND_COMPLETED);
}

bool binding_is_meant_for(const struct kube_pv *pv, const struct kube_pvc *claim)
{
    const struct kube_claim_ref *ref = assume_cache_claim(pv);

    return ref && kube_same(ref->name, claim->meta.name) && kube_same(ref->ns, claim->meta.ns) &&
           (kube_same(ref->uid, "") || kube_same(ref->uid, claim->meta.uid));
}

bool binding_is_usable(const struct binding_options *options, const struct kube_pv *pv,
                       const struct kube_pvc *claim)
{
    const char *attributes = options->attributes_class ? claim->attributes_class : "";

    return quantity_compare(&pv->capacity, &claim->request) >= 0 && !pv->meta.deletion_timestamp &&
           kube_volume_mode_is_block(pv->volume_mode) ==
               kube_volume_mode_is_block(claim->volume_mode) &&
           kube_same(pv->attributes_class, attributes);
}

bool binding_selects(const struct kube_pvc *claim, const struct kube_pv *pv)
{
    if (!claim->selector.is_set)
        return true;
    return !claim->selector.fault &&
           selector_requirements_match(&claim->selector.requirements, &pv->meta.labels);
}

bool binding_has_provisioner(const struct kube_class *class)
{
    return !kube_same(class->provisioner, "") &&
           !kube_same(class->provisioner, KUBE_NO_PROVISIONER);
}

bool binding_uses_claim(const struct kube_pod_volume *volume)
{
    return volume->kind == KUBE_VOLUME_CLAIM || volume->kind == KUBE_VOLUME_EPHEMERAL;
}

/* Affinity is matched without a name, as Kubernetes does it: matchFields then count as fulfilled.
 */
bool binding_fits_affinity(const struct kube_pv *pv, const struct strmap *labels)
{
    return !pv->has_required || node_selector_has_match(&pv->required, labels, NULL);
}

static bool is_migrated(const struct cluster_objects *cluster, const struct kube_pv *pv,
                        const struct kube_node *node)
{
    return pv->plugin && in_tree_is_migrated(pv->plugin, cluster_find(cluster, KUBE_CSI_NODE, NULL,
                                                                      node->meta.name));
}

const char *binding_translation_fault(const struct cluster_objects *cluster,
                                      const struct kube_pv *pv, const struct kube_node *node)
{
    return pv->translation_fault && is_migrated(cluster, pv, node) ? pv->translation_fault : NULL;
}

const struct node_selector *binding_affinity_on(const struct cluster_objects *cluster,
                                                const struct kube_pv *pv,
                                                const struct kube_node *node)
{
    if (is_migrated(cluster, pv, node))
        return pv->has_translated ? &pv->translated : NULL;
    return pv->has_required ? &pv->required : NULL;
}

int binding_check_bound(const struct cluster_objects *cluster, const struct kube_pv *pv,
                        const struct kube_node *node, struct error *err)
{
    const struct node_selector *affinity = binding_affinity_on(cluster, pv, node);
    const char *fault = binding_translation_fault(cluster, pv, node);
    bool matches = true;

    if (fault)
        return error_set(err, STATUS_FAILED_PRECONDITION, "%s", fault);
    if (affinity && node_selector_match(affinity, &node->meta.labels, NULL, &matches, err) < 0)
        return -1;
    if (!matches)
        return error_set(err, STATUS_FAILED_PRECONDITION, "no matching NodeSelectorTerms");
    return 0;
}

bool binding_fits_bound(const struct cluster_objects *cluster, const struct kube_pv *pv,
                        const struct kube_node *node)
{
    const struct node_selector *affinity = binding_affinity_on(cluster, pv, node);

    return !affinity || node_selector_has_match(affinity, &node->meta.labels, NULL);
}

bool binding_capacity_limit(const struct kube_capacity *capacity, int64_t *limit)
{
    if (capacity->has_maximum)
        *limit = quantity_value(&capacity->maximum);
    else if (capacity->has_capacity)
        *limit = quantity_value(&capacity->capacity);
    return capacity->has_maximum || capacity->has_capacity;
}

static bool has_free_space(const struct kube_capacity *capacity, const struct strmap *labels,
                           int64_t request)
{
    const struct selector_requirements *all = &capacity->topology.requirements;
    int64_t limit = 0;

    /* an exact one was found by the one label that it asks for */
    return binding_capacity_limit(capacity, &limit) && limit >= request &&
           (label_index_is_exact(all) || selector_requirements_match(all, labels));
}

/* The first by name of those in the bucket and @best. */
static const struct kube_capacity *best_in(const struct label_bucket *bucket,
                                           const struct kube_node *node, int64_t request,
                                           const struct kube_capacity *best)
{
    for (size_t i = 0; bucket && i < bucket->count; i++) {
        const struct kube_capacity *capacity = label_bucket_item(bucket, i);

        if ((!best || cluster_compare_objects(capacity, best) < 0) &&
            has_free_space(capacity, &node->meta.labels, request))
            best = capacity;
    }
    return best;
}

const struct kube_capacity *binding_find_capacity(const struct class_index *index,
                                                  const struct kube_node *node, int64_t request)
{
    if (!index)
        return NULL;
    const struct kube_capacity *best = best_in(&index->by_topology.always, node, request, NULL);
    for (size_t i = 0; i < node->meta.labels.count; i++)
        best = best_in(label_index_find(&index->by_topology, node->label_pairs[i]), node, request,
                       best);
    return best;
}
