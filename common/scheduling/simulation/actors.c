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

void actors_init(struct actors *actors, struct cluster_objects *cluster,
                 const struct binding_options *options)
{
    static const enum kube_kind KINDS[] = {KUBE_PV, KUBE_PVC};

    *actors = (struct actors){.cluster = cluster, .options = options, .next_version = 1};
    /* the API server gives everything a uid; objects written by hand have none */
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PVC); i++) {
        struct kube_meta *meta = cluster_at(cluster, KUBE_PVC, i);

        if (!kube_same(meta->uid, ""))
            continue;
        free(meta->uid);
        meta->uid = xasprintf("uid-%s-%s", meta->ns, meta->name);
    }
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

void actors_notify(struct actors *actors, enum kube_kind kind, const void *object, bool is_new)
{
    if (actors->notify)
        actors->notify(actors->notify_object, kind, object, is_new);
}

char *actors_next_version(struct actors *actors)
{
    return xasprintf("%llu", (unsigned long long)actors->next_version++);
}

/* What was assumed about an object ends with its next version. */
static void end_version(struct actors *actors, struct kube_meta *meta,
                        struct assumption **assumption)
{
    assumption_free(*assumption);
    *assumption = NULL;
    free(meta->version);
    meta->version = actors_next_version(actors);
}

void actors_changed_claim(struct actors *actors, struct kube_pvc *claim)
{
    end_version(actors, &claim->meta, &claim->assumed);
    cluster_touch_claim(actors->cluster, claim->meta.ns, claim->meta.name);
    actors_notify(actors, KUBE_PVC, claim, false);
}

/* Binds the volume to the claim of that name. */
static void change_pv(struct actors *actors, struct kube_pv *pv, const struct kube_claim_ref *claim,
                      bool adds_annotation, const char *phase)
{
    cluster_index_pv(actors->cluster, pv, INDEX_REMOVE);
    end_version(actors, &pv->meta, &pv->assumed);
    pv->has_claim = true;
    set_text(&pv->claim.ns, claim->ns);
    set_text(&pv->claim.name, claim->name);
    set_text(&pv->claim.uid, claim->uid ? claim->uid : "");
    if (adds_annotation)
        strmap_set(&pv->meta.annotations, KUBE_BOUND_BY_CONTROLLER, "yes");
    if (phase)
        set_text(&pv->phase, phase);
    cluster_index_pv(actors->cluster, pv, INDEX_ADD);
    actors_notify(actors, KUBE_PV, pv, false);
}

/* --- the API server --- */

static int check_version(const struct kube_meta *meta, const char *what, const char *name,
                         const char *version, struct error *err)
{
    if (!meta)
        return error_set(err, STATUS_NOT_FOUND, "%s \"%s\" not found", what, name);
    if (!kube_same(meta->version, version))
        return error_set(err, STATUS_ABORTED,
                         "Operation cannot be fulfilled on %s \"%s\": the object has been modified",
                         what, name);
    return 0;
}

static int update_pv(void *object, const struct bound_item *item, char **version, struct error *err)
{
    struct actors *actors = object;
    struct kube_pv *pv = cluster_find_pv(actors->cluster, item->pv);

    const struct kube_claim_ref claim = {item->ns, item->claim, item->claim_uid};

    if (check_version(kube_meta(pv), "persistentvolume", item->pv, item->version, err) < 0)
        return -1;
    if (item->is_assumed)
        change_pv(actors, pv, &claim, item->adds_annotation, NULL);
    *version = xstrdup(pv->meta.version ? pv->meta.version : "");
    return 0;
}

static int update_pvc(void *object, const struct bound_item *item, const char *node, char **version,
                      struct error *err)
{
    struct actors *actors = object;
    struct kube_pvc *claim = cluster_find_pvc(actors->cluster, item->ns, item->claim);

    if (check_version(kube_meta(claim), "persistentvolumeclaim", item->claim, item->version, err) <
        0)
        return -1;
    strmap_set(&claim->meta.annotations, KUBE_SELECTED_NODE, node);
    actors_changed_claim(actors, claim);
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
    actors_notify(actors, KUBE_NODE, node, false);
}

/* --- the PV controller --- */

/* Both sides, in one step: who reads half of it here would not see what a cluster shows. */
static void finish_binding(struct actors *actors, struct kube_pv *pv, struct kube_pvc *claim)
{
    const struct kube_claim_ref ref = {claim->meta.ns, claim->meta.name, claim->meta.uid};

    change_pv(actors, pv, &ref, !binding_is_meant_for(pv, claim), "Bound");
    if (kube_same(claim->volume_name, ""))
        strmap_set(&claim->meta.annotations, KUBE_BOUND_BY_CONTROLLER, "yes");
    set_text(&claim->volume_name, pv->meta.name);
    set_text(&claim->phase, "Bound");
    strmap_set(&claim->meta.annotations, KUBE_BIND_COMPLETED, "yes");
    actors_changed_claim(actors, claim);
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

bool pv_controller_sync(struct actors *actors, struct kube_pvc *claim)
{
    const struct kube_class *class = cluster_find_class(actors->cluster, kube_pvc_class(claim));
    struct kube_pv *pv = NULL;

    if (binding_is_bound(claim) || claim->meta.deletion_timestamp)
        return false;
    if (!kube_same(claim->volume_name, "")) { /* that one or none */
        pv = cluster_find_pv(actors->cluster, claim->volume_name);
        if (pv && !(assume_cache_claim(pv) ? binding_is_meant_for(pv, claim)
                                           : binding_is_usable(actors->options, pv, claim)))
            pv = NULL;
    } else {
        pv = find_prebound(actors, claim);
        if (!pv && !(class && class->mode == KUBE_BINDING_WAIT))
            pv = find_anywhere(actors, claim);
    }
    if (pv)
        finish_binding(actors, pv, claim);
    return pv != NULL;
}
