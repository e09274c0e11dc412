/*
 * Giveback of a domain that is not in the map any more, or never was: its fenced nodes are let in
 * again, once they cannot write what they held before; then the others stop serving it.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/base/network.h"
#include "controller/takeover/takeover_plan_internal.h"

/*
 * A client that may hold dirty pages must never write again: only a new kernel, or one that uses
 * nothing of ours, is let in. Kubelet is the one to say so: it lists a volume in volumesInUse
 * before it mounts it and until NodeUnstageVolume has succeeded, which unmaps. The watchers of an
 * image do not show it, for a fenced client has no watch; nor does the node plugin, whose report
 * would have to be fresh, and its right to change Nodes would be one more to give away.
 */
/*
 * A machine that was fenced may be alive when its Node has been deleted and another machine has
 * come by the same name: what that one reports says nothing about it. Unless it has also got all
 * the addresses that are fenced, which the first one then has not.
 */
static bool is_another_machine(const struct cluster_node *node)
{
    if (text_is_empty(node->machine) || text_is_empty(node->fenced_machine) ||
        strcmp(node->machine, node->fenced_machine) == 0)
        return false;
    const struct string_list own = {node->addresses.items, node->internal_count};
    for (size_t i = 0; i < node->fenced_addresses.count; i++)
        if (!string_list_has(&own, node->fenced_addresses.items[i]))
            return true;
    return false;
}

static bool may_unfence(const struct takeover_world *world, const struct cluster_node *node)
{
    bool has_rebooted = !text_is_empty(node->boot_id) && !text_is_empty(node->fenced_boot_id) &&
                        strcmp(node->boot_id, node->fenced_boot_id) != 0;

    return node->is_ready && !node->is_gone && !is_another_machine(node) &&
           (has_rebooted || (world->use_is_reported && node->handles.count == 0));
}

/* Whether any cluster has an entry for it, however long. */
static bool is_in_a_blocklist(const struct takeover_world *world, const char *address)
{
    return string_list_has(&world->fenced->everywhere, address) ||
           string_list_has(&world->fenced->partly, address);
}

/* A range that the address is in; NULL if there is none. Borrowed. */
static const char *find_range(const struct takeover_world *world, const char *address)
{
    const struct string_list *ranges = &world->fenced->ranges;
    _cleanup_error_ struct error ignored = {0};
    struct network range;
    struct network host;

    if (ranges->count == 0 || network_parse(address, &host, NULL, &ignored) < 0)
        return NULL;
    for (size_t i = 0; i < ranges->count; i++) {
        error_clear(&ignored);
        if (network_parse(ranges->items[i], &range, NULL, &ignored) == 0 &&
            network_contains(&range, &host))
            return ranges->items[i];
    }
    return NULL;
}

/* Another node of ours for which the address has to stay fenced; NULL if there is none. */
static const struct cluster_node *find_sharer(const struct takeover_world *world,
                                              const struct cluster_node *node, const char *address)
{
    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *other = &world->nodes->items[i];

        if (other != node && string_list_has(&other->fenced_addresses, address) &&
            (!may_unfence(world, other) || plan_is_under_takeover(world, other)))
            return other;
    }
    return NULL;
}

/* How far the domain's own nodes are back. */
struct return_home {
    size_t freeing;   /* steps are under way */
    size_t fenced;    /* have to reboot */
    size_t gone;      /* of these, there is no Node, or another machine has it */
    size_t refencing; /* of these, the fence had vanished */
    size_t serving;   /* are back */
    struct text names;
    struct text reasons; /* why nodes that could be back are not */
};

static void add_reason(struct return_home *home, char *reason)
{
    text_addf(&home->reasons, "; %s", reason);
    free(reason);
}

/* The next step of a node that may be let in again; false if it has to wait for another. */
static bool free_node(struct plan_domain *domain, const struct cluster_node *node,
                      struct return_home *home)
{
    const struct takeover_world *world = domain->world;
    const struct cluster_node *sharer = NULL;
    size_t open = 0;

    for (size_t i = 0; i < node->fenced_addresses.count; i++) {
        const char *address = node->fenced_addresses.items[i];

        if (!is_in_a_blocklist(world, address) ||
            string_list_has(&node->found_addresses, address) ||
            (world->notes && fence_notes_holder(world->notes, world->driver, address)))
            continue; /* it is gone everywhere, was never ours, or stays for another driver */
        const struct cluster_node *other = find_sharer(world, node, address);
        if (other) {
            if (!sharer)
                add_reason(home, xasprintf("'%s' comes from %s, which stays fenced for node '%s'",
                                           node->name, address, other->name));
            sharer = other;
            continue;
        }
        open++;
        plan_add_step(domain, TAKEOVER_UNFENCE, node, address);
    }
    if (sharer)
        return open > 0;
    if (open == 0 && node->was_tainted)
        plan_add_step(domain, TAKEOVER_UNTAINT, node, "");
    else if (open == 0)
        plan_add_step(domain, TAKEOVER_FORGET, node, "");
    return true;
}

/* A node that stays fenced: is it? */
static void keep_fenced(struct plan_domain *domain, const struct cluster_node *node,
                        struct return_home *home)
{
    home->refencing += !domain->world->fences_unknown && plan_fence_node(domain, node);
    home->gone += node->is_gone || is_another_machine(node);
    if (home->fenced++ < PLAN_NAMES_MAX)
        text_addf(&home->names, "%s'%s'%s", home->names.length ? ", " : "", node->name,
                  node->is_gone              ? " (its Node is gone)"
                  : is_another_machine(node) ? " (its Node is now another machine's)"
                                             : "");
}

/* Whether the node, of which we have no note, is fenced all the same. */
static bool is_kept_out(const struct takeover_world *world, const struct cluster_node *node,
                        struct return_home *home)
{
    for (size_t i = 0; i < node->addresses.count && !world->fences_unknown; i++) {
        const char *address = node->addresses.items[i];
        const struct fence_note *note =
            world->notes ? fence_notes_holder(world->notes, NULL, address) : NULL;
        const char *range = find_range(world, address);

        if (range) {
            add_reason(home, xasprintf("'%s' at %s is in the blocklist, in the range %s",
                                       node->name, address, range));
            return true;
        }
        if (!is_in_a_blocklist(world, address))
            continue;
        add_reason(home, note ? xasprintf("'%s' at %s is still fenced by %s, for node '%s'",
                                          node->name, address, note->driver, note->node)
                              : xasprintf("'%s' at %s is in the blocklist, by nobody that is known",
                                          node->name, address));
        return true;
    }
    return false;
}

static void free_nodes(struct plan_domain *domain, struct return_home *home)
{
    const struct takeover_world *world = domain->world;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!plan_is_home(domain, node) || plan_is_under_takeover(world, node))
            continue;
        if (!plan_is_recorded(node))
            home->serving += node->is_ready && node->has_driver && !is_kept_out(world, node, home);
        else if (world->fences_unknown || !may_unfence(world, node))
            keep_fenced(domain, node, home);
        else if (free_node(domain, node, home))
            home->freeing++;
        else
            home->fenced++;
    }
}

static void conclude_giveback(struct plan_domain *domain, const struct return_home *home,
                              size_t labelled)
{
    const char *fences_unknown = domain->world->fences_unknown;
    const char *names = text_chars(&home->names);
    const char *reasons = text_chars(&home->reasons);

    if (home->refencing > 0)
        plan_conclude(domain, false,
                      xasprintf("%zu of its nodes have lost their fence and are fenced again",
                                home->refencing));
    else if (home->freeing > 0)
        plan_conclude(
            domain, false,
            xasprintf("%zu of its nodes are being let in again%s", home->freeing, reasons));
    else if (labelled > 0 && home->serving == 0)
        plan_conclude(domain, true,
                      xasprintf("others keep serving it: none of its nodes is back%s%s%s%s",
                                names[0] ? "; reboot " : "", names,
                                names[0] ? ", which may hold unwritten data" : "", reasons));
    else if (home->fenced > 0)
        plan_conclude(domain, home->fenced > home->gone || home->serving == 0,
                      xasprintf("still fenced, because they may hold unwritten data: %s; reboot "
                                "them%s%s%s%s",
                                names, fences_unknown ? " (" : "",
                                fences_unknown ? fences_unknown : "", fences_unknown ? ")" : "",
                                reasons))
            ->is_closed = home->serving == 0;
    else
        plan_conclude(domain, false, xasprintf("%zu nodes stop serving it", labelled));
}

size_t plan_unlabel_nodes(struct plan_domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t open = 0;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!plan_has_taken_over(node, domain->key) || plan_shall_serve(domain, node))
            continue;
        open++;
        plan_add_step(domain, TAKEOVER_UNLABEL, node, domain->key);
    }
    return open;
}

void plan_giveback(struct plan_domain *domain)
{
    const struct cluster_nodes *nodes = domain->world->nodes;
    struct return_home home = {.names = TEXT_INIT(1024), .reasons = TEXT_INIT(1024)};
    _cleanup_(plan_drain_done) struct plan_drain drain = PLAN_DRAIN_INIT;
    size_t labelled = 0;

    free_nodes(domain, &home);
    plan_count_draining(domain, &drain);
    for (size_t i = 0; i < nodes->count; i++)
        labelled += plan_has_taken_over(&nodes->items[i], domain->key);
    const bool is_moving = home.freeing + home.refencing > 0;
    if (!is_moving && home.serving > 0)
        plan_unlabel_nodes(domain);
    const bool only_drains = !is_moving && labelled == 0 && drain.nodes > 0;
    if (only_drains && home.serving == 0)
        plan_conclude(domain, true,
                      xasprintf("pods stay where they are: none of its nodes is back%s",
                                text_chars(&home.reasons)));
    else if (only_drains)
        /* pods that are unknown are left to the operator, who may take any time */
        plan_drain_nodes(domain, &drain)->is_closed = !domain->world->pods_unknown;
    else if (is_moving || home.fenced + labelled > 0)
        conclude_giveback(domain, &home, labelled);
    text_done(&home.names);
    text_done(&home.reasons);
}
