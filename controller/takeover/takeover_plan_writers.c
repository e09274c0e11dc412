/*
 * Who may write to the volumes of a domain that is taken over, and has to be fenced before others
 * may: its own nodes, wherever their Node objects are, and those that have served it and shall no
 * longer, if they are down or of a domain that has failed as well. A node that is up and was
 * merely replaced ends its pods itself, and Kubernetes does not attach a volume elsewhere before.
 */
#include <string.h>

#include "common/base/memory.h"
#include "controller/takeover/takeover_plan_internal.h"

/* --- nodes --- */

/* The node's own domain of the same level, by its plain segment; NULL if it has none. Borrowed. */
static const char *home_of(const struct plan_domain *domain, const struct cluster_node *node)
{
    return strmap_get(&node->labels, domain->segment);
}

bool plan_is_home(const struct plan_domain *domain, const struct cluster_node *node)
{
    const char *home = home_of(domain, node);

    return home && strcmp(home, domain->value) == 0;
}

bool plan_has_taken_over(const struct cluster_node *node, const char *key)
{
    return node->has_driver && strmap_has(&node->labels, key) && !string_list_has(&node->keys, key);
}

/* The entry by which others serve one of the node's own domains; NULL if there is none. With
 * @fenced only one whose nodes are fenced. */
static const struct takeover_entry *find_takeover(const struct takeover_world *world,
                                                  const struct cluster_node *node, bool fenced)
{
    size_t length = strlen(world->prefix);

    for (size_t i = 0; i < node->labels.count; i++) {
        const struct strmap_entry *label = &node->labels.entries[i];

        if (!text_has_prefix(label->key, world->prefix) || label->key[length] != '/')
            continue;
        const struct takeover_entry *entry =
            takeover_find(world->map, label->key + length + 1, label->value);
        if (entry && (!fenced || entry->fence == TAKEOVER_FENCE_REQUIRED))
            return entry;
    }
    return NULL;
}

bool plan_is_under_takeover(const struct takeover_world *world, const struct cluster_node *node)
{
    return find_takeover(world, node, false) != NULL;
}

bool plan_shall_serve(const struct plan_domain *domain, const struct cluster_node *node)
{
    return domain->entry && node->has_driver &&
           takeover_is_target(domain->entry, home_of(domain, node)) &&
           !find_takeover(domain->world, node, true);
}

/* Whether pods on the node may still use the domain's volumes, though it is not at home there;
 * also by a label that kubelet has set (--takeover-via=nodeinfo, which was in force before). */
static bool is_carrier(const struct plan_domain *domain, const struct cluster_node *node)
{
    return strmap_has(&node->labels, domain->key) || string_list_has(&node->draining, domain->name);
}

static bool is_writer(const struct plan_domain *domain, const struct cluster_node *node)
{
    if (plan_is_home(domain, node) || node->is_gone) /* it may be a client of any domain */
        return domain->entry->fence == TAKEOVER_FENCE_REQUIRED;
    return is_carrier(domain, node) && !plan_shall_serve(domain, node) &&
           (!node->is_ready || find_takeover(domain->world, node, true));
}

void plan_list_writers(const struct plan_domain *domain, struct string_list *names)
{
    const struct cluster_nodes *nodes = domain->world->nodes;

    for (size_t i = 0; i < nodes->count; i++)
        if (is_writer(domain, &nodes->items[i]))
            string_list_add(names, nodes->items[i].name);
}

/* --- fences --- */

bool plan_is_recorded(const struct cluster_node *node)
{
    return node->fenced_addresses.count > 0;
}

/* Somebody else had fenced it, and does not any more: from now on the fence is ours. */
static bool has_lost_foreign_fence(const struct takeover_world *world,
                                   const struct cluster_node *node)
{
    for (size_t i = 0; i < node->found_addresses.count; i++)
        if (!string_list_has(&world->fenced->everywhere, node->found_addresses.items[i]))
            return true;
    return false;
}

/* What was written down covers all that we know, now. */
static bool record_covers(const struct takeover_world *world, const struct cluster_node *node)
{
    for (size_t i = 0; i < node->addresses.count; i++)
        if (!string_list_has(&node->fenced_addresses, node->addresses.items[i]))
            return false;
    return plan_is_recorded(node) && !node->is_releasing && !has_lost_foreign_fence(world, node);
}

bool plan_is_address_fenced(const struct takeover_world *world, const char *address)
{
    return string_list_has(&world->fenced->everywhere, address) &&
           !(world->notes && fence_notes_is_leaving(world->notes, world->driver, address));
}

static bool is_fenced(const struct takeover_world *world, const struct cluster_node *node)
{
    for (size_t i = 0; i < node->fenced_addresses.count; i++)
        if (!plan_is_address_fenced(world, node->fenced_addresses.items[i]))
            return false;
    return record_covers(world, node);
}

static const char *common_address(const struct cluster_node *node, const struct cluster_node *other)
{
    for (size_t i = 0; i < node->addresses.count; i++)
        if (string_list_has(&other->addresses, node->addresses.items[i]))
            return node->addresses.items[i];
    return NULL;
}

/* Clients behind one address translation look like one: fencing one would stop them all. */
static char *shared_address(const struct plan_domain *domain, const struct cluster_node *node)
{
    const struct takeover_world *world = domain->world;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *other = &world->nodes->items[i];
        const char *address = other == node ? NULL : common_address(node, other);

        if (address && !is_writer(domain, other) && !plan_is_under_takeover(world, other))
            return xasprintf("clients of node '%s' and of node '%s', which is not in the domain, "
                             "both come from %s: a fence would stop both",
                             node->name, other->name, address);
    }
    return NULL;
}

/* What is not written down yet is not of Ceph itself. */
static char *daemon_address(const struct takeover_world *world, const struct cluster_node *node)
{
    for (size_t i = 0; world->daemons && i < node->addresses.count; i++) {
        const char *address = node->addresses.items[i];
        const char *daemon = strmap_get(world->daemons, address);

        if (daemon && !string_list_has(&node->fenced_addresses, address))
            return xasprintf("%s of node '%s' is the address of %s, which a fence would stop; "
                             "power the node off and add \"fence\": \"none\"",
                             address, node->name, daemon);
    }
    return NULL;
}

static char *node_obstacle(const struct plan_domain *domain, const struct cluster_node *node)
{
    const struct takeover_world *world = domain->world;

    if (strcmp(node->name, world->own_node) == 0)
        return xasprintf("this controller runs on node '%s' of the domain and would fence itself; "
                         "move it elsewhere",
                         node->name);
    if (node->addresses.count == 0 && !plan_is_recorded(node) && !world->clients_unknown)
        return xasprintf("node '%s' has no internal address and no recorded client that could be "
                         "fenced; add \"fence\": \"none\" if it cannot write any more",
                         node->name);
    char *fault = daemon_address(world, node);
    return fault ? fault : shared_address(domain, node);
}

char *plan_fence_obstacle(const struct plan_domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t home = 0;
    size_t writers = 0;
    char *fault = NULL;

    for (size_t i = 0; i < world->nodes->count && !fault; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        home += plan_is_home(domain, node);
        if (!is_writer(domain, node))
            continue;
        writers++;
        if (!world->fences_unknown)
            fault = node_obstacle(domain, node);
    }
    if (fault)
        return fault;
    const bool is_required = domain->entry->fence == TAKEOVER_FENCE_REQUIRED;
    if (world->fences_unknown && (writers > 0 || is_required))
        return xasprintf("fences cannot be set: %s", world->fences_unknown);
    if (home == 0 && is_required)
        return xstrdup("no Node is at home there, so nothing tells whom to fence; add \"fence\": "
                       "\"none\" if no client there can write any more");
    return NULL;
}

static bool boot_is_recorded(const struct cluster_node *node)
{
    return text_is_empty(node->boot_id) ||
           (node->fenced_boot_id && strcmp(node->boot_id, node->fenced_boot_id) == 0);
}

bool plan_fence_node(struct plan_domain *domain, const struct cluster_node *node)
{
    bool is_missing = false;

    for (size_t i = 0; i < node->fenced_addresses.count; i++) {
        const char *address = node->fenced_addresses.items[i];

        if (plan_is_address_fenced(domain->world, address))
            continue;
        is_missing = true;
        if (boot_is_recorded(node))
            plan_add_step(domain, TAKEOVER_FENCE, node, address);
    }
    if (is_missing && !boot_is_recorded(node))
        plan_add_step(domain, TAKEOVER_RENEW, node, "");
    return is_missing;
}

size_t plan_fence_nodes(struct plan_domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t open = 0;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!is_writer(domain, node) || is_fenced(world, node))
            continue;
        open++;
        if (!record_covers(world, node))
            plan_add_step(domain, TAKEOVER_RECORD, node, "");
        else
            plan_fence_node(domain, node);
    }
    return open;
}

size_t plan_taint_nodes(struct plan_domain *domain)
{
    const struct takeover_world *world = domain->world;
    size_t open = 0;

    for (size_t i = 0; i < world->nodes->count; i++) {
        const struct cluster_node *node = &world->nodes->items[i];

        if (!is_writer(domain, node) || node->is_ready || node->is_out_of_service || node->is_gone)
            continue;
        open++;
        plan_add_step(domain, TAKEOVER_TAINT, node, "");
    }
    return open;
}
