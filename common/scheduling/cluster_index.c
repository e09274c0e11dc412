/*
 * The indexes of a snapshot. A free volume (Available, not being deleted, meant for no claim) is in
 * a group of its class; all others can only be had by the claim that they name, so they are found
 * through the claim. That keeps the many volumes that are in use out of every search.
 */
#include "common/scheduling/cluster_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

/* Lists are sorted at the end of loading, and kept sorted from then on. */
static void update_list(const struct cluster_objects *cluster, struct pointer_list *list,
                        void *item, pointer_compare *compare, enum index_change change)
{
    pointer_compare *order = cluster->is_settled ? compare : NULL;

    if (change == INDEX_ADD)
        pointer_list_insert(list, item, order);
    else
        pointer_list_remove(list, item, order);
}

/* The entry of that name, of @size bytes, which is made if there is none. */
static void *get_entry(struct named_list *list, const char *ns, const char *name, size_t size)
{
    struct index_name *entry = name_table_get(&list->names, ns, name);

    if (entry)
        return entry;
    entry = xcalloc(1, size);
    *entry = (struct index_name){xstrdup(ns ? ns : ""), xstrdup(name)};
    named_list_add(list, entry->ns, entry->name, entry);
    return entry;
}

static struct class_index *class_entry(struct cluster_objects *cluster, const char *name)
{
    return get_entry(&cluster->classes, NULL, name ? name : "", sizeof(struct class_index));
}

static struct claim_index *claim_entry(struct cluster_objects *cluster, const char *ns,
                                       const char *name)
{
    return get_entry(&cluster->claims, ns, name ? name : "", sizeof(struct claim_index));
}

static struct node_index *node_entry(struct cluster_objects *cluster, const char *name)
{
    return get_entry(&cluster->nodes, NULL, name ? name : "", sizeof(struct node_index));
}

static void forget_count(struct node_index *node)
{
    string_list_done(&node->volumes.keys);
    string_list_done(&node->volumes.attached);
    free(node->volumes.fault);
    node->volumes = (struct volumes_in_use){0};
}

/* --- volumes --- */

static void add_requirements(struct text *text, const struct selector_requirements *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct selector_requirement *item = &list->items[i];

        text_addf(text, "%s %d", item->key ? item->key : "", (int)item->op);
        for (size_t j = 0; j < item->values.count; j++)
            text_addf(text, " %s", item->values.items[j]);
        text_add(text, "\n");
    }
}

/* Same text, same nodes and same claims. Faults make a term match nothing; whatever its text. */
static char *group_key(const struct kube_pv *pv)
{
    struct text text = TEXT_INIT(SIZE_MAX / 2);

    text_addf(&text, "%d %u %s\n", kube_volume_mode_is_block(pv->volume_mode), pv->access_modes,
              pv->attributes_class ? pv->attributes_class : "");
    text_add(&text, pv->has_required ? "required\n" : "any\n");
    for (size_t i = 0; pv->has_required && i < pv->required.count; i++) {
        const struct node_selector_term *term = &pv->required.terms[i];

        text_add(&text, term->fault ? "fault\n" : "term\n");
        add_requirements(&text, &term->expressions);
        text_add(&text, "fields\n");
        add_requirements(&text, &term->fields);
    }
    return text_take(&text);
}

static void index_group(struct cluster_objects *cluster, struct class_index *class,
                        struct pv_group *group, const struct kube_pv *pv)
{
    static const struct selector_requirements ANY;
    const struct selector_requirements **terms = xcalloc(pv->required.count + 1, sizeof(*terms));
    size_t count = 0;

    group->is_exact = true;
    if (!pv->has_required)
        terms[count++] = &ANY;
    for (size_t i = 0; pv->has_required && i < pv->required.count; i++) {
        const struct node_selector_term *term = &pv->required.terms[i];

        /* what matches nothing needs no place */
        if (term->fault || term->expressions.count + term->fields.count == 0)
            continue;
        terms[count++] = &term->expressions;
        group->is_exact = group->is_exact && label_index_is_exact(&term->expressions);
    }
    if (count > 0)
        label_index_add(&class->by_affinity, &cluster->pairs, terms, count, group);
    free(terms);
}

static struct pv_group *group_of(struct cluster_objects *cluster, struct class_index *class,
                                 const struct kube_pv *pv)
{
    _cleanup_free_ char *key = group_key(pv);
    struct pv_group *group = name_table_get(&class->groups.names, NULL, key);

    if (group)
        return group;
    group = xcalloc(1, sizeof(*group));
    group->key = TAKE(key);
    group->attributes_class = xstrdup(pv->attributes_class ? pv->attributes_class : "");
    group->has_attributes_class = group->attributes_class[0] != '\0';
    group->access_modes = pv->access_modes;
    group->is_block = kube_volume_mode_is_block(pv->volume_mode);
    named_list_add(&class->groups, NULL, group->key, group);
    index_group(cluster, class, group, pv);
    return group;
}

static void measure_group(struct pv_group *group)
{
    if (group->pvs.count == 0)
        return;
    group->smallest = ((const struct kube_pv *)group->pvs.items[0])->capacity;
    group->largest = ((const struct kube_pv *)group->pvs.items[group->pvs.count - 1])->capacity;
}

static bool is_free(const struct kube_pv *pv)
{
    return !assume_cache_claim(pv) && !pv->meta.deletion_timestamp &&
           kube_same(pv->phase, "Available");
}

void cluster_index_pv(struct cluster_objects *cluster, struct kube_pv *pv, enum index_change change)
{
    const struct kube_claim_ref *claim = assume_cache_claim(pv);
    struct pv_group *group = pv->group;

    if (claim) {
        struct claim_index *entry = claim_entry(cluster, claim->ns, claim->name);

        update_list(cluster, &entry->pvs, pv, cluster_compare_pvs, change);
        cluster_touch_claim(cluster, entry->id.ns, entry->id.name);
    }
    if (change == INDEX_ADD)
        group = is_free(pv) ? group_of(cluster, class_entry(cluster, kube_pv_class(pv)), pv) : NULL;
    if (group) {
        update_list(cluster, &group->pvs, pv, cluster_compare_pvs, change);
        measure_group(group);
    }
    pv->group = change == INDEX_ADD ? group : NULL;
}

/* --- capacities, pods, nodes --- */

static void index_capacity(struct cluster_objects *cluster, struct kube_capacity *capacity,
                           enum index_change change)
{
    struct class_index *class = class_entry(cluster, capacity->class_name);
    const struct selector_requirements *term = &capacity->topology.requirements;

    update_list(cluster, &class->capacities, capacity, cluster_compare_objects, change);
    if (change == INDEX_REMOVE)
        label_index_remove(&class->by_topology, capacity);
    else if (capacity->topology.is_set && !capacity->topology.fault)
        label_index_add(&class->by_topology, &cluster->pairs, &term, 1, capacity);
}

void cluster_index_pod(struct cluster_objects *cluster, struct kube_pod *pod,
                       enum index_change change)
{
    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].claim_name) {
            struct claim_index *claim =
                claim_entry(cluster, pod->meta.ns, pod->volumes[i].claim_name);

            update_list(cluster, &claim->pods, pod, cluster_compare_objects, change);
        }
    if (!kube_pod_is_on_node(pod))
        return;
    struct node_index *node = node_entry(cluster, pod->node_name);
    update_list(cluster, &node->pods, pod, cluster_compare_objects, change);
    forget_count(node);
}

static void index_attachment(struct cluster_objects *cluster, struct kube_attachment *attachment,
                             enum index_change change)
{
    struct node_index *node = node_entry(cluster, attachment->node_name);

    update_list(cluster, &node->attachments, attachment, cluster_compare_objects, change);
    forget_count(node);
}

void cluster_relabel_node(struct cluster_objects *cluster, struct kube_node *node)
{
    free(node->label_pairs);
    node->label_pairs = label_pairs_of(&cluster->pairs, &node->meta.labels);
}

void cluster_touch_claim(struct cluster_objects *cluster, const char *ns, const char *name)
{
    const struct claim_index *claim = cluster_claim_index(cluster, ns, name);

    for (size_t i = 0; claim && i < claim->pods.count; i++) {
        const struct kube_pod *pod = claim->pods.items[i];
        struct node_index *node =
            pod->node_name ? cluster_node_index(cluster, pod->node_name) : NULL;

        if (node)
            forget_count(node);
    }
}

void cluster_touch_node(struct cluster_objects *cluster, const char *name)
{
    struct node_index *node = cluster_node_index(cluster, name);

    if (node)
        forget_count(node);
}

/* --- by kind --- */

void cluster_index_object(struct cluster_objects *cluster, enum kube_kind kind, void *object,
                          enum index_change change)
{
    const struct kube_meta *meta = object;

    switch (kind) {
    case KUBE_NODE:
        if (change == INDEX_ADD)
            cluster_relabel_node(cluster, object);
        break;
    case KUBE_PV:
        cluster_index_pv(cluster, object, change);
        break;
    case KUBE_PVC:
        cluster_touch_claim(cluster, meta->ns, meta->name);
        break;
    case KUBE_CLASS:
        for (size_t i = 0; i < cluster->nodes.all.count; i++)
            forget_count(cluster->nodes.all.items[i]);
        break;
    case KUBE_CSI_NODE:
        /* it says which volumes of in-tree plugins count */
        cluster_touch_node(cluster, meta->name);
        break;
    case KUBE_CAPACITY:
        index_capacity(cluster, object, change);
        break;
    case KUBE_POD:
        cluster_index_pod(cluster, object, change);
        break;
    case KUBE_ATTACHMENT:
        index_attachment(cluster, object, change);
        break;
    default:
        break;
    }
}

void cluster_index_sort(struct cluster_objects *cluster)
{
    for (size_t i = 0; i < cluster->classes.all.count; i++) {
        struct class_index *class = cluster->classes.all.items[i];

        pointer_list_sort(&class->capacities, cluster_compare_objects);
        for (size_t j = 0; j < class->groups.all.count; j++) {
            struct pv_group *group = class->groups.all.items[j];

            pointer_list_sort(&group->pvs, cluster_compare_pvs);
            measure_group(group);
        }
    }
    for (size_t i = 0; i < cluster->claims.all.count; i++) {
        struct claim_index *claim = cluster->claims.all.items[i];

        pointer_list_sort(&claim->pvs, cluster_compare_pvs);
        pointer_list_sort(&claim->pods, cluster_compare_objects);
    }
    for (size_t i = 0; i < cluster->nodes.all.count; i++) {
        struct node_index *node = cluster->nodes.all.items[i];

        pointer_list_sort(&node->pods, cluster_compare_objects);
        pointer_list_sort(&node->attachments, cluster_compare_objects);
    }
}

static void free_group(void *item)
{
    struct pv_group *group = item;

    pointer_list_done(&group->pvs);
    free_all(group->key, group->attributes_class, group);
}

static void free_entry(void *item)
{
    struct index_name *entry = item;

    free_all(entry->ns, entry->name, entry);
}

static void free_class(void *item)
{
    struct class_index *class = item;

    named_list_done(&class->groups, free_group);
    pointer_list_done(&class->capacities);
    label_index_done(&class->by_affinity);
    label_index_done(&class->by_topology);
    free_entry(class);
}

static void free_claim(void *item)
{
    struct claim_index *claim = item;

    pointer_list_done(&claim->pvs);
    pointer_list_done(&claim->pods);
    free_entry(claim);
}

static void free_node(void *item)
{
    struct node_index *node = item;

    forget_count(node);
    pointer_list_done(&node->pods);
    pointer_list_done(&node->attachments);
    free_entry(node);
}

void cluster_index_done(struct cluster_objects *cluster)
{
    named_list_done(&cluster->classes, free_class);
    named_list_done(&cluster->claims, free_claim);
    named_list_done(&cluster->nodes, free_node);
    label_pairs_done(&cluster->pairs);
}
