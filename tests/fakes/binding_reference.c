#include "tests/fakes/binding_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/objects/in_tree.h"
#include "common/topology/labels.h"

/* --- small rules --- */

static bool fully_bound(const struct kube_pvc *claim)
{
    return !kube_same(claim->volume_name, "") &&
           strmap_get(&claim->meta.annotations, "pv.kubernetes.io/bind-completed");
}

static bool bound_to(const struct kube_pv *pv, const struct kube_pvc *claim)
{
    const struct kube_claim_ref *ref = assume_cache_claim(pv);

    if (!ref || !kube_same(ref->name, claim->meta.name) || !kube_same(ref->ns, claim->meta.ns))
        return false;
    return kube_same(ref->uid, "") || kube_same(ref->uid, claim->meta.uid);
}

static bool check_pv(const struct kube_pv *pv, const struct kube_node *node)
{
    _cleanup_error_ struct error err = {0};
    bool matches = true;

    if (!pv->has_required)
        return true;
    return node_selector_match(&pv->required, &node->meta.labels, NULL, &matches, &err) == 0 &&
           matches;
}

/* --- migration ----------------------------------------------------------------------------------
 * The library renames the keys of the affinity; here it stays and the node is seen with the CSI
 * driver's zone in the place of its own.
 */

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

/* 0 no expression has the key, 1 some have, 2 some have with values */
static int use_of_key(const struct kube_pv *pv, const char *key)
{
    int use = 0;

    for (size_t i = 0; pv->has_required && i < pv->required.count; i++)
        for (size_t j = 0; j < pv->required.terms[i].expressions.count; j++) {
            const struct selector_requirement *item = &pv->required.terms[i].expressions.items[j];

            if (kube_same(item->key, key) && use < 2)
                use = item->values.count > 0 ? 2 : 1;
        }
    return use;
}

static void show_as(const struct kube_node *node, const char *from, const char *to,
                    struct strmap *labels)
{
    const char *value = strmap_get(&node->meta.labels, from);

    strmap_remove(labels, to);
    if (value)
        strmap_set(labels, to, value);
}

/* Whether the zone is one of those joined in the label; NULL: there is no label. */
static bool is_one_of(const char *label, const char *zone)
{
    bool found = !label;

    while (label) {
        const char *end = strstr(label, "__");
        _cleanup_free_ char *part = xstrndup(label, end ? (size_t)(end - label) : strlen(label));
        char *first = part + strspn(part, " ");
        _cleanup_error_ struct error err = {0};

        for (char *last = first + strlen(first); last > first && last[-1] == ' ';)
            *--last = '\0';
        if (label_value_check(first, &err) < 0)
            return false; /* the whole term makes no sense */
        found = found || (first[0] && zone && strcmp(first, zone) == 0);
        label = end ? end + 2 : NULL;
    }
    return found;
}

/* Whether anything is left without the spaces and what joins. */
static bool has_zones(const char *label)
{
    while (label && label[0] != '\0') {
        if (strncmp(label, "__", 2) != 0 && label[0] != ' ')
            return true;
        label += label[0] == ' ' ? 1 : 2;
    }
    return false;
}

static bool check_terms(const struct kube_pv *pv, const struct strmap *labels, const char *zones,
                        const char *zone)
{
    size_t count = pv->has_required ? pv->required.count : 0;

    for (size_t i = 0; i < count; i++) {
        const struct node_selector_term *term = &pv->required.terms[i];
        bool fits = !term->fault && is_one_of(zones, zone);

        if (!zones && term->expressions.count + term->fields.count == 0)
            continue;
        for (size_t j = 0; j < term->expressions.count; j++)
            fits = fits && selector_requirement_match(&term->expressions.items[j], labels);
        if (fits)
            return true;
    }
    return count == 0 && (zones ? is_one_of(zones, zone) : !pv->has_required);
}

static bool check_translated(const struct kube_pv *pv, const struct kube_node *node)
{
    bool is_beta = !use_of_key(pv, ZONE) &&
                   (use_of_key(pv, BETA_ZONE) || (!strmap_has(&pv->meta.labels, ZONE) &&
                                                  strmap_has(&pv->meta.labels, BETA_ZONE)));
    const char *key = is_beta ? BETA_ZONE : ZONE;
    const char *zones = use_of_key(pv, key) == 2 ? NULL : strmap_get(&pv->meta.labels, key);
    _cleanup_strmap_ struct strmap labels = {0};

    if (!pv->plugin->zone_key)
        return check_pv(pv, node);
    strmap_merge(&labels, &node->meta.labels);
    if (use_of_key(pv, key) == 2)
        show_as(node, pv->plugin->zone_key, key, &labels);
    if (is_beta && use_of_key(pv, BETA_REGION) == 2)
        show_as(node, REGION, BETA_REGION, &labels);
    return check_terms(pv, &labels, has_zones(zones) ? zones : NULL,
                       strmap_get(&node->meta.labels, pv->plugin->zone_key));
}

static bool is_migrated(const struct cluster_objects *cluster, const struct kube_pv *pv,
                        const struct kube_node *node)
{
    for (size_t i = 0; pv->plugin && i < cluster_count(cluster, KUBE_CSI_NODE); i++) {
        const struct kube_csi_node *csi_node = cluster_at(cluster, KUBE_CSI_NODE, i);
        const char *migrated =
            strmap_get(&csi_node->meta.annotations, "storage.alpha.kubernetes.io/migrated-plugins");

        _cleanup_free_ char *names = xasprintf(",%s,", migrated ? migrated : "");
        _cleanup_free_ char *name = xasprintf(",%s,", pv->plugin->name);

        if (strcmp(csi_node->meta.name, node->meta.name) == 0 && strstr(names, name))
            return true;
    }
    return false;
}

/* Several zones without dashes tell GCE no region. */
static bool cannot_be_translated(const struct cluster_objects *cluster, const struct kube_pv *pv,
                                 const struct kube_node *node)
{
    const char *zones = strmap_get(&pv->meta.labels, BETA_ZONE);

    return pv->plugin && strcmp(pv->plugin->name, "kubernetes.io/gce-pd") == 0 && zones &&
           strstr(zones, "__") && !strchr(zones, '-') && is_migrated(cluster, pv, node);
}

static bool check_bound_pv(const struct cluster_objects *cluster, const struct kube_pv *pv,
                           const struct kube_node *node)
{
    return is_migrated(cluster, pv, node) ? check_translated(pv, node) : check_pv(pv, node);
}

static const struct kube_class *class_of(const struct cluster_objects *cluster,
                                         const struct kube_pvc *claim)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_CLASS); i++) {
        const struct kube_class *class = cluster_at(cluster, KUBE_CLASS, i);

        if (strcmp(class->meta.name, kube_pvc_class(claim)) == 0)
            return class;
    }
    return NULL;
}

static const struct kube_pvc *claim_named(const struct cluster_objects *cluster, const char *ns,
                                          const char *name)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PVC); i++) {
        const struct kube_pvc *claim = cluster_at(cluster, KUBE_PVC, i);

        if (kube_same(claim->meta.ns, ns) && kube_same(claim->meta.name, name))
            return claim;
    }
    return NULL;
}

static const struct kube_pv *pv_named(const struct cluster_objects *cluster, const char *name)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++) {
        const struct kube_pv *pv = cluster_at(cluster, KUBE_PV, i);

        if (strcmp(pv->meta.name, name) == 0)
            return pv;
    }
    return NULL;
}

/* --- PreFilter --- */

struct pod_claim_list {
    const struct kube_pvc *items[REFERENCE_CLAIMS_MAX];
    size_t count;
};

static int prefilter(const struct cluster_objects *cluster, const struct kube_pod *pod,
                     struct pod_claim_list *list, struct reference_result *result)
{
    for (size_t i = 0; i < pod->volume_count && list->count < REFERENCE_CLAIMS_MAX; i++) {
        const struct kube_pod_volume *volume = &pod->volumes[i];

        if (volume->kind != KUBE_VOLUME_CLAIM && volume->kind != KUBE_VOLUME_EPHEMERAL)
            continue;
        const struct kube_pvc *claim = claim_named(cluster, pod->meta.ns, volume->claim_name);
        result->verdict = BINDING_REJECTED;
        if (!claim) {
            snprintf(result->text, sizeof(result->text), "not found");
            return -1;
        }
        if (kube_same(claim->phase, "Lost")) {
            snprintf(result->text, sizeof(result->text), "bound to non-existent");
            return -1;
        }
        if (claim->meta.deletion_timestamp) {
            snprintf(result->text, sizeof(result->text), "is being deleted");
            return -1;
        }
        result->verdict = BINDING_FITS;
        list->items[list->count++] = claim;
    }
    if (list->count == 0)
        result->verdict = BINDING_SKIPPED;
    return list->count == 0 ? -1 : 0;
}

/* 0 bound, 1 delayed, 2 immediate, -1 error */
static int classify(const struct cluster_objects *cluster, const struct kube_pvc *claim)
{
    const struct kube_class *class = class_of(cluster, claim);

    if (fully_bound(claim))
        return 0;
    if (kube_pvc_class(claim)[0] == '\0' || !class)
        return 2;
    if (class->mode == KUBE_BINDING_UNSET)
        return -1;
    return class->mode == KUBE_BINDING_WAIT && kube_same(claim->volume_name, "") ? 1 : 2;
}

/* --- static matching --- */

struct reference_run {
    const struct cluster_objects *cluster;
    const struct binding_options *options;
    const struct kube_node *node;
    struct pod_claim_list list;
    int kinds[REFERENCE_CLAIMS_MAX];
    struct reference_result *result;
};

static bool excluded(const struct reference_run *run, const struct kube_pv *pv)
{
    for (size_t i = 0; i < run->list.count; i++)
        if (run->result->choices[i].kind == CHOICE_STATIC &&
            strcmp(run->result->choices[i].pv, pv->meta.name) == 0)
            return true;
    return false;
}

static int by_size_and_name(const void *a, const void *b)
{
    const struct kube_pv *first = *(const struct kube_pv *const *)a;
    const struct kube_pv *second = *(const struct kube_pv *const *)b;
    int order = quantity_compare(&first->capacity, &second->capacity);

    return order ? order : strcmp(first->meta.name, second->meta.name);
}

/* find_matching_volume as the facts have it; -1 for an error. */
static int find_matching(const struct reference_run *run, const struct kube_pvc *claim,
                         const struct kube_pv **all, size_t count, const struct kube_pv **found)
{
    const struct kube_pv *best = NULL;
    bool gate = run->options->attributes_class;

    *found = NULL;
    if ((!gate && !kube_same(claim->attributes_class, "")) ||
        (claim->selector.is_set && claim->selector.fault))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct kube_pv *pv = all[i];
        _cleanup_error_ struct error err = {0};
        bool selected = true;

        if (strcmp(kube_pv_class(pv), kube_pvc_class(claim)) != 0 || excluded(run, pv))
            continue;
        if (assume_cache_claim(pv) && !bound_to(pv, claim))
            continue;
        if (quantity_compare(&pv->capacity, &claim->request) < 0)
            continue;
        if (kube_volume_mode_is_block(pv->volume_mode) !=
            kube_volume_mode_is_block(claim->volume_mode))
            continue;
        if (gate ? !kube_same(pv->attributes_class, claim->attributes_class)
                 : !kube_same(pv->attributes_class, ""))
            continue;
        if (pv->meta.deletion_timestamp)
            continue;
        bool fits = check_pv(pv, run->node);
        if (bound_to(pv, claim)) {
            *found = fits ? pv : NULL;
            return 0;
        }
        if (!kube_same(pv->phase, "Available"))
            continue;
        if (claim->selector.is_set &&
            label_selector_match(&claim->selector, &pv->meta.labels, &selected, &err) < 0)
            return -1;
        if (!selected || !fits || (claim->access_modes & ~pv->access_modes))
            continue;
        if (!best || quantity_compare(&pv->capacity, &best->capacity) < 0)
            best = pv;
    }
    *found = best;
    return 0;
}

/* The positions of the delayed claims by size; stable. */
static size_t order_claims(const struct reference_run *run, size_t *order)
{
    size_t count = 0;

    for (size_t i = 0; i < run->list.count; i++)
        if (run->kinds[i] == 1)
            order[count++] = i;
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0; j--) {
            int compared = quantity_compare(&run->list.items[order[j - 1]]->request,
                                            &run->list.items[order[j]]->request);
            size_t kept = order[j];

            if (run->options->original_design ? compared >= 0 : compared <= 0)
                break;
            order[j] = order[j - 1];
            order[j - 1] = kept;
        }
    return count;
}

static int match_static(struct reference_run *run, const size_t *order, size_t count)
{
    size_t pv_count = cluster_count(run->cluster, KUBE_PV);
    const struct kube_pv **all = xcalloc(pv_count + 1, sizeof(*all));
    int result = 0;

    for (size_t i = 0; i < pv_count; i++)
        all[i] = cluster_at(run->cluster, KUBE_PV, i);
    qsort(all, pv_count, sizeof(*all), by_size_and_name);
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct kube_pvc *claim = run->list.items[order[i]];
        const struct kube_pv *found = NULL;

        if (assume_cache_selected_node(claim))
            continue;
        result = find_matching(run, claim, all, pv_count, &found);
        if (found)
            run->result->choices[order[i]] =
                (struct reference_choice){CHOICE_STATIC, found->meta.name, NULL};
    }
    free(all);
    return result;
}

/* --- provisioning --- */

static const struct kube_capacity *find_capacity(const struct reference_run *run,
                                                 const struct kube_class *class, int64_t request)
{
    for (size_t i = 0; i < cluster_count(run->cluster, KUBE_CAPACITY); i++) {
        const struct kube_capacity *capacity = cluster_at(run->cluster, KUBE_CAPACITY, i);
        _cleanup_error_ struct error err = {0};
        bool matches = false;
        const struct quantity *limit = capacity->has_maximum    ? &capacity->maximum
                                       : capacity->has_capacity ? &capacity->capacity
                                                                : NULL;

        if (!kube_same(capacity->class_name, class->meta.name) || !limit ||
            quantity_value(limit) < request)
            continue;
        if (label_selector_match(&capacity->topology, &run->node->meta.labels, &matches, &err) ==
                0 &&
            matches)
            return capacity;
    }
    return NULL;
}

/* 0 go on, else the reason. */
static unsigned provision(struct reference_run *run, size_t at)
{
    const struct kube_pvc *claim = run->list.items[at];
    const struct kube_class *class = class_of(run->cluster, claim);
    const struct kube_csi_driver *driver = NULL;
    const struct kube_capacity *capacity = NULL;

    for (size_t i = 0; i < cluster_count(run->cluster, KUBE_CSI_DRIVER); i++) {
        const struct kube_csi_driver *one = cluster_at(run->cluster, KUBE_CSI_DRIVER, i);

        if (kube_same(one->meta.name, class->provisioner))
            driver = one;
    }
    if (kube_same(class->provisioner, "") ||
        kube_same(class->provisioner, "kubernetes.io/no-provisioner"))
        return BINDING_NO_VOLUMES;
    if (!allowed_topologies_match(&class->allowed, &run->node->meta.labels))
        return BINDING_NO_VOLUMES;
    if (run->options->storage_capacity && claim->has_request && driver && driver->tracks_capacity) {
        capacity = find_capacity(run, class, quantity_value(&claim->request));
        if (!capacity)
            return BINDING_NO_SPACE;
    }
    run->result->choices[at] =
        (struct reference_choice){CHOICE_DYNAMIC, NULL, capacity ? capacity->meta.name : NULL};
    return 0;
}

static unsigned check_provision(struct reference_run *run, const size_t *order, size_t count)
{
    unsigned reason = 0;

    for (size_t i = 0; i < run->list.count && !reason; i++)
        if (run->kinds[i] == 1 && assume_cache_selected_node(run->list.items[i]))
            reason = provision(run, i);
    for (size_t i = 0; i < count && !reason; i++)
        if (!assume_cache_selected_node(run->list.items[order[i]]) &&
            run->result->choices[order[i]].kind == CHOICE_NONE)
            reason = provision(run, order[i]);
    for (size_t i = 0; reason && i < run->list.count; i++)
        if (run->result->choices[i].kind == CHOICE_DYNAMIC)
            run->result->choices[i] = (struct reference_choice){0};
    return reason;
}

/* --- Filter --- */

#define CANNOT_BE_TRANSLATED (~0U)

static unsigned check_bound(const struct reference_run *run)
{
    for (size_t i = 0; i < run->list.count; i++) {
        if (run->kinds[i] != 0)
            continue;
        const struct kube_pv *pv = pv_named(run->cluster, run->list.items[i]->volume_name);
        if (!pv)
            return BINDING_VOLUME_MISSING;
        if (cannot_be_translated(run->cluster, pv, run->node))
            return CANNOT_BE_TRANSLATED;
        if (!check_bound_pv(run->cluster, pv, run->node))
            return BINDING_NODE_AFFINITY;
    }
    return 0;
}

static void filter(struct reference_run *run)
{
    size_t order[REFERENCE_CLAIMS_MAX];
    size_t count = order_claims(run, order);
    struct reference_result *result = run->result;

    result->reasons = check_bound(run);
    if (result->reasons == CANNOT_BE_TRANSLATED) {
        result->verdict = BINDING_FAILED;
        result->reasons = 0;
        return;
    }
    for (size_t i = 0; i < run->list.count; i++) {
        const char *selected =
            run->kinds[i] == 1 ? assume_cache_selected_node(run->list.items[i]) : NULL;

        if (selected && strcmp(selected, run->node->meta.name) != 0) {
            result->reasons |= BINDING_NO_VOLUMES;
            result->verdict = BINDING_REJECTED;
            return;
        }
    }
    if (count > 0 && match_static(run, order, count) < 0) {
        result->verdict = BINDING_FAILED;
        result->reasons = 0;
        return;
    }
    result->reasons |= check_provision(run, order, count);
    if (result->reasons)
        result->verdict = BINDING_REJECTED;
}

void binding_reference(const struct cluster_objects *cluster, const struct binding_options *options,
                       const struct kube_pod *pod, const struct kube_node *node,
                       struct reference_result *result)
{
    struct reference_run run = {
        .cluster = cluster, .options = options, .node = node, .result = result};
    bool has_immediate = false;

    memset(result, 0, sizeof(*result));
    if (prefilter(cluster, pod, &run.list, result) < 0)
        return;
    result->count = run.list.count;
    for (size_t i = 0; i < run.list.count; i++) {
        run.kinds[i] = classify(cluster, run.list.items[i]);
        if (run.kinds[i] < 0) {
            result->verdict = BINDING_FAILED;
            snprintf(result->text, sizeof(result->text), "VolumeBindingMode not set");
            return;
        }
        has_immediate = has_immediate || run.kinds[i] == 2;
    }
    if (has_immediate) {
        result->verdict = BINDING_REJECTED;
        snprintf(result->text, sizeof(result->text), "unbound immediate");
        return;
    }
    filter(&run);
}

/* --- what the caches hold --- */

static void dump_assumption(struct text *text, const struct assumption *assumption)
{
    if (assumption)
        text_addf(text, " assumed(%s %d %s/%s/%s %d %s)", assumption->version,
                  assumption->has_claim, assumption->claim.ns ? assumption->claim.ns : "",
                  assumption->claim.name ? assumption->claim.name : "",
                  assumption->claim.uid ? assumption->claim.uid : "",
                  assumption->bound_by_controller,
                  assumption->selected_node ? assumption->selected_node : "");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void dump_names(struct text *text, const struct pointer_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        text_addf(text, " %s", ((const struct kube_meta *)list->items[i])->name);
    text_add(text, "\n");
}

static void dump_groups(struct text *text, const struct cluster_objects *cluster)
{
    for (size_t i = 0; i < cluster->classes.all.count; i++) {
        const struct class_index *class = cluster->classes.all.items[i];

        for (size_t j = 0; j < class->groups.all.count; j++) {
            const struct pv_group *group = class->groups.all.items[j];

            if (group->pvs.count == 0)
                continue;
            text_addf(text, "group %s: %s:", class->id.name, group->key);
            dump_names(text, &group->pvs);
        }
    }
}

static void dump_claims(struct text *text, const struct cluster_objects *cluster)
{
    _cleanup_string_list_ struct string_list lines = {0};

    for (size_t i = 0; i < cluster->claims.all.count; i++) {
        const struct claim_index *claim = cluster->claims.all.items[i];
        _cleanup_text_ struct text line = TEXT_INIT(1 << 20);

        if (claim->pvs.count + claim->pods.count == 0)
            continue;
        text_addf(&line, "claim %s/%s pvs:", claim->id.ns, claim->id.name);
        dump_names(&line, &claim->pvs);
        text_add(&line, " pods:");
        dump_names(&line, &claim->pods);
        string_list_add(&lines, text_chars(&line));
    }
    if (lines.count > 1)
        qsort(lines.items, lines.count, sizeof(*lines.items), compare_texts);
    for (size_t i = 0; i < lines.count; i++)
        text_add(text, lines.items[i]);
}

char *binding_reference_dump(const struct cluster_objects *cluster)
{
    struct text text = TEXT_INIT(1 << 26);

    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++) {
        const struct kube_pv *pv = cluster_at(cluster, KUBE_PV, i);

        text_addf(&text, "pv %s %s", pv->meta.name, pv->meta.version);
        dump_assumption(&text, pv->assumed);
        text_add(&text, "\n");
    }
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PVC); i++) {
        const struct kube_pvc *claim = cluster_at(cluster, KUBE_PVC, i);

        text_addf(&text, "pvc %s/%s %s", claim->meta.ns, claim->meta.name, claim->meta.version);
        dump_assumption(&text, claim->assumed);
        text_add(&text, "\n");
    }
    dump_groups(&text, cluster);
    dump_claims(&text, cluster);
    return text_take(&text);
}
