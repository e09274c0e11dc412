#include "controller/takeover.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/cluster_nodes.h"

void takeover_look_done(struct takeover_look *look)
{
    takeover_plan_done(&look->plan);
    cluster_nodes_done(&look->nodes);
    string_list_done(&look->fenced);
    takeover_survey_done(&look->survey);
    free(look->clients_unknown);
    free(look->blindness);
    *look = (struct takeover_look){0};
}

/* Whether anybody is, or is to be, fenced. */
static bool concerns_fences(const struct takeover_site *site, const struct takeover_map *map,
                            const struct cluster_nodes *nodes)
{
    for (size_t i = 0; i < map->count && !site->only_removes; i++)
        if (map->entries[i].fence == TAKEOVER_FENCE_REQUIRED)
            return true;
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i].fenced_addresses.count > 0)
            return true;
    return false;
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

/* Plans, and once more with the clients that volumes have recorded if it takes them to go on. */
static void plan_with_clients(const struct takeover_site *site, struct call *call,
                              const struct takeover_map *map, struct takeover_look *look)
{
    _cleanup_error_ struct error fault = {0};

    look->clients_unknown = xstrdup("they were not asked for");
    takeover_look_plan(site, map, look);
    if (!waits_for_clients(&look->plan))
        return;
    int result = takeover_survey_read(site, call, &look->plan, &look->nodes, &look->survey, &fault);
    free(look->clients_unknown);
    look->clients_unknown = result < 0 ? xstrdup(fault.message) : NULL;
    takeover_look_plan(site, map, look);
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
    plan_with_clients(site, call, map, look);
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
        return cluster_node_label(site->kube, call, node->name, step->subject, "true", err);
    case TAKEOVER_UNFENCE:
        return fences_remove(site->fences, call, step->subject, err);
    case TAKEOVER_UNTAINT:
        return cluster_node_taint(site->kube, call, site->driver_name, node, false, err);
    case TAKEOVER_FORGET:
        return cluster_node_forget_fence(site->kube, call, site->driver_name, node, err);
    case TAKEOVER_UNLABEL:
        return cluster_node_label(site->kube, call, node->name, step->subject, NULL, err);
    }
    return error_set(err, STATUS_INTERNAL, "there is no step %d", (int)step->kind);
}

static void tell(const struct takeover_site *site, const struct takeover_step *step,
                 const char *text)
{
    static const char *const reasons[] = {
        [TAKEOVER_RECORD] = "TakeoverBegins",    [TAKEOVER_FENCE] = "TakeoverFenced",
        [TAKEOVER_TAINT] = "TakeoverTainted",    [TAKEOVER_LABEL] = "TakeoverServes",
        [TAKEOVER_UNFENCE] = "GivebackUnfenced", [TAKEOVER_UNTAINT] = "GivebackUntainted",
        [TAKEOVER_FORGET] = "GivebackEnds",      [TAKEOVER_UNLABEL] = "GivebackStopsServing",
    };
    const struct event_subject subject = {"v1", "Node", "", step->node->name, step->node->name};

    events_emit(site->events, &subject, EVENT_NORMAL, reasons[step->kind], "%s: %s", step->domain,
                text);
}

int takeover_act(const struct takeover_site *site, struct call *call,
                 const struct takeover_step *step, struct error *err)
{
    _cleanup_free_ char *text = takeover_step_text(step);

    call_stage(call, "trying {age} to %s", text);
    if (perform(site, call, step, err) < 0)
        return error_wrap(err, "%s: %s", step->domain, text);
    log_info(call, "%s: %s", step->domain, text);
    tell(site, step, text);
    return 0;
}

int takeover_carry_out(const struct takeover_site *site, struct call *call,
                       const struct takeover_look *look, takeover_may_act_fn *may_act, void *object,
                       size_t *done, struct error *err)
{
    _cleanup_string_list_ struct string_list failed = {0};
    int result = 0;

    *done = 0;
    for (size_t i = 0; i < look->plan.count; i++) {
        const struct takeover_step *step = &look->plan.steps[i];
        _cleanup_error_ struct error failure = {0};

        if (string_list_has(&failed, step->domain))
            continue;
        if (!may_act(object))
            return result;
        if (takeover_act(site, call, step, &failure) == 0) {
            *done += 1;
            continue;
        }
        string_list_add(&failed, step->domain);
        if (result == 0)
            result = error_move(err, &failure);
    }
    return result;
}
