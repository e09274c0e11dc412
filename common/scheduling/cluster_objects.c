#include "common/scheduling/cluster_objects.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/objects/kube_dump.h"
#include "common/scheduling/cluster_index.h"

int cluster_compare_objects(const void *a, const void *b)
{
    const struct kube_meta *first = a;
    const struct kube_meta *second = b;
    int order = strcmp(first->ns ? first->ns : "", second->ns ? second->ns : "");

    return order ? order : strcmp(first->name, second->name);
}

int cluster_compare_pvs(const void *a, const void *b)
{
    const struct kube_pv *first = a;
    const struct kube_pv *second = b;
    int order = quantity_compare(&first->capacity, &second->capacity);

    return order ? order : strcmp(first->meta.name, second->meta.name);
}

/* --- finding --- */

void *cluster_find(const struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                   const char *name)
{
    return name_table_get(&cluster->lists[kind].names, ns, name);
}

struct kube_pv *cluster_find_pv(const struct cluster_objects *cluster, const char *name)
{
    return cluster_find(cluster, KUBE_PV, NULL, name);
}

struct kube_pvc *cluster_find_pvc(const struct cluster_objects *cluster, const char *ns,
                                  const char *name)
{
    return cluster_find(cluster, KUBE_PVC, ns, name);
}

struct kube_class *cluster_find_class(const struct cluster_objects *cluster, const char *name)
{
    return cluster_find(cluster, KUBE_CLASS, NULL, name);
}

const struct class_index *cluster_class_index(const struct cluster_objects *cluster,
                                              const char *name)
{
    return name_table_get(&cluster->class_names, NULL, name);
}

const struct claim_index *cluster_claim_index(const struct cluster_objects *cluster, const char *ns,
                                              const char *name)
{
    return name_table_get(&cluster->claim_names, ns, name);
}

struct node_index *cluster_node_index(const struct cluster_objects *cluster, const char *name)
{
    return name_table_get(&cluster->node_names, NULL, name);
}

/* --- changing --- */

/* While loading the lists are in no order. */
static size_t position(const struct cluster_objects *cluster, const struct object_list *list,
                       const void *object)
{
    if (cluster->is_settled)
        return pointer_list_locate(&list->objects, object, cluster_compare_objects);
    size_t at = 0;
    while (list->objects.items[at] != object)
        at++;
    return at;
}

static void list_add(struct cluster_objects *cluster, struct object_list *list, void *object)
{
    const struct kube_meta *meta = object;

    if (cluster->is_settled)
        pointer_list_insert(&list->objects, object, cluster_compare_objects);
    else
        pointer_list_add(&list->objects, object);
    name_table_set(&list->names, meta->ns, meta->name, object);
}

static struct assumption **assumption_of(enum kube_kind kind, void *object)
{
    if (kind == KUBE_PV)
        return &((struct kube_pv *)object)->assumed;
    if (kind == KUBE_PVC)
        return &((struct kube_pvc *)object)->assumed;
    return NULL;
}

static const char *version_of(const void *object)
{
    return kube_or_empty(((const struct kube_meta *)object)->version);
}

/* With what the cluster has hung on it. */
static void free_object(enum kube_kind kind, void *object)
{
    struct assumption **assumed = assumption_of(kind, object);

    if (assumed)
        assumption_free(*assumed);
    if (kind == KUBE_NODE)
        free(((struct kube_node *)object)->label_pairs);
    kube_object_free(kind, object);
}

/* The assumption moves to the new object or ends with the old one. */
static void hand_over(struct cluster_objects *cluster, enum kube_kind kind, void *old, void *object)
{
    struct assumption **from = assumption_of(kind, old);
    struct assumption **to = assumption_of(kind, object);

    if (from && *from && assume_survives(cluster->rules, *from, version_of(object)))
        *to = TAKE(*from);
}

static bool is_outdated(const struct cluster_objects *cluster, enum kube_kind kind, void *old,
                        const void *object)
{
    struct assumption **current = assumption_of(kind, old);

    return current &&
           !assume_takes_event(cluster->rules, version_of(old), *current, version_of(object));
}

void *cluster_put(struct cluster_objects *cluster, enum kube_kind kind, void *object)
{
    struct object_list *list = &cluster->lists[kind];
    const struct kube_meta *meta = object;
    void *old = name_table_get(&list->names, meta->ns, meta->name);

    if (!old) {
        list_add(cluster, list, object);
        cluster_index_add(cluster, kind, object);
        return object;
    }
    if (old == object)
        return object;
    if (is_outdated(cluster, kind, old, object)) {
        free_object(kind, object);
        return old;
    }
    cluster_index_remove(cluster, kind, old);
    hand_over(cluster, kind, old, object);
    list->objects.items[position(cluster, list, old)] = object;
    name_table_set(&list->names, meta->ns, meta->name, object);
    cluster_index_add(cluster, kind, object);
    free_object(kind, old);
    return object;
}

void cluster_remove(struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                    const char *name)
{
    struct object_list *list = &cluster->lists[kind];
    void *old = name_table_get(&list->names, ns, name);

    if (!old)
        return;
    cluster_index_remove(cluster, kind, old);
    pointer_list_remove_at(&list->objects, position(cluster, list, old));
    name_table_remove(&list->names, ns, name);
    free_object(kind, old);
}

void cluster_settle(struct cluster_objects *cluster)
{
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        pointer_list_sort(&cluster->lists[kind].objects, cluster_compare_objects);
    cluster_index_sort(cluster);
    cluster->is_settled = true;
}

void cluster_done(struct cluster_objects *cluster)
{
    cluster_index_done(cluster);
    for (int kind = 0; kind < KUBE_KINDS; kind++) {
        struct object_list *list = &cluster->lists[kind];

        for (size_t i = 0; i < list->objects.count; i++)
            free_object((enum kube_kind)kind, list->objects.items[i]);
        pointer_list_done(&list->objects);
        name_table_done(&list->names);
    }
    *cluster = (struct cluster_objects){0};
}

/* --- assuming --- */

int cluster_assume_pv(struct cluster_objects *cluster, const char *name,
                      struct assumption *assumption, struct error *err)
{
    struct kube_pv *pv = cluster_find_pv(cluster, name);

    if (assume_check(cluster->rules, name, pv ? version_of(pv) : NULL, pv ? pv->assumed : NULL,
                     assumption->version, err) < 0) {
        assumption_free(assumption);
        return -1;
    }
    assert(pv); /* or it would have been refused */
    cluster_detach_pv(cluster, pv);
    assumption_free(pv->assumed);
    pv->assumed = assumption;
    cluster_attach_pv(cluster, pv);
    return 0;
}

int cluster_assume_pvc(struct cluster_objects *cluster, const char *ns, const char *name,
                       struct assumption *assumption, struct error *err)
{
    struct kube_pvc *claim = cluster_find_pvc(cluster, ns, name);
    _cleanup_free_ char *key = xasprintf("%s/%s", ns, name);

    if (assume_check(cluster->rules, key, claim ? version_of(claim) : NULL,
                     claim ? claim->assumed : NULL, assumption->version, err) < 0) {
        assumption_free(assumption);
        return -1;
    }
    assert(claim); /* or it would have been refused */
    assumption_free(claim->assumed);
    claim->assumed = assumption;
    return 0;
}

void cluster_restore_pv(struct cluster_objects *cluster, const char *name, const char *version)
{
    struct kube_pv *pv = cluster_find_pv(cluster, name);

    if (!pv || !assume_restores(cluster->rules, pv->assumed, version))
        return;
    cluster_detach_pv(cluster, pv);
    assumption_free(pv->assumed);
    pv->assumed = NULL;
    cluster_attach_pv(cluster, pv);
}

void cluster_restore_pvc(struct cluster_objects *cluster, const char *ns, const char *name,
                         const char *version)
{
    struct kube_pvc *claim = cluster_find_pvc(cluster, ns, name);

    if (!claim || !assume_restores(cluster->rules, claim->assumed, version))
        return;
    assumption_free(claim->assumed);
    claim->assumed = NULL;
}

/* --- reading --- */

static int read_object(void *context, const char *kind_name, const json_t *value, struct error *err)
{
    struct cluster_objects *cluster = context;
    enum kube_kind kind = kube_kind_find(kind_name);
    void *object = NULL;

    if (kind_name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "kind is missing: no Kubernetes object");
    if (kind == KUBE_KINDS) {
        cluster->foreign_count++;
        return 0;
    }
    if (cluster_count(cluster, kind) >= CLUSTER_OBJECTS_MAX)
        return error_set(err, STATUS_RESOURCE_EXHAUSTED, "more than %d objects of kind %s",
                         CLUSTER_OBJECTS_MAX, kind_name);
    if (kube_object_decode(kind, value, &object, err) < 0)
        return -1;
    cluster_put(cluster, kind, object);
    return 0;
}

int cluster_read(struct cluster_objects *cluster, const json_t *value, struct error *err)
{
    if (!json_is_array(value))
        return kube_dump_each(value, read_object, cluster, err);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (kube_dump_each(json_array_get(value, i), read_object, cluster, err) < 0)
            return error_wrap(err, "[%zu]", i);
    return 0;
}
