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
static void add_sorted(const struct cluster_objects *cluster, struct pointer_list *list, void *item,
                       pointer_compare *compare)
{
    if (cluster->is_settled)
        pointer_list_insert(list, item, compare);
    else
        pointer_list_add(list, item);
}

static void remove_sorted(const struct cluster_objects *cluster, struct pointer_list *list,
                          const void *item, pointer_compare *compare)
{
    size_t at = cluster->is_settled ? pointer_list_locate(list, item, compare) : list->count;

    if (at < list->count && list->items[at] == item)
        pointer_list_remove_at(list, at);
    else
        pointer_list_remove(list, item);
}

/* --- the entries --- */

static struct class_index *class_entry(struct cluster_objects *cluster, const char *name)
{
    struct class_index *entry = name_table_get(&cluster->class_names, NULL, name);

    if (entry)
        return entry;
    entry = xcalloc(1, sizeof(*entry));
    entry->name = xstrdup(name);
    name_table_set(&cluster->class_names, NULL, entry->name, entry);
    pointer_list_add(&cluster->classes, entry);
    return entry;
}

static struct claim_index *claim_entry(struct cluster_objects *cluster, const char *ns,
                                       const char *name)
{
    struct claim_index *entry = name_table_get(&cluster->claim_names, ns, name);

    if (entry)
        return entry;
    entry = xcalloc(1, sizeof(*entry));
    entry->ns = xstrdup(ns);
    entry->name = xstrdup(name);
    name_table_set(&cluster->claim_names, entry->ns, entry->name, entry);
    pointer_list_add(&cluster->claims, entry);
    return entry;
}

static struct node_index *node_entry(struct cluster_objects *cluster, const char *name)
{
    struct node_index *entry = name_table_get(&cluster->node_names, NULL, name);

    if (entry)
        return entry;
    entry = xcalloc(1, sizeof(*entry));
    entry->name = xstrdup(name);
    name_table_set(&cluster->node_names, NULL, entry->name, entry);
    pointer_list_add(&cluster->nodes, entry);
    return entry;
}

static void forget_count(struct node_index *node)
{
    string_list_done(&node->volumes.keys);
    node->volumes.is_counted = false;
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
    struct pv_group *group = name_table_get(&class->group_names, NULL, key);

    if (group)
        return group;
    group = xcalloc(1, sizeof(*group));
    group->key = TAKE(key);
    group->attributes_class = xstrdup(pv->attributes_class ? pv->attributes_class : "");
    group->has_attributes_class = group->attributes_class[0] != '\0';
    group->access_modes = pv->access_modes;
    group->is_block = kube_volume_mode_is_block(pv->volume_mode);
    name_table_set(&class->group_names, NULL, group->key, group);
    pointer_list_add(&class->groups, group);
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

void cluster_attach_pv(struct cluster_objects *cluster, struct kube_pv *pv)
{
    const struct kube_claim_ref *claim = assume_cache_claim(pv);

    if (claim) {
        struct claim_index *entry =
            claim_entry(cluster, claim->ns ? claim->ns : "", claim->name ? claim->name : "");

        add_sorted(cluster, &entry->pvs, pv, cluster_compare_pvs);
        cluster_touch_claim(cluster, entry->ns, entry->name);
    } else if (is_free(pv)) {
        struct pv_group *group = group_of(cluster, class_entry(cluster, kube_pv_class(pv)), pv);

        add_sorted(cluster, &group->pvs, pv, cluster_compare_pvs);
        measure_group(group);
        pv->group = group;
    }
}

void cluster_detach_pv(struct cluster_objects *cluster, struct kube_pv *pv)
{
    const struct kube_claim_ref *claim = assume_cache_claim(pv);
    struct pv_group *group = pv->group;

    if (claim) {
        struct claim_index *entry =
            claim_entry(cluster, claim->ns ? claim->ns : "", claim->name ? claim->name : "");

        remove_sorted(cluster, &entry->pvs, pv, cluster_compare_pvs);
        cluster_touch_claim(cluster, entry->ns, entry->name);
    }
    if (group) {
        remove_sorted(cluster, &group->pvs, pv, cluster_compare_pvs);
        measure_group(group);
    }
    pv->group = NULL;
}

/* --- capacities, pods, nodes --- */

static void attach_capacity(struct cluster_objects *cluster, struct kube_capacity *capacity)
{
    struct class_index *class =
        class_entry(cluster, capacity->class_name ? capacity->class_name : "");
    const struct selector_requirements *term = &capacity->topology.requirements;

    add_sorted(cluster, &class->capacities, capacity, cluster_compare_objects);
    if (capacity->topology.is_set && !capacity->topology.fault)
        label_index_add(&class->by_topology, &cluster->pairs, &term, 1, capacity);
}

static void detach_capacity(struct cluster_objects *cluster, struct kube_capacity *capacity)
{
    struct class_index *class =
        class_entry(cluster, capacity->class_name ? capacity->class_name : "");

    remove_sorted(cluster, &class->capacities, capacity, cluster_compare_objects);
    label_index_remove(&class->by_topology, capacity);
}

static bool is_on_a_node(const struct kube_pod *pod)
{
    return pod->node_name && pod->node_name[0] != '\0' && !kube_same(pod->phase, "Succeeded") &&
           !kube_same(pod->phase, "Failed");
}

void cluster_attach_pod(struct cluster_objects *cluster, struct kube_pod *pod)
{
    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].claim_name) {
            struct claim_index *claim =
                claim_entry(cluster, pod->meta.ns, pod->volumes[i].claim_name);

            add_sorted(cluster, &claim->pods, pod, cluster_compare_objects);
        }
    if (!is_on_a_node(pod))
        return;
    struct node_index *node = node_entry(cluster, pod->node_name);
    add_sorted(cluster, &node->pods, pod, cluster_compare_objects);
    forget_count(node);
}

void cluster_detach_pod(struct cluster_objects *cluster, struct kube_pod *pod)
{
    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].claim_name) {
            struct claim_index *claim =
                claim_entry(cluster, pod->meta.ns, pod->volumes[i].claim_name);

            remove_sorted(cluster, &claim->pods, pod, cluster_compare_objects);
        }
    if (!is_on_a_node(pod))
        return;
    struct node_index *node = node_entry(cluster, pod->node_name);
    remove_sorted(cluster, &node->pods, pod, cluster_compare_objects);
    forget_count(node);
}

static void attach_attachment(struct cluster_objects *cluster, struct kube_attachment *attachment)
{
    struct node_index *node =
        node_entry(cluster, attachment->node_name ? attachment->node_name : "");

    add_sorted(cluster, &node->attachments, attachment, cluster_compare_objects);
    forget_count(node);
}

static void detach_attachment(struct cluster_objects *cluster, struct kube_attachment *attachment)
{
    struct node_index *node =
        node_entry(cluster, attachment->node_name ? attachment->node_name : "");

    remove_sorted(cluster, &node->attachments, attachment, cluster_compare_objects);
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

static void touch_all(struct cluster_objects *cluster)
{
    for (size_t i = 0; i < cluster->nodes.count; i++)
        forget_count(cluster->nodes.items[i]);
}

/* --- by kind --- */

void cluster_index_add(struct cluster_objects *cluster, enum kube_kind kind, void *object)
{
    const struct kube_meta *meta = object;

    switch (kind) {
    case KUBE_NODE:
        cluster_relabel_node(cluster, object);
        break;
    case KUBE_PV:
        cluster_attach_pv(cluster, object);
        break;
    case KUBE_PVC:
        cluster_touch_claim(cluster, meta->ns, meta->name);
        break;
    case KUBE_CLASS:
        touch_all(cluster);
        break;
    case KUBE_CSI_NODE:
        /* it says which volumes of in-tree plugins count */
        cluster_touch_node(cluster, meta->name);
        break;
    case KUBE_CAPACITY:
        attach_capacity(cluster, object);
        break;
    case KUBE_POD:
        cluster_attach_pod(cluster, object);
        break;
    case KUBE_ATTACHMENT:
        attach_attachment(cluster, object);
        break;
    default:
        break;
    }
}

void cluster_index_remove(struct cluster_objects *cluster, enum kube_kind kind, void *object)
{
    const struct kube_meta *meta = object;

    switch (kind) {
    case KUBE_PV:
        cluster_detach_pv(cluster, object);
        break;
    case KUBE_PVC:
        cluster_touch_claim(cluster, meta->ns, meta->name);
        break;
    case KUBE_CLASS:
        touch_all(cluster);
        break;
    case KUBE_CSI_NODE:
        /* it says which volumes of in-tree plugins count */
        cluster_touch_node(cluster, meta->name);
        break;
    case KUBE_CAPACITY:
        detach_capacity(cluster, object);
        break;
    case KUBE_POD:
        cluster_detach_pod(cluster, object);
        break;
    case KUBE_ATTACHMENT:
        detach_attachment(cluster, object);
        break;
    default:
        break;
    }
}

void cluster_index_sort(struct cluster_objects *cluster)
{
    for (size_t i = 0; i < cluster->classes.count; i++) {
        struct class_index *class = cluster->classes.items[i];

        pointer_list_sort(&class->capacities, cluster_compare_objects);
        for (size_t j = 0; j < class->groups.count; j++) {
            struct pv_group *group = class->groups.items[j];

            pointer_list_sort(&group->pvs, cluster_compare_pvs);
            measure_group(group);
        }
    }
    for (size_t i = 0; i < cluster->claims.count; i++) {
        struct claim_index *claim = cluster->claims.items[i];

        pointer_list_sort(&claim->pvs, cluster_compare_pvs);
        pointer_list_sort(&claim->pods, cluster_compare_objects);
    }
    for (size_t i = 0; i < cluster->nodes.count; i++) {
        struct node_index *node = cluster->nodes.items[i];

        pointer_list_sort(&node->pods, cluster_compare_objects);
        pointer_list_sort(&node->attachments, cluster_compare_objects);
    }
}

static void free_class(struct class_index *class)
{
    for (size_t i = 0; i < class->groups.count; i++) {
        struct pv_group *group = class->groups.items[i];

        pointer_list_done(&group->pvs);
        free(group->key);
        free(group->attributes_class);
        free(group);
    }
    pointer_list_done(&class->groups);
    pointer_list_done(&class->capacities);
    name_table_done(&class->group_names);
    label_index_done(&class->by_affinity);
    label_index_done(&class->by_topology);
    free(class->name);
    free(class);
}

static void free_claim(struct claim_index *claim)
{
    pointer_list_done(&claim->pvs);
    pointer_list_done(&claim->pods);
    free(claim->ns);
    free(claim->name);
    free(claim);
}

static void free_node(struct node_index *node)
{
    forget_count(node);
    pointer_list_done(&node->pods);
    pointer_list_done(&node->attachments);
    free(node->name);
    free(node);
}

void cluster_index_done(struct cluster_objects *cluster)
{
    for (size_t i = 0; i < cluster->classes.count; i++)
        free_class(cluster->classes.items[i]);
    for (size_t i = 0; i < cluster->claims.count; i++)
        free_claim(cluster->claims.items[i]);
    for (size_t i = 0; i < cluster->nodes.count; i++)
        free_node(cluster->nodes.items[i]);
    pointer_list_done(&cluster->classes);
    pointer_list_done(&cluster->claims);
    pointer_list_done(&cluster->nodes);
    label_pairs_done(&cluster->pairs);
    name_table_done(&cluster->class_names);
    name_table_done(&cluster->claim_names);
    name_table_done(&cluster->node_names);
}
