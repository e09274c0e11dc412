/* Plans, their steps and pods as objects; how a plan is made is in takeover_plan.c. */
#include "controller/takeover/takeover_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

void takeover_plan_done(struct takeover_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        free(plan->steps[i].subject);
        free(plan->steps[i].domain);
    }
    for (size_t i = 0; i < plan->domain_count; i++) {
        free(plan->domains[i].domain);
        free(plan->domains[i].explanation);
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
    free(pod->node);
    free(pod->domain);
    free(pod->name);
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
    static const char *const forms[] = {
        [TAKEOVER_RECORD] = "note on node '%s' that it will be fenced%s",
        [TAKEOVER_FENCE] = "fence node '%s': blocklist %s in every cluster",
        [TAKEOVER_TAINT] = "taint node '%s' out-of-service, so that its attachments go%s",
        [TAKEOVER_LABEL] = "label node '%s' %s=true",
        [TAKEOVER_UNFENCE] = "unfence node '%s': take %s off the blocklists",
        [TAKEOVER_UNTAINT] = "remove the out-of-service taint of node '%s'%s",
        [TAKEOVER_FORGET] = "note on node '%s' that it is fenced no more%s",
        [TAKEOVER_UNLABEL] = "remove from node '%s' the label %s",
        [TAKEOVER_EVICT] = "evict from node '%s' pod '%s'",
        [TAKEOVER_DRAINED] = "note on node '%s' that no pod has to leave it: %s",
    };
    _cleanup_text_ struct text out = TEXT_INIT(1024);
    const char *form = forms[step->kind];
    const char *subject = strstr(form + (strstr(form, "%s") - form) + 2, "%s");

    text_addf(&out, "%.*s%s", (int)(strstr(form, "%s") - form), form, step->node->name);
    text_addf(&out, "%.*s", (int)(subject - strstr(form, "%s") - 2), strstr(form, "%s") + 2);
    text_addf(&out, "%s%s", step->subject, subject + 2);
    return text_take(&out);
}

/* --- looking ahead --- */

static void list_remove(struct string_list *list, const char *item)
{
    struct string_list rest = {0};

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) != 0)
            string_list_add(&rest, list->items[i]);
    string_list_done(list);
    *list = rest;
}

static void assume_record(struct cluster_node *node)
{
    for (size_t i = 0; i < node->addresses.count; i++)
        if (!string_list_has(&node->fenced_addresses, node->addresses.items[i]))
            string_list_add(&node->fenced_addresses, node->addresses.items[i]);
    if (text_is_empty(node->fenced_boot_id)) {
        free(node->fenced_boot_id);
        node->fenced_boot_id = xstrdup(node->boot_id ? node->boot_id : "");
    }
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
                          struct string_list *fenced, struct takeover_pods *pods)
{
    struct cluster_node *node = &nodes->items[step->node - nodes->items];

    switch (step->kind) {
    case TAKEOVER_RECORD:
        assume_record(node);
        break;
    case TAKEOVER_FENCE:
        string_list_add(fenced, step->subject);
        break;
    case TAKEOVER_UNFENCE:
        list_remove(fenced, step->subject);
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
        list_remove(&node->draining, step->domain);
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
        list_remove(&node->draining, step->domain);
        break;
    }
}
