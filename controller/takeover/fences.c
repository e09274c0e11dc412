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

void fence_sight_done(struct fence_sight *sight)
{
    string_list_done(&sight->everywhere);
    string_list_done(&sight->partly);
    string_list_done(&sight->ranges);
}

struct blocklist_reading {
    struct string_list common; /* addresses that are fenced for long, in all clusters so far */
    struct strmap seen;        /* those that are fenced in any of them; values "" */
    struct strmap ranges;      /* the same of ranges */
    const char *until;
    bool has_begun;
};

static void reading_done(struct blocklist_reading *reading)
{
    string_list_done(&reading->common);
    strmap_done(&reading->seen);
    strmap_done(&reading->ranges);
}

/* @reply is "osd blocklist ls". */
static int add_blocklist(void *object, struct ceph_cluster *cluster, struct call *call,
                         const char *reply, struct error *err)
{
    struct blocklist_reading *reading = object;
    _cleanup_blocklist_ struct blocklist list = {0};
    char text[NETWORK_TEXT_MAX];
    struct string_list both = {0};

    (void)cluster;
    (void)call;
    if (blocklist_decode(reply, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct blocklist_entry *entry = &list.items[i];

        if (entry->is_range) { /* they are not ours, and may be removed at any time */
            network_print(&entry->network, text);
            strmap_set(&reading->ranges, text, "");
            continue;
        }
        network_print_address(&entry->network, text);
        strmap_set(&reading->seen, text, "");
        if (strcmp(entry->until, reading->until) >= 0 &&
            (!reading->has_begun || string_list_has(&reading->common, text)))
            string_list_add(&both, text);
    }
    string_list_done(&reading->common);
    reading->common = both;
    reading->has_begun = true;
    return 0;
}

int fences_read(const struct fences *fences, struct call *call, struct fence_sight *sight,
                struct error *err)
{
    _cleanup_free_ char *until = blocklist_lasting();
    _cleanup_(reading_done) struct blocklist_reading reading = {.until = until};

    if (command_all_clusters(fences, call, BLOCKLIST_LIST_COMMAND, add_blocklist, &reading, err) <
        0)
        return error_wrap(err, "read fences");
    for (size_t i = 0; i < reading.seen.count; i++)
        if (!string_list_has(&reading.common, reading.seen.entries[i].key))
            string_list_add(&sight->partly, reading.seen.entries[i].key);
    for (size_t i = 0; i < reading.ranges.count; i++)
        string_list_add(&sight->ranges, reading.ranges.entries[i].key);
    sight->everywhere = reading.common;
    reading.common = (struct string_list){0};
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
