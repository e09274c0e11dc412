#include "common/scheduling/volume_restrictions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/objects/exclusive_disk.h"

/* Whether a claim is named by the pod itself: those of ephemeral volumes have one user anyway. */
static bool names_claim(const struct kube_pod *pod, const char *name)
{
    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].kind == KUBE_VOLUME_CLAIM &&
            kube_same(pod->volumes[i].claim_name, name))
            return true;
    return false;
}

/* Another pod that has a node and has not ended. */
static const struct kube_pod *find_user(const struct cluster_objects *cluster,
                                        const struct kube_pod *pod, const struct kube_pvc *claim)
{
    const struct claim_index *index =
        cluster_claim_index(cluster, claim->meta.ns, claim->meta.name);

    for (size_t i = 0; index && i < index->pods.count; i++) {
        const struct kube_pod *other = index->pods.items[i];

        if (other != pod && kube_pod_is_on_node(other) && names_claim(other, claim->meta.name))
            return other;
    }
    return NULL;
}

void volume_restrictions_prepare(const struct cluster_objects *cluster,
                                 const struct binding_options *options, const struct kube_pod *pod,
                                 struct pod_restrictions *restrictions)
{
    *restrictions = (struct pod_restrictions){.pod = pod, .verdict = BINDING_FITS};
    for (size_t i = 0; i < pod->volume_count; i++)
        restrictions->has_disks = restrictions->has_disks || pod->volumes[i].exclusive;
    for (size_t i = 0; options->minor >= 27 && i < pod->volume_count; i++) {
        const struct kube_pod_volume *volume = &pod->volumes[i];
        const char *name = kube_or_empty(volume->claim_name);

        if (volume->kind != KUBE_VOLUME_CLAIM)
            continue;
        const struct kube_pvc *claim = cluster_find_pvc(cluster, pod->meta.ns, name);
        if (!claim) {
            restrictions->verdict = BINDING_REJECTED;
            restrictions->reason = xasprintf("persistentvolumeclaim \"%s\" not found", name);
            return;
        }
        if ((claim->access_modes & KUBE_ACCESS_RWOP) && !restrictions->user) {
            restrictions->claim = claim;
            restrictions->user = find_user(cluster, pod, claim);
        }
    }
}

void pod_restrictions_done(struct pod_restrictions *restrictions)
{
    free(restrictions->reason);
    *restrictions = (struct pod_restrictions){0};
}

static bool pods_conflict(const struct kube_pod *a, const struct kube_pod *b)
{
    for (size_t i = 0; i < a->volume_count; i++)
        for (size_t j = 0; a->volumes[i].exclusive && j < b->volume_count; j++)
            if (b->volumes[j].exclusive &&
                exclusive_disk_conflicts(a->volumes[i].exclusive, b->volumes[j].exclusive))
                return true;
    return false;
}

const char *volume_restrictions_check(const struct cluster_objects *cluster,
                                      const struct pod_restrictions *restrictions,
                                      const struct kube_node *node, const struct kube_pod **user)
{
    const struct node_index *index =
        restrictions->has_disks ? cluster_node_index(cluster, node->meta.name) : NULL;

    for (size_t i = 0; index && i < index->pods.count; i++) {
        const struct kube_pod *other = index->pods.items[i];

        if (other == restrictions->pod || !pods_conflict(restrictions->pod, other))
            continue;
        if (user)
            *user = other;
        return RESTRICTIONS_DISK_CONFLICT;
    }
    if (!restrictions->user)
        return NULL;
    if (user)
        *user = restrictions->user;
    return RESTRICTIONS_CLAIM_IN_USE;
}

bool volume_restrictions_are_eased(const struct kube_pod *pod, const struct kube_pod *gone)
{
    if (!kube_same(pod->meta.ns, gone->meta.ns))
        return false;
    for (size_t i = 0; i < gone->volume_count; i++)
        if (gone->volumes[i].kind == KUBE_VOLUME_CLAIM &&
            names_claim(pod, gone->volumes[i].claim_name))
            return true;
    return pods_conflict(pod, gone);
}
