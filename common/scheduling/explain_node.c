/* The diagnosis of one node. */
#include "common/scheduling/explain_node.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/objects/in_tree.h"
#include "common/scheduling/binding_score.h"
#include "common/scheduling/pod_placement.h"
#include "common/topology/domain.h"
#include "common/topology/labels.h"

#define DETAIL_LIMIT 4096

const char *explain_cause_name(enum explain_cause cause)
{
    static const char *const NAMES[EXPLAIN_CAUSES] = {
        [EXPLAIN_FITS] = "fits",
        [EXPLAIN_POD] = "pod",
        [EXPLAIN_FAULT] = "fault",
        [EXPLAIN_IN_USE] = "in-use",
        [EXPLAIN_SELECTED_NODE] = "selected-node",
        [EXPLAIN_VOLUME_MISSING] = "volume-missing",
        [EXPLAIN_NO_SPACE] = "room",
        [EXPLAIN_LIMIT] = "volume-limit",
        [EXPLAIN_NO_CAPACITY] = "no-capacity-object",
        [EXPLAIN_NO_DRIVER] = "no-driver",
        [EXPLAIN_LABEL_MISSING] = "label-missing",
        [EXPLAIN_ALLOWED] = "allowed-topologies",
        [EXPLAIN_PREBOUND] = "prebound",
        [EXPLAIN_PLACEMENT] = "placement",
        [EXPLAIN_NO_VOLUME] = "no-volume",
        [EXPLAIN_AFFINITY] = "node-affinity",
        [EXPLAIN_ZONE] = "zone-label",
    };

    return cause < EXPLAIN_CAUSES ? NAMES[cause] : "";
}

_printf_(3, 4) static void set_cause(struct explained_node *row, enum explain_cause cause,
                                     const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    row->cause = cause;
    free(row->detail);
    row->detail = xvasprintf(fmt, args);
    va_end(args);
}

_printf_(2, 3) static void set_fix(struct explained_node *row, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    free(row->fix);
    row->fix = xvasprintf(fmt, args);
    va_end(args);
}

static void set_subject(struct explained_node *row, const char *subject)
{
    free(row->subject);
    row->subject = xstrdup(subject);
}

/* --- words for places --- */

const char *explain_place(const struct kube_node *node)
{
    static const char *const LEVELS[] = {"zone", "rack", "region"};
    const struct strmap *labels = &node->meta.labels;

    for (size_t level = 0; level < ARRAY_LENGTH(LEVELS); level++)
        for (size_t i = 0; i < labels->count; i++)
            if (strcmp(label_tail(labels->entries[i].key), LEVELS[level]) == 0)
                return labels->entries[i].value;
    return "-";
}

char *explain_membership(const char *key, char **level)
{
    const char *tail = membership_tail(key);

    if (!tail)
        return NULL;
    const char *dot = strchr(tail, '.');
    if (level)
        *level = dot ? xstrndup(tail, (size_t)(dot - tail)) : xstrdup("domain");
    return xstrdup(dot ? dot + 1 : tail);
}

static void add_requirement(struct text *text, const struct selector_requirement *requirement)
{
    _cleanup_free_ char *level = NULL;
    _cleanup_free_ char *member = explain_membership(requirement->key, &level);
    bool takes_list = requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN;

    if (member && requirement->op == SELECTOR_IN) {
        text_addf(text, "%s %s", level, member);
        return;
    }
    text_add(text, requirement->key);
    switch (requirement->op) {
    case SELECTOR_IN:
        text_add(text, requirement->values.count == 1 ? " = " : " in ");
        break;
    case SELECTOR_NOT_IN:
        text_add(text, " not in ");
        break;
    case SELECTOR_EXISTS:
        text_add(text, " present");
        break;
    case SELECTOR_DOES_NOT_EXIST:
        text_add(text, " absent");
        break;
    case SELECTOR_GT:
        text_addf(text, " > %lld", (long long)requirement->operand);
        break;
    case SELECTOR_LT:
        text_addf(text, " < %lld", (long long)requirement->operand);
        break;
    case SELECTOR_UNKNOWN:
        text_add(text, " (an operator that makes no sense)");
        break;
    }
    for (size_t i = 0; takes_list && i < requirement->values.count; i++)
        text_addf(text, "%s%s", i ? ", " : "", requirement->values.items[i]);
}

static void add_requirements(struct text *text, const struct selector_requirements *list)
{
    for (size_t i = 0; i < list->count; i++) {
        text_add(text, i ? " and " : "");
        add_requirement(text, &list->items[i]);
    }
}

static char *affinity_text(const struct node_selector *affinity)
{
    struct text text = TEXT_INIT(DETAIL_LIMIT);

    if (!affinity)
        return xstrdup("any node");
    for (size_t i = 0; i < affinity->count; i++) {
        text_add(&text, i ? ", or " : "");
        add_requirements(&text, &affinity->terms[i].expressions);
    }
    if (text.length == 0)
        text_add(&text, "no node at all");
    return text_take(&text);
}

char *explain_affinity(const struct kube_pv *pv)
{
    return affinity_text(pv->has_required ? &pv->required : NULL);
}

/* --- a volume that cannot be reached --- */

/* Of the term with the fewest requirements that fail, the first of these. */
static const struct selector_requirement *find_failing(const struct node_selector *affinity,
                                                       const struct kube_node *node)
{
    const struct selector_requirement *failing = NULL;
    size_t least = SIZE_MAX;

    for (size_t i = 0; affinity && i < affinity->count; i++) {
        const struct selector_requirements *all = &affinity->terms[i].expressions;
        const struct selector_requirement *first = NULL;
        size_t count = 0;

        for (size_t j = 0; j < all->count; j++)
            if (!selector_requirement_match(&all->items[j], &node->meta.labels)) {
                first = first ? first : &all->items[j];
                count++;
            }
        if (first && count < least) {
            least = count;
            failing = first;
        }
    }
    return failing;
}

/* Whether the node takes part at all in what the key belongs to: it has a label of that prefix. */
static bool has_prefix_of(const struct kube_node *node, const char *key)
{
    size_t length = (size_t)(label_tail(key) - key);

    for (size_t i = 0; length > 0 && i < node->meta.labels.count; i++)
        if (strncmp(node->meta.labels.entries[i].key, key, length) == 0)
            return true;
    return false;
}

char *explain_driver_of_key(const char *key)
{
    const char *slash = strchr(key, '/');

    if (!slash || !text_has_prefix(key, "topology."))
        return NULL;
    return xstrndup(key + strlen("topology."), (size_t)(slash - key) - strlen("topology."));
}

/* @driver NULL: the one whose label the key is, "topology.DRIVER/zone", if it is one. */
static void diagnose_label(const struct explain_run *run, const struct kube_node *node,
                           const char *driver, const char *key, struct explained_node *row)
{
    _cleanup_free_ char *owner = explain_driver_of_key(key);

    if (!driver && !text_has_prefix(key, "topology.kubernetes"))
        driver = owner;
    set_cause(row, EXPLAIN_LABEL_MISSING, "label %s is missing", key);
    set_subject(row, key);
    if (driver && !volume_limits_driver(run->cluster, node->meta.name, driver))
        set_fix(row, "the node plugin of %s is not registered there: start it", driver);
    else
        set_fix(row, "set the label %s on the node and restart its node plugin", key);
}

static void diagnose_affinity(const struct explain_run *run, const struct kube_pvc *claim,
                              const struct kube_pv *pv, const struct kube_node *node,
                              struct explained_node *row)
{
    const struct node_selector *counts = binding_affinity_on(run->cluster, pv, node);
    const struct selector_requirement *failing = find_failing(counts, node);
    _cleanup_free_ char *affinity = affinity_text(counts);

    if (failing && failing->op == SELECTOR_IN && !strmap_has(&node->meta.labels, failing->key) &&
        !has_prefix_of(node, failing->key)) {
        diagnose_label(run, node, pv->plugin ? pv->plugin->driver : pv->driver, failing->key, row);
        return;
    }
    set_cause(row, EXPLAIN_AFFINITY, "volume '%s' of claim '%s' can be reached from: %s",
              pv->meta.name, claim->meta.name, affinity);
    _cleanup_free_ char *member = failing ? explain_membership(failing->key, NULL) : NULL;
    if (member)
        set_fix(row, "run the pod in %s, or let this place take %s over", member, member);
    else
        set_fix(row, "run the pod where its volume is");
}

static void diagnose_bound(const struct explain_run *run, const struct kube_node *node,
                           struct explained_node *row)
{
    for (size_t i = 0; i < run->claims.count; i++) {
        const struct pod_claim *item = &run->claims.items[i];

        if (item->kind != CLAIM_BOUND)
            continue;
        if (!item->pv) {
            set_cause(row, EXPLAIN_VOLUME_MISSING,
                      "claim '%s' is bound to volume '%s', which does not exist",
                      item->claim->meta.name, item->claim->volume_name);
            set_fix(row, "restore the PersistentVolume '%s' from a backup of the API objects",
                    item->claim->volume_name);
            return;
        }
        if (!binding_fits_bound(run->cluster, item->pv, node)) {
            diagnose_affinity(run, item->claim, item->pv, node, row);
            return;
        }
    }
}

/* --- no volume and no provisioning --- */

static bool diagnose_selected(const struct explain_run *run, const struct kube_node *node,
                              struct explained_node *row)
{
    for (size_t i = 0; i < run->claims.count; i++) {
        const struct pod_claim *item = &run->claims.items[i];

        if (item->kind != CLAIM_DELAYED || !item->selected_node ||
            strcmp(item->selected_node, node->meta.name) == 0)
            continue;
        bool exists = cluster_find(run->cluster, KUBE_NODE, NULL, item->selected_node) != NULL;
        set_cause(row, EXPLAIN_SELECTED_NODE, "claim '%s' is tied to node '%s'%s",
                  item->claim->meta.name, item->selected_node,
                  exists ? "" : ", which does not exist");
        set_fix(
            row,
            "if provisioning there cannot succeed, remove the annotation: kubectl -n %s annotate "
            "pvc %s " KUBE_SELECTED_NODE "-",
            item->claim->meta.ns, item->claim->meta.name);
        return true;
    }
    return false;
}

static bool diagnose_prebound(const struct pod_claim *item, struct explained_node *row)
{
    if (item->prebound.count == 0)
        return false;
    const struct kube_pv *pv = item->prebound.items[0];
    _cleanup_free_ char *affinity = explain_affinity(pv);
    set_cause(
        row, EXPLAIN_PREBOUND,
        "volume '%s' is meant for claim '%s' and can be reached from: %s; no other volume is taken",
        pv->meta.name, item->claim->meta.name, affinity);
    set_fix(row, "run the pod there, or remove spec.claimRef of volume '%s'", pv->meta.name);
    return true;
}

static void offer_group(const struct label_bucket *bucket, const struct kube_node *node,
                        const struct kube_pv **here)
{
    for (size_t i = 0; bucket && i < bucket->count; i++) {
        const struct pv_group *group = label_bucket_item(bucket, i);

        if (group->pvs.count == 0)
            continue;
        const struct kube_pv *largest = group->pvs.items[group->pvs.count - 1];
        if ((!*here || cluster_compare_pvs(largest, *here) > 0) &&
            binding_fits_affinity(largest, &node->meta.labels))
            *here = largest;
    }
}

/* The largest free volume of the class on this node; NULL if there is none. */
static const struct kube_pv *largest_here(const struct class_index *index,
                                          const struct kube_node *node)
{
    const struct kube_pv *here = NULL;

    offer_group(&index->by_affinity.always, node, &here);
    for (size_t i = 0; i < node->meta.labels.count; i++)
        offer_group(label_index_find(&index->by_affinity, node->label_pairs[i]), node, &here);
    return here;
}

static const struct kube_pv *largest_anywhere(const struct class_index *index)
{
    const struct kube_pv *largest = NULL;

    for (size_t i = 0; i < index->groups.all.count; i++) {
        const struct pv_group *group = index->groups.all.items[i];

        if (group->pvs.count > 0 &&
            (!largest || quantity_compare(&group->largest, &largest->capacity) > 0))
            largest = group->pvs.items[group->pvs.count - 1];
    }
    return largest;
}

static void diagnose_no_volume(const struct pod_claim *item, const struct kube_node *node,
                               struct explained_node *row)
{
    const struct kube_pvc *claim = item->claim;
    _cleanup_free_ char *asked = text_size((uint64_t)quantity_value(&claim->request));
    const struct kube_pv *here = item->index ? largest_here(item->index, node) : NULL;
    const struct kube_pv *largest = item->index && !here ? largest_anywhere(item->index) : here;

    if (!largest) {
        set_cause(row, EXPLAIN_NO_VOLUME,
                  "claim '%s' asks %s of class '%s', which has no free volume and no provisioner",
                  claim->meta.name, asked, item->class->meta.name);
        set_fix(row, "create a PersistentVolume of class '%s' of at least %s",
                item->class->meta.name, asked);
        return;
    }
    _cleanup_free_ char *size = text_size((uint64_t)quantity_value(&largest->capacity));
    _cleanup_free_ char *affinity = explain_affinity(largest);
    bool is_small = quantity_compare(&largest->capacity, &claim->request) < 0;
    if (here)
        set_cause(row, EXPLAIN_NO_VOLUME,
                  "claim '%s' asks %s; the largest free volume here, '%s', %s %s", claim->meta.name,
                  asked, here->meta.name,
                  is_small ? "has" : "has other modes, labels or attributes than asked:", size);
    else
        set_cause(row, EXPLAIN_NO_VOLUME,
                  "claim '%s' asks %s; free volume '%s' (%s) is only on: %s", claim->meta.name,
                  asked, largest->meta.name, size, affinity);
    set_fix(row, "create a PersistentVolume of class '%s' of at least %s for this node",
            item->class->meta.name, asked);
}

static void diagnose_allowed(const struct explain_run *run, const struct pod_claim *item,
                             const struct kube_node *node, struct explained_node *row)
{
    const struct allowed_topologies *allowed = &item->class->allowed;
    _cleanup_text_ struct text text = TEXT_INIT(DETAIL_LIMIT);

    for (size_t i = 0; i < allowed->count; i++) {
        const struct selector_requirements *all = &allowed->terms[i].requirements;

        for (size_t j = 0; allowed->count == 1 && j < all->count; j++)
            if (!strmap_has(&node->meta.labels, all->items[j].key) &&
                !has_prefix_of(node, all->items[j].key)) {
                diagnose_label(run, node, item->class->provisioner, all->items[j].key, row);
                return;
            }
        text_add(&text, i ? ", or " : "");
        add_requirements(&text, all);
    }
    set_cause(row, EXPLAIN_ALLOWED, "class '%s' allows only: %s", item->class->meta.name,
              text.length ? text_chars(&text) : "no node at all (an empty term)");
    set_fix(row, "widen allowedTopologies of class '%s', or run the pod there",
            item->class->meta.name);
}

/* --- free space --- */

/* Raises *@most, which is -1 at first, to the space that objects of the bucket publish for the
 * node. */
static void offer_capacity(const struct label_bucket *bucket, const struct kube_node *node,
                           int64_t *most)
{
    for (size_t i = 0; bucket && i < bucket->count; i++) {
        const struct kube_capacity *capacity = label_bucket_item(bucket, i);
        _cleanup_error_ struct error fault = {0};
        bool matches = false;
        int64_t limit = 0;

        if (label_selector_match(&capacity->topology, &node->meta.labels, &matches, &fault) == 0 &&
            matches && binding_capacity_limit(capacity, &limit) && (limit > *most || *most < 0))
            *most = limit > 0 ? limit : 0;
    }
}

static void diagnose_space(const struct explain_run *run, const struct pod_claim *item,
                           const struct kube_node *node, struct explained_node *row)
{
    const char *place = explain_place(node);
    int64_t most = -1;

    if (strcmp(place, "-") == 0)
        place = node->meta.name;
    if (item->index)
        offer_capacity(&item->index->by_topology.always, node, &most);
    for (size_t i = 0; item->index && i < node->meta.labels.count; i++)
        offer_capacity(label_index_find(&item->index->by_topology, node->label_pairs[i]), node,
                       &most);
    if (most < 0) {
        bool is_none = !item->index || item->index->capacities.count == 0;

        set_cause(row, EXPLAIN_NO_CAPACITY,
                  "%s CSIStorageCapacity of class '%s'%s%s, and CSIDriver '%s' asks to look at "
                  "them",
                  is_none ? "there is no" : "no", item->class->meta.name, is_none ? "" : " covers ",
                  is_none ? "" : place, item->class->provisioner);
        if (volume_limits_driver(run->cluster, node->meta.name, item->class->provisioner))
            set_fix(row, "run csi-provisioner with --enable-capacity, or cephcsi with "
                         "--publish-capacity");
        else
            set_fix(row, "the node plugin of %s is not registered there: start it",
                    item->class->provisioner);
        return;
    }
    row->free_bytes = (uint64_t)most;
    _cleanup_free_ char *has = text_size(row->free_bytes);
    _cleanup_free_ char *asks = text_size((uint64_t)quantity_value(&item->claim->request));
    set_cause(row, EXPLAIN_NO_SPACE, "%s has room for %s of class '%s', the claim '%s' asks %s",
              place, has, item->class->meta.name, item->claim->meta.name, asks);
    set_fix(row, "make room there, ask for less, or use a class with room");
}

/* The claim at which the check ended, as the check goes through them. */
static void diagnose_delayed(const struct explain_run *run, const struct kube_node *node,
                             const struct node_decision *decision, struct explained_node *row)
{
    const struct pod_claims *claims = &run->claims;

    if (diagnose_selected(run, node, row))
        return;
    for (size_t i = 0; i < claims->delayed_count; i++) {
        size_t at = claims->by_size[i];
        const struct pod_claim *item = &claims->items[at];

        if (decision->choices[at].kind == CHOICE_STATIC)
            continue;
        if (!binding_has_provisioner(item->class)) {
            if (!diagnose_prebound(item, row))
                diagnose_no_volume(item, node, row);
            return;
        }
        if (!allowed_topologies_match(&item->class->allowed, &node->meta.labels)) {
            diagnose_allowed(run, item, node, row);
            return;
        }
        if (item->driver && item->claim->has_request &&
            !binding_find_capacity(item->index, node, quantity_value(&item->claim->request))) {
            diagnose_space(run, item, node, row);
            return;
        }
    }
}

/* --- the other plugins --- */

static void add_reason(struct text *reasons, const char *reason)
{
    text_addf(reasons, "%s%s", reasons->length ? "; " : "", reason);
}

/* Another pod has what is for one alone. */
static void diagnose_restrictions(const struct explain_run *run, const struct kube_node *node,
                                  struct explained_node *row)
{
    const struct kube_pod *user = NULL;

    if (!volume_restrictions_check(run->cluster, &run->restrictions, node, &user))
        return;
    if (user == run->restrictions.user)
        set_cause(row, EXPLAIN_IN_USE,
                  "claim '%s' is for one pod (ReadWriteOncePod), and pod '%s' on node '%s' has it",
                  run->restrictions.claim->meta.name, user->meta.name, user->node_name);
    else
        set_cause(row, EXPLAIN_IN_USE, "pod '%s' of namespace '%s' has a disk that the pod names",
                  user->meta.name, user->meta.ns);
    set_fix(row, "delete pod '%s', or wait for its end", user->meta.name);
}

static void diagnose_limits(struct explain_run *run, const struct kube_node *node,
                            struct text *reasons, struct explained_node *row)
{
    struct limits_decision limits = {0};

    volume_limits_check(run->cluster, run->options, &run->keys, node, &limits);
    _cleanup_free_ char *reason = limits.reason;
    if (limits.verdict == LIMITS_FIT)
        return;
    add_reason(reasons, reason);
    if (limits.verdict != LIMITS_UNSCHEDULABLE) {
        set_cause(row, EXPLAIN_FAULT, "the volumes on the node cannot be counted: %s", reason);
        set_fix(row, "delete the pod there that has this volume, or mend its claim");
        return;
    }
    set_subject(row, limits.driver);
    if (limits.added == 0) {
        set_cause(row, EXPLAIN_NO_DRIVER, "the node plugin of %s is not registered", limits.driver);
        set_fix(row, "start the node plugin of %s there", limits.driver);
        return;
    }
    set_cause(
        row, EXPLAIN_LIMIT, "the node has %lld of at most %lld volumes of %s, the pod needs %lld",
        (long long)limits.in_use, (long long)limits.limit, limits.driver, (long long)limits.added);
    set_fix(row, "move pods with such volumes away, or raise the limit that the driver reports");
}

static void diagnose_zone(const struct explain_run *run, const struct kube_node *node,
                          struct text *reasons, struct explained_node *row)
{
    const struct zone_constraint *constraint = volume_zone_check(&run->zones, node);

    if (!constraint)
        return;
    add_reason(reasons, VOLUME_ZONE_CONFLICT);
    if (row->cause != EXPLAIN_FITS)
        return;
    set_cause(row, EXPLAIN_ZONE, "volume '%s' has the label %s=%s", constraint->pv->meta.name,
              constraint->key, strmap_get(&constraint->pv->meta.labels, constraint->key));
    set_fix(row, "run the pod in the volume's zone");
}

static void diagnose_binding(const struct explain_run *run, const struct kube_node *node,
                             const struct node_decision *decision, struct text *reasons,
                             struct explained_node *row)
{
    for (unsigned i = 0; i < BINDING_REASONS; i++)
        if (decision->reasons & (1U << i))
            add_reason(reasons, binding_reason_text((enum binding_reason)(1U << i)));
    if (decision->verdict == BINDING_FAILED) {
        add_reason(reasons, decision->fault);
        set_cause(row, EXPLAIN_FAULT, "%s", decision->fault);
        set_fix(row, "correct the claim");
    } else if (decision->reasons & (BINDING_NODE_AFFINITY | BINDING_VOLUME_MISSING)) {
        diagnose_bound(run, node, row);
    } else if (decision->reasons) {
        diagnose_delayed(run, node, decision, row);
    }
}

/* --- what fits --- */

/* A volume that is pinned by membership to a domain which is not this node's own. */
static bool is_foreign(const struct kube_pv *pv, const struct kube_node *node)
{
    for (size_t i = 0; pv->has_required && i < pv->required.count; i++)
        for (size_t j = 0; j < pv->required.terms[i].expressions.count; j++) {
            const char *key = pv->required.terms[i].expressions.items[j].key;
            _cleanup_free_ char *level = NULL;
            _cleanup_free_ char *member = explain_membership(key, &level);

            if (!member)
                continue;
            _cleanup_free_ char *plain =
                xasprintf("%.*s%s", (int)(label_tail(key) - key), key, level);
            const char *home = strmap_get(&node->meta.labels, plain);
            if (home && strcmp(home, member) != 0)
                return true;
        }
    return false;
}

static void describe_choices(const struct explain_run *run, const struct kube_node *node,
                             const struct node_decision *decision, struct explained_node *row)
{
    _cleanup_text_ struct text text = TEXT_INIT(DETAIL_LIMIT);

    for (size_t i = 0; i < run->claims.count; i++) {
        const struct pod_claim *item = &run->claims.items[i];
        const struct claim_choice *choice = &decision->choices[i];
        const struct kube_pv *pv = item->kind == CLAIM_BOUND ? item->pv : choice->pv;

        text_addf(&text, "%s%s: ", i ? ", " : "", item->claim->meta.name);
        if (pv)
            text_addf(&text, "%s '%s'", item->kind == CLAIM_BOUND ? "bound to" : "volume",
                      pv->meta.name);
        else
            text_add(&text, choice->kind == CHOICE_DYNAMIC ? "new volume" : "-");
        if (pv && is_foreign(pv, node))
            row->is_takeover = true;
    }
    row->volumes = text_take(&text);
    if (!row->volumes)
        row->volumes = xstrdup("");
}

/* Kubernetes stops at the first plugin that rejects a node. */
static void keep_verdict(const struct text *reasons, struct explained_node *row)
{
    if (!row->verdict && reasons->length > 0)
        row->verdict = xstrdup(text_chars(reasons));
}

void explain_node(struct explain_run *run, const struct kube_node *node,
                  const struct node_decision *decision, struct explained_node *row)
{
    _cleanup_text_ struct text reasons = TEXT_INIT(DETAIL_LIMIT);
    _cleanup_free_ char *placement = pod_placement_check(run->options, run->pod, node);
    const char *restriction =
        volume_restrictions_check(run->cluster, &run->restrictions, node, NULL);

    *row = (struct explained_node){.node = node, .place = xstrdup(explain_place(node))};
    if (placement)
        add_reason(&reasons, placement);
    keep_verdict(&reasons, row);
    if (restriction)
        add_reason(&reasons, restriction);
    keep_verdict(&reasons, row);
    diagnose_limits(run, node, &reasons, row);
    keep_verdict(&reasons, row);
    diagnose_binding(run, node, decision, &reasons, row);
    keep_verdict(&reasons, row);
    diagnose_zone(run, node, &reasons, row);
    keep_verdict(&reasons, row);
    diagnose_restrictions(run, node, row);
    if (placement && row->cause == EXPLAIN_FITS) {
        _cleanup_free_ char *detail = pod_placement_explain(run->pod, node);

        set_cause(row, EXPLAIN_PLACEMENT, "the volumes fit, but %s", detail);
        set_fix(row, "change the pod's selector or tolerations, or the node's labels or taints");
    }
    describe_choices(run, node, decision, row);
    if (row->cause == EXPLAIN_FITS)
        row->score = binding_score(run->options, &run->claims, decision);
    row->reason = xstrdup(text_chars(&reasons));
    row->verdict = row->verdict ? row->verdict : xstrdup("");
    row->detail = row->detail ? row->detail : xstrdup("");
    row->fix = row->fix ? row->fix : xstrdup("");
}
