/* The small rules that several steps of volume binding share. */
#include <string.h>

#include "common/kube/objects/in_tree.h"
#include "common/scheduling/binding_check.h"

const char *binding_reason_text(enum binding_reason reason)
{
    switch (reason) {
    case BINDING_NODE_AFFINITY:
        return "node(s) didn't match PersistentVolume's node affinity";
    case BINDING_NO_VOLUMES:
        return "node(s) didn't find available persistent volumes to bind";
    case BINDING_NO_ROOM:
        return "node(s) did not have enough free storage";
    case BINDING_VOLUME_MISSING:
        return "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
    }
    return "";
}

bool binding_is_bound(const struct kube_pvc *claim)
{
    return claim->volume_name && claim->volume_name[0] != '\0' &&
           strmap_has(&claim->meta.annotations, KUBE_BIND_COMPLETED);
}

bool binding_is_meant_for(const struct kube_pv *pv, const struct kube_pvc *claim)
{
    const struct kube_claim_ref *ref = assume_cache_claim(pv);

    return ref && kube_same(ref->name, claim->meta.name) && kube_same(ref->ns, claim->meta.ns) &&
           (!ref->uid || ref->uid[0] == '\0' || kube_same(ref->uid, claim->meta.uid));
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
    const struct selector_requirements *all = &claim->selector.requirements;

    if (!claim->selector.is_set)
        return true;
    for (size_t i = 0; i < all->count; i++)
        if (!selector_requirement_match(&all->items[i], &pv->meta.labels))
            return false;
    return !claim->selector.fault;
}

/* Without a name, as Kubernetes does it: matchFields then count as fulfilled. */
static int check(const struct node_selector *affinity, const struct strmap *labels,
                 struct error *err)
{
    bool matches = true;

    if (!affinity)
        return 0;
    if (node_selector_match(affinity, labels, NULL, &matches, err) < 0)
        return -1;
    if (!matches)
        return error_set(err, STATUS_FAILED_PRECONDITION, "no matching NodeSelectorTerms");
    return 0;
}

static bool fits(const struct node_selector *affinity, const struct strmap *labels)
{
    for (size_t i = 0; affinity && i < affinity->count; i++)
        if (node_selector_term_match(&affinity->terms[i], labels, NULL))
            return true;
    return !affinity;
}

static const struct node_selector *affinity_of(const struct kube_pv *pv)
{
    return pv->has_required ? &pv->required : NULL;
}

bool binding_fits_affinity(const struct kube_pv *pv, const struct strmap *labels)
{
    return fits(affinity_of(pv), labels);
}

const struct node_selector *binding_affinity_on(const struct cluster_objects *cluster,
                                                const struct kube_pv *pv,
                                                const struct kube_node *node)
{
    if (!pv->plugin || !in_tree_is_migrated(
                           pv->plugin, cluster_find(cluster, KUBE_CSI_NODE, NULL, node->meta.name)))
        return affinity_of(pv);
    return pv->has_translated ? &pv->translated : NULL;
}

int binding_check_bound(const struct cluster_objects *cluster, const struct kube_pv *pv,
                        const struct kube_node *node, struct error *err)
{
    return check(binding_affinity_on(cluster, pv, node), &node->meta.labels, err);
}

bool binding_fits_bound(const struct cluster_objects *cluster, const struct kube_pv *pv,
                        const struct kube_node *node)
{
    return fits(binding_affinity_on(cluster, pv, node), &node->meta.labels);
}

bool binding_capacity_limit(const struct kube_capacity *capacity, int64_t *limit)
{
    if (capacity->has_maximum)
        *limit = quantity_value(&capacity->maximum);
    else if (capacity->has_capacity)
        *limit = quantity_value(&capacity->capacity);
    return capacity->has_maximum || capacity->has_capacity;
}

static bool has_room(const struct kube_capacity *capacity, const struct strmap *labels,
                     int64_t request)
{
    const struct selector_requirements *all = &capacity->topology.requirements;
    int64_t limit = 0;

    if (!binding_capacity_limit(capacity, &limit) || limit < request)
        return false;
    /* found by the one label that it asks for */
    if (label_index_is_exact(all))
        return true;
    for (size_t i = 0; i < all->count; i++)
        if (!selector_requirement_match(&all->items[i], labels))
            return false;
    return true;
}

/* The first by name of those in the bucket and @best. */
static const struct kube_capacity *best_in(const struct label_bucket *bucket,
                                           const struct kube_node *node, int64_t request,
                                           const struct kube_capacity *best)
{
    for (size_t i = 0; bucket && i < bucket->count; i++) {
        const struct kube_capacity *capacity = label_bucket_item(bucket, i);

        if ((!best || cluster_compare_objects(capacity, best) < 0) &&
            has_room(capacity, &node->meta.labels, request))
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
