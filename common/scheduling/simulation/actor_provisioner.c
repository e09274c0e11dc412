/* The provisioner among the actors: requirement, answer, volume; or back to the scheduler. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/simulation/actors.h"
#include "common/scheduling/simulation/provisioner.h"
#include "common/scheduling/volume_limits.h"
#include "common/topology/domain.h"

struct provision {
    struct actors *actors;
    struct kube_pvc *claim;
    const struct kube_class *class;
    const struct kube_node *node; /* the selected one; NULL: none */
    struct topology_requirement requirement;
    char **why;
};

/* --- requirement --- */

/* Without allowedTopologies the first preferred term is the selected node's, whatever else the
 * requisite list has; the strict form is that term alone and costs no walk over all nodes. */
static int build_requirement(struct provision *provision, enum provisioner_state *state)
{
    const struct cluster_objects *cluster = provision->actors->cluster;
    const struct kube_node *node = provision->node;
    const struct kube_node_driver *driver =
        volume_limits_driver(cluster, node->meta.name, provision->class->provisioner);
    bool has_csi_node = cluster_find(cluster, KUBE_CSI_NODE, NULL, node->meta.name) != NULL;
    static const struct string_list NO_KEYS;
    const struct provisioner_node selected = {
        .name = node->meta.name,
        .labels = &node->meta.labels,
        .keys = driver ? &driver->topology_keys : (has_csi_node ? &NO_KEYS : NULL),
    };
    const struct provisioner_request request = {
        .claim = provision->claim->meta.name,
        .allowed = &provision->class->allowed,
        .selected = &selected,
        .nodes = &selected,
        .count = 1,
        .strict = provision->class->allowed.count == 0,
        .immediate = true,
    };
    _cleanup_error_ struct error err = {0};

    if (provisioner_requirement(&request, &provision->requirement, state, &err) == 0)
        return 0;
    *provision->why = xstrdup(err.message);
    return -1;
}

/* A driver that no node registers topology for is asked without one. */
static bool uses_topology(const struct provision *provision)
{
    const struct cluster_objects *cluster = provision->actors->cluster;

    for (size_t i = 0; i < cluster_count(cluster, KUBE_CSI_NODE); i++) {
        const struct kube_csi_node *csi_node = cluster_at(cluster, KUBE_CSI_NODE, i);

        for (size_t j = 0; j < csi_node->driver_count; j++)
            if (kube_same(csi_node->drivers[j].name, provision->class->provisioner) &&
                csi_node->drivers[j].topology_keys.count > 0)
                return true;
    }
    return false;
}

/* --- free space --- */

static bool covers(const struct kube_capacity *capacity, const struct kube_node *node)
{
    _cleanup_error_ struct error fault = {0};
    bool matches = false;

    return label_selector_match(&capacity->topology, &node->meta.labels, &matches, &fault) == 0 &&
           matches;
}

/* Objects that overlap show the same storage: each of them loses the space. */
static void take_space(struct provision *provision, const struct class_index *index)
{
    const __int128 size = provision->claim->request.nano;

    for (size_t i = 0; index && i < index->capacities.count; i++) {
        struct kube_capacity *capacity = index->capacities.items[i];
        __int128 *left = &capacity->capacity.nano;

        if (!capacity->has_capacity || !covers(capacity, provision->node))
            continue;
        if (size > 0)
            *left = *left > size ? *left - size : 0;
        if (capacity->has_maximum && quantity_compare(&capacity->maximum, &capacity->capacity) > 0)
            capacity->maximum = capacity->capacity;
    }
}

/* False if the driver would answer RESOURCE_EXHAUSTED. */
static bool has_space(const struct provision *provision, const struct class_index *index)
{
    bool is_known = false;

    for (size_t i = 0; index && i < index->capacities.count; i++) {
        const struct kube_capacity *capacity = index->capacities.items[i];

        if (!capacity->has_capacity || !covers(capacity, provision->node))
            continue;
        is_known = true;
        if (quantity_compare(&capacity->capacity, &provision->claim->request) >= 0)
            return true;
    }
    return !is_known;
}

/* --- the volume --- */

static void pin_volume(struct kube_pv *pv, const struct topology_terms *terms)
{
    bool has_membership = false;

    if (terms->count == 0)
        return;
    const struct strmap *term = &terms->items[0];
    for (size_t i = 0; i < term->count; i++)
        has_membership = has_membership || membership_tail(term->entries[i].key);
    pv->has_required = true;
    pv->required.terms = xcalloc(1, sizeof(*pv->required.terms));
    pv->required.count = 1;
    struct selector_requirements *expressions = &pv->required.terms[0].expressions;
    for (size_t i = 0; i < term->count; i++) {
        if (has_membership && !membership_tail(term->entries[i].key))
            continue;
        struct selector_requirement *item = array_add(expressions->items, expressions->count);
        item->key = xstrdup(term->entries[i].key);
        item->op = SELECTOR_IN;
        string_list_add(&item->values, term->entries[i].value);
    }
}

static void make_volume(struct provision *provision)
{
    struct actors *actors = provision->actors;
    const struct kube_pvc *claim = provision->claim;
    struct kube_pv *pv = xcalloc(1, sizeof(*pv));

    pv->meta.name = kube_same(claim->meta.uid, "")
                        ? xasprintf("pvc-%s-%s", claim->meta.ns, claim->meta.name)
                        : xasprintf("pvc-%s", claim->meta.uid);
    pv->meta.version = actors_next_version(actors);
    strmap_set(&pv->meta.annotations, KUBE_PROVISIONED_BY, provision->class->provisioner);
    pv->class_name = xstrdup(provision->class->meta.name);
    pv->volume_mode = claim->volume_mode ? xstrdup(claim->volume_mode) : NULL;
    pv->attributes_class = claim->attributes_class ? xstrdup(claim->attributes_class) : NULL;
    pv->phase = xstrdup("Available");
    pv->driver = xstrdup(provision->class->provisioner);
    pv->handle = xstrdup(pv->meta.name);
    pv->capacity = claim->request;
    pv->access_modes = claim->access_modes;
    pv->has_claim = true;
    pv->claim = (struct kube_claim_ref){xstrdup(claim->meta.ns), xstrdup(claim->meta.name),
                                        xstrdup(claim->meta.uid ? claim->meta.uid : "")};
    pin_volume(pv, &provision->requirement.preferred);
    cluster_put(actors->cluster, KUBE_PV, pv);
    actors->volumes_made++;
    actors_notify(actors, KUBE_PV, pv, true);
}

/* --- one claim --- */

static enum provision_outcome reschedule_claim(struct provision *provision)
{
    strmap_remove(&provision->claim->meta.annotations, KUBE_SELECTED_NODE);
    actors_changed_claim(provision->actors, provision->claim);
    return PROVISION_RESCHEDULE;
}

static enum provision_outcome provision_on_node(struct provision *provision)
{
    const struct cluster_objects *cluster = provision->actors->cluster;
    const struct class_index *index = cluster_class_index(cluster, provision->class->meta.name);
    enum provisioner_state state = PROVISIONER_NO_CHANGE;

    if (provision->claim->selector.is_set) {
        *provision->why = xstrdup("claim Selector is not supported by the provisioner");
        return PROVISION_RETRY;
    }
    if (uses_topology(provision) && build_requirement(provision, &state) < 0)
        return state == PROVISIONER_RESCHEDULE ? reschedule_claim(provision) : PROVISION_RETRY;
    if (!has_space(provision, index)) {
        *provision->why =
            xasprintf("CreateVolume on node '%s': RESOURCE_EXHAUSTED", provision->node->meta.name);
        return reschedule_claim(provision);
    }
    make_volume(provision);
    take_space(provision, index);
    pv_controller_sync(provision->actors, provision->claim);
    return PROVISION_DONE;
}

/* A claim that is bound at once has no node: the first by name whose place has space
 * stands for it. */
static const struct kube_node *any_node(const struct provision *provision)
{
    const struct cluster_objects *cluster = provision->actors->cluster;
    const struct class_index *index = cluster_class_index(cluster, provision->class->meta.name);

    for (size_t i = 0; i < cluster_count(cluster, KUBE_NODE); i++) {
        struct provision there = *provision;

        there.node = cluster_at(cluster, KUBE_NODE, i);
        if (allowed_topologies_match(&provision->class->allowed, &there.node->meta.labels) &&
            has_space(&there, index))
            return there.node;
    }
    return NULL;
}

enum provision_outcome provisioner_sync(struct actors *actors, struct kube_pvc *claim, char **why)
{
    const struct kube_class *class = cluster_find_class(actors->cluster, kube_pvc_class(claim));
    const char *selected = strmap_get(&claim->meta.annotations, KUBE_SELECTED_NODE);
    struct provision provision = {.actors = actors, .claim = claim, .class = class, .why = why};

    *why = NULL;
    if (!class || !binding_has_provisioner(class) || binding_is_bound(claim) ||
        !kube_same(claim->volume_name, "") || claim->meta.deletion_timestamp)
        return PROVISION_NOTHING;
    if (class->mode == KUBE_BINDING_WAIT && kube_same(selected, ""))
        return PROVISION_NOTHING;
    provision.node = kube_same(selected, "")
                         ? any_node(&provision)
                         : cluster_find(actors->cluster, KUBE_NODE, NULL, selected);
    if (!provision.node) {
        *why = selected ? xasprintf("the selected node '%s' does not exist", selected)
                        : xstrdup("no node's place has room");
        return PROVISION_RETRY;
    }
    enum provision_outcome outcome = provision_on_node(&provision);
    topology_requirement_done(&provision.requirement);
    return outcome;
}
