/*
 * Whom to fence beyond the nodes' internal addresses. Where Ceph's network is not that of the
 * nodes, clients come from other addresses, and only the volumes know which: NodeStage has recorded
 * them before it mapped. Asked are the volumes that the takeover lets others use - those
 * pinned to the domain, and those whose attachments the taint releases - and no other image.
 *
 * A record stays after its node has let go of the volume. So one of a node elsewhere does not make
 * it a target, and one of a node that has no Node object any more counts only while an attachment
 * still names it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/domain_volumes.h"
#include "common/topology/domain.h"
#include "controller/takeover/takeover.h"

#define READERS 8

void takeover_survey_done(struct takeover_survey *survey)
{
    for (size_t i = 0; i < survey->stray_count; i++) {
        free(survey->strays[i].domain);
        free(survey->strays[i].name);
        free(survey->strays[i].address);
    }
    free(survey->strays);
    *survey = (struct takeover_survey){0};
}

/* --- which volumes --- */

/* What the domains' volumes are recognized by. */
struct scope {
    struct string_list pins;
    struct strmap foreign;
    struct strmap handles;
};

static void scope_done(struct scope *scope)
{
    string_list_done(&scope->pins);
    strmap_done(&scope->foreign);
    strmap_done(&scope->handles);
}

/* @domain is "zone=zone-a". */
static void add_domain(const char *prefix, const struct cluster_nodes *nodes, const char *domain,
                       struct scope *scope)
{
    const char *value = strchr(domain, '=') + 1;
    _cleanup_free_ char *level = xstrndup(domain, (size_t)(value - 1 - domain));
    _cleanup_free_ char *segment = segment_key(prefix, level);
    _cleanup_free_ char *membership = membership_key(prefix, level, value);
    _cleanup_free_ char *plain = xasprintf("%s=%s", segment, value);
    _cleanup_free_ char *member = xasprintf("%s=true", membership);

    string_list_add(&scope->pins, plain);
    string_list_add(&scope->pins, member);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct cluster_node *node = &nodes->items[i];
        const char *home = strmap_get(&node->labels, segment);

        if (!home || strcmp(home, value) != 0)
            continue;
        strmap_remove(&scope->foreign, node->name);
        for (size_t j = 0; j < node->handles.count; j++)
            strmap_set(&scope->handles, node->handles.items[j], "");
    }
}

/* --- what they say --- */

/* Several threads take one volume after the other. */
struct readers {
    const struct client_records *records;
    const struct domain_volumes *volumes;
    struct strmap *clients; /* of each volume; written by whoever took it */
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
                                &readers->clients[i], &err) == 0)
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

static struct cluster_node *find_node(struct cluster_nodes *nodes, const char *client)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (strcmp(nodes->items[i].node_id, client) == 0)
            return &nodes->items[i];
    for (size_t i = 0; i < nodes->count; i++)
        if (strcmp(nodes->items[i].name, client) == 0)
            return &nodes->items[i];
    return NULL;
}

static void add_stray(struct takeover_survey *survey, const char *domain, const char *client,
                      const char *address)
{
    for (size_t i = 0; i < survey->stray_count; i++)
        if (strcmp(survey->strays[i].name, client) == 0 &&
            strcmp(survey->strays[i].address, address) == 0 &&
            strcmp(survey->strays[i].domain, domain) == 0)
            return;
    *array_add(survey->strays, survey->stray_count) =
        (struct takeover_stray){xstrdup(domain), xstrdup(client), xstrdup(address)};
}

static void assign_clients(const struct takeover_plan *plan, const struct domain_volume *volume,
                           const struct strmap *clients, struct cluster_nodes *nodes,
                           struct takeover_survey *survey)
{
    for (size_t i = 0; i < clients->count; i++) {
        const char *client = clients->entries[i].key;
        const char *address = clients->entries[i].value;
        struct cluster_node *node = find_node(nodes, client);

        if (node && !string_list_has(&node->addresses, address))
            string_list_add(&node->addresses, address);
        if (node || !string_list_has(&volume->clients, client))
            continue;
        /* a volume that is pinned to one of several domains may have strays of any: all wait */
        for (size_t j = 0; j < plan->domain_count; j++)
            if (plan->domains[j].waits_for_clients)
                add_stray(survey, plan->domains[j].domain, client, address);
    }
}

static int read_volumes_of(const struct takeover_site *site, struct call *call,
                           const struct takeover_plan *plan, const struct cluster_nodes *nodes,
                           struct domain_volumes *volumes, struct error *err)
{
    _cleanup_free_ char *prefix = xasprintf("topology.%s", site->driver_name);
    _cleanup_(scope_done) struct scope scope = {0};

    for (size_t i = 0; i < nodes->count; i++)
        strmap_set(&scope.foreign, nodes->items[i].name, "");
    for (size_t i = 0; i < plan->domain_count; i++)
        if (plan->domains[i].waits_for_clients)
            add_domain(prefix, nodes, plan->domains[i].domain, &scope);
    const struct domain_query query = {site->driver_name, &scope.pins, &scope.foreign,
                                       &scope.handles};
    return domain_volumes_read(site->kube, call, &query, volumes, err);
}

int takeover_survey_read(const struct takeover_site *site, struct call *call,
                         const struct takeover_plan *plan, struct cluster_nodes *nodes,
                         struct takeover_survey *survey, struct error *err)
{
    _cleanup_domain_volumes_ struct domain_volumes volumes = {0};

    if (!site->records)
        return error_set(err, STATUS_FAILED_PRECONDITION, "nobody says how to reach Ceph");
    if (read_volumes_of(site, call, plan, nodes, &volumes, err) < 0)
        return -1;
    struct strmap *clients = xcalloc(volumes.count + 1, sizeof(*clients));
    struct readers readers = {.records = site->records,
                              .volumes = &volumes,
                              .clients = clients,
                              .deadline = call->deadline,
                              .cancelled = call->cancelled};
    call_stage(call, "asking {age} %zu volumes who may write to them", volumes.count);
    int result = read_clients(&readers, err);
    for (size_t i = 0; i < volumes.count; i++) {
        if (result == 0)
            assign_clients(plan, &volumes.items[i], &clients[i], nodes, survey);
        strmap_done(&clients[i]);
    }
    free(clients);
    if (result == 0)
        log_info(call, "%zu volumes have reported who may write to them", volumes.count);
    return result;
}
