#include "controller/takeover/fences.h"

#include <string.h>

#include "common/ceph/blocklist.h"
#include "common/config/session.h"
#include "common/usage/cluster_usage.h"
#include "common/usage/settle_cluster.h"

typedef int cluster_fn(void *object, struct ceph_cluster *cluster, struct call *call,
                       const char *reply, struct error *err);

/* Runs one monitor command in a cluster; @take may be NULL. */
static int command_cluster(const struct fences *fences, struct call *call, const char *cluster_id,
                           const char *command, cluster_fn *take, void *object, struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_session_ struct session session = {0};
    _cleanup_free_ char *reply = NULL;

    if (standing_credentials_get(fences->standing, call, cluster_id, NULL, &credentials, err) < 0 ||
        session_open(fences->ceph, fences->config, call, cluster_id, &credentials, &session, err) <
            0 ||
        session.cluster->ops->mon_command(session.cluster, call, command, &reply, err) < 0 ||
        (take && take(object, session.cluster, call, reply ? reply : "", err) < 0))
        return error_wrap(err, "cluster '%s'", cluster_id);
    return 0;
}

/* Runs it in all of them; @take may be NULL. */
static int command_all_clusters(const struct fences *fences, struct call *call, const char *command,
                                cluster_fn *take, void *object, struct error *err)
{
    _cleanup_config_ struct config *config = NULL;

    if (config_file_get(fences->config, &config, err) < 0)
        return -1;
    if (config_cluster_count(config) == 0)
        return error_set(err, STATUS_FAILED_PRECONDITION, "config.json names no cluster");
    for (size_t i = 0; i < config_cluster_count(config); i++)
        if (command_cluster(fences, call, config_cluster_id(config, i), command, take, object,
                            err) < 0)
            return -1;
    return 0;
}

struct common_addresses {
    struct string_list addresses;
    char *until;
    bool has_begun;
};

/* @reply is "osd blocklist ls": keeps the addresses that are fenced for long here as well. */
static int intersect_fences(void *object, struct ceph_cluster *cluster, struct call *call,
                            const char *reply, struct error *err)
{
    struct common_addresses *common = object;
    _cleanup_blocklist_ struct blocklist list = {0};
    char address[NETWORK_TEXT_MAX];
    struct string_list both = {0};

    (void)cluster;
    (void)call;
    if (blocklist_decode(reply, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        /* ranges are not ours, and may be removed at any time */
        if (list.items[i].is_range || strcmp(list.items[i].until, common->until) < 0)
            continue;
        network_print_address(&list.items[i].network, address);
        if (!common->has_begun || string_list_has(&common->addresses, address))
            string_list_add(&both, address);
    }
    string_list_done(&common->addresses);
    common->addresses = both;
    common->has_begun = true;
    return 0;
}

int fences_read(const struct fences *fences, struct call *call, struct string_list *addresses,
                struct error *err)
{
    _cleanup_free_ char *until = blocklist_lasting();
    struct common_addresses common = {.until = until};

    if (command_all_clusters(fences, call, BLOCKLIST_LIST_COMMAND, intersect_fences, &common, err) <
        0) {
        string_list_done(&common.addresses);
        return error_wrap(err, "read fences");
    }
    *addresses = common.addresses;
    return 0;
}

/* @reply is the list of pools. */
static int settle_one(void *object, struct ceph_cluster *cluster, struct call *call,
                      const char *reply, struct error *err)
{
    (void)object;
    return settle_pools(cluster, call, reply, err);
}

int fences_settle(const struct fences *fences, struct call *call, struct error *err)
{
    return command_all_clusters(fences, call, CLUSTER_USAGE_POOLS, settle_one, NULL, err) < 0
               ? error_wrap(err, "not all OSDs are known to keep to the fences")
               : 0;
}

static int change_fence(const struct fences *fences, struct call *call, const char *operation,
                        const char *address, struct error *err)
{
    _cleanup_error_ struct error ignored = {0};
    struct network network;

    if (network_parse(address, &network, NULL, &ignored) < 0 || strchr(address, '/'))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.64s' is no IP address", address);
    _cleanup_free_ char *command = blocklist_command(operation, &network, false);
    return command_all_clusters(fences, call, command, NULL, NULL, err);
}

int fences_add(const struct fences *fences, struct call *call, const char *address,
               struct error *err)
{
    return change_fence(fences, call, "add", address, err) < 0
               ? error_wrap(err, "fence '%s'", address)
               : 0;
}

int fences_remove(const struct fences *fences, struct call *call, const char *address,
                  struct error *err)
{
    return change_fence(fences, call, "rm", address, err) < 0
               ? error_wrap(err, "unfence '%s'", address)
               : 0;
}
