#include "common/scheduling/binding_assume.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

static char *copy(const char *text)
{
    return xstrdup(text ? text : "");
}

/* --- assume --- */

static bool is_all_bound(const struct pod_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        if (!binding_is_bound(claims->items[i].claim))
            return false;
    return true;
}

/* @pv NULL: to be provisioned. */
static struct bound_item *add_item(struct pod_binding *binding, const struct kube_pvc *claim,
                                   const struct kube_pv *pv)
{
    struct bound_item *item = array_add(binding->items, binding->count);

    *item = (struct bound_item){
        .kind = pv ? CHOICE_STATIC : CHOICE_DYNAMIC,
        .ns = copy(claim->meta.ns),
        .claim = copy(claim->meta.name),
        .claim_uid = copy(claim->meta.uid),
        .pv = pv ? copy(pv->meta.name) : NULL,
        .version = copy(pv ? pv->meta.version : claim->meta.version),
    };
    return item;
}

static int assume_volume(struct cluster_objects *cluster, const struct kube_pvc *claim,
                         const struct kube_pv *pv, struct pod_binding *binding, struct error *err)
{
    const struct kube_claim_ref *ref = assume_cache_claim(pv);
    bool is_same = ref && kube_same(ref->name, claim->meta.name) &&
                   kube_same(ref->ns, claim->meta.ns) && kube_same(ref->uid, claim->meta.uid);
    struct bound_item *item = add_item(binding, claim, pv);

    item->adds_annotation = !binding_is_meant_for(pv, claim) &&
                            !strmap_has(&pv->meta.annotations, KUBE_BOUND_BY_CONTROLLER);
    if (is_same && !item->adds_annotation)
        return 0;
    struct assumption *assumption = xcalloc(1, sizeof(*assumption));
    *assumption = (struct assumption){
        .version = copy(pv->meta.version),
        .has_claim = true,
        .claim = {copy(claim->meta.ns), copy(claim->meta.name), copy(claim->meta.uid)},
        .bound_by_controller = item->adds_annotation,
    };
    if (cluster_assume(cluster, KUBE_PV, NULL, item->pv, assumption, err) < 0)
        return -1;
    item->is_assumed = true;
    return 0;
}

static int assume_claim(struct cluster_objects *cluster, const struct kube_pvc *claim,
                        struct pod_binding *binding, struct error *err)
{
    struct bound_item *item = add_item(binding, claim, NULL);
    struct assumption *assumption = xcalloc(1, sizeof(*assumption));

    assumption->version = copy(claim->meta.version);
    assumption->selected_node = copy(binding->node);
    if (cluster_assume(cluster, KUBE_PVC, item->ns, item->claim, assumption, err) < 0)
        return -1;
    item->is_assumed = true;
    return 0;
}

static int assume_all(struct cluster_objects *cluster, const struct pod_claims *claims,
                      const struct node_decision *decision, struct pod_binding *binding,
                      struct error *err)
{
    /* volumes in the order in which they were found */
    for (size_t i = 0; i < claims->delayed_count; i++) {
        size_t at = claims->by_size[i];

        if (decision->choices[at].kind == CHOICE_STATIC &&
            assume_volume(cluster, claims->items[at].claim, decision->choices[at].pv, binding,
                          err) < 0)
            return -1;
    }
    for (size_t i = 0; i < claims->count; i++)
        if (decision->choices[i].kind == CHOICE_DYNAMIC &&
            assume_claim(cluster, claims->items[i].claim, binding, err) < 0)
            return -1;
    return 0;
}

int binding_assume(struct cluster_objects *cluster, const struct pod_claims *claims,
                   const struct kube_node *node, const struct node_decision *decision,
                   struct pod_binding *binding, struct error *err)
{
    *binding = (struct pod_binding){.node = copy(node->meta.name),
                                    .pod_ns = copy(claims->pod->meta.ns),
                                    .pod_name = copy(claims->pod->meta.name),
                                    .is_all_bound = is_all_bound(claims)};
    if (binding->is_all_bound || assume_all(cluster, claims, decision, binding, err) == 0)
        return 0;
    binding_revert(cluster, binding);
    pod_binding_done(binding);
    return -1;
}

/* --- revert --- */

static void revert_from(struct cluster_objects *cluster, const struct pod_binding *binding,
                        size_t first)
{
    for (size_t i = first; i < binding->count; i++) {
        const struct bound_item *item = &binding->items[i];

        if (item->is_assumed && item->kind == CHOICE_STATIC)
            cluster_restore(cluster, KUBE_PV, NULL, item->pv, item->version);
        else if (item->is_assumed)
            cluster_restore(cluster, KUBE_PVC, item->ns, item->claim, item->version);
    }
}

void binding_revert(struct cluster_objects *cluster, const struct pod_binding *binding)
{
    revert_from(cluster, binding, 0);
}

void pod_binding_done(struct pod_binding *binding)
{
    for (size_t i = 0; i < binding->count; i++) {
        struct bound_item *item = &binding->items[i];

        free_all(item->ns, item->claim, item->claim_uid, item->pv, item->version,
                 item->updated_version);
    }
    free_all(binding->items, binding->node, binding->pod_ns, binding->pod_name);
    *binding = (struct pod_binding){0};
}

/* --- bind --- */

int binding_bind(struct cluster_objects *cluster, const struct binding_api *api,
                 struct pod_binding *binding, struct error *err)
{
    for (size_t i = 0; i < binding->count; i++) {
        struct bound_item *item = &binding->items[i];
        char *version = NULL;
        int result = item->kind == CHOICE_STATIC
                         ? api->update_pv(api->object, item, &version, err)
                         : api->update_pvc(api->object, item, binding->node, &version, err);

        if (result < 0) {
            revert_from(cluster, binding, i);
            return -1;
        }
        free(item->updated_version);
        item->updated_version = version;
    }
    return 0;
}

/* --- poll --- */

static enum bind_progress fail_binding(struct error *err, const char *what, const char *name)
{
    error_set(err, STATUS_FAILED_PRECONDITION, "binding volumes: %s \"%s\"", what, name);
    return BIND_FAILED;
}

/* Before the event of our own update arrived there is nothing to judge. Who did not hear which
 * version that made knows at least that it is not the one before. */
static bool is_older(const char *stored, const struct bound_item *item)
{
    _cleanup_error_ struct error err = {0};
    uint64_t a = 0;
    uint64_t b = 0;

    if (!item->updated_version)
        return item->is_assumed && !kube_same(stored, "") && kube_same(stored, item->version);
    if (text_parse_u64(stored ? stored : "", &a, &err) < 0 ||
        text_parse_u64(item->updated_version, &b, &err) < 0)
        return false;
    return a < b;
}

static int check_place(const struct cluster_objects *cluster, const struct kube_pv *pv,
                       const struct kube_node *node, struct error *err)
{
    _cleanup_error_ struct error mismatch = {0};

    if (binding_check_bound(cluster, pv, node, &mismatch) < 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "binding volumes: pv \"%s\" node affinity doesn't match node \"%s\": %s",
                         pv->meta.name, node->meta.name, mismatch.message);
    return 0;
}

static enum bind_progress poll_volume(const struct cluster_objects *cluster,
                                      const struct bound_item *item, const struct kube_node *node,
                                      struct error *err)
{
    const struct kube_pv *pv = cluster_find_pv(cluster, item->pv);
    const struct kube_pvc *claim = cluster_find_pvc(cluster, item->ns, item->claim);

    if (!pv)
        return fail_binding(err, "failed to check binding: persistentvolume not found", item->pv);
    if (!claim)
        return fail_binding(err, "failed to check binding: persistentvolumeclaim not found",
                            item->claim);
    if (is_older(pv->meta.version, item))
        return BIND_WAITING;
    if (check_place(cluster, pv, node, err) < 0)
        return BIND_FAILED;
    if (!pv->has_claim || !pv->claim.uid || pv->claim.uid[0] == '\0')
        return fail_binding(err, "ClaimRef got reset for pv", item->pv);
    return binding_is_bound(claim) ? BIND_DONE : BIND_WAITING;
}

static enum bind_progress poll_claim(const struct cluster_objects *cluster,
                                     const struct bound_item *item, const struct kube_node *node,
                                     struct error *err)
{
    const struct kube_pvc *claim = cluster_find_pvc(cluster, item->ns, item->claim);

    if (!claim)
        return fail_binding(err, "failed to check provisioning pvc", item->claim);
    if (is_older(claim->meta.version, item))
        return BIND_WAITING;
    if (claim->meta.annotations.count == 0)
        return fail_binding(err, "selectedNode annotation reset for PVC", item->claim);
    if (!kube_same(strmap_get(&claim->meta.annotations, KUBE_SELECTED_NODE), node->meta.name))
        return fail_binding(err, "provisioning failed for PVC", item->claim);
    if (!kube_same(claim->volume_name, "")) {
        const struct kube_pv *pv = cluster_find_pv(cluster, claim->volume_name);

        if (!pv)
            return BIND_WAITING;
        if (check_place(cluster, pv, node, err) < 0)
            return BIND_FAILED;
    }
    return binding_is_bound(claim) ? BIND_DONE : BIND_WAITING;
}

enum bind_progress binding_poll(const struct cluster_objects *cluster,
                                const struct pod_binding *binding, struct error *err)
{
    const struct kube_node *node = cluster_find(cluster, KUBE_NODE, NULL, binding->node);

    if (!node)
        return fail_binding(err, "failed to get node", binding->node);
    if (!cluster_find(cluster, KUBE_POD, binding->pod_ns, binding->pod_name))
        return fail_binding(err, "pod does not exist any more:", binding->pod_name);
    for (size_t i = 0; i < binding->count; i++) {
        const struct bound_item *item = &binding->items[i];
        enum bind_progress progress = item->kind == CHOICE_STATIC
                                          ? poll_volume(cluster, item, node, err)
                                          : poll_claim(cluster, item, node, err);

        if (progress != BIND_DONE)
            return progress;
    }
    return BIND_DONE;
}
