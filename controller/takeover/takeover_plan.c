#include "controller/takeover/takeover_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/domain.h"

#define MEMBER "member."
#define NAMES_MAX 8 /* nodes named in a sentence */

/* One domain of the map, or one that is no longer in it. */
struct domain {
    const struct takeover_world *world;
    struct takeover_plan *plan;
    const struct takeover_entry *entry; /* NULL: being given back */
    const char *level;
    const char *value;
    char *name;
    char *key; /* of membership */
};

static void add_step(struct domain *domain, enum takeover_step_kind kind,
                     const struct cluster_node *node, const char *subject)
{
    struct takeover_plan *plan = domain->plan;

    *array_add(plan->steps, plan->count) =
        (struct takeover_step){kind, node, xstrdup(subject), xstrdup(domain->name)};
}

/* Takes @explanation over. The answer is valid until the next domain is concluded. */
static struct takeover_progress *conclude(struct domain *domain, bool is_blocked, char *explanation)
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

/* --- nodes --- */

/* The domain of a node on a level, by its plain segment; NULL if it has none. Borrowed. */
static const char *home_of(const struct takeover_world *world, const struct cluster_node *node,
                           const char *level)
{
    _cleanup_free_ char *key = segment_key(world->prefix, level);

    return strmap_get(&node->labels, key);
}

static bool is_home(const struct domain *domain, const struct cluster_node *node)
{
    const char *home = home_of(domain->world, node, domain->level);

    return home && strcmp(home, domain->value) == 0;
}

/* A label that the map, and not kubelet, has put there. */
static bool has_taken_over(const struct cluster_node *node, const char *key)
{
    return node->has_driver && strmap_has(&node->labels, key) && !string_list_has(&node->keys, key);
}

/* Whether the map says of one of the node's own domains that others serve it. */
static bool is_under_takeover(const struct takeover_world *world, const struct cluster_node *node)
{
    size_t length = strlen(world->prefix);

    for (size_t i = 0; i < node->labels.count; i++) {
        const struct strmap_entry *label = &node->labels.entries[i];

        if (text_has_prefix(label->key, world->prefix) && label->key[length] == '/' &&
            takeover_find(world->map, label->key + length + 1, label->value))
            return true;
    }
    return false;
}

static bool is_recorded(const struct cluster_node *node)
{
    return node->fenced_addresses.count > 0;
}

/* What was written down covers all that we know, now. */
static bool record_covers(const struct cluster_node *node)
{
    for (size_t i = 0; i < node->addresses.count; i++)
        if (!string_list_has(&node->fenced_addresses, node->addresses.items[i]))
            return false;
    return is_recorded(node);
}

static bool is_fenced(const struct takeover_world *world, const struct cluster_node *node)
{
    for (size_t i = 0; i < node->fenced_addresses.count; i++)
        if (!string_list_has(world->fenced, node->fenced_addresses.items[i]))
            return false;
    return record_covers(node);
}

/* --- pods --- */

/* What has yet to leave the nodes that have served a domain. */
struct drain {
    size_t nodes;
    size_t pods;
    size_t leaving;
    size_t alone; /* without a controller that would make them again */
    struct text names;
};

static void drain_done(struct drain *drain)
{
    text_done(&drain->names);
}

static bool pod_has_to_leave(const struct takeover_pod *pod, const struct domain *domain,
                             const struct cluster_node *node)
{
    return strcmp(pod->node, node->name) == 0 && strcmp(pod->domain, domain->name) == 0;
}

static void count_draining(const struct domain *domain, struct drain *drain)
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
            if (drain->alone++ < NAMES_MAX)
                text_addf(&drain->names, "%s'%s'", drain->names.length ? ", " : "", pod->name);
        }
    }
}

/* Adds the next few evictions, and notes where no pod is left. */
static void drain_nodes(struct domain *domain, const struct drain *drain)
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
            add_step(domain, TAKEOVER_EVICT, node, pod->name);
            evictions--;
        }
        if (is_drained)
            add_step(domain, TAKEOVER_DRAINED, node, domain->key);
    }
}

static struct takeover_progress *plan_drain(struct domain *domain, const struct drain *drain)
{
    const char *unknown = domain->world->pods_unknown;
    char *text = NULL;

    drain_nodes(domain, drain);
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
    struct takeover_progress *progress = conclude(domain, unknown || drain->alone > 0, text);
    progress->drains = true;
    return progress;
}

/* --- takeover --- */

/* What cannot be written down on a Node is not fenced by us: it would never be removed. */
static char *stray_obstacle(const struct domain *domain)
{
    const struct takeover_world *world = domain->world;

    for (size_t i = 0; i < world->stray_count; i++) {
        const struct takeover_stray *stray = &world->strays[i];

        if (strcmp(stray->domain, domain->name) == 0 &&
            !string_list_has(world->fenced, stray->address))
            return xasprintf("a volume of the domain is attached to '%s' at %s, whose Node is "
                             "gone; fence it by hand: ceph osd blocklist add %s%s%s:0/0 157784760",
                             stray->name, stray->address, strchr(stray->address, ':') ? "[" : "",
                             stray->address, strchr(stray->address, ':') ? "]" : "");
    }
    return NULL;
}

/* Clients behind one address translation look like one: fencing one would stop them all. */
static char *shared_address(const struct domain *domain, const struct cluster_node *node)
{
    const struct takeover_world *world = domain->world;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *other = &world->nodes->items[i];

        if (other == node || is_home(domain, other) || is_under_takeover(world, other))
            continue;
        for (size_t j = 0; j < node->addresses.count; j++)
            if (string_list_has(&other->addresses, node->addresses.items[j]))
                return xasprintf("clients of node '%s' and of node '%s', which is not in the "
                                 "domain, both come from %s: a fence would stop both",
                                 node->name, other->name, node->addresses.items[j]);
    }
    return NULL;
}

/* Why the home nodes cannot be fenced; NULL: they can. Caller frees. */
static char *fence_obstacle(const struct domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t home = 0;

    if (world->fences_unknown)
        return xasprintf("fences cannot be set: %s", world->fences_unknown);
    char *fault = stray_obstacle(domain);
    if (fault)
        return fault;
    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!is_home(domain, node))
            continue;
        home++;
        if (strcmp(node->name, world->own_node) == 0)
            return xasprintf("this controller runs on node '%s' of the domain and would fence "
                             "itself; move it elsewhere",
                             node->name);
        if (node->addresses.count == 0 && !is_recorded(node) && !world->clients_unknown)
            return xasprintf("node '%s' has no internal address and no recorded client that could "
                             "be fenced; add \"fence\": \"none\" if it cannot write any more",
                             node->name);
        fault = shared_address(domain, node);
        if (fault)
            return fault;
    }
    if (home == 0)
        return xstrdup("no Node is at home there, so nothing tells whom to fence; add \"fence\": "
                       "\"none\" if no client there can write any more");
    return NULL;
}

/* Adds what is missing before the domain's clients are out; returns how many nodes are not yet. */
static size_t fence_nodes(struct domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t open = 0;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!is_home(domain, node) || is_fenced(world, node))
            continue;
        open++;
        if (!record_covers(node)) {
            add_step(domain, TAKEOVER_RECORD, node, "");
            continue;
        }
        for (size_t j = 0; j < node->fenced_addresses.count; j++)
            if (!string_list_has(world->fenced, node->fenced_addresses.items[j]))
                add_step(domain, TAKEOVER_FENCE, node, node->fenced_addresses.items[j]);
    }
    return open;
}

/* Kubernetes honours the taint only on nodes that are down; one that is up ends its pods itself. */
static size_t taint_nodes(struct domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t open = 0;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!is_home(domain, node) || node->is_ready || node->is_out_of_service)
            continue;
        open++;
        add_step(domain, TAKEOVER_TAINT, node, "");
    }
    return open;
}

/* Never in a giveback. */
static bool shall_serve(const struct domain *domain, const struct cluster_node *node)
{
    return domain->entry && node->has_driver &&
           takeover_is_target(domain->entry, home_of(domain->world, node, domain->level));
}

static void label_nodes(struct domain *domain, size_t *serving, size_t *open)
{
    const struct takeover_world *world = domain->world;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!shall_serve(domain, node))
            continue;
        *serving += 1;
        if (strmap_has(&node->labels, domain->key))
            continue;
        *open += 1;
        if (!world->only_removes)
            add_step(domain, TAKEOVER_LABEL, node, domain->key);
    }
}

/* Nodes that served the domain and shall no longer. Returns how many there are. */
static size_t unlabel_nodes(struct domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t open = 0;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!has_taken_over(node, domain->key) || shall_serve(domain, node))
            continue;
        open++;
        add_step(domain, TAKEOVER_UNLABEL, node, domain->key);
    }
    return open;
}

/* The steps of the domain from @first on, given that not all of its clients may be known: fences
 * that are written down already may be made, and nodes that shall not serve any more may stop. */
static void wait_for_clients(struct domain *domain, size_t first)
{
    struct takeover_plan *plan = domain->plan;
    struct takeover_progress *progress = &plan->domains[plan->domain_count - 1];
    size_t kept = first;

    for (size_t i = first; i < plan->count; i++) {
        if (plan->steps[i].kind == TAKEOVER_FENCE || plan->steps[i].kind == TAKEOVER_UNLABEL) {
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

static void plan_steps(struct domain *domain, bool fences)
{
    char *fault = fences ? fence_obstacle(domain) : NULL;
    _cleanup_(drain_done) struct drain drain = {.names = TEXT_INIT(1024)};
    size_t serving = 0;

    if (fault) {
        conclude(domain, true, fault);
        return;
    }
    size_t unfenced = fences ? fence_nodes(domain) : 0;
    if (unfenced > 0) {
        conclude(
            domain, false,
            xasprintf("%zu of its nodes are not fenced yet; nothing is labelled before", unfenced));
        return;
    }
    if (fences && taint_nodes(domain) > 0) {
        conclude(domain, false,
                 xstrdup("all its nodes are fenced; their attachments are being released"));
        return;
    }
    size_t open = unlabel_nodes(domain);
    label_nodes(domain, &serving, &open);
    count_draining(domain, &drain); /* nodes that served it before the map named others */
    if (serving == 0)
        conclude(domain, true, xstrdup("no node with the driver is in a domain that takes over"));
    else if (open == 0 && drain.nodes > 0)
        plan_drain(domain, &drain);
    else
        conclude(domain, false,
                 xasprintf("taken over by %zu nodes, %zu of which have yet to follow%s", serving,
                           open, fences ? "" : "; nothing is fenced, as the map says"))
            ->is_done = open == 0;
}

static void plan_takeover(struct domain *domain)
{
    const bool fences =
        domain->entry->fence == TAKEOVER_FENCE_REQUIRED && !domain->world->only_removes;
    const size_t first = domain->plan->count;

    plan_steps(domain, fences);
    if (fences && domain->world->clients_unknown)
        wait_for_clients(domain, first);
}

/* --- giveback --- */

/*
 * A client that may hold dirty pages must never write again: only a new kernel, or one that uses
 * nothing of ours, is let in. Kubelet is the one to say so: it lists a volume in volumesInUse
 * before it mounts it and until NodeUnstageVolume has succeeded, which unmaps. The watchers of an
 * image do not show it, for a fenced client has no watch; nor does the node plugin, whose report
 * would have to be fresh, and its right to change Nodes would be one more to give away.
 */
static bool may_unfence(const struct takeover_world *world, const struct cluster_node *node)
{
    bool has_rebooted = !text_is_empty(node->boot_id) && !text_is_empty(node->fenced_boot_id) &&
                        strcmp(node->boot_id, node->fenced_boot_id) != 0;

    return node->is_ready && (has_rebooted || (world->use_is_reported && node->handles.count == 0));
}

/* One recorded node: the next step towards its freedom, or false if it has to reboot first. */
static bool free_node(struct domain *domain, const struct cluster_node *node)
{
    const struct takeover_world *world = domain->world;
    bool is_free = true;

    if (world->fences_unknown || !may_unfence(world, node))
        return false;
    for (size_t i = 0; i < node->fenced_addresses.count; i++) {
        if (!string_list_has(world->fenced, node->fenced_addresses.items[i]))
            continue;
        is_free = false;
        add_step(domain, TAKEOVER_UNFENCE, node, node->fenced_addresses.items[i]);
    }
    if (is_free && node->was_tainted && node->is_out_of_service)
        add_step(domain, TAKEOVER_UNTAINT, node, "");
    else if (is_free)
        add_step(domain, TAKEOVER_FORGET, node, "");
    return true;
}

/* How far the domain's own nodes are back. */
struct return_home {
    size_t freeing; /* steps are under way */
    size_t fenced;  /* have to reboot */
    size_t serving; /* are back */
    struct text names;
};

static void free_nodes(struct domain *domain, struct return_home *home)
{
    const struct takeover_world *world = domain->world;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!is_home(domain, node) || is_under_takeover(world, node))
            continue;
        if (!is_recorded(node)) {
            home->serving += node->is_ready && node->has_driver;
        } else if (free_node(domain, node)) {
            home->freeing++;
        } else {
            if (home->fenced++ < NAMES_MAX)
                text_addf(&home->names, "%s'%s'", home->names.length ? ", " : "", node->name);
        }
    }
}

static void conclude_giveback(struct domain *domain, const struct return_home *home,
                              size_t labelled)
{
    const char *fences_unknown = domain->world->fences_unknown;

    if (home->freeing > 0)
        conclude(domain, false,
                 xasprintf("%zu of its nodes are being let in again", home->freeing));
    else if (labelled > 0 && home->serving == 0)
        conclude(domain, true,
                 xasprintf("others keep serving it: none of its nodes is back%s%s%s",
                           home->fenced ? "; reboot " : "", text_chars(&home->names),
                           home->fenced ? ", which may hold unwritten data" : ""));
    else if (home->fenced > 0)
        conclude(domain, true,
                 xasprintf("still fenced, because they may hold unwritten data: %s; reboot "
                           "them%s%s%s",
                           text_chars(&home->names), fences_unknown ? " (" : "",
                           fences_unknown ? fences_unknown : "", fences_unknown ? ")" : ""))
            ->is_closed = home->serving == 0;
    else
        conclude(domain, false, xasprintf("%zu nodes stop serving it", labelled));
}

static void plan_giveback(struct domain *domain)
{
    const struct cluster_nodes *nodes = domain->world->nodes;
    struct return_home home = {.names = TEXT_INIT(1024)};
    _cleanup_(drain_done) struct drain drain = {.names = TEXT_INIT(1024)};
    size_t labelled = 0;

    free_nodes(domain, &home);
    count_draining(domain, &drain);
    for (size_t i = 0; i < nodes->count; i++)
        labelled += has_taken_over(&nodes->items[i], domain->key);
    if (home.freeing == 0 && home.serving > 0)
        unlabel_nodes(domain);
    const bool only_drains = home.freeing + labelled == 0 && drain.nodes > 0;
    if (only_drains && home.serving == 0)
        conclude(domain, true, xstrdup("pods stay where they are: none of its nodes is back"));
    else if (only_drains)
        /* pods that are unknown are left to the operator, who may take any time */
        plan_drain(domain, &drain)->is_closed = !domain->world->pods_unknown;
    else if (home.freeing + home.fenced + labelled > 0)
        conclude_giveback(domain, &home, labelled);
    text_done(&home.names);
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

/* The level of a bare name: the one on which nodes are at home there, else the only one there is.
 * NULL, with the reason, if it is not clear. Borrowed from @levels. */
static const char *level_of(const struct takeover_entry *entry, const struct strmap *domains,
                            const struct string_list *levels, char **fault)
{
    const char *found = NULL;

    for (size_t i = 0; i < levels->count; i++) {
        _cleanup_free_ char *name = xasprintf("%s=%s", levels->items[i], entry->value);

        if (entry->level ? strcmp(entry->level, levels->items[i]) != 0
                         : !strmap_has(domains, name) && levels->count > 1)
            continue;
        if (found) {
            *fault =
                xasprintf("may be a %s or a %s: write '%s=%s' or '%s=%s'", found, levels->items[i],
                          found, entry->value, levels->items[i], entry->value);
            return NULL;
        }
        found = levels->items[i];
    }
    if (!found)
        *fault = xasprintf("no node is at home there%s",
                           entry->level ? ", nor on that level at all" : "; write level=value");
    return found;
}

/* Adds the domain's membership key to @keys. */
static void plan_domain(struct domain *domain, struct string_list *keys)
{
    domain->name = xasprintf("%s=%s", domain->level, domain->value);
    domain->key = membership_key(domain->world->prefix, domain->level, domain->value);
    string_list_add(keys, domain->key);
    if (domain->entry)
        plan_takeover(domain);
    else
        plan_giveback(domain);
    free(domain->name);
    free(domain->key);
}

/* Labels of domains in which no node is at home any more and that are not in the map. */
static void unlabel_orphans(const struct takeover_world *world, const struct string_list *known,
                            struct takeover_plan *plan)
{
    _cleanup_free_ char *start = xasprintf("%s/" MEMBER, world->prefix);
    char name[] = "nobody's";
    struct domain nobody = {.plan = plan, .name = name};

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        for (size_t j = 0; j < node->labels.count; j++) {
            const char *key = node->labels.entries[j].key;

            if (text_has_prefix(key, start) && has_taken_over(node, key) &&
                !string_list_has(known, key))
                add_step(&nobody, TAKEOVER_UNLABEL, node, key);
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
        const char *level = level_of(entry, &domains, &levels, &fault);
        struct domain domain = {.world = world,
                                .plan = plan,
                                .entry = entry,
                                .level = level,
                                .value = entry->value,
                                .name = entry->value};

        if (level)
            plan_domain(&domain, &keys);
        else
            conclude(&domain, true, fault);
    }
    for (size_t i = 0; i < domains.count; i++) {
        const char *level = domains.entries[i].value;
        const char *value = domains.entries[i].key + strlen(level) + 1;
        struct domain domain = {.world = world, .plan = plan, .level = level, .value = value};
        _cleanup_free_ char *key = membership_key(world->prefix, level, value);

        if (takeover_find(world->map, level, value)) /* planned; an ambiguous one stays as it is */
            string_list_add(&keys, key);
        else
            plan_domain(&domain, &keys);
    }
    unlabel_orphans(world, &keys, plan);
}
