#include "controller/takeover/fences.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/blocklist.h"
#include "common/config/session.h"
#include "common/encoding/json.h"
#include "common/usage/cluster_usage.h"
#include "common/usage/settle_cluster.h"
#include "common/volume/client_keys.h"

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

/* --- daemons --- */

/* A list of daemons in the answer to a command. */
struct daemon_list {
    const char *command;
    const char *member; /* that has the list; NULL: it is the answer */
    const char *kind;
    const char *name;    /* member with the daemon's own name */
    bool may_be_refused; /* "profile rbd" does not allow it */
};

#define JSON_COMMAND(prefix) "{\"prefix\": \"" prefix "\", \"format\": \"json\"}"
#define MONITORS JSON_COMMAND("mon dump")

static const struct daemon_list DAEMON_LISTS[] = {
    {JSON_COMMAND("osd dump"), "osds", "osd", "osd", false},
    {JSON_COMMAND("mgr metadata"), NULL, "mgr", "name", true},
    {JSON_COMMAND("mds metadata"), NULL, "mds", "name", true},
};

/* Adds every "addr" in @value, however deep. What is none is that of a daemon that never ran. */
static void add_addresses(const json_t *value, const char *daemon, struct strmap *daemons)
{
    json_t *object = (json_t *)(uintptr_t)value; /* jansson's iterator is not const */

    for (size_t i = 0; i < json_array_size(value); i++)
        add_addresses(json_array_get(value, i), daemon, daemons);
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        const json_t *member = json_object_iter_value(i);
        _cleanup_error_ struct error ignored = {0};
        _cleanup_free_ char *address = NULL;

        if (!json_is_string(member))
            add_addresses(member, daemon, daemons);
        else if (strcmp(json_object_iter_key(i), "addr") == 0 &&
                 client_address_parse(json_string_value(member), &address, &ignored) == 0)
            strmap_set(daemons, address, daemon);
    }
}

static int add_daemons(const struct daemon_list *list, const char *reply, struct strmap *daemons,
                       struct error *err)
{
    json_auto_t *json = NULL;
    size_t i = 0;
    json_t *entry = NULL;

    if (json_load_large(reply, strlen(reply), list->kind, &json, err) < 0)
        return -1;
    const json_t *items = list->member ? json_object_get(json, list->member) : json;
    if (!json_is_array(items))
        return error_set(err, STATUS_INTERNAL, "%s: expected a list of daemons", list->command);
    json_array_foreach(items, i, entry)
    {
        const json_t *name = json_object_get(entry, list->name);
        _cleanup_free_ char *daemon =
            json_is_integer(name)
                ? xasprintf("%s.%lld", list->kind, (long long)json_integer_value(name))
                : xasprintf("%s.%s", list->kind,
                            json_is_string(name) ? json_string_value(name) : "");

        add_addresses(entry, daemon, daemons);
    }
    return 0;
}

/* @reply is that of MONITORS. */
static int read_daemons(void *object, struct ceph_cluster *cluster, struct call *call,
                        const char *reply, struct error *err)
{
    static const struct daemon_list monitors = {MONITORS, "mons", "mon", "name", false};

    if (add_daemons(&monitors, reply, object, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(DAEMON_LISTS); i++) {
        const struct daemon_list *list = &DAEMON_LISTS[i];
        _cleanup_free_ char *more = NULL;

        if (cluster->ops->mon_command(cluster, call, list->command, &more, err) == 0) {
            if (add_daemons(list, more ? more : "", object, err) < 0)
                return -1;
            continue;
        }
        if (!list->may_be_refused || err->status != STATUS_PERMISSION_DENIED)
            return -1;
        log_v(2, call, "where each %s is may not be read: %s", list->kind, err->message);
        error_clear(err);
    }
    return 0;
}

int fences_read_daemons(const struct fences *fences, struct call *call, struct strmap *daemons,
                        struct error *err)
{
    return command_all_clusters(fences, call, MONITORS, read_daemons, daemons, err) < 0
               ? error_wrap(err, "addresses of Ceph itself")
               : 0;
}

/* --- changes --- */

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
