#include "common/scheduling/binding_hints.h"

#include <string.h>

#include "common/kube/objects/in_tree.h"
#include "common/scheduling/affinity_update.h"
#include "common/scheduling/binding_check.h"
#include "common/scheduling/volume_restrictions.h"
#include "common/scheduling/volume_zone.h"

static bool uses_claim(const struct kube_pod *pod, const struct kube_pvc *claim)
{
    if (!kube_same(pod->meta.ns, claim->meta.ns))
        return false;
    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].claim_name && strcmp(pod->volumes[i].claim_name, claim->meta.name) == 0)
            return true;
    return false;
}

static bool has_countable_volumes(const struct kube_pod *pod)
{
    for (size_t i = 0; i < pod->volume_count; i++)
        if (binding_uses_claim(&pod->volumes[i]) || pod->volumes[i].kind == KUBE_VOLUME_IN_TREE)
            return true;
    return false;
}

/* --- what changed --- */

static bool same_allowed(const struct allowed_topologies *a, const struct allowed_topologies *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!affinity_same_requirements(&a->terms[i].requirements, &b->terms[i].requirements,
                                        false))
            return false;
    return true;
}

/* Free space that grew, or that became known. */
static bool has_grown(const struct kube_capacity *old, const struct kube_capacity *new)
{
    int64_t before = 0;
    int64_t after = 0;

    if (!binding_capacity_limit(new, &after))
        return false;
    return !binding_capacity_limit(old, &before) || after > before;
}

/* A driver that was not there, or had no limit, had the limit 0 as far as this goes. */
static int64_t limit_of(const struct kube_csi_node *csi_node, const char *driver)
{
    for (size_t i = 0; i < csi_node->driver_count; i++)
        if (kube_same(csi_node->drivers[i].name, driver))
            return csi_node->drivers[i].has_limit ? csi_node->drivers[i].limit : 0;
    return 0;
}

static bool has_higher_limit(const struct kube_csi_node *old, const struct kube_csi_node *new)
{
    for (size_t i = 0; i < new->driver_count; i++)
        if (new->drivers[i].has_limit &&new->drivers[i].limit > limit_of(old, new->drivers[i].name))
            return true;
    return false;
}

/* Ephemeral volumes are not looked at, as in Kubernetes. */
static bool may_use_detached(const struct kube_pod *pod, const struct kube_attachment *gone)
{
    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].kind == KUBE_VOLUME_CLAIM ||
            (pod->volumes[i].plugin && kube_same(pod->volumes[i].plugin->driver, gone->attacher)))
            return true;
    return false;
}

static bool same_labels(const struct kube_meta *old, const struct kube_meta *new)
{
    return strmap_is_equal(&old->labels, &new->labels);
}

/* Capacity is no longer looked at, and the pod has an inline volume of the driver. Pods with claims
 * are not tried again by this, as in Kubernetes. */
static bool is_released(const struct kube_pod *pod, const struct kube_csi_driver *old,
                        const struct kube_csi_driver *new)
{
    if (!old->tracks_capacity || new->tracks_capacity)
        return false;
    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].kind == KUBE_VOLUME_CSI &&
            kube_same(pod->volumes[i].driver, new->meta.name))
            return true;
    return false;
}

/* --- by plugin --- */

static bool helps_binding(const struct kube_pod *pod, const struct cluster_event *event)
{
    const struct kube_class *old_class = event->old;
    const struct kube_class *new_class = event->new;
    const struct kube_meta *old = event->old;
    const struct kube_meta *new = event->new;

    switch (event->kind) {
    case KUBE_CLASS:
        return !event->old || !same_allowed(&old_class->allowed, &new_class->allowed);
    case KUBE_PVC:
        return uses_claim(pod, event->new);
    case KUBE_PV:
        return true;
    case KUBE_NODE:
        return !event->old || !same_labels(event->old, event->new);
    case KUBE_CSI_NODE:
        return !old || !kube_same(strmap_get(&old->annotations, KUBE_MIGRATED_PLUGINS),
                                  strmap_get(&new->annotations, KUBE_MIGRATED_PLUGINS));
    case KUBE_CSI_DRIVER:
        return event->old && is_released(pod, event->old, event->new);
    case KUBE_CAPACITY:
        return !event->old || has_grown(event->old, event->new);
    default:
        return false;
    }
}

static bool helps_limits(const struct kube_pod *pod, const struct cluster_event *event)
{
    const struct kube_pod *gone = event->old;

    if (event->kind == KUBE_POD && !event->new)
        return !kube_same(gone->node_name, "") && has_countable_volumes(gone);
    if (event->kind == KUBE_ATTACHMENT && !event->new)
        return may_use_detached(pod, event->old);
    if (event->kind == KUBE_CSI_NODE && event->new)
        return !event->old || has_higher_limit(event->old, event->new);
    if (event->kind == KUBE_PVC && event->new)
        return !event->old && uses_claim(pod, event->new);
    return false;
}

static bool helps_zone(const struct kube_pod *pod, const struct cluster_event *event)
{
    const struct kube_class *class = event->new;

    switch (event->kind) {
    case KUBE_CLASS:
        return !event->old && class->mode == KUBE_BINDING_WAIT;
    case KUBE_NODE:
        return !event->old || !same_labels(event->old, event->new);
    case KUBE_PVC:
        return uses_claim(pod, event->new);
    case KUBE_PV:
        return !event->old || !volume_zone_is_same(event->old, event->new);
    default:
        return false;
    }
}

static bool helps_restrictions(const struct kube_pod *pod, const struct cluster_event *event)
{
    if (event->kind == KUBE_POD && !event->new)
        return volume_restrictions_are_eased(pod, event->old);
    if (event->kind == KUBE_PVC && event->new)
        return !event->old && uses_claim(pod, event->new);
    return event->kind == KUBE_NODE && !event->old;
}

bool binding_event_may_help(enum volume_plugin plugin, const struct kube_pod *pod,
                            const struct cluster_event *event)
{
    if (plugin == PLUGIN_VOLUME_LIMITS)
        return helps_limits(pod, event);
    if (plugin == PLUGIN_VOLUME_RESTRICTIONS)
        return helps_restrictions(pod, event);
    /* the other two are never helped by an object going away */
    if (!event->new)
        return false;
    return plugin == PLUGIN_VOLUME_BINDING ? helps_binding(pod, event) : helps_zone(pod, event);
}

unsigned binding_event_invalidates(const struct cluster_event *event)
{
    const struct kube_class *gone = event->old;

    switch (event->kind) {
    case KUBE_PVC:
        return PLUGIN_VOLUME_RESTRICTIONS | PLUGIN_VOLUME_BINDING | PLUGIN_VOLUME_LIMITS |
               PLUGIN_VOLUME_ZONE;
    case KUBE_PV:
        return PLUGIN_VOLUME_BINDING | PLUGIN_VOLUME_LIMITS | PLUGIN_VOLUME_ZONE;
    case KUBE_CLASS:
        /* without their class claims are bound at once */
        if (!event->new)
            return gone->mode == KUBE_BINDING_WAIT ? PLUGIN_VOLUME_BINDING | PLUGIN_VOLUME_ZONE : 0;
        return helps_binding(NULL, event) ? PLUGIN_VOLUME_BINDING | PLUGIN_VOLUME_ZONE : 0;
    case KUBE_NODE:
        return !event->old || !event->new || !same_labels(event->old, event->new)
                   ? PLUGIN_VOLUME_BINDING | PLUGIN_VOLUME_LIMITS | PLUGIN_VOLUME_ZONE
                   : 0;
    case KUBE_CSI_DRIVER:
    case KUBE_CAPACITY:
        return PLUGIN_VOLUME_BINDING;
    case KUBE_CSI_NODE:
    case KUBE_ATTACHMENT:
        return PLUGIN_VOLUME_LIMITS;
    case KUBE_POD:
        return PLUGIN_VOLUME_RESTRICTIONS | PLUGIN_VOLUME_LIMITS;
    default:
        return 0;
    }
}
