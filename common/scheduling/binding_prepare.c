/* PreFilter: looks at the pod's claims once and sorts them out. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/scheduling/binding_check.h"

_printf_(3, 4) static void decide_pod(struct pod_claims *claims, enum binding_verdict verdict,
                                      const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    claims->verdict = verdict;
    claims->reason = xvasprintf(fmt, args);
    va_end(args);
}

/* The rejections of one volume, in Kubernetes' order. NULL: rejected. */
static const struct kube_pvc *find_claim(const struct cluster_objects *cluster,
                                         const struct kube_pod_volume *volume,
                                         struct pod_claims *claims)
{
    const struct kube_pod *pod = claims->pod;
    const char *name = volume->claim_name ? volume->claim_name : "";
    const struct kube_pvc *claim = cluster_find_pvc(cluster, pod->meta.ns, name);
    bool is_ephemeral = volume->kind == KUBE_VOLUME_EPHEMERAL;

    if (!claim && is_ephemeral)
        decide_pod(
            claims, BINDING_REJECTED,
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"%s\"",
            name);
    else if (!claim)
        decide_pod(claims, BINDING_REJECTED, "persistentvolumeclaim \"%s\" not found", name);
    else if (kube_same(claim->phase, "Lost"))
        decide_pod(claims, BINDING_REJECTED,
                   "persistentvolumeclaim \"%s\" bound to non-existent persistentvolume \"%s\"",
                   name, claim->volume_name ? claim->volume_name : "");
    else if (claim->meta.deletion_timestamp)
        decide_pod(claims, BINDING_REJECTED, "persistentvolumeclaim \"%s\" is being deleted", name);
    else if (is_ephemeral && !kube_pvc_is_owned_by(claim, pod))
        decide_pod(claims, BINDING_REJECTED,
                   "PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim->meta.ns,
                   name, pod->meta.ns, pod->meta.name);
    else
        return claim;
    return NULL;
}

/* Volumes that name this claim count for it whatever their phase, labels and access modes. */
static void find_prebound(const struct cluster_objects *cluster,
                          const struct binding_options *options, struct pod_claim *item)
{
    const struct kube_pvc *claim = item->claim;
    const struct claim_index *index =
        cluster_claim_index(cluster, claim->meta.ns, claim->meta.name);

    for (size_t i = 0; index && i < index->pvs.count; i++) {
        struct kube_pv *pv = index->pvs.items[i];

        if (binding_is_meant_for(pv, claim) && binding_is_usable(options, pv, claim) &&
            strcmp(kube_pv_class(pv), kube_pvc_class(claim)) == 0)
            *array_add(item->prebound.items, item->prebound.count) = pv;
    }
}

static void prepare_delayed(const struct cluster_objects *cluster,
                            const struct binding_options *options, const struct kube_class *class,
                            struct pod_claim *item)
{
    const struct kube_pvc *claim = item->claim;
    const char *provisioner = class->provisioner ? class->provisioner : "";
    const struct kube_csi_driver *driver =
        cluster_find(cluster, KUBE_CSI_DRIVER, NULL, provisioner);

    item->kind = CLAIM_DELAYED;
    item->class = class;
    item->selected_node = assume_cache_selected_node(claim);
    item->index = cluster_class_index(cluster, class->meta.name);
    item->driver = options->storage_capacity && driver && driver->tracks_capacity ? driver : NULL;
    find_prebound(cluster, options, item);
    if (!options->attributes_class && !kube_same(claim->attributes_class, ""))
        item->fault = xasprintf("unsupported volumeAttributesClassName is set on claim %s/%s when "
                                "the feature-gate VolumeAttributesClass is disabled",
                                claim->meta.ns, claim->meta.name);
    else if (claim->selector.is_set && claim->selector.fault)
        item->fault = xasprintf("error creating internal label selector for claim: %s/%s: %s",
                                claim->meta.ns, claim->meta.name, claim->selector.fault);
}

/* -1 when the pod cannot even be classified. */
static int classify_claim(const struct cluster_objects *cluster,
                          const struct binding_options *options, struct pod_claims *claims,
                          struct pod_claim *item)
{
    const struct kube_pvc *claim = item->claim;
    const char *name = kube_pvc_class(claim);
    const struct kube_class *class = cluster_find_class(cluster, name);

    if (binding_is_bound(claim)) {
        item->kind = CLAIM_BOUND;
        item->pv = cluster_find_pv(cluster, claim->volume_name);
        claims->bound_count++;
        return 0;
    }
    item->kind = CLAIM_IMMEDIATE;
    if (name[0] == '\0' || !class)
        return 0;
    if (class->mode == KUBE_BINDING_UNSET) {
        decide_pod(claims, BINDING_FAILED, "VolumeBindingMode not set for StorageClass \"%s\"",
                   name);
        return -1;
    }
    if (class->mode == KUBE_BINDING_WAIT && kube_same(claim->volume_name, "")) {
        prepare_delayed(cluster, options, class, item);
        claims->delayed_count++;
    }
    return 0;
}

/* An insertion sort: stable, and pods have few claims. */
static void sort_delayed(const struct binding_options *options, struct pod_claims *claims)
{
    size_t count = 0;

    claims->by_size = xcalloc(claims->delayed_count + 1, sizeof(*claims->by_size));
    for (size_t i = 0; i < claims->count; i++) {
        size_t at = count;

        if (claims->items[i].kind != CLAIM_DELAYED)
            continue;
        for (; at > 0; at--) {
            const struct kube_pvc *before = claims->items[claims->by_size[at - 1]].claim;
            int order = quantity_compare(&before->request, &claims->items[i].claim->request);

            if (options->original_design ? order >= 0 : order <= 0)
                break;
            claims->by_size[at] = claims->by_size[at - 1];
        }
        claims->by_size[at] = i;
        count++;
    }
}

static int find_claims(const struct cluster_objects *cluster, struct pod_claims *claims)
{
    const struct kube_pod *pod = claims->pod;

    claims->items = xcalloc(pod->volume_count + 1, sizeof(*claims->items));
    for (size_t i = 0; i < pod->volume_count; i++) {
        const struct kube_pod_volume *volume = &pod->volumes[i];

        if (!binding_uses_claim(volume))
            continue;
        const struct kube_pvc *claim = find_claim(cluster, volume, claims);
        if (!claim)
            return -1;
        claims->items[claims->count++].claim = claim;
    }
    return 0;
}

void binding_prepare(const struct cluster_objects *cluster, const struct binding_options *options,
                     const struct kube_pod *pod, struct pod_claims *claims)
{
    *claims = (struct pod_claims){.pod = pod, .verdict = BINDING_FITS};
    if (find_claims(cluster, claims) < 0)
        return;
    if (claims->count == 0)
        claims->verdict = BINDING_SKIPPED;
    for (size_t i = 0; i < claims->count; i++)
        if (classify_claim(cluster, options, claims, &claims->items[i]) < 0)
            return;
    if (claims->bound_count + claims->delayed_count < claims->count) {
        decide_pod(claims, BINDING_REJECTED, "%s", BINDING_UNBOUND_IMMEDIATE);
        return;
    }
    sort_delayed(options, claims);
}

void pod_claims_done(struct pod_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        pointer_list_done(&claims->items[i].prebound);
        free(claims->items[i].fault);
    }
    free_all(claims->items, claims->by_size, claims->reason);
    *claims = (struct pod_claims){0};
}
