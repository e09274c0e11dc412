/*
 * Which pods have to leave the nodes that have served a domain: those with a volume that is pinned
 * to it. After the label is gone they run on, but their volumes are not to be mounted there again.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/domain_volumes.h"
#include "common/kube/node_pods.h"
#include "common/topology/domain.h"
#include "controller/takeover/takeover.h"

/* Claims ("NAMESPACE/NAME", values "") whose volumes are pinned to the domain. */
static int read_claims(const struct takeover_site *site, struct call *call, const char *key,
                       struct strmap *claims, struct error *err)
{
    _cleanup_string_list_ struct string_list pins = {0};
    _cleanup_strmap_ struct strmap none = {0};
    _cleanup_domain_volumes_ struct domain_volumes volumes = {0};
    _cleanup_free_ char *pin = xasprintf("%s=true", key);
    const struct domain_query query = {
        .driver = site->driver_name, .pins = &pins, .handles = &none};

    string_list_add(&pins, pin);
    if (domain_volumes_read(site->kube, call, &query, &volumes, err) < 0)
        return -1;
    for (size_t i = 0; i < volumes.count; i++) {
        const struct domain_volume *volume = &volumes.items[i];
        _cleanup_free_ char *claim = xasprintf("%s/%s", volume->claim_namespace, volume->claim);

        if (volume->claim[0])
            strmap_set(claims, claim, "");
    }
    return 0;
}

static bool uses_a_claim(const struct node_pod *pod, const struct strmap *claims)
{
    for (size_t i = 0; i < pod->claims.count; i++)
        if (strmap_has(claims, pod->claims.items[i]))
            return true;
    return false;
}

static int read_pods_of_node(const struct takeover_site *site, struct call *call,
                             const struct cluster_node *node, const char *domain,
                             const struct strmap *claims, struct takeover_pods *pods,
                             struct error *err)
{
    _cleanup_node_pods_ struct node_pods all = {0};

    if (node_pods_read(site->kube, call, node->name, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.count; i++) {
        const struct node_pod *pod = &all.items[i];

        if (uses_a_claim(pod, claims))
            takeover_pods_add(pods, &(struct takeover_pod){.node = node->name,
                                                           .domain = (char *)(uintptr_t)domain,
                                                           .name = pod->name,
                                                           .is_leaving = pod->is_leaving,
                                                           .has_controller = pod->has_controller});
    }
    return 0;
}

static int read_pods_of_domain(const struct takeover_site *site, struct call *call,
                               const char *domain, const struct cluster_nodes *nodes,
                               struct takeover_pods *pods, struct error *err)
{
    const char *equals = strchr(domain, '=');
    _cleanup_free_ char *prefix = xasprintf("topology.%s", site->driver_name);
    _cleanup_free_ char *level = xstrndup(domain, (size_t)(equals - domain));
    _cleanup_free_ char *key = membership_key(prefix, level, equals + 1);
    _cleanup_strmap_ struct strmap claims = {0};

    if (read_claims(site, call, key, &claims, err) < 0)
        return -1;
    for (size_t i = 0; i < nodes->count && claims.count > 0; i++) {
        const struct cluster_node *node = &nodes->items[i];
        const bool will_drain = site->looks_ahead && strmap_has(&node->labels, key) &&
                                !string_list_has(&node->keys, key);

        if ((will_drain || string_list_has(&node->draining, domain)) &&
            read_pods_of_node(site, call, node, domain, &claims, pods, err) < 0)
            return -1;
    }
    return 0;
}

bool takeover_wants_pods(const struct takeover_site *site, const struct takeover_progress *domain)
{
    return domain->drains || (site->looks_ahead && domain->is_giveback);
}

int takeover_pods_read(const struct takeover_site *site, struct call *call,
                       const struct takeover_plan *plan, const struct cluster_nodes *nodes,
                       struct takeover_pods *out, struct error *err)
{
    struct takeover_pods pods = {0};

    for (size_t i = 0; i < plan->domain_count; i++)
        if (takeover_wants_pods(site, &plan->domains[i]) &&
            read_pods_of_domain(site, call, plan->domains[i].domain, nodes, &pods, err) < 0) {
            takeover_pods_done(&pods);
            return -1;
        }
    *out = pods;
    return 0;
}
