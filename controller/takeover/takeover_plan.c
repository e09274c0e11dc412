#include "controller/takeover/takeover_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "controller/takeover/takeover_plan_internal.h"

#define MEMBER "member."

static bool is_planned(const struct takeover_plan *plan, enum takeover_step_kind kind,
                       const struct cluster_node *node, const char *subject)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct takeover_step *step = &plan->steps[i];

        /* an address is of several nodes, and is taken off once */
        if (step->kind == kind && (step->node == node || kind == TAKEOVER_UNFENCE) &&
            strcmp(step->subject, subject) == 0)
            return true;
    }
    return false;
}

void plan_add_step(struct plan_domain *domain, enum takeover_step_kind kind,
                   const struct cluster_node *node, const char *subject)
{
    struct takeover_plan *plan = domain->plan;

    if (!is_planned(plan, kind, node, subject))
        *array_add(plan->steps, plan->count) =
            (struct takeover_step){kind, node, xstrdup(subject), xstrdup(domain->name)};
}

struct takeover_progress *plan_conclude(struct plan_domain *domain, bool is_blocked,
                                        char *explanation)
{
    struct takeover_progress *progress =
        array_add(domain->plan->domains, domain->plan->domain_count);

    *progress = (struct takeover_progress){
        .domain = xstrdup(domain->name),
        .is_giveback = !domain->entry,
        .is_blocked = is_blocked,
        .is_closed = true,
        .explanation = explanation,
    };
    return progress;
}

/* --- takeover --- */

static void label_nodes(struct plan_domain *domain, size_t *open)
{
    const struct takeover_world *world = domain->world;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!plan_shall_serve(domain, node) || strmap_has(&node->labels, domain->key))
            continue;
        *open += 1;
        if (!world->only_removes)
            plan_add_step(domain, TAKEOVER_LABEL, node, domain->key);
    }
}

/* The steps of the domain from @first on, given that not all of its clients may be known: fences
 * that are written down already may be made, and nodes that shall not serve any more may stop. */
static void wait_for_clients(struct plan_domain *domain, size_t first)
{
    struct takeover_plan *plan = domain->plan;
    struct takeover_progress *progress = &plan->domains[plan->domain_count - 1];
    size_t kept = first;

    for (size_t i = first; i < plan->count; i++) {
        const enum takeover_step_kind kind = plan->steps[i].kind;

        if (kind == TAKEOVER_RENEW || kind == TAKEOVER_FENCE || kind == TAKEOVER_UNLABEL) {
            plan->steps[kept++] = plan->steps[i];
            continue;
        }
        free(plan->steps[i].subject);
        free(plan->steps[i].domain);
        progress->waits_for_clients = true;
    }
    plan->count = kept;
    if (!progress->waits_for_clients)
        return;
    progress->is_blocked = true;
    free(progress->explanation);
    progress->explanation =
        xasprintf("who may write to its volumes is not known: %s", domain->world->clients_unknown);
}

/* Says of @is_any: whether a node of the driver is in a domain that takes over. */
static size_t count_serving(const struct plan_domain *domain, bool *is_any)
{
    const struct cluster_nodes *nodes = domain->world->nodes;
    size_t serving = 0;

    for (size_t i = 0; i < nodes->count; i++) {
        serving += plan_shall_serve(domain, &nodes->items[i]);
        *is_any = *is_any || (nodes->items[i].has_driver &&
                              takeover_is_target(domain->entry, strmap_get(&nodes->items[i].labels,
                                                                           domain->segment)));
    }
    return serving;
}

static void plan_labels(struct plan_domain *domain)
{
    const bool fences =
        domain->entry->fence == TAKEOVER_FENCE_REQUIRED && !domain->world->only_removes;
    _cleanup_(plan_drain_done) struct plan_drain drain = PLAN_DRAIN_INIT;
    bool is_any = false;
    size_t serving = count_serving(domain, &is_any);

    if (serving == 0) { /* whoever serves it goes on */
        plan_conclude(domain, true,
                      xstrdup(is_any ? "all that take over are being taken over themselves"
                                     : "no node with the driver is in a domain that takes over"));
        return;
    }
    size_t open = plan_unlabel_nodes(domain);
    label_nodes(domain, &open);
    plan_count_draining(domain, &drain); /* nodes that served it before the map named others */
    if (open == 0 && drain.nodes > 0)
        plan_drain_nodes(domain, &drain);
    else
        plan_conclude(domain, false,
                      xasprintf("taken over by %zu nodes, %zu of which have yet to follow%s",
                                serving, open,
                                fences ? "" : "; nothing is fenced, as the map says"))
            ->is_done = open == 0;
}

static void plan_steps(struct plan_domain *domain)
{
    const bool only_removes = domain->world->only_removes;
    char *fault = only_removes ? NULL : plan_fence_obstacle(domain);

    if (fault) {
        plan_conclude(domain, true, fault);
        return;
    }
    size_t unfenced = only_removes ? 0 : plan_fence_nodes(domain);
    if (unfenced > 0) {
        plan_conclude(
            domain, false,
            xasprintf("%zu of its nodes are not fenced yet; nothing is labelled before", unfenced));
        return;
    }
    if (!only_removes && plan_taint_nodes(domain) > 0) {
        plan_conclude(domain, false,
                      xstrdup("all its nodes are fenced; their attachments are being released"));
        return;
    }
    plan_labels(domain);
}

static void plan_takeover(struct plan_domain *domain)
{
    const size_t first = domain->plan->count;
    _cleanup_string_list_ struct string_list writers = {0};

    plan_steps(domain);
    if (domain->world->only_removes)
        return;
    plan_list_writers(domain, &writers);
    if (domain->world->clients_unknown &&
        (domain->entry->fence == TAKEOVER_FENCE_REQUIRED || writers.count > 0))
        wait_for_clients(domain, first);
    domain->plan->domains[domain->plan->domain_count - 1].writers = writers;
    writers = (struct string_list){0};
}

/* --- domains --- */

/* Levels and values that nodes are at home in: "zone=zone-a". */
static void find_domains(const struct takeover_world *world, struct strmap *domains,
                         struct string_list *levels)
{
    size_t length = strlen(world->prefix);

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct strmap *labels = &world->nodes->items[i].labels;

        for (size_t j = 0; j < labels->count; j++) {
            const char *key = labels->entries[j].key;
            const char *tail = key + length + 1;

            if (!text_has_prefix(key, world->prefix) || key[length] != '/' ||
                text_has_prefix(tail, MEMBER))
                continue;
            _cleanup_free_ char *name = xasprintf("%s=%s", tail, labels->entries[j].value);
            strmap_set(domains, name, tail);
            if (!string_list_has(levels, tail))
                string_list_add(levels, tail);
        }
    }
}

/* Whether the domain @level=@value is known by its nodes (0), by nodes that have its label (1), or
 * by the domains that take it over (2). */
static bool is_known_by(int sign, const struct takeover_world *world,
                        const struct takeover_entry *entry, const struct strmap *domains,
                        const char *level)
{
    _cleanup_free_ char *key = membership_key(world->prefix, level, entry->value);
    _cleanup_free_ char *name = xasprintf("%s=%s", level, entry->value);

    if (sign == 0)
        return strmap_has(domains, name);
    for (size_t i = 0; sign == 1 && i < world->nodes->count; i++)
        if (strmap_has(&world->nodes->items[i].labels, key))
            return true;
    for (size_t i = 0; sign == 2 && i < entry->targets.count; i++) {
        _cleanup_free_ char *target = xasprintf("%s=%s", level, entry->targets.items[i]);

        if (strmap_has(domains, target))
            return true;
    }
    return false;
}

/* The level of an entry: the one that it names, else the first by which the domain is known, else
 * the only one there is. NULL, with the reason, if it is not clear. Borrowed from @levels. */
static const char *level_of(const struct takeover_world *world, const struct takeover_entry *entry,
                            const struct strmap *domains, const struct string_list *levels,
                            char **fault)
{
    const char *found = NULL;

    for (size_t i = 0; entry->level && i < levels->count; i++)
        if (strcmp(entry->level, levels->items[i]) == 0)
            return levels->items[i];
    if (!entry->level && levels->count == 1)
        return levels->items[0];
    for (int sign = 0; !entry->level && sign < 3 && !found; sign++) {
        for (size_t i = 0; i < levels->count; i++) {
            if (!is_known_by(sign, world, entry, domains, levels->items[i]))
                continue;
            if (found) {
                *fault = xasprintf("may be a %s or a %s: write '%s=%s' or '%s=%s'", found,
                                   levels->items[i], found, entry->value, levels->items[i],
                                   entry->value);
                return NULL;
            }
            found = levels->items[i];
        }
    }
    if (!found)
        *fault = xasprintf("no node is at home there%s",
                           entry->level ? ", nor on that level at all" : "; write level=value");
    return found;
}

int takeover_level_of(const char *prefix, const struct cluster_nodes *nodes, const char *value,
                      char **out, struct error *err)
{
    const struct takeover_map map = {0};
    const struct takeover_world world = {.prefix = prefix, .map = &map, .nodes = nodes};
    const struct takeover_entry entry = {.value = (char *)(uintptr_t)value};
    _cleanup_strmap_ struct strmap domains = {0};
    _cleanup_string_list_ struct string_list levels = {0};
    _cleanup_free_ char *fault = NULL;

    find_domains(&world, &domains, &levels);
    const char *level = level_of(&world, &entry, &domains, &levels, &fault);
    if (!level)
        return error_set(err, STATUS_FAILED_PRECONDITION, "%s", fault);
    *out = xstrdup(level);
    return 0;
}

/* Adds the domain's membership key to @keys. */
static void plan_domain(struct plan_domain *domain, struct string_list *keys)
{
    domain->name = xasprintf("%s=%s", domain->level, domain->value);
    domain->key = membership_key(domain->world->prefix, domain->level, domain->value);
    domain->segment = segment_key(domain->world->prefix, domain->level);
    string_list_add(keys, domain->key);
    if (domain->entry)
        plan_takeover(domain);
    else
        plan_giveback(domain);
    free_all(domain->name, domain->key, domain->segment);
}

/* Whether an entry of the map may mean the domain of a membership key, though its level is not
 * clear, or no node is on it. */
static bool is_in_map(const struct takeover_world *world, const char *key)
{
    const char *tail = membership_tail(key);

    for (size_t i = 0; i < world->map->count; i++) {
        const struct takeover_entry *entry = &world->map->entries[i];

        for (const char *dot = strchr(tail, '.'); dot; dot = strchr(dot + 1, '.')) {
            _cleanup_free_ char *level = xstrndup(tail, (size_t)(dot - tail));
            _cleanup_free_ char *named = membership_key(world->prefix, level, entry->value);

            if (strcmp(named, key) == 0 && (!entry->level || strcmp(entry->level, level) == 0))
                return true;
        }
    }
    return false;
}

/* Labels of domains in which no node is at home any more and that are not in the map. */
static void unlabel_orphans(const struct takeover_world *world, const struct string_list *known,
                            struct takeover_plan *plan)
{
    _cleanup_free_ char *start = xasprintf("%s/" MEMBER, world->prefix);
    char name[] = "nobody's";
    struct plan_domain nobody = {.plan = plan, .name = name};

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        for (size_t j = 0; j < node->labels.count; j++) {
            const char *key = node->labels.entries[j].key;

            if (text_has_prefix(key, start) && plan_has_taken_over(node, key) &&
                !string_list_has(known, key) && !is_in_map(world, key))
                plan_add_step(&nobody, TAKEOVER_UNLABEL, node, key);
        }
    }
}

void takeover_plan_make(const struct takeover_world *world, struct takeover_plan *plan)
{
    _cleanup_strmap_ struct strmap domains = {0};
    _cleanup_string_list_ struct string_list levels = {0};
    _cleanup_string_list_ struct string_list keys = {0};

    find_domains(world, &domains, &levels);
    for (size_t i = 0; i < world->map->count; i++) {
        const struct takeover_entry *entry = &world->map->entries[i];
        char *fault = NULL;
        const char *level = level_of(world, entry, &domains, &levels, &fault);
        struct plan_domain domain = {.world = world,
                                     .plan = plan,
                                     .entry = entry,
                                     .level = level,
                                     .value = entry->value,
                                     .name = entry->value};

        if (level)
            plan_domain(&domain, &keys);
        else
            plan_conclude(&domain, true, fault);
    }
    for (size_t i = 0; i < domains.count; i++) {
        const char *level = domains.entries[i].value;
        const char *value = domains.entries[i].key + strlen(level) + 1;
        struct plan_domain domain = {.world = world, .plan = plan, .level = level, .value = value};
        _cleanup_free_ char *key = membership_key(world->prefix, level, value);

        if (takeover_find(world->map, level, value)) /* planned; an ambiguous one stays as it is */
            string_list_add(&keys, key);
        else
            plan_domain(&domain, &keys);
    }
    unlabel_orphans(world, &keys, plan);
}
