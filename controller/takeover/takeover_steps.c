#include "controller/takeover/takeover.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/cluster_nodes.h"
#include "common/kube/node_pods.h"

void takeover_look_done(struct takeover_look *look)
{
    takeover_plan_done(&look->plan);
    cluster_nodes_done(&look->nodes);
    string_list_done(&look->fenced);
    takeover_survey_done(&look->survey);
    takeover_pods_done(&look->pods);
    free(look->clients_unknown);
    free(look->pods_unknown);
    free(look->blindness);
    *look = (struct takeover_look){0};
}

static bool has_records(const struct cluster_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i].fenced_addresses.count > 0)
            return true;
    return false;
}

/* Whether anybody is, or is to be, fenced. */
static bool concerns_fences(const struct takeover_site *site, const struct takeover_map *map,
                            const struct cluster_nodes *nodes)
{
    for (size_t i = 0; i < map->count && !site->only_removes; i++)
        if (map->entries[i].fence == TAKEOVER_FENCE_REQUIRED)
            return true;
    return has_records(nodes);
}

void takeover_look_plan(const struct takeover_site *site, const struct takeover_map *map,
                        struct takeover_look *look)
{
    _cleanup_free_ char *prefix = xasprintf("topology.%s", site->driver_name);

    takeover_plan_done(&look->plan);
    takeover_plan_make(
        &(struct takeover_world){
            .prefix = prefix,
            .map = map,
            .nodes = &look->nodes,
            .fenced = &look->fenced,
            .blindness = look->blindness,
            .clients_unknown = look->clients_unknown,
            .strays = look->survey.strays,
            .stray_count = look->survey.stray_count,
            .pods = &look->pods,
            .pods_unknown = look->pods_unknown,
            .use_is_told = look->use_is_told,
            .own_node = site->own_node,
            .only_removes = site->only_removes,
        },
        &look->plan);
}

static bool waits_for_clients(const struct takeover_plan *plan)
{
    for (size_t i = 0; i < plan->domain_count; i++)
        if (plan->domains[i].waits_for_clients)
            return true;
    return false;
}

static bool waits_for_pods(const struct takeover_site *site, const struct takeover_plan *plan)
{
    for (size_t i = 0; i < plan->domain_count; i++)
        if (takeover_wants_pods(site, &plan->domains[i]))
            return true;
    return false;
}

/* Replaces the reason for not knowing. */
static void settle(char **unknown, int result, const struct error *fault)
{
    free(*unknown);
    *unknown = result < 0 ? xstrdup(fault->message) : NULL;
}

/* Plans, and once more with the clients that volumes have recorded and the pods that have to leave,
 * if it takes them to go on. */
static void plan_with_the_rest(const struct takeover_site *site, struct call *call,
                               const struct takeover_map *map, struct takeover_look *look)
{
    _cleanup_error_ struct error no_clients = {0};
    _cleanup_error_ struct error no_pods = {0};
    struct takeover_plan *plan = &look->plan;

    look->clients_unknown = xstrdup("they were not asked for");
    look->pods_unknown = xstrdup("they were not asked for");
    takeover_look_plan(site, map, look);
    const bool clients = waits_for_clients(plan);
    const bool pods = waits_for_pods(site, plan);
    if (clients)
        settle(&look->clients_unknown,
               takeover_survey_read(site, call, plan, &look->nodes, &look->survey, &no_clients),
               &no_clients);
    if (pods)
        settle(&look->pods_unknown,
               takeover_pods_read(site, call, plan, &look->nodes, &look->pods, &no_pods), &no_pods);
    if (clients || pods)
        takeover_look_plan(site, map, look);
}

/* Without the right to ask, or without the object, only a reboot frees a node. */
static void ask_who_tells(const struct takeover_site *site, struct call *call,
                          struct takeover_look *look)
{
    _cleanup_error_ struct error err = {0};

    if (cluster_use_is_reported(site->kube, call, site->driver_name, &look->use_is_told, &err) < 0)
        log_v(2, call, "only nodes that have rebooted will be let in again: %s", err.message);
}

int takeover_look_at(const struct takeover_site *site, struct call *call,
                     const struct takeover_map *map, struct takeover_look *look, struct error *err)
{
    _cleanup_error_ struct error fault = {0};

    if (cluster_nodes_read(site->kube, call, site->driver_name, &look->nodes, err) < 0)
        return -1;
    if (!site->fences)
        look->blindness = xstrdup("nobody says how to reach Ceph");
    else if (concerns_fences(site, map, &look->nodes) &&
             fences_read(site->fences, call, &look->fenced, &fault) < 0)
        look->blindness = xstrdup(fault.message);
    if (has_records(&look->nodes))
        ask_who_tells(site, call, look);
    plan_with_the_rest(site, call, map, look);
    return 0;
}

static int perform(const struct takeover_site *site, struct call *call,
                   const struct takeover_step *step, struct error *err)
{
    const struct cluster_node *node = step->node;

    switch (step->kind) {
    case TAKEOVER_RECORD:
        return cluster_node_record_fence(site->kube, call, site->driver_name, node, err);
    case TAKEOVER_FENCE:
        return fences_add(site->fences, call, step->subject, err);
    case TAKEOVER_TAINT:
        return cluster_node_taint(site->kube, call, site->driver_name, node, true, err);
    case TAKEOVER_LABEL:
        return cluster_node_serve(site->kube, call, site->driver_name, node->name, step->subject,
                                  step->domain, true, err);
    case TAKEOVER_UNFENCE:
        return fences_remove(site->fences, call, step->subject, err);
    case TAKEOVER_UNTAINT:
        return cluster_node_taint(site->kube, call, site->driver_name, node, false, err);
    case TAKEOVER_FORGET:
        return cluster_node_forget_fence(site->kube, call, site->driver_name, node, err);
    case TAKEOVER_UNLABEL:
        return cluster_node_serve(site->kube, call, site->driver_name, node->name, step->subject,
                                  step->domain, false, err);
    case TAKEOVER_EVICT:
        return node_pod_evict(site->kube, call, step->subject, err);
    case TAKEOVER_DRAINED:
        return cluster_node_drained(site->kube, call, site->driver_name, node->name, step->subject,
                                    err);
    }
    return error_set(err, STATUS_INTERNAL, "there is no step %d", (int)step->kind);
}

/* An event on the node; @failure is NULL for what was done. */
static void tell(const struct takeover_site *site, const struct takeover_step *step,
                 const char *text, const struct error *failure)
{
    static const char *const reasons[] = {
        [TAKEOVER_RECORD] = "TakeoverBegins",    [TAKEOVER_FENCE] = "TakeoverFenced",
        [TAKEOVER_TAINT] = "TakeoverTainted",    [TAKEOVER_LABEL] = "TakeoverServes",
        [TAKEOVER_UNFENCE] = "GivebackUnfenced", [TAKEOVER_UNTAINT] = "GivebackUntainted",
        [TAKEOVER_FORGET] = "GivebackEnds",      [TAKEOVER_UNLABEL] = "GivebackStopsServing",
        [TAKEOVER_EVICT] = "GivebackEvicts",     [TAKEOVER_DRAINED] = "GivebackDrained",
    };
    const struct event_subject subject = {"v1", "Node", "", step->node->name, step->node->name};

    if (failure)
        events_emit(site->events, &subject, EVENT_WARNING, "TakeoverStepFailed", "%s",
                    failure->message);
    else
        events_emit(site->events, &subject, EVENT_NORMAL, reasons[step->kind], "%s: %s",
                    step->domain, text);
}

int takeover_act(const struct takeover_site *site, struct call *call,
                 const struct takeover_step *step, struct error *err)
{
    _cleanup_free_ char *text = takeover_step_text(step);

    call_stage(call, "trying {age} to %s", text);
    if (perform(site, call, step, err) < 0) {
        error_wrap(err, "%s: %s", step->domain, text);
        tell(site, step, text, err);
        return -1;
    }
    log_info(call, "%s: %s", step->domain, text);
    tell(site, step, text, NULL);
    return 0;
}

/*
 * Before anything lets others use what the fenced ones used: that the fences are in the blocklists
 * was just read, that the OSDs keep to them is waited for. Once for all steps.
 */
static int settle_fences(const struct takeover_site *site, struct call *call,
                         const struct takeover_look *look, const struct takeover_step *step,
                         bool *settled, struct error *err)
{
    if (*settled || (step->kind != TAKEOVER_TAINT && step->kind != TAKEOVER_LABEL) ||
        !site->fences || !has_records(&look->nodes))
        return 0;
    if (fences_settle(site->fences, call, err) < 0) {
        error_wrap(err, "%s", step->domain);
        tell(site, step, "", err);
        return -1;
    }
    *settled = true;
    return 0;
}

int takeover_carry_out(const struct takeover_site *site, struct call *call,
                       const struct takeover_look *look, takeover_may_act_fn *may_act, void *object,
                       size_t *done, struct error *err)
{
    _cleanup_string_list_ struct string_list failed = {0};
    bool settled = false;
    int result = 0;

    *done = 0;
    for (size_t i = 0; i < look->plan.count; i++) {
        const struct takeover_step *step = &look->plan.steps[i];
        _cleanup_error_ struct error failure = {0};

        if (string_list_has(&failed, step->domain))
            continue;
        if (!may_act(object))
            return result;
        if (settle_fences(site, call, look, step, &settled, &failure) == 0 &&
            takeover_act(site, call, step, &failure) == 0) {
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
