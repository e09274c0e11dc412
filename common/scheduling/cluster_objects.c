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
    return name_table_get(&cluster->classes.names, NULL, name);
}

const struct claim_index *cluster_claim_index(const struct cluster_objects *cluster, const char *ns,
                                              const char *name)
{
    return name_table_get(&cluster->claims.names, ns, name);
}

struct node_index *cluster_node_index(const struct cluster_objects *cluster, const char *name)
{
    return name_table_get(&cluster->nodes.names, NULL, name);
}

/* --- changing --- */

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
static void hand_over(const struct cluster_objects *cluster, enum kube_kind kind, void *old,
                      void *object)
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
    struct named_list *list = &cluster->lists[kind];
    pointer_compare *order = cluster->is_settled ? cluster_compare_objects : NULL;
    const struct kube_meta *meta = object;
    void *old = name_table_get(&list->names, meta->ns, meta->name);

    if (old == object)
        return object;
    if (old && is_outdated(cluster, kind, old, object)) {
        free_object(kind, object);
        return old;
    }
    if (old) {
        cluster_index_object(cluster, kind, old, INDEX_REMOVE);
        hand_over(cluster, kind, old, object);
        list->all.items[pointer_list_find(&list->all, old, order)] = object;
    } else {
        pointer_list_insert(&list->all, object, order);
    }
    name_table_set(&list->names, meta->ns, meta->name, object);
    cluster_index_object(cluster, kind, object, INDEX_ADD);
    if (old)
        free_object(kind, old);
    return object;
}

void cluster_remove(struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                    const char *name)
{
    struct named_list *list = &cluster->lists[kind];
    void *old = name_table_get(&list->names, ns, name);

    if (!old)
        return;
    cluster_index_object(cluster, kind, old, INDEX_REMOVE);
    pointer_list_remove(&list->all, old, cluster->is_settled ? cluster_compare_objects : NULL);
    name_table_remove(&list->names, ns, name);
    free_object(kind, old);
}

void cluster_settle(struct cluster_objects *cluster)
{
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        pointer_list_sort(&cluster->lists[kind].all, cluster_compare_objects);
    cluster_index_sort(cluster);
    cluster->is_settled = true;
}

void cluster_done(struct cluster_objects *cluster)
{
    cluster_index_done(cluster);
    for (int kind = 0; kind < KUBE_KINDS; kind++) {
        struct named_list *list = &cluster->lists[kind];

        for (size_t i = 0; i < list->all.count; i++)
            free_object((enum kube_kind)kind, list->all.items[i]);
        pointer_list_done(&list->all);
        name_table_done(&list->names);
    }
    *cluster = (struct cluster_objects){0};
}

/* --- assuming --- */

static void set_assumption(struct cluster_objects *cluster, enum kube_kind kind, void *object,
                           struct assumption *assumption)
{
    struct assumption **current = assumption_of(kind, object);

    if (kind == KUBE_PV)
        cluster_index_pv(cluster, object, INDEX_REMOVE);
    assumption_free(*current);
    *current = assumption;
    if (kind == KUBE_PV)
        cluster_index_pv(cluster, object, INDEX_ADD);
}

int cluster_assume(struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                   const char *name, struct assumption *assumption, struct error *err)
{
    void *object = cluster_find(cluster, kind, ns, name);
    const struct assumption *current = object ? *assumption_of(kind, object) : NULL;
    _cleanup_free_ char *key = ns ? xasprintf("%s/%s", ns, name) : xstrdup(name);

    if (assume_check(cluster->rules, key, object ? version_of(object) : NULL, current,
                     assumption->version, err) < 0) {
        assumption_free(assumption);
        return -1;
    }
    assert(object); /* or it would have been refused */
    set_assumption(cluster, kind, object, assumption);
    return 0;
}

void cluster_restore(struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                     const char *name, const char *version)
{
    void *object = cluster_find(cluster, kind, ns, name);

    if (object && assume_restores(cluster->rules, *assumption_of(kind, object), version))
        set_assumption(cluster, kind, object, NULL);
}

/* --- reading --- */

static int decode_object(void *context, const char *kind_name, const json_t *value,
                         struct error *err)
{
    struct decoded_objects *objects = context;
    enum kube_kind kind = kube_kind_find(kind_name);
    void *object = NULL;

    if (kind_name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "kind is missing: no Kubernetes object");
    if (kind == KUBE_KINDS) {
        objects->foreign_count++;
        return 0;
    }
    if (kube_object_decode(kind, value, &object, err) < 0)
        return -1;
    *array_add(objects->items, objects->count) = (struct decoded_object){kind, object};
    return 0;
}

static int decode_value(const json_t *value, struct decoded_objects *objects, struct error *err)
{
    if (!json_is_array(value))
        return kube_dump_each(value, decode_object, objects, err);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (kube_dump_each(json_array_get(value, i), decode_object, objects, err) < 0)
            return error_wrap(err, "[%zu]", i);
    return 0;
}

int cluster_decode(const json_t *value, struct decoded_objects *objects, struct error *err)
{
    if (decode_value(value, objects, err) == 0)
        return 0;
    decoded_objects_done(objects);
    return -1;
}

void decoded_objects_done(struct decoded_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        kube_object_free(objects->items[i].kind, objects->items[i].object);
    free(objects->items);
    *objects = (struct decoded_objects){0};
}

int cluster_check_room(const struct cluster_objects *cluster, const struct decoded_objects *objects,
                       struct error *err)
{
    size_t counts[KUBE_KINDS];

    for (int kind = 0; kind < KUBE_KINDS; kind++)
        counts[kind] = cluster_count(cluster, (enum kube_kind)kind);
    for (size_t i = 0; i < objects->count; i++)
        if (++counts[objects->items[i].kind] > CLUSTER_OBJECTS_MAX)
            return error_set(err, STATUS_RESOURCE_EXHAUSTED, "more than %d objects of kind %s",
                             CLUSTER_OBJECTS_MAX, kube_kind_name(objects->items[i].kind));
    return 0;
}

void cluster_take(struct cluster_objects *cluster, struct decoded_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        cluster_put(cluster, objects->items[i].kind, objects->items[i].object);
    cluster->foreign_count += objects->foreign_count;
    objects->count = 0;
    decoded_objects_done(objects);
}

int cluster_read(struct cluster_objects *cluster, const json_t *value, struct error *err)
{
    _cleanup_decoded_objects_ struct decoded_objects objects = {0};

    if (cluster_decode(value, &objects, err) < 0 || cluster_check_room(cluster, &objects, err) < 0)
        return -1;
    cluster_take(cluster, &objects);
    return 0;
}
