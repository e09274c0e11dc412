#include "common/scheduling/simulation/actors.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

static void set_text(char **target, const char *value)
{
    char *copy = value ? xstrdup(value) : NULL;

    free(*target);
    *target = copy;
}

/* --- versions and events --- */

/* The API server gives everything a uid; objects written by hand have none. */
static void give_uids(struct cluster_objects *cluster)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PVC); i++) {
        struct kube_meta *meta = cluster_at(cluster, KUBE_PVC, i);

        if (!kube_same(meta->uid, ""))
            continue;
        free(meta->uid);
        meta->uid = xasprintf("uid-%s-%s", meta->ns, meta->name);
    }
}

void actors_init(struct actors *actors, struct cluster_objects *cluster,
                 const struct binding_options *options)
{
    static const enum kube_kind KINDS[] = {KUBE_PV, KUBE_PVC};

    *actors = (struct actors){.cluster = cluster, .options = options, .next_version = 1};
    give_uids(cluster);
    for (size_t k = 0; k < ARRAY_LENGTH(KINDS); k++)
        for (size_t i = 0; i < cluster_count(cluster, KINDS[k]); i++) {
            const struct kube_meta *meta = cluster_at(cluster, KINDS[k], i);
            _cleanup_error_ struct error no_number = {0};
            uint64_t version = 0;

            if (meta->version && text_parse_u64(meta->version, &version, &no_number) == 0 &&
                version >= actors->next_version && version < UINT64_MAX / 2)
                actors->next_version = version + 1;
        }
}

static void tell(struct actors *actors, enum kube_kind kind, const void *object, bool is_new)
{
    if (actors->notify)
        actors->notify(actors->notify_object, kind, object, is_new);
}

static void bump(struct actors *actors, struct kube_meta *meta)
{
    free(meta->version);
    meta->version = xasprintf("%llu", (unsigned long long)actors->next_version++);
}

/* What was assumed about an object ends with its next version. */
static void end_assumption(struct assumption **assumption)
{
    assumption_free(*assumption);
    *assumption = NULL;
}

static void pv_changed(struct actors *actors, struct kube_pv *pv)
{
    bump(actors, &pv->meta);
    cluster_index_pv(actors->cluster, pv, INDEX_ADD);
    tell(actors, KUBE_PV, pv, false);
}

static void begin_pv(struct actors *actors, struct kube_pv *pv)
{
    cluster_index_pv(actors->cluster, pv, INDEX_REMOVE);
    end_assumption(&pv->assumed);
}

static void pvc_changed(struct actors *actors, struct kube_pvc *claim)
{
    end_assumption(&claim->assumed);
    bump(actors, &claim->meta);
    cluster_touch_claim(actors->cluster, claim->meta.ns, claim->meta.name);
    tell(actors, KUBE_PVC, claim, false);
}

/* --- the API server --- */

static int refuse_missing(const char *what, const char *name, struct error *err)
{
    error_set(err, STATUS_NOT_FOUND, "%s \"%s\" not found", what, name);
    return -1;
}

static int check_version(const struct kube_meta *meta, const char *what, const char *version,
                         struct error *err)
{
    if (!kube_same(meta->version, version))
        return error_set(err, STATUS_ABORTED,
                         "Operation cannot be fulfilled on %s \"%s\": the object has been modified",
                         what, meta->name);
    return 0;
}

static void name_claim(struct kube_pv *pv, const char *ns, const char *name, const char *uid)
{
    pv->has_claim = true;
    set_text(&pv->claim.ns, ns);
    set_text(&pv->claim.name, name);
    set_text(&pv->claim.uid, uid ? uid : "");
}

static int update_pv(void *object, const struct bound_item *item, char **version, struct error *err)
{
    struct actors *actors = object;
    struct kube_pv *pv = cluster_find_pv(actors->cluster, item->pv);

    if (!pv)
        return refuse_missing("persistentvolume", item->pv, err);
    if (check_version(&pv->meta, "persistentvolume", item->version, err) < 0)
        return -1;
    if (item->is_assumed) {
        begin_pv(actors, pv);
        name_claim(pv, item->ns, item->claim, item->claim_uid);
        if (item->adds_annotation)
            strmap_set(&pv->meta.annotations, KUBE_BOUND_BY_CONTROLLER, "yes");
        pv_changed(actors, pv);
    }
    *version = xstrdup(pv->meta.version ? pv->meta.version : "");
    return 0;
}

static int update_pvc(void *object, const struct bound_item *item, const char *node, char **version,
                      struct error *err)
{
    struct actors *actors = object;
    struct kube_pvc *claim = cluster_find_pvc(actors->cluster, item->ns, item->claim);

    if (!claim)
        return refuse_missing("persistentvolumeclaim", item->claim, err);
    if (check_version(&claim->meta, "persistentvolumeclaim", item->version, err) < 0)
        return -1;
    strmap_set(&claim->meta.annotations, KUBE_SELECTED_NODE, node);
    pvc_changed(actors, claim);
    *version = xstrdup(claim->meta.version);
    return 0;
}

struct binding_api actors_api(struct actors *actors)
{
    return (struct binding_api){update_pv, update_pvc, actors};
}

void actors_place_pod(struct actors *actors, struct kube_pod *pod, const char *node)
{
    cluster_index_pod(actors->cluster, pod, INDEX_REMOVE);
    set_text(&pod->node_name, node);
    set_text(&pod->phase, node ? "Running" : "Pending");
    cluster_index_pod(actors->cluster, pod, INDEX_ADD);
}

void actors_relabelled(struct actors *actors, struct kube_node *node)
{
    cluster_relabel_node(actors->cluster, node);
    tell(actors, KUBE_NODE, node, false);
}

/* --- the PV controller --- */

/* Both sides, in one step: who reads half of it here would not see what a cluster shows. */
static void finish_binding(struct actors *actors, struct kube_pv *pv, struct kube_pvc *claim)
{
    bool was_ours = binding_is_meant_for(pv, claim);

    begin_pv(actors, pv);
    name_claim(pv, claim->meta.ns, claim->meta.name, claim->meta.uid);
    if (!was_ours)
        strmap_set(&pv->meta.annotations, KUBE_BOUND_BY_CONTROLLER, "yes");
    set_text(&pv->phase, "Bound");
    pv_changed(actors, pv);
    if (kube_same(claim->volume_name, ""))
        strmap_set(&claim->meta.annotations, KUBE_BOUND_BY_CONTROLLER, "yes");
    set_text(&claim->volume_name, pv->meta.name);
    set_text(&claim->phase, "Bound");
    strmap_set(&claim->meta.annotations, KUBE_BIND_COMPLETED, "yes");
    pvc_changed(actors, claim);
}

static struct kube_pv *find_prebound(const struct actors *actors, const struct kube_pvc *claim)
{
    const struct claim_index *index =
        cluster_claim_index(actors->cluster, claim->meta.ns, claim->meta.name);

    for (size_t i = 0; index && i < index->pvs.count; i++) {
        struct kube_pv *pv = index->pvs.items[i];

        if (binding_is_meant_for(pv, claim) && binding_is_usable(actors->options, pv, claim))
            return pv;
    }
    return NULL;
}

/* The smallest free volume of the class wherever it is: nobody has asked a scheduler. */
static struct kube_pv *find_anywhere(const struct actors *actors, const struct kube_pvc *claim)
{
    const struct class_index *index = cluster_class_index(actors->cluster, kube_pvc_class(claim));
    struct kube_pv *best = NULL;

    for (size_t i = 0; index && i < index->groups.all.count; i++) {
        const struct pv_group *group = index->groups.all.items[i];

        for (size_t j = 0; j < group->pvs.count; j++) {
            struct kube_pv *pv = group->pvs.items[j];

            if (best && cluster_compare_pvs(pv, best) >= 0)
                break;
            if (binding_is_usable(actors->options, pv, claim) && binding_selects(claim, pv) &&
                (pv->access_modes & claim->access_modes) == claim->access_modes)
                best = pv;
        }
    }
    return best;
}

static bool waits_for_consumer(const struct actors *actors, const struct kube_pvc *claim)
{
    const struct kube_class *class = cluster_find_class(actors->cluster, kube_pvc_class(claim));

    return class && class->mode == KUBE_BINDING_WAIT;
}

/* A claim that names its volume takes that one or none. */
static bool bind_named(struct actors *actors, struct kube_pvc *claim)
{
    struct kube_pv *pv = cluster_find_pv(actors->cluster, claim->volume_name);

    if (!pv || (assume_cache_claim(pv) && !binding_is_meant_for(pv, claim)))
        return false;
    if (!assume_cache_claim(pv) && !binding_is_usable(actors->options, pv, claim))
        return false;
    finish_binding(actors, pv, claim);
    return true;
}

bool pv_controller_sync(struct actors *actors, struct kube_pvc *claim)
{
    if (binding_is_bound(claim) || claim->meta.deletion_timestamp)
        return false;
    if (!kube_same(claim->volume_name, ""))
        return bind_named(actors, claim);
    struct kube_pv *pv = find_prebound(actors, claim);
    if (!pv && !waits_for_consumer(actors, claim))
        pv = find_anywhere(actors, claim);
    if (!pv)
        return false;
    finish_binding(actors, pv, claim);
    return true;
}
