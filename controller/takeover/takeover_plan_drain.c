/* Pods that have to leave the nodes which have served a domain. */
#include <string.h>

#include "common/base/memory.h"
#include "controller/takeover/takeover_plan_internal.h"

void plan_drain_done(struct plan_drain *drain)
{
    text_done(&drain->names);
}

static bool pod_has_to_leave(const struct takeover_pod *pod, const struct plan_domain *domain,
                             const struct cluster_node *node)
{
    return strcmp(pod->node, node->name) == 0 && strcmp(pod->domain, domain->name) == 0;
}

void plan_count_draining(const struct plan_domain *domain, struct plan_drain *drain)
{
    const struct cluster_nodes *nodes = domain->world->nodes;
    const struct takeover_pods *pods = domain->world->pods;

    for (size_t i = 0; i < nodes->count; i++) {
        if (!string_list_has(&nodes->items[i].draining, domain->name))
            continue;
        drain->nodes++;
        for (size_t j = 0; pods && j < pods->count; j++) {
            const struct takeover_pod *pod = &pods->items[j];

            if (!pod_has_to_leave(pod, domain, &nodes->items[i]))
                continue;
            drain->pods++;
            drain->leaving += pod->is_leaving;
            if (pod->is_leaving || pod->has_controller)
                continue;
            if (drain->alone++ < PLAN_NAMES_MAX)
                text_addf(&drain->names, "%s'%s'", drain->names.length ? ", " : "", pod->name);
        }
    }
}

/* Adds the next few evictions, and notes where no pod is left. */
static void evict_pods(struct plan_domain *domain, const struct plan_drain *drain)
{
    const struct takeover_world *world = domain->world;
    const struct takeover_pods *pods = world->pods;
    size_t evictions =
        drain->leaving < TAKEOVER_EVICTIONS_MAX ? TAKEOVER_EVICTIONS_MAX - drain->leaving : 0;

    for (size_t i = 0; i < world->nodes->count && !world->pods_unknown; i++) {
        const struct cluster_node *node = &world->nodes->items[i];
        bool is_drained = true;

        if (!string_list_has(&node->draining, domain->name))
            continue;
        for (size_t j = 0; pods && j < pods->count; j++) {
            const struct takeover_pod *pod = &pods->items[j];

            if (!pod_has_to_leave(pod, domain, node))
                continue;
            is_drained = false;
            if (pod->is_leaving || !pod->has_controller || evictions == 0)
                continue;
            plan_add_step(domain, TAKEOVER_EVICT, node, pod->name);
            evictions--;
        }
        if (is_drained)
            plan_add_step(domain, TAKEOVER_DRAINED, node, domain->key);
    }
}

struct takeover_progress *plan_drain_nodes(struct plan_domain *domain,
                                           const struct plan_drain *drain)
{
    const char *unknown = domain->world->pods_unknown;
    char *text = NULL;

    evict_pods(domain, drain);
    if (unknown)
        text = xasprintf("pods that use its volumes have to leave %zu nodes, by hand: %s",
                         drain->nodes, unknown);
    else if (drain->alone > 0)
        text = xasprintf("pods without a controller have to be moved by hand: %s",
                         text_chars(&drain->names));
    else
        text =
            xasprintf("%zu pods have yet to leave %zu nodes that served it, %zu are on their way",
                      drain->pods, drain->nodes, drain->leaving);
    struct takeover_progress *progress = plan_conclude(domain, unknown || drain->alone > 0, text);
    progress->drains = true;
    return progress;
}
