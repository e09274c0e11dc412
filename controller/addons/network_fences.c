#include "controller/addons/network_fences.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/blocklist.h"
#include "common/config/class_parameters.h"
#include "common/config/session.h"

void fence_request_done(struct fence_request *request)
{
    strmap_done(&request->parameters);
    credentials_done(&request->credentials);
    string_list_done(&request->cidrs);
}

void fence_client_done(struct fence_client *client)
{
    free(client->id);
    string_list_done(&client->cidrs);
    *client = (struct fence_client){0};
}

/* --- requests --- */

struct networks {
    struct network *items;
    size_t count;
};

static void networks_done(struct networks *networks)
{
    free(networks->items);
}
#define _cleanup_networks_ _cleanup_(networks_done)

static bool networks_have(const struct networks *networks, const struct network *network)
{
    for (size_t i = 0; i < networks->count; i++)
        if (network_is_equal(&networks->items[i], network))
            return true;
    return false;
}

/* Ceph-CSI hands an address inside of a network on as it is: what was fenced so can be unfenced. */
static int parse_cidrs(const struct string_list *cidrs, bool is_removal, struct networks *networks,
                       struct error *err)
{
    bool has_host_bits = false;

    if (cidrs->count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "cidrs are missing");
    if (cidrs->count > NETWORK_FENCE_CIDRS)
        return error_set(err, STATUS_INVALID_ARGUMENT, "more than %d cidrs", NETWORK_FENCE_CIDRS);
    networks->items = xcalloc(cidrs->count, sizeof(*networks->items));
    for (size_t i = 0; i < cidrs->count; i++) {
        struct network network;

        if (network_parse(cidrs->items[i], &network, is_removal ? &has_host_bits : NULL, err) < 0)
            return error_wrap(err, "cidrs[%zu]", i);
        if (network.bits == 0 && !is_removal)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "cidrs[%zu]: '%s' would fence every client, this driver included", i,
                             cidrs->items[i]);
        if (!networks_have(networks, &network))
            networks->items[networks->count++] = network;
    }
    return 0;
}

static int open_cluster(const struct network_fences *fences, struct call *call,
                        const struct fence_request *request, struct session *session,
                        struct error *err)
{
    const char *cluster_id = strmap_get_or(&request->parameters, PARAM_CLUSTER_ID, NULL);

    if (!cluster_id) {
        error_set(err, STATUS_INVALID_ARGUMENT, "parameters: clusterID is missing");
        return -1; /* said plainly, for the analyser */
    }
    return session_open(fences->ceph, fences->config, call, cluster_id, &request->credentials,
                        session, err);
}

/* --- fencing --- */

/* The entries that the networks need: one each or, where Ceph does not know ranges, one for each of
 * their addresses. */
static int expand_networks(const struct blocklist *list, const struct networks *networks,
                           struct networks *entries, struct error *err)
{
    char text[NETWORK_TEXT_MAX];

    for (size_t i = 0; i < networks->count; i++) {
        const struct network *network = &networks->items[i];
        const unsigned host_bits = (network->is_v6 ? 128 : 32) - network->bits;

        if (list->knows_ranges) {
            *array_add(entries->items, entries->count) = *network;
            continue;
        }
        if (host_bits >= 32 || 1U << host_bits > NETWORK_FENCE_ADDRESSES) {
            network_print(network, text);
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "'%s' has more than %d addresses, and this Ceph can only fence them "
                             "one by one: it does not know 'osd blocklist range'",
                             text, NETWORK_FENCE_ADDRESSES);
        }
        for (size_t k = 0; k < 1U << host_bits; k++)
            network_address_at(network, k, array_add(entries->items, entries->count));
    }
    return 0;
}

/* What was added must also be visible. */
static int read_back(struct ceph_cluster *cluster, struct call *call,
                     const struct networks *entries, const char *until, struct error *err)
{
    _cleanup_blocklist_ struct blocklist list = {0};
    char text[NETWORK_TEXT_MAX];

    if (blocklist_read(cluster, call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < entries->count; i++) {
        if (blocklist_has(&list, &entries->items[i], list.knows_ranges, until))
            continue;
        network_print(&entries->items[i], text);
        return error_set(err, STATUS_ABORTED,
                         "'%s' was added to the blocklist and is not there: somebody unfences "
                         "it at the same time",
                         text);
    }
    return 0;
}

/* A driver that fences itself cannot go on; that may be what the caller wants. */
static void warn_of_self(struct ceph_cluster *cluster, struct call *call,
                         const struct networks *networks)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *printed = NULL;
    _cleanup_string_list_ struct string_list cidrs = {0};
    struct network own;

    if (cluster->ops->client_address(cluster, call, &printed, &err) < 0 ||
        network_fences_decode_addresses(printed, &cidrs, &err) < 0)
        return;
    for (size_t i = 0; i < cidrs.count; i++)
        for (size_t k = 0; k < networks->count; k++)
            if (network_parse(cidrs.items[i], &own, NULL, &err) == 0 &&
                network_contains(&networks->items[k], &own))
                log_warn(call,
                         "this driver is itself '%s', which is to be fenced: it cannot "
                         "serve volumes of cluster '%s' any more",
                         cidrs.items[i], cluster->cluster_id);
}

int network_fences_add(const struct network_fences *fences, struct call *call,
                       const struct fence_request *request, struct error *err)
{
    _cleanup_networks_ struct networks networks = {0};
    _cleanup_networks_ struct networks entries = {0};
    _cleanup_session_ struct session session = {0};
    _cleanup_blocklist_ struct blocklist list = {0};
    _cleanup_free_ char *until = blocklist_lasting();
    bool changed = false;

    if (parse_cidrs(&request->cidrs, false, &networks, err) < 0 ||
        open_cluster(fences, call, request, &session, err) < 0)
        return -1;
    call_stage(call, "fencing in cluster '%s' for {age}", session.cluster->cluster_id);
    if (blocklist_read(session.cluster, call, &list, err) < 0 ||
        expand_networks(&list, &networks, &entries, err) < 0)
        return -1;
    warn_of_self(session.cluster, call, &networks);
    for (size_t i = 0; i < entries.count; i++) {
        if (blocklist_has(&list, &entries.items[i], list.knows_ranges, until))
            continue;
        changed = true;
        if (call_check(call, err) < 0 ||
            blocklist_add(session.cluster, call, &entries.items[i], list.knows_ranges,
                          BLOCKLIST_SECONDS, err) < 0)
            return -1;
    }
    return changed ? read_back(session.cluster, call, &entries, until, err) : 0;
}

/* --- unfencing --- */

/* Whether a request for one of the networks made @entry. */
static bool is_asked_for(const struct blocklist *list, const struct blocklist_entry *entry,
                         const struct networks *networks)
{
    for (size_t i = 0; i < networks->count; i++) {
        const struct network *network = &networks->items[i];

        if (list->knows_ranges ? entry->is_range && network_is_equal(&entry->network, network)
                               : network_contains(network, &entry->network))
            return true;
    }
    return false;
}

static void warn_of_others(struct call *call, const struct blocklist_entry *entry,
                           const struct networks *networks)
{
    char text[NETWORK_TEXT_MAX];

    for (size_t i = 0; i < networks->count; i++) {
        if (!network_contains(&entry->network, &networks->items[i]))
            continue;
        network_print(&networks->items[i], text);
        log_warn(call, "'%s' is still fenced, by the %s '%s' of the blocklist", text,
                 entry->is_range ? "range" : "address", entry->address);
    }
}

static int see_them_gone(struct ceph_cluster *cluster, struct call *call,
                         const struct networks *networks, struct error *err)
{
    _cleanup_blocklist_ struct blocklist list = {0};

    if (blocklist_read(cluster, call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        if (is_asked_for(&list, &list.items[i], networks))
            return error_set(err, STATUS_ABORTED,
                             "'%s' was taken off the blocklist and is there: somebody fences it at "
                             "the same time",
                             list.items[i].address);
        warn_of_others(call, &list.items[i], networks);
    }
    return 0;
}

int network_fences_remove(const struct network_fences *fences, struct call *call,
                          const struct fence_request *request, struct error *err)
{
    _cleanup_networks_ struct networks networks = {0};
    _cleanup_session_ struct session session = {0};
    _cleanup_blocklist_ struct blocklist list = {0};
    bool changed = false;

    if (parse_cidrs(&request->cidrs, true, &networks, err) < 0 ||
        open_cluster(fences, call, request, &session, err) < 0)
        return -1;
    call_stage(call, "unfencing in cluster '%s' for {age}", session.cluster->cluster_id);
    if (blocklist_read(session.cluster, call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        if (!is_asked_for(&list, &list.items[i], &networks))
            continue;
        changed = true;
        if (call_check(call, err) < 0 ||
            blocklist_remove(session.cluster, call, &list.items[i], err) < 0)
            return -1;
    }
    return changed ? see_them_gone(session.cluster, call, &networks, err) : 0;
}

/* --- reading --- */

int network_fences_list(const struct network_fences *fences, struct call *call,
                        const struct fence_request *request, struct string_list *cidrs,
                        struct error *err)
{
    _cleanup_session_ struct session session = {0};
    _cleanup_blocklist_ struct blocklist list = {0};
    _cleanup_free_ char *until = blocklist_lasting();
    char text[NETWORK_TEXT_MAX];

    if (open_cluster(fences, call, request, &session, err) < 0 ||
        blocklist_read(session.cluster, call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        network_print(&list.items[i].network, text);
        if (strcmp(list.items[i].until, until) >= 0 && !string_list_has(cidrs, text))
            string_list_add(cidrs, text);
    }
    return 0;
}

/* "v2:10.0.0.7:0/3141" or "[fd00::7]:0/9" to "10.0.0.7", "fd00::7"; changes @part. */
static const char *address_in(char *part)
{
    if (text_has_prefix(part, "v1:") || text_has_prefix(part, "v2:"))
        part += 3;
    if (part[0] == '[') {
        part++;
        part[strcspn(part, "]")] = '\0';
        return part;
    }
    char *port = strrchr(part, ':');
    if (port)
        *port = '\0';
    return part;
}

int network_fences_decode_addresses(const char *printed, struct string_list *cidrs,
                                    struct error *err)
{
    _cleanup_free_ char *copy = xstrdup(printed);
    char text[NETWORK_TEXT_MAX];
    char *rest = copy;
    char *part = NULL;

    /* a list is in brackets, as an IPv6 address is */
    if (rest[0] == '[' && (rest[1] == 'v' || strchr(rest, ',')))
        rest++;
    while ((part = strsep(&rest, ","))) {
        _cleanup_error_ struct error ignored = {0};
        struct network network;

        if (network_parse(address_in(part), &network, NULL, &ignored) < 0)
            continue;
        network_print(&network, text);
        if (!string_list_has(cidrs, text))
            string_list_add(cidrs, text);
    }
    if (cidrs->count == 0)
        return error_set(err, STATUS_INTERNAL, "'%.128s' has no IP address", printed);
    return 0;
}

int network_fences_self(const struct network_fences *fences, struct call *call,
                        const struct fence_request *request, struct fence_client *client,
                        struct error *err)
{
    _cleanup_session_ struct session session = {0};
    _cleanup_free_ char *printed = NULL;

    if (open_cluster(fences, call, request, &session, err) < 0 ||
        session.cluster->ops->fsid(session.cluster, call, &client->id, err) < 0 ||
        session.cluster->ops->client_address(session.cluster, call, &printed, err) < 0)
        return -1;
    if (network_fences_decode_addresses(printed, &client->cidrs, err) < 0)
        return -1;
    return fences->own ? own_fence_lift(fences->own, call, session.cluster, &client->cidrs, err)
                       : 0;
}
