#include "common/scheduling/explain.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/scheduling/binding_hints.h"
#include "common/scheduling/explain_node.h"
#include "common/scheduling/pod_placement.h"

#define TEXT_LIMIT 65536

/* --- the whole pod --- */

static char *explain_named(const struct explain_run *run, const struct kube_pvc *claim)
{
    const struct kube_pv *pv = cluster_find_pv(run->cluster, claim->volume_name);
    const struct kube_claim_ref *ref = pv ? assume_cache_claim(pv) : NULL;

    if (!pv)
        return xasprintf("claim '%s' asks for volume '%s', which does not exist; create it or "
                         "remove spec.volumeName",
                         claim->meta.name, claim->volume_name);
    if (ref && !binding_is_meant_for(pv, claim))
        return xasprintf("claim '%s' asks for volume '%s', which belongs to claim '%s/%s'%s; "
                         "give the claim another volume or free this one",
                         claim->meta.name, claim->volume_name, ref->ns ? ref->ns : "",
                         ref->name ? ref->name : "",
                         kube_same(ref->name, claim->meta.name) &&
                                 kube_same(ref->ns, claim->meta.ns)
                             ? " of an earlier day (another uid)"
                             : "");
    return xasprintf("claim '%s' asks for volume '%s' and the PV controller has not bound them; "
                     "compare size (%s) and mode of both",
                     claim->meta.name, claim->volume_name,
                     quantity_compare(&pv->capacity, &claim->request) < 0 ? "the volume is smaller"
                                                                          : "fits");
}

static char *explain_immediate(const struct explain_run *run, const struct kube_pvc *claim)
{
    const char *name = kube_pvc_class(claim);
    const struct kube_class *class = cluster_find_class(run->cluster, name);

    if (!kube_same(claim->volume_name, ""))
        return explain_named(run, claim);
    if (name[0] == '\0')
        return xasprintf("claim '%s' has no class and no volume; give it a class, or create a "
                         "volume without one",
                         claim->meta.name);
    if (!class)
        return xasprintf("claim '%s' is of class '%s', which does not exist; create the class or "
                         "correct the name",
                         claim->meta.name, name);
    if (!binding_has_provisioner(class))
        return xasprintf("claim '%s' of class '%s' is bound immediately, before a node is chosen, "
                         "and no volume fits it; create one, or make the class wait "
                         "(WaitForFirstConsumer)",
                         claim->meta.name, name);
    return xasprintf("claim '%s' of class '%s' is bound immediately and its provisioner '%s' has "
                     "not made the volume; look at the events of the claim",
                     claim->meta.name, name, class->provisioner);
}

/* What is wrong with a claim itself: missing, lost or being deleted. NULL: nothing. */
static char *explain_orphan(const struct kube_pvc *claim)
{
    return xasprintf("claim '%s' %s volume '%s', which does not exist; restore the "
                     "PersistentVolume from a backup of the API objects",
                     claim->meta.name, binding_is_bound(claim) ? "is bound to" : "asks for",
                     claim->volume_name);
}

static char *explain_faulty_claim(const struct explain_run *run)
{
    const struct kube_pvc *orphan = NULL;
    const char *missing = NULL;

    for (size_t i = 0; i < run->pod->volume_count; i++) {
        const char *name = run->pod->volumes[i].claim_name;
        const struct kube_pvc *claim =
            name ? cluster_find_pvc(run->cluster, run->pod->meta.ns, name) : NULL;

        if (name && !claim && !missing)
            missing = name;
        const char *volume = claim ? kube_or_empty(claim->volume_name) : "";

        if (claim && kube_same(claim->phase, "Lost"))
            return xasprintf("claim '%s' is lost: its volume '%s' no longer exists; restore the "
                             "PersistentVolume or replace the claim",
                             name, volume);
        if (claim && claim->meta.deletion_timestamp)
            return xasprintf("claim '%s' is being deleted; it goes when no pod uses it, then "
                             "create it again",
                             name);
        if (!orphan && volume[0] != '\0' && !cluster_find_pv(run->cluster, volume))
            orphan = claim;
    }
    if (!missing)
        return orphan ? explain_orphan(orphan) : NULL;
    struct nearest nearest = NEAREST_INIT(missing);
    for (size_t i = 0; i < cluster_count(run->cluster, KUBE_PVC); i++) {
        const struct kube_pvc *claim = cluster_at(run->cluster, KUBE_PVC, i);

        if (kube_same(claim->meta.ns, run->pod->meta.ns))
            nearest_offer(&nearest, claim->meta.name);
    }
    return xasprintf("claim '%s' does not exist in namespace '%s'%s%s%s", missing,
                     run->pod->meta.ns, nearest.name ? "; did you mean '" : "",
                     nearest.name ? nearest.name : "", nearest.name ? "'?" : "");
}

/* Our own words for a pod that the scheduler rejects as a whole; its own where we have none. */
static char *pod_headline(const struct explain_run *run)
{
    bool is_unbound = kube_same(run->claims.reason, BINDING_UNBOUND_IMMEDIATE);
    char *headline = NULL;

    for (size_t i = 0; is_unbound && i < run->claims.count && !headline; i++)
        if (run->claims.items[i].kind == CLAIM_IMMEDIATE)
            headline = explain_immediate(run, run->claims.items[i].claim);
    if (!headline)
        headline = explain_faulty_claim(run);
    return headline ? headline : xstrdup(run->rejection);
}

/* A pod whose nodeName was written by somebody else than the scheduler, which then makes no choice
 * that the claim waits for: that claim; NULL: no such pod. */
static const struct pod_claim *find_bypassed_claim(const struct explain_run *run)
{
    for (size_t i = 0; !kube_same(run->pod->node_name, "") && i < run->claims.count; i++)
        if (run->claims.items[i].kind == CLAIM_DELAYED && !run->claims.items[i].selected_node)
            return &run->claims.items[i];
    return NULL;
}

static char *bypass_headline(const struct explain_run *run, const struct pod_claim *item)
{
    return xasprintf("the pod has nodeName '%s', so that the scheduler never looks at it, and "
                     "claim '%s' waits for ever for a node to be chosen (WaitForFirstConsumer); "
                     "replace nodeName by the nodeSelector kubernetes.io/hostname: %s",
                     run->pod->node_name, item->claim->meta.name, run->pod->node_name);
}

/* --- all nodes --- */

static size_t count_of(const struct explanation *explanation, enum explain_cause cause,
                       const char *subject)
{
    size_t count = 0;

    for (size_t i = 0; i < explanation->count; i++)
        if (explanation->nodes[i].cause == cause &&
            (!subject || kube_same(explanation->nodes[i].subject, subject)))
            count++;
    return count;
}

/* The node of that cause that is closest to fitting, or fits best. */
static const struct explained_node *best_row(const struct explanation *explanation,
                                             enum explain_cause cause)
{
    const struct explained_node *best = NULL;

    for (size_t i = 0; i < explanation->count; i++) {
        const struct explained_node *row = &explanation->nodes[i];

        if (row->cause == cause &&
            (!best || row->free_bytes > best->free_bytes || row->score > best->score))
            best = row;
    }
    return best;
}

/* The node whose cause is the pod's. */
static const struct explained_node *decisive_row(const struct explain_run *run,
                                                 const struct explanation *explanation)
{
    const struct explained_node *row = NULL;

    /* a volume that exists is somewhere, and there the pod would have to go */
    for (size_t i = 0; i < run->claims.count; i++)
        if (run->claims.items[i].pv && run->claims.items[i].pv->has_required)
            row = best_row(explanation, EXPLAIN_PLACEMENT);
    for (int cause = EXPLAIN_FAULT; cause < EXPLAIN_CAUSES && !row; cause++)
        row = best_row(explanation, (enum explain_cause)cause);
    return row;
}

/* Where the volumes are, for a pod that is kept away from there by itself. */
static char *placement_headline(const struct explain_run *run,
                                const struct explanation *explanation,
                                const struct explained_node *row)
{
    _cleanup_free_ char *reason = pod_placement_explain(run->pod, row->node);
    size_t count = count_of(explanation, EXPLAIN_PLACEMENT, NULL);

    for (size_t i = 0; i < run->claims.count; i++) {
        const struct kube_pv *pv = run->claims.items[i].pv;

        if (!pv || !pv->has_required)
            continue;
        _cleanup_free_ char *affinity = explain_affinity(pv);
        return xasprintf("volume '%s' of claim '%s' is in %s, where the pod may not run: on %zu "
                         "node%s there, %s",
                         pv->meta.name, run->claims.items[i].claim->meta.name, affinity, count,
                         count == 1 ? "" : "s", reason);
    }
    return xasprintf("the volumes fit on %zu node%s, but the pod may not run there: %s", count,
                     count == 1 ? "" : "s", reason);
}

/* A claim tied to a node: what is wrong with that node? */
static char *selected_headline(const struct explanation *explanation,
                               const struct explained_node *row)
{
    for (size_t i = 0; i < explanation->count; i++) {
        const struct explained_node *there = &explanation->nodes[i];

        if (there->cause != EXPLAIN_SELECTED_NODE && there->cause != EXPLAIN_FITS)
            return xasprintf("%s, where: %s; %s", row->detail,
                             there->detail[0] ? there->detail : there->reason, row->fix);
    }
    return xasprintf("%s; %s", row->detail, row->fix);
}

static char *cause_headline(const struct explain_run *run, const struct explanation *explanation)
{
    const struct explained_node *row = decisive_row(run, explanation);

    if (!row)
        return xstrdup("there are no nodes");
    if (row->cause == EXPLAIN_LABEL_MISSING) {
        size_t count = count_of(explanation, EXPLAIN_LABEL_MISSING, row->subject);

        return xasprintf("label %s is missing on %zu node%s: %s", row->subject, count,
                         count == 1 ? "" : "s", row->fix);
    }
    if (row->cause == EXPLAIN_PLACEMENT)
        return placement_headline(run, explanation, row);
    if (row->cause == EXPLAIN_SELECTED_NODE)
        return selected_headline(explanation, row);
    return xasprintf("%s; %s", row->detail, row->fix);
}

/* The domain whose volumes are served by others, from the first volume that shows it. */
static char *taken_over_domain(const struct explain_run *run)
{
    for (size_t i = 0; i < run->claims.count; i++) {
        const struct kube_pv *pv = run->claims.items[i].pv;

        for (size_t j = 0; pv && pv->has_required && j < pv->required.count; j++)
            for (size_t k = 0; k < pv->required.terms[j].expressions.count; k++) {
                char *member =
                    explain_membership(pv->required.terms[j].expressions.items[k].key, NULL);

                if (member)
                    return member;
            }
    }
    return xstrdup("a domain");
}

static char *fits_headline(const struct explain_run *run, const struct explanation *explanation)
{
    const struct explained_node *best = best_row(explanation, EXPLAIN_FITS);
    size_t taken = 0;

    for (size_t i = 0; i < explanation->count; i++)
        if (explanation->nodes[i].cause == EXPLAIN_FITS && explanation->nodes[i].is_takeover)
            taken++;
    if (taken > 0) {
        _cleanup_free_ char *domain = taken_over_domain(run);

        return xasprintf("takeover of %s is active: fits on %zu of %zu nodes, %zu of them outside "
                         "%s; best is %s in %s",
                         domain, explanation->fitting, explanation->count, taken, domain,
                         best->node->meta.name, best->place);
    }
    if (!kube_same(run->pod->node_name, ""))
        return xasprintf("runs on %s; its volumes fit on %zu of %zu nodes", run->pod->node_name,
                         explanation->fitting, explanation->count);
    return xasprintf("fits on %zu of %zu nodes; best is %s in %s (score %lld)",
                     explanation->fitting, explanation->count, best->node->meta.name, best->place,
                     (long long)best->score);
}

/* --- the scheduler's own summary --- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *make_summary(const struct explain_run *run, const struct explanation *explanation)
{
    struct text text = TEXT_INIT(TEXT_LIMIT);
    _cleanup_reason_counts_ struct reason_counts counts = {0};
    _cleanup_string_list_ struct string_list lines = {0};

    text_addf(&text, "%zu/%zu nodes are available", explanation->fitting, explanation->count);
    if (run->rejection)
        text_addf(&text, ": %s", run->rejection);
    for (size_t i = 0; !run->rejection && i < explanation->count; i++) {
        const char *rest = explanation->nodes[i].verdict;

        while (rest[0] != '\0') {
            const char *end = strstr(rest, "; ");
            _cleanup_free_ char *reason =
                end ? xstrndup(rest, (size_t)(end - rest)) : xstrdup(rest);

            reason_counts_add(&counts, reason);
            rest = end ? end + 2 : "";
        }
    }
    for (size_t i = 0; i < counts.reasons.count; i++)
        string_list_addf(&lines, "%zu %s", counts.counts[i], counts.reasons.items[i]);
    if (lines.count > 1)
        qsort(lines.items, lines.count, sizeof(*lines.items), compare_texts);
    for (size_t i = 0; i < lines.count; i++)
        text_addf(&text, "%s%s", i ? ", " : ": ", lines.items[i]);
    text_add(&text, ".");
    return text_take(&text);
}

/* --- notes --- */

static void note_labels(struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->count; i++) {
        const struct explained_node *row = &explanation->nodes[i];
        bool is_first = row->cause == EXPLAIN_LABEL_MISSING;

        for (size_t j = 0; is_first && j < i; j++)
            is_first = explanation->nodes[j].cause != EXPLAIN_LABEL_MISSING ||
                       !kube_same(explanation->nodes[j].subject, row->subject);
        if (is_first)
            string_list_addf(&explanation->notes, "label %s is missing on %zu of %zu nodes: %s",
                             row->subject, count_of(explanation, row->cause, row->subject),
                             explanation->count, row->fix);
    }
}

/* The scheduler counts on figures whatever their age. */
static void note_stale(const struct explain_run *run, const struct pod_claim *item,
                       struct explanation *explanation)
{
    const struct pointer_list *capacities = item->index ? &item->index->capacities : NULL;
    size_t stale = 0;

    for (size_t i = 0; capacities && run->options->now && i < capacities->count; i++)
        stale += kube_capacity_is_stale(capacities->items[i], run->options->now);
    if (stale > 0)
        string_list_addf(&explanation->notes,
                         "%zu of %zu CSIStorageCapacity of class '%s' have not been refreshed for "
                         "%d minutes, their figures may be wrong: see whether the controller of %s "
                         "runs with --publish-capacity, or delete them",
                         stale, capacities->count, item->class->meta.name, CAPACITY_STALE_S / 60,
                         item->class->provisioner);
}

static void note_claims(const struct explain_run *run, struct explanation *explanation)
{
    for (size_t i = 0; i < run->claims.count; i++) {
        const struct pod_claim *item = &run->claims.items[i];
        const char *name = item->claim->meta.name;

        if (item->kind == CLAIM_BOUND && item->pv) {
            _cleanup_free_ char *affinity = explain_affinity(item->pv);
            string_list_addf(&explanation->notes,
                             "claim '%s' is bound to volume '%s', reachable from: %s", name,
                             item->pv->meta.name, affinity);
        } else if (item->kind == CLAIM_DELAYED) {
            _cleanup_free_ char *size = text_size((uint64_t)quantity_value(&item->claim->request));
            string_list_addf(&explanation->notes,
                             "claim '%s' (%s, class '%s') waits for its first consumer", name, size,
                             item->class->meta.name);
            note_stale(run, item, explanation);
        }
    }
}

/* --- entry --- */

static void check_nodes(struct explain_run *run, struct explanation *explanation)
{
    _cleanup_pod_decisions_ struct pod_decisions decisions = {0};

    binding_check(run->cluster, run->options, &run->claims, &decisions);
    explanation->nodes = xcalloc(decisions.count + 1, sizeof(*explanation->nodes));
    explanation->count = decisions.count;
    for (size_t i = 0; i < decisions.count; i++) {
        explain_node(run, cluster_at(run->cluster, KUBE_NODE, i), &decisions.nodes[i],
                     &explanation->nodes[i]);
        explanation->fitting += explanation->nodes[i].cause == EXPLAIN_FITS;
    }
}

/* A pod that is rejected as a whole: the same on every node. */
static void reject_nodes(struct explain_run *run, const char *reason,
                         struct explanation *explanation)
{
    size_t count = cluster_count(run->cluster, KUBE_NODE);

    explanation->nodes = xcalloc(count + 1, sizeof(*explanation->nodes));
    for (; explanation->count < count; explanation->count++) {
        const struct kube_node *node = cluster_at(run->cluster, KUBE_NODE, explanation->count);

        explanation->nodes[explanation->count] = (struct explained_node){
            .node = node,
            .cause = EXPLAIN_POD,
            .place = xstrdup(explain_place(node)),
            .verdict = xstrdup(reason),
            .reason = xstrdup(reason),
            .detail = xstrdup("no node is looked at before that is mended"),
            .fix = xstrdup(""),
            .volumes = xstrdup(""),
        };
    }
}

/* NULL: the nodes are asked. The plugins look at the pod in this order. */
static const char *find_rejection(const struct explain_run *run)
{
    if (run->restrictions.verdict == BINDING_REJECTED)
        return run->restrictions.reason;
    if (run->claims.verdict == BINDING_REJECTED || run->claims.verdict == BINDING_FAILED)
        return run->claims.reason;
    return run->zones.verdict == BINDING_REJECTED ? run->zones.reason : NULL;
}

/* A node that fits here may still not do: by what is named, never silently left out. */
static void note_needs(const struct kube_pod *pod, struct explanation *explanation)
{
    static const struct {
        enum kube_pod_need need;
        const char *text;
    } NEEDS[] = {
        {KUBE_NEED_REQUESTS, "requests of CPU, memory and other resources"},
        {KUBE_NEED_PORTS, "ports of the host"},
        {KUBE_NEED_AFFINITY, "affinity to other pods"},
        {KUBE_NEED_ANTI_AFFINITY, "anti-affinity to other pods"},
        {KUBE_NEED_SPREAD, "topology spread constraints"},
        {KUBE_NEED_DEVICES, "resource claims"},
        {KUBE_NEED_GATES, "scheduling gates"},
    };
    _cleanup_text_ struct text text = TEXT_INIT(1024);

    for (size_t i = 0; i < ARRAY_LENGTH(NEEDS); i++)
        if (pod->needs & NEEDS[i].need)
            text_addf(&text, "%s%s", text.length ? ", " : "", NEEDS[i].text);
    if (text.length)
        string_list_addf(&explanation->notes, "not looked at, though the pod asks for it: %s",
                         text_chars(&text));
}

static void explain_any(struct cluster_objects *cluster, const struct binding_options *options,
                        const struct kube_pod *pod, struct explanation *explanation)
{
    struct explain_run run = {.cluster = cluster, .options = options, .pod = pod};

    *explanation = (struct explanation){0};
    volume_restrictions_prepare(cluster, options, pod, &run.restrictions);
    binding_prepare(cluster, options, pod, &run.claims);
    volume_limits_prepare(cluster, pod, &run.keys);
    volume_zone_prepare(cluster, pod, &run.zones);
    run.rejection = find_rejection(&run);
    const struct pod_claim *bypassed = find_bypassed_claim(&run);
    if (run.rejection) {
        explanation->headline = pod_headline(&run);
        reject_nodes(&run, run.rejection, explanation);
    } else if (bypassed) {
        explanation->headline = bypass_headline(&run, bypassed);
        reject_nodes(&run, "the scheduler is bypassed", explanation);
        note_claims(&run, explanation);
    } else {
        check_nodes(&run, explanation);
        explanation->headline = explanation->fitting > 0 ? fits_headline(&run, explanation)
                                                         : cause_headline(&run, explanation);
        note_claims(&run, explanation);
        note_labels(explanation);
    }
    note_needs(pod, explanation);
    explanation->summary =
        bypassed ? xstrdup("nothing: kube-scheduler does not look at a pod that has a node.")
                 : make_summary(&run, explanation);
    pod_zones_done(&run.zones);
    pod_restrictions_done(&run.restrictions);
    pod_volume_keys_done(&run.keys);
    pod_claims_done(&run.claims);
}

static int refuse_name(const struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                       const char *name, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(name);
    size_t same_name = 0;
    const char *elsewhere = NULL;

    for (size_t i = 0; i < cluster_count(cluster, kind); i++) {
        const struct kube_meta *meta = cluster_at(cluster, kind, i);

        if (kube_same(meta->ns, ns))
            nearest_offer(&nearest, meta->name);
        else if (kube_same(meta->name, name) && same_name++ == 0)
            elsewhere = meta->ns;
    }
    error_set(err, STATUS_NOT_FOUND, "there is no %s '%s' in namespace '%s'",
              kind == KUBE_POD ? "pod" : "claim", name, ns);
    if (elsewhere)
        return error_hint(err, "there is one in namespace '%s': use -n", elsewhere);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

int explain_pod(struct cluster_objects *cluster, const struct binding_options *options,
                const char *ns, const char *name, struct explanation *explanation,
                struct error *err)
{
    const struct kube_pod *pod = cluster_find(cluster, KUBE_POD, ns, name);

    if (!pod)
        return refuse_name(cluster, KUBE_POD, ns, name, err);
    explain_any(cluster, options, pod, explanation);
    return 0;
}

int explain_claim(struct cluster_objects *cluster, const struct binding_options *options,
                  const char *ns, const char *name, struct explanation *explanation,
                  struct error *err)
{
    const struct kube_pvc *claim = cluster_find_pvc(cluster, ns, name);

    if (!claim)
        return refuse_name(cluster, KUBE_PVC, ns, name, err);
    const struct claim_index *index = cluster_claim_index(cluster, ns, name);
    for (size_t i = 0; index && i < index->pods.count; i++) {
        const struct kube_pod *pod = index->pods.items[i];

        if (!kube_same(pod->node_name, "") && !kube_same(claim->volume_name, ""))
            continue;
        explain_any(cluster, options, pod, explanation);
        string_list_addf(&explanation->notes, "looked at through the pending pod '%s'",
                         pod->meta.name);
        return 0;
    }
    char supposed[] = "any";
    struct kube_pod_volume volume = {.kind = KUBE_VOLUME_CLAIM, .claim_name = claim->meta.name};
    struct kube_pod any = {
        .meta = {.name = supposed, .ns = claim->meta.ns}, .volumes = &volume, .volume_count = 1};
    explain_any(cluster, options, &any, explanation);
    string_list_addf(&explanation->notes,
                     "no pending pod uses the claim: looked at for a pod without other wishes");
    return 0;
}

void explanation_done(struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->count; i++) {
        struct explained_node *row = &explanation->nodes[i];

        free_all(row->place, row->verdict, row->reason, row->detail, row->fix, row->subject,
                 row->volumes);
    }
    free_all(explanation->nodes, explanation->headline, explanation->summary);
    string_list_done(&explanation->notes);
    *explanation = (struct explanation){0};
}
