#include "controller/attach/node_fencing.h"

#include "common/base/log.h"
#include "common/ceph/blocklist.h"
#include "common/kube/fence_notes.h"
#include "common/usage/settle_cluster.h"

/* Whether a fence of a takeover is in force, which ends it when the node has let go. */
static int is_taken_over(const struct node_fencing *fencing, struct call *call,
                         const struct blocklist *list, const struct network *network,
                         const char *address, bool *answer, struct error *err)
{
    const struct fence_notes_place place = {fencing->kube, fencing->name_space,
                                            fencing->driver_name};
    _cleanup_fence_notes_ struct fence_notes notes = {0};
    _cleanup_free_ char *until = blocklist_lasting();

    *answer = false;
    if (!blocklist_has(list, network, false, until))
        return 0;
    if (fence_notes_read(&place, call, &notes, err) < 0)
        return -1;
    *answer = fence_notes_holder(&notes, NULL, address) != NULL;
    return 0;
}

static int add_fence(const struct node_fencing *fencing, struct ceph_cluster *cluster,
                     struct call *call, const struct cluster_node *node,
                     const struct network *network, const char *address, struct error *err)
{
    _cleanup_free_ char *until = blocklist_lasting();
    _cleanup_blocklist_ struct blocklist before = {0};
    _cleanup_blocklist_ struct blocklist after = {0};
    bool taken_over = false;

    if (blocklist_read(cluster, call, &before, err) < 0 ||
        is_taken_over(fencing, call, &before, network, address, &taken_over, err) < 0)
        return -1;
    /* what is there already must not become shorter */
    if (taken_over || blocklist_has(&before, network, before.knows_ranges, until)) {
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

static int fence_node(const struct node_fencing *fencing, struct ceph_cluster *cluster,
                      struct call *call, const struct cluster_node *node, const char *address,
                      struct error *err)
{
    struct network network;

    if (network_parse(address, &network, NULL, err) < 0)
        return -1;
    call_stage(call, "fencing '%s' of node '%s' for {age}", address, node->name);
    if (add_fence(fencing, cluster, call, node, &network, address, err) < 0)
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
    return fence_node(fencing, cluster, call, node, address, err);
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
