/* Plans, their steps and pods as objects; how a plan is made is in takeover_plan.c. */
#include "controller/takeover/takeover_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

void takeover_plan_done(struct takeover_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free_all(plan->steps[i].subject, plan->steps[i].domain);
    for (size_t i = 0; i < plan->domain_count; i++) {
        free(plan->domains[i].domain);
        free(plan->domains[i].explanation);
        string_list_done(&plan->domains[i].writers);
    }
    free(plan->steps);
    free(plan->domains);
    *plan = (struct takeover_plan){0};
}

void takeover_pods_add(struct takeover_pods *pods, const struct takeover_pod *pod)
{
    *array_add(pods->items, pods->count) =
        (struct takeover_pod){xstrdup(pod->node), xstrdup(pod->domain), xstrdup(pod->name),
                              pod->is_leaving, pod->has_controller};
}

static void pod_done(struct takeover_pod *pod)
{
    free_all(pod->node, pod->domain, pod->name);
}

void takeover_pods_done(struct takeover_pods *pods)
{
    for (size_t i = 0; i < pods->count; i++)
        pod_done(&pods->items[i]);
    free(pods->items);
    *pods = (struct takeover_pods){0};
}

char *takeover_step_text(const struct takeover_step *step)
{
    /* before the node, between it and the subject, after */
    static const char *const words[][3] = {
        [TAKEOVER_RECORD] = {"note that node '", "' will be fenced", ""},
        [TAKEOVER_RENEW] = {"note that node '", "' has rebooted before it was fenced", ""},
        [TAKEOVER_FENCE] = {"fence node '", "': blocklist ", " in every cluster"},
        [TAKEOVER_TAINT] = {"taint node '", "' out-of-service, so that its attachments go", ""},
        [TAKEOVER_LABEL] = {"label node '", "' ", "=true"},
        [TAKEOVER_UNFENCE] = {"unfence node '", "': take ", " off the blocklists"},
        [TAKEOVER_UNTAINT] = {"remove the out-of-service taint of node '", "'", ""},
        [TAKEOVER_FORGET] = {"note that node '", "' is fenced no more", ""},
        [TAKEOVER_UNLABEL] = {"remove from node '", "' the label ", ""},
        [TAKEOVER_EVICT] = {"evict from node '", "' pod '", "'"},
        [TAKEOVER_DRAINED] = {"note on node '", "' that no pod has to leave it: ", ""},
    };
    const char *const *around = words[step->kind];

    return xasprintf("%s%s%s%s%s", around[0], step->node->name, around[1], step->subject,
                     around[2]);
}

/* --- looking ahead --- */

static void remove_from_list(struct string_list *list, const char *item)
{
    struct string_list rest = {0};

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) != 0)
            string_list_add(&rest, list->items[i]);
    string_list_done(list);
    *list = rest;
}

static void assume_machine(struct cluster_node *node)
{
    if (text_is_empty(node->machine) || !text_is_empty(node->fenced_machine))
        return;
    free(node->fenced_machine);
    node->fenced_machine = xstrdup(node->machine);
}

/* What runs now may write until it is fenced. */
static void assume_boot(struct cluster_node *node)
{
    if (text_is_empty(node->boot_id))
        return;
    free(node->fenced_boot_id);
    node->fenced_boot_id = xstrdup(node->boot_id);
}

static void assume_record(struct cluster_node *node)
{
    for (size_t i = 0; i < node->addresses.count; i++)
        if (!string_list_has(&node->fenced_addresses, node->addresses.items[i]))
            string_list_add(&node->fenced_addresses, node->addresses.items[i]);
    string_list_done(&node->found_addresses); /* what is missing of them will be ours */
    node->is_releasing = false;
    assume_boot(node);
    assume_machine(node);
}

static void assume_evicted(struct takeover_pods *pods, const struct takeover_step *step)
{
    for (size_t i = 0; i < pods->count; i++) {
        if (strcmp(pods->items[i].name, step->subject) != 0 ||
            strcmp(pods->items[i].domain, step->domain) != 0)
            continue;
        pod_done(&pods->items[i]);
        pods->items[i] = pods->items[--pods->count];
        return;
    }
}

void takeover_step_assume(const struct takeover_step *step, struct cluster_nodes *nodes,
                          struct fence_sight *fenced, struct takeover_pods *pods)
{
    struct cluster_node *node = &nodes->items[step->node - nodes->items];

    switch (step->kind) {
    case TAKEOVER_RECORD:
        assume_record(node);
        break;
    case TAKEOVER_RENEW:
        assume_boot(node);
        break;
    case TAKEOVER_FENCE:
        string_list_add(&fenced->everywhere, step->subject);
        break;
    case TAKEOVER_UNFENCE:
        remove_from_list(&fenced->everywhere, step->subject);
        remove_from_list(&fenced->partly, step->subject);
        break;
    case TAKEOVER_TAINT:
    case TAKEOVER_UNTAINT:
        node->is_out_of_service = node->was_tainted = step->kind == TAKEOVER_TAINT;
        break;
    case TAKEOVER_FORGET:
        string_list_done(&node->fenced_addresses);
        break;
    case TAKEOVER_LABEL:
        strmap_set(&node->labels, step->subject, "true");
        remove_from_list(&node->draining, step->domain);
        break;
    case TAKEOVER_UNLABEL:
        strmap_remove(&node->labels, step->subject);
        if (strchr(step->domain, '=') && !string_list_has(&node->draining, step->domain))
            string_list_add(&node->draining, step->domain);
        break;
    case TAKEOVER_EVICT:
        assume_evicted(pods, step);
        break;
    case TAKEOVER_DRAINED:
        remove_from_list(&node->draining, step->domain);
        break;
    }
}
