#include "controller/node_fencing.h"

#include "common/base/log.h"
#include "common/ceph/blocklist.h"
#include "common/kube/cluster_nodes.h"
#include "common/usage/settle_cluster.h"

/* Whether a fence of a takeover is in force, which ends it when the node has let go. */
static bool is_taken_over(const struct blocklist *list, const struct cluster_node *node,
                          const struct network *network, const char *address, const char *until)
{
    return string_list_has(&node->fenced_addresses, address) &&
           blocklist_has(list, network, false, until);
}

static int add_fence(struct ceph_cluster *cluster, struct call *call,
                     const struct cluster_node *node, const struct network *network,
                     const char *address, struct error *err)
{
    _cleanup_free_ char *until = blocklist_lasting();
    _cleanup_blocklist_ struct blocklist before = {0};
    _cleanup_blocklist_ struct blocklist after = {0};

    if (blocklist_read(cluster, call, &before, err) < 0)
        return -1;
    /* what is there already must not become shorter */
    if (blocklist_has(&before, network, before.knows_ranges, until) ||
        is_taken_over(&before, node, network, address, until)) {
        log_v(2, call, "'%s' is fenced already", address);
        return 0;
    }
    if (blocklist_add(cluster, call, network, before.knows_ranges, BLOCKLIST_NODE_SECONDS, err) <
            0 ||
        blocklist_read(cluster, call, &after, err) < 0)
        return -1;
    if (!blocklist_has(&after, network, before.knows_ranges, until))
        return error_set(
            err, STATUS_ABORTED,
            "'%s' was added to the blocklist and is not there for long: somebody unfences "
            "it at the same time, or an entry that expires soon was not prolonged",
            address);
    log_warn(call, "fenced '%s' of node '%s', which is out of service", address, node->name);
    return 0;
}

static int fence_node(struct ceph_cluster *cluster, struct call *call,
                      const struct cluster_node *node, const char *address, struct error *err)
{
    struct network network;

    if (network_parse(address, &network, NULL, err) < 0)
        return -1;
    call_stage(call, "fencing '%s' of node '%s' for {age}", address, node->name);
    if (add_fence(cluster, call, node, &network, address, err) < 0)
        return -1;
    return settle_cluster(cluster, call, err);
}

static int fence_if_out_of_service(const struct node_fencing *fencing, struct call *call,
                                   struct ceph_cluster *cluster, const char *node_id,
                                   const char *address, struct error *err)
{
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};
    const struct cluster_node *node = NULL;

    if (cluster_node_find(fencing->kube, call, fencing->driver_name, node_id, &nodes, &node, err) <
        0)
        return -1;
    if (!node) {
        log_warn(call, "there is no node '%s': nothing is fenced", node_id);
        return 0;
    }
    if (!node->is_out_of_service)
        return 0;
    if (!address) {
        log_warn(call,
                 "node '%s' is out of service, but the volume knows no client on it: nothing "
                 "is fenced",
                 node_id);
        return 0;
    }
    return fence_node(cluster, call, node, address, err);
}

int node_fencing_apply(const struct node_fencing *fencing, struct call *call,
                       struct ceph_cluster *cluster, const char *node_id, const char *address,
                       struct error *err)
{
    if (fence_if_out_of_service(fencing, call, cluster, node_id, address, err) == 0)
        return 0;
    if (err->status == STATUS_NOT_FOUND) /* it would pass for a volume that is gone */
        error_recode(err, STATUS_INTERNAL);
    return error_wrap(err, "fence node '%s'", node_id);
}
