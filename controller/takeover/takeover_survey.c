/*
 * Whom to fence beyond the nodes' internal addresses. Where Ceph's network is not that of the
 * nodes, clients come from other addresses, and only the volumes know which: NodeStage has recorded
 * them before it mapped. Asked are the volumes that the takeover lets others use - those
 * pinned to the domain, and those whose attachments the taint releases or, where nothing is
 * attached, that pods on its nodes use - and no other image.
 *
 * A record stays after its node has let go of the volume. So one of a node elsewhere does not make
 * it a target. One of a node that has no Node object any more counts while an attachment still
 * names it; where volumes are not attached, unless another Node has its address now.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/domain_volumes.h"
#include "common/kube/node_pods.h"
#include "common/topology/domain.h"
#include "controller/takeover/takeover.h"

#define READERS 8

/* --- which volumes --- */

/* What the domains' volumes are recognized by. */
struct scope {
    struct string_list pins;
    struct strmap foreign;
    struct strmap handles;
    struct strmap claims; /* that pods use; read where nothing is attached */
};

static void scope_done(struct scope *scope)
{
    string_list_done(&scope->pins);
    strmap_done(&scope->foreign);
    strmap_done(&scope->handles);
    strmap_done(&scope->claims);
}

/* @domain is "zone=zone-a". Caller frees. */
static char *segment_of(const char *prefix, const char *domain)
{
    _cleanup_free_ char *level = xstrndup(domain, strcspn(domain, "="));

    return segment_key(prefix, level);
}

static void add_domain(const char *prefix, const struct cluster_nodes *nodes,
                       const struct takeover_progress *domain, struct scope *scope)
{
    const char *value = strchr(domain->domain, '=') + 1;
    _cleanup_free_ char *level = xstrndup(domain->domain, (size_t)(value - 1 - domain->domain));
    _cleanup_free_ char *segment = segment_of(prefix, domain->domain);
    _cleanup_free_ char *membership = membership_key(prefix, level, value);
    _cleanup_free_ char *plain = xasprintf("%s=%s", segment, value);
    _cleanup_free_ char *member = xasprintf("%s=true", membership);
    _cleanup_strmap_ struct strmap writers = {0};

    string_list_add(&scope->pins, plain);
    string_list_add(&scope->pins, member);
    for (size_t i = 0; i < domain->writers.count; i++)
        strmap_set(&writers, domain->writers.items[i], "");
    for (size_t i = 0; i < nodes->count; i++) {
        const struct cluster_node *node = &nodes->items[i];

        if (!strmap_has(&writers, node->name))
            continue;
        strmap_remove(&scope->foreign, node->name);
        for (size_t j = 0; j < node->handles.count; j++)
            strmap_set(&scope->handles, node->handles.items[j], "");
    }
}

/* Where nothing is attached, and kubelet reports nothing, pods say what is in use on the nodes. */
static int add_claims(const struct takeover_site *site, struct call *call,
                      const struct cluster_node *node, struct strmap *claims, struct error *err)
{
    _cleanup_node_pods_ struct node_pods pods = {0};

    if (node_pods_read(site->kube, call, node->name, &pods, err) < 0)
        return -1;
    for (size_t i = 0; i < pods.count; i++) {
        for (size_t j = 0; j < pods.items[i].claims.count; j++) {
            const char *claim = pods.items[i].claims.items[j];
            const char *others = strmap_get_or(claims, claim, "");
            _cleanup_free_ char *names = xasprintf("%s %s", others, node->name);

            strmap_set(claims, claim, names);
        }
    }
    return 0;
}

/* --- what they say --- */

/* Several threads take one volume after the other. */
struct readers {
    const struct client_records *records;
    const struct domain_volumes *volumes;
    struct strmap *clients; /* of each volume; written by whoever took it */
    bool *is_there;         /* the same */
    struct deadline deadline;
    const atomic_bool *cancelled;
    atomic_size_t next;
    atomic_bool has_failed;
    pthread_mutex_t lock; /* over the one below */
    struct error first;
};

static void *read_volumes(void *object)
{
    struct readers *readers = object;
    struct call call;

    call_init(&call, 0, "takeover", readers->deadline);
    call.cancelled = readers->cancelled;
    while (!atomic_load(&readers->has_failed)) {
        const size_t i = atomic_fetch_add(&readers->next, 1);
        _cleanup_error_ struct error err = {0};

        if (i >= readers->volumes->count)
            break;
        const struct domain_volume *volume = &readers->volumes->items[i];
        if (client_records_read(readers->records, &call, volume->handle, &volume->attributes,
                                &readers->clients[i], &readers->is_there[i], &err) == 0)
            continue;
        pthread_mutex_lock(&readers->lock);
        if (!readers->first.message)
            error_move(&readers->first, &err);
        pthread_mutex_unlock(&readers->lock);
        atomic_store(&readers->has_failed, true);
    }
    call_done(&call);
    return NULL;
}

/* The thread of the caller is one of them; one that cannot be had is done without. */
static int read_clients(struct readers *readers, struct error *err)
{
    pthread_t threads[READERS - 1];
    size_t started = 0;

    pthread_mutex_init(&readers->lock, NULL);
    while (started < ARRAY_LENGTH(threads) && started + 1 < readers->volumes->count &&
           pthread_create(&threads[started], NULL, read_volumes, readers) == 0)
        started++;
    read_volumes(readers);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&readers->lock);
    return readers->first.message ? error_move(err, &readers->first) : 0;
}

/* --- whose they are --- */

/* Nodes by name and by the driver's name for them. */
struct node_index {
    struct cluster_nodes *nodes;
    struct strmap positions;
};

static void index_node(struct node_index *index, const char *name, size_t position)
{
    _cleanup_free_ char *text = xasprintf("%zu", position);

    if (name[0])
        strmap_set(&index->positions, name, text);
}

static void index_nodes(struct node_index *index)
{
    for (size_t i = 0; i < index->nodes->count; i++)
        index_node(index, index->nodes->items[i].name, i);
    for (size_t i = 0; i < index->nodes->count; i++) /* the driver's names win */
        index_node(index, index->nodes->items[i].node_id, i);
}

static struct cluster_node *find_node(const struct node_index *index, const char *client)
{
    const char *position = strmap_get(&index->positions, client);

    return position ? &index->nodes->items[strtoul(position, NULL, 10)] : NULL;
}

static bool has_address(const struct cluster_nodes *nodes, const char *address)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (!nodes->items[i].is_gone && string_list_has(&nodes->items[i].addresses, address))
            return true;
    return false;
}

/* A client without a Node. If one domain waits, it is that one's; else it concerns all of them. */
static struct cluster_node *add_stray(const char *prefix, const struct takeover_plan *plan,
                                      struct node_index *index, const char *client)
{
    struct cluster_node *node = cluster_nodes_add_gone(index->nodes, client);
    const char *domain = NULL;
    size_t waiting = 0;

    index_node(index, client, index->nodes->count - 1);
    for (size_t i = 0; i < plan->domain_count; i++) {
        if (!plan->domains[i].waits_for_clients)
            continue;
        waiting++;
        domain = plan->domains[i].domain;
    }
    if (waiting == 1) {
        _cleanup_free_ char *segment = segment_of(prefix, domain);

        strmap_set(&node->labels, segment, strchr(domain, '=') + 1);
    }
    return node;
}

/* What is read, and what it is read for. */
struct survey {
    const struct takeover_site *site;
    const struct takeover_plan *plan;
    bool is_attached;
    char *prefix;
    struct scope scope;
    struct node_index index;
};

static void survey_done(struct survey *survey)
{
    scope_done(&survey->scope);
    strmap_done(&survey->index.positions);
    free(survey->prefix);
}

static void assign_clients(struct survey *survey, const struct domain_volume *volume,
                           const struct strmap *clients)
{
    for (size_t i = 0; i < clients->count; i++) {
        const char *client = clients->entries[i].key;
        const char *address = clients->entries[i].value;
        struct cluster_node *node = find_node(&survey->index, client);
        const bool counts = survey->is_attached ? string_list_has(&volume->clients, client)
                                                : !has_address(survey->index.nodes, address);

        if (!node && counts)
            node = add_stray(survey->prefix, survey->plan, &survey->index, client);
        if (node && !string_list_has(&node->addresses, address))
            string_list_add(&node->addresses, address);
    }
}

static int refuse_unrecorded(const struct domain_volume *volume, const char *node,
                             struct error *err)
{
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "volume '%s' is in use on node '%s' and has no record of the client there; "
                     "restart the node plugin there, which writes it, or power the node off and "
                     "add \"fence\": \"none\"",
                     volume->name[0] ? volume->name : volume->handle, node);
}

/* Whether the volume has a record of each client that has, or may have, it in use. */
static int check_records(const struct survey *survey, const struct domain_volume *volume,
                         const struct strmap *clients, struct error *err)
{
    const struct cluster_nodes *nodes = survey->index.nodes;

    for (size_t i = 0; i < volume->clients.count; i++) {
        const char *name = volume->clients.items[i];
        const struct cluster_node *node = find_node(&survey->index, name);

        if (!strmap_has(clients, name) && !(node && strmap_has(clients, node->node_id)))
            return refuse_unrecorded(volume, name, err);
    }
    if (!strmap_has(&survey->scope.handles, volume->handle))
        return 0;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct cluster_node *node = &nodes->items[i];

        if (!strmap_has(&survey->scope.foreign, node->name) &&
            string_list_has(&node->handles, volume->handle) && !strmap_has(clients, node->name) &&
            !strmap_has(clients, node->node_id))
            return refuse_unrecorded(volume, node->name, err);
    }
    return 0;
}

static int read_volumes_of(struct survey *survey, struct call *call, struct domain_volumes *volumes,
                           struct error *err)
{
    const struct cluster_nodes *nodes = survey->index.nodes;
    const struct takeover_plan *plan = survey->plan;

    for (size_t i = 0; i < nodes->count; i++)
        if (!nodes->items[i].is_gone)
            strmap_set(&survey->scope.foreign, nodes->items[i].name, "");
    for (size_t i = 0; i < plan->domain_count; i++)
        if (plan->domains[i].waits_for_clients)
            add_domain(survey->prefix, nodes, &plan->domains[i], &survey->scope);
    for (size_t i = 0; i < nodes->count && !survey->is_attached; i++)
        if (!nodes->items[i].is_gone && !strmap_has(&survey->scope.foreign, nodes->items[i].name) &&
            add_claims(survey->site, call, &nodes->items[i], &survey->scope.claims, err) < 0)
            return -1;
    const struct domain_query query = {survey->site->driver_name, &survey->scope.pins,
                                       &survey->scope.foreign, &survey->scope.handles,
                                       &survey->scope.claims};
    return domain_volumes_read(survey->site->kube, call, &query, volumes, err);
}

static int use_volumes(struct survey *survey, const struct readers *readers, struct error *err)
{
    for (size_t i = 0; i < readers->volumes->count; i++) {
        const struct domain_volume *volume = &readers->volumes->items[i];

        if (!readers->is_there[i])
            continue;
        if (check_records(survey, volume, &readers->clients[i], err) < 0)
            return -1;
        assign_clients(survey, volume, &readers->clients[i]);
    }
    return 0;
}

int takeover_survey_read(const struct takeover_site *site, struct call *call,
                         const struct takeover_plan *plan, bool is_attached,
                         struct cluster_nodes *nodes, struct error *err)
{
    _cleanup_domain_volumes_ struct domain_volumes volumes = {0};
    _cleanup_(survey_done) struct survey survey = {
        .site = site,
        .plan = plan,
        .is_attached = is_attached,
        .prefix = xasprintf("topology.%s", site->driver_name),
        .index.nodes = nodes,
    };

    if (!site->records)
        return error_set(err, STATUS_FAILED_PRECONDITION, "nobody says how to reach Ceph");
    if (read_volumes_of(&survey, call, &volumes, err) < 0)
        return -1;
    struct strmap *clients = xcalloc(volumes.count + 1, sizeof(*clients));
    _cleanup_free_ bool *is_there = xcalloc(volumes.count + 1, sizeof(*is_there));
    struct readers readers = {.records = site->records,
                              .volumes = &volumes,
                              .clients = clients,
                              .is_there = is_there,
                              .deadline = call->deadline,
                              .cancelled = call->cancelled};
    call_stage(call, "asking {age} %zu volumes who may write to them", volumes.count);
    int result = read_clients(&readers, err);
    index_nodes(&survey.index);
    if (result == 0)
        result = use_volumes(&survey, &readers, err);
    for (size_t i = 0; i < volumes.count; i++)
        strmap_done(&clients[i]);
    free(clients);
    if (result == 0)
        log_info(call, "%zu volumes have reported who may write to them", volumes.count);
    return result;
}
