#include "controller/takeover/takeover.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/cluster_nodes.h"
#include "common/kube/node_pods.h"
#include "common/topology/domain.h"

void takeover_scan_done(struct takeover_scan *scan)
{
    takeover_plan_done(&scan->plan);
    cluster_nodes_done(&scan->nodes);
    fence_sight_done(&scan->fenced);
    fence_notes_done(&scan->notes);
    strmap_done(&scan->daemons);
    takeover_pods_done(&scan->pods);
    free_all(scan->clients_unknown, scan->pods_unknown, scan->fences_unknown);
    *scan = (struct takeover_scan){0};
}

static bool has_records(const struct cluster_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i].fenced_addresses.count > 0)
            return true;
    return false;
}

/* Whether a node serves, or has served, a domain that is not its own. */
static bool has_taken_over(const struct takeover_site *site, const struct cluster_nodes *nodes)
{
    _cleanup_free_ char *prefix = xasprintf("topology.%s/", site->driver_name);

    for (size_t i = 0; i < nodes->count; i++) {
        const struct cluster_node *node = &nodes->items[i];

        if (node->draining.count > 0)
            return true;
        for (size_t j = 0; j < node->labels.count; j++) {
            const char *key = node->labels.entries[j].key;

            if (text_has_prefix(key, prefix) && membership_tail(key) &&
                !string_list_has(&node->keys, key))
                return true;
        }
    }
    return false;
}

/* Whether anybody is, or is to be, fenced, or may not be let in. */
static bool concerns_fences(const struct takeover_site *site, const struct takeover_map *map,
                            const struct cluster_nodes *nodes)
{
    if (site->only_removes)
        return has_records(nodes);
    for (size_t i = 0; i < map->count; i++)
        if (map->entries[i].fence == TAKEOVER_FENCE_REQUIRED)
            return true;
    return has_records(nodes) || has_taken_over(site, nodes);
}

static struct fence_notes_place notes_of(const struct takeover_site *site)
{
    return (struct fence_notes_place){site->kube, site->name_space, site->driver_name};
}

/* Nodes, and what is written down about their fences. */
static int read_nodes(const struct takeover_site *site, struct call *call,
                      const struct takeover_map *map, struct takeover_scan *scan, struct error *err)
{
    const struct fence_notes_place place = notes_of(site);

    if (cluster_nodes_read(site->kube, call, site->driver_name, &scan->nodes, err) < 0)
        return -1;
    if (fence_notes_read(&place, call, &scan->notes, err) < 0) {
        /* where nothing was ever taken over, the right to see notes may be missing */
        if (err->status != STATUS_PERMISSION_DENIED || map->count > 0 ||
            has_taken_over(site, &scan->nodes))
            return -1;
        log_v(2, call, "nothing is taken over, and %s", err->message);
        error_clear(err);
    }
    fence_notes_join(&scan->notes, site->driver_name, &scan->nodes);
    return 0;
}

void takeover_scan_plan(const struct takeover_site *site, const struct takeover_map *map,
                        struct takeover_scan *scan)
{
    _cleanup_free_ char *prefix = xasprintf("topology.%s", site->driver_name);

    takeover_plan_done(&scan->plan);
    takeover_plan_make(
        &(struct takeover_world){
            .driver = site->driver_name,
            .prefix = prefix,
            .map = map,
            .nodes = &scan->nodes,
            .fenced = &scan->fenced,
            .fences_unknown = scan->fences_unknown,
            .clients_unknown = scan->clients_unknown,
            .notes = &scan->notes,
            .daemons = &scan->daemons,
            .pods = &scan->pods,
            .pods_unknown = scan->pods_unknown,
            .use_is_reported = scan->use_is_reported,
            .own_node = site->own_node,
            .only_removes = site->only_removes,
        },
        &scan->plan);
}

/* Plans, and once more with the clients that volumes have recorded and the pods that have to leave,
 * if it takes them to go on. */
static void plan_with_details(const struct takeover_site *site, struct call *call,
                              const struct takeover_map *map, struct takeover_scan *scan)
{
    _cleanup_error_ struct error err = {0};
    struct takeover_plan *plan = &scan->plan;
    bool wants_clients = false;
    bool wants_pods = false;

    scan->clients_unknown = xstrdup("they were not asked for");
    scan->pods_unknown = xstrdup("they were not asked for");
    takeover_scan_plan(site, map, scan);
    for (size_t i = 0; i < plan->domain_count; i++) {
        wants_clients = wants_clients || plan->domains[i].waits_for_clients;
        wants_pods = wants_pods || takeover_wants_pods(site, &plan->domains[i]);
    }
    if (wants_clients) {
        free(TAKE(scan->clients_unknown));
        if ((site->fences && fences_read_daemons(site->fences, call, &scan->daemons, &err) < 0) ||
            takeover_survey_read(site, call, plan, scan->use_is_reported, &scan->nodes, &err) < 0)
            scan->clients_unknown = xstrdup(err.message);
    }
    error_clear(&err);
    if (wants_pods) {
        free(TAKE(scan->pods_unknown));
        if (takeover_pods_read(site, call, plan, &scan->nodes, &scan->pods, &err) < 0)
            scan->pods_unknown = xstrdup(err.message);
    }
    if (wants_clients || wants_pods)
        takeover_scan_plan(site, map, scan);
}

int takeover_scan_read(const struct takeover_site *site, struct call *call,
                       const struct takeover_map *map, struct takeover_scan *scan,
                       struct error *err)
{
    _cleanup_error_ struct error fault = {0};

    if (read_nodes(site, call, map, scan, err) < 0)
        return -1;
    scan->reads_fences = concerns_fences(site, map, &scan->nodes);
    if (!site->fences)
        scan->fences_unknown = xstrdup("nobody says how to reach Ceph");
    else if (scan->reads_fences && fences_read(site->fences, call, &scan->fenced, &fault) < 0)
        scan->fences_unknown = xstrdup(fault.message);
    error_clear(&fault);
    /* without the right to ask, or without the object, only a reboot frees a node */
    if ((has_records(&scan->nodes) || map->count > 0) &&
        cluster_use_is_reported(site->kube, call, site->driver_name, &scan->use_is_reported,
                                &fault) < 0)
        log_v(2, call, "only nodes that have rebooted will be let in again: %s", fault.message);
    plan_with_details(site, call, map, scan);
    return 0;
}

static bool is_waiting_for_more(const struct takeover_scan *scan)
{
    for (size_t i = 0; i < scan->plan.domain_count; i++)
        if (scan->plan.domains[i].waits_for_clients || scan->plan.domains[i].drains)
            return true;
    return scan->plan.count > 0 || scan->fences_unknown || scan->pods.count > 0;
}

static bool is_same_list(const struct string_list *a, const struct string_list *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!string_list_has(b, a->items[i]))
            return false;
    return a->count == b->count;
}

bool takeover_scan_is_current(const struct takeover_site *site, struct call *call,
                              const struct takeover_scan *last)
{
    const struct fence_notes_place place = notes_of(site);
    _cleanup_fence_notes_ struct fence_notes notes = {0};
    _cleanup_fence_sight_ struct fence_sight fenced = {0};
    _cleanup_error_ struct error err = {0};
    const char *before = last->notes.version ? last->notes.version : "";

    if (is_waiting_for_more(last) || fence_notes_read(&place, call, &notes, &err) < 0 ||
        strcmp(notes.version ? notes.version : "", before) != 0)
        return false;
    if (!site->fences || !last->reads_fences)
        return true;
    return fences_read(site->fences, call, &fenced, &err) == 0 &&
           is_same_list(&fenced.everywhere, &last->fenced.everywhere) &&
           is_same_list(&fenced.partly, &last->fenced.partly) &&
           is_same_list(&fenced.ranges, &last->fenced.ranges);
}

static int record_node(const struct takeover_site *site, struct call *call,
                       const struct takeover_scan *scan, const struct cluster_node *node,
                       struct error *err)
{
    const struct fence_notes_place place = notes_of(site);
    _cleanup_string_list_ struct string_list found = {0};

    fence_notes_find(&scan->notes, node, &scan->fenced.everywhere, &found);
    return fence_notes_record(&place, call, node, &found, err);
}

static int unfence_address(const struct takeover_site *site, struct call *call,
                           const struct takeover_step *step, struct error *err)
{
    const struct fence_notes_place place = notes_of(site);

    if (fence_notes_release(&place, call, step->node->name, step->subject, err) < 0)
        return -1;
    return fences_remove(site->fences, call, step->subject, err);
}

static int forget_fence(const struct takeover_site *site, struct call *call,
                        const struct takeover_scan *scan, const struct cluster_node *node,
                        struct error *err)
{
    const struct fence_notes_place place = notes_of(site);
    _cleanup_string_list_ struct string_list left = {0};

    for (size_t i = 0; i < node->fenced_addresses.count; i++) {
        const char *address = node->fenced_addresses.items[i];

        if ((string_list_has(&scan->fenced.everywhere, address) ||
             string_list_has(&scan->fenced.partly, address)) &&
            !string_list_has(&node->found_addresses, address))
            string_list_add(&left, address);
    }
    return fence_notes_forget(&place, call, node->name, &left, err);
}

static int perform_step(const struct takeover_site *site, struct call *call,
                        const struct takeover_scan *scan, const struct takeover_step *step,
                        struct error *err)
{
    const struct fence_notes_place place = notes_of(site);
    const struct cluster_node *node = step->node;

    switch (step->kind) {
    case TAKEOVER_RECORD:
        return record_node(site, call, scan, node, err);
    case TAKEOVER_RENEW:
        return fence_notes_renew(&place, call, node, err);
    case TAKEOVER_FENCE:
        return fences_add(site->fences, call, step->subject, err);
    case TAKEOVER_TAINT:
    case TAKEOVER_UNTAINT:
        return cluster_node_taint(site->kube, call, node, step->kind == TAKEOVER_TAINT, err);
    case TAKEOVER_LABEL:
    case TAKEOVER_UNLABEL:
        return cluster_node_serve(site->kube, call, site->driver_name, node->name, step->subject,
                                  step->domain, step->kind == TAKEOVER_LABEL, err);
    case TAKEOVER_UNFENCE:
        return unfence_address(site, call, step, err);
    case TAKEOVER_FORGET:
        return forget_fence(site, call, scan, node, err);
    case TAKEOVER_EVICT:
        return node_pod_evict(site->kube, call, step->subject, err);
    case TAKEOVER_DRAINED:
        return cluster_node_drained(site->kube, call, site->driver_name, node->name, step->subject,
                                    err);
    }
    return error_set(err, STATUS_INTERNAL, "there is no step %d", (int)step->kind);
}

/* An event on the node; @failure is NULL for what was done. */
static void emit_event(const struct takeover_site *site, const struct takeover_step *step,
                       const char *text, const struct error *failure)
{
    static const char *const reasons[] = {
        [TAKEOVER_RECORD] = "TakeoverBegins",        [TAKEOVER_RENEW] = "TakeoverBegins",
        [TAKEOVER_FENCE] = "TakeoverFenced",         [TAKEOVER_TAINT] = "TakeoverTainted",
        [TAKEOVER_LABEL] = "TakeoverServes",         [TAKEOVER_UNFENCE] = "GivebackUnfenced",
        [TAKEOVER_UNTAINT] = "GivebackUntainted",    [TAKEOVER_FORGET] = "GivebackEnds",
        [TAKEOVER_UNLABEL] = "GivebackStopsServing", [TAKEOVER_EVICT] = "GivebackEvicts",
        [TAKEOVER_DRAINED] = "GivebackDrained",
    };
    const struct event_subject subject = {"v1", "Node", "", step->node->name, step->node->name};

    if (failure)
        events_emit(site->events, &subject, EVENT_WARNING, "TakeoverStepFailed", "%s",
                    failure->message);
    else
        events_emit(site->events, &subject, EVENT_NORMAL, reasons[step->kind], "%s: %s",
                    step->domain, text);
}

static int carry_out_step(const struct takeover_site *site, struct call *call,
                          const struct takeover_scan *scan, const struct takeover_step *step,
                          struct error *err)
{
    _cleanup_free_ char *text = takeover_step_text(step);

    call_stage(call, "trying {age} to %s", text);
    if (perform_step(site, call, scan, step, err) < 0) {
        error_wrap(err, "%s: %s", step->domain, text);
        emit_event(site, step, text, err);
        return -1;
    }
    log_info(call, "%s: %s", step->domain, text);
    emit_event(site, step, text, NULL);
    return 0;
}

/*
 * Before anything lets others use what the fenced ones used: that the fences are in the blocklists
 * was just read, that the OSDs keep to them is waited for. Once for all steps.
 */
static int settle_fences(const struct takeover_site *site, struct call *call,
                         const struct takeover_scan *scan, const struct takeover_step *step,
                         bool *settled, struct error *err)
{
    if (*settled || (step->kind != TAKEOVER_TAINT && step->kind != TAKEOVER_LABEL) ||
        !site->fences || !has_records(&scan->nodes))
        return 0;
    if (fences_settle(site->fences, call, err) < 0) {
        error_wrap(err, "%s", step->domain);
        emit_event(site, step, "", err);
        return -1;
    }
    *settled = true;
    return 0;
}

int takeover_carry_out(const struct takeover_site *site, struct call *call,
                       const struct takeover_scan *scan, takeover_may_act_fn *may_act, void *object,
                       size_t *done, struct error *err)
{
    _cleanup_string_list_ struct string_list failed = {0};
    bool settled = false;
    int result = 0;

    *done = 0;
    for (size_t i = 0; i < scan->plan.count; i++) {
        const struct takeover_step *step = &scan->plan.steps[i];
        _cleanup_error_ struct error failure = {0};

        if (string_list_has(&failed, step->domain))
            continue;
        if (!may_act(object))
            return result;
        if (settle_fences(site, call, scan, step, &settled, &failure) == 0 &&
            carry_out_step(site, call, scan, step, &failure) == 0) {
            *done += 1;
            continue;
        }
        if (step->kind == TAKEOVER_EVICT && failure.status == STATUS_UNAVAILABLE) {
            log_v(2, call, "not yet: %s", failure.message);
            continue; /* its disruption budget is used up */
        }
        string_list_add(&failed, step->domain);
        if (result == 0)
            result = error_move(err, &failure);
    }
    return result;
}
