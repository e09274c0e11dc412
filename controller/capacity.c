/*
 * GetCapacity: the room of a class in a place, from memory. The sum over its pools there, those
 * that share a CRUSH root counted once; the largest volume is what the best single pool takes.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "common/volume/session.h"
#include "common/volume/usage_cache.h"
#include "controller/backend.h"
#include "controller/place.h"

#define SMALLEST_VOLUME 512 /* a sector */

struct inquiry {
    const struct controller *controller;
    struct call *call;
    const struct capacity_request *request;
    struct class_pools class;
    struct pool_entries entries;
};

static bool is_served(const struct inquiry *inquiry, const struct pool_entry *entry)
{
    const struct strmap *segments = &inquiry->request->segments;

    if (segments->count == 0)
        return true;
    for (size_t i = 0; i < entry->count; i++)
        if (!topology_term_serves(segments, entry->segments[i].level, entry->segments[i].value))
            return false;
    return true;
}

static int credentials_of(const struct inquiry *inquiry, const char *cluster_id,
                          struct credentials *credentials, struct error *err)
{
    return standing_credentials_get(inquiry->controller->standing, inquiry->call, cluster_id,
                                    &inquiry->request->parameters, credentials, err);
}

/* The pools of the class; without places its one pool, which serves everywhere. */
static int collect_entries(struct inquiry *inquiry, struct error *err)
{
    const struct class_pools *class = &inquiry->class;
    _cleanup_topology_requirement_ struct topology_requirement place = {0};
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_string_list_ struct string_list levels = {0};

    if (!class->cluster_id)
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter clusterID is missing");
    if (!class_pools_have_places(class)) {
        if (!class->pool)
            return error_set(err, STATUS_INVALID_ARGUMENT, "parameter pool is missing");
        struct pool_entry plain = class_pools_plain(class);
        pool_entries_add(&inquiry->entries, &plain);
        return 0;
    }
    topology_terms_add(&place.requisite, &inquiry->request->segments);
    place_levels(&place, &levels);
    if (credentials_of(inquiry, class->cluster_id, &credentials, err) < 0)
        return -1;
    if (place_entries(inquiry->controller, inquiry->call, class, &credentials,
                      levels.count ? &levels : NULL, &inquiry->entries, err) == 0)
        return 0;
    if (err->status != STATUS_RESOURCE_EXHAUSTED)
        return -1;
    error_clear(err); /* no pool takes part yet: no room */
    return 0;
}

static struct pool_provision provision_of(const struct inquiry *inquiry,
                                          const struct credentials *credentials,
                                          const char *cluster_id, const char *pool,
                                          const char *rados_namespace)
{
    const struct usage_pool usage_pool = {cluster_id, pool, rados_namespace};

    if (inquiry->class.overcommit == 0)
        return (struct pool_provision){0};
    return usage_cache_provision(inquiry->controller->usage, inquiry->call, &usage_pool,
                                 credentials, true);
}

static int rbd_namespace(const struct inquiry *inquiry, const char *cluster_id, char **name,
                         struct error *err)
{
    _cleanup_config_ struct config *config = NULL;
    const struct cluster_config *cluster = NULL;

    if (config_file_get(inquiry->controller->config, &config, err) < 0 ||
        config_find_cluster(config, cluster_id, &cluster, err) < 0)
        return -1;
    *name = xstrdup(cluster->rbd.rados_namespace ? cluster->rbd.rados_namespace : "");
    return 0;
}

/* The room of one entry, by *@snapshot, which the caller gives back. A pool that does not exist has
 * none. */
static int entry_room(const struct inquiry *inquiry, const struct pool_entry *entry,
                      struct usage_snapshot **snapshot, struct room_sum_item *item,
                      struct error *err)
{
    const char *cluster_id = class_pools_cluster(&inquiry->class, entry);
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_free_ char *rados_namespace = NULL;

    if (credentials_of(inquiry, cluster_id, &credentials, err) < 0 ||
        usage_cache_get(inquiry->controller->usage, inquiry->call, cluster_id, &credentials,
                        snapshot, err) < 0)
        return -1;
    const struct cluster_usage *usage = usage_snapshot_usage(*snapshot);
    const struct cluster_pool *pool = cluster_usage_find(usage, entry->pool);
    if (pool && entry->data_pool)
        pool = cluster_usage_find(usage, entry->data_pool);
    if (!pool)
        return 0;
    if (inquiry->class.overcommit > 0 &&
        rbd_namespace(inquiry, cluster_id, &rados_namespace, err) < 0)
        return -1;
    const struct pool_provision provision =
        provision_of(inquiry, &credentials, cluster_id, entry->pool, rados_namespace);
    *item =
        (struct room_sum_item){room_of_pool(&pool->usage, &provision, inquiry->class.overcommit),
                               pool->usage.root, cluster_id};
    return 0;
}

static int sum_entries(struct inquiry *inquiry, struct capacity *capacity, struct error *err)
{
    const struct pool_entries *entries = &inquiry->entries;
    struct room_sum_item *items = xcalloc(entries->count + 1, sizeof(*items));
    /* roots are borrowed from them */
    struct usage_snapshot **snapshots =
        xcalloc(entries->count + 1, sizeof(struct usage_snapshot *));
    _cleanup_takeover_snapshot_ struct takeover_snapshot takeovers = {0};
    int result = 0;

    place_takeovers(inquiry->controller, &takeovers);
    for (size_t i = 0; i < entries->count && result == 0; i++) {
        const struct pool_entry *entry = &entries->items[i];

        if (is_served(inquiry, entry) && !place_is_taken_over(takeovers.map, entry))
            result = entry_room(inquiry, entry, &snapshots[i], &items[i], err);
    }
    if (result == 0)
        room_sum(items, entries->count, &capacity->available_bytes, &capacity->maximum_bytes);
    for (size_t i = 0; i < entries->count; i++)
        if (snapshots[i])
            usage_snapshot_unref(snapshots[i]);
    free(snapshots);
    free(items);
    return result;
}

/* Nothing was said: everything there is, as far as this driver has access to it. */
static int total_capacity(const struct controller *controller, struct call *call,
                          struct capacity *capacity, struct error *err)
{
    _cleanup_config_ struct config *config = NULL;

    if (!standing_credentials_exist(controller->standing))
        return 0;
    if (config_file_get(controller->config, &config, err) < 0)
        return -1;
    for (size_t i = 0; i < config_cluster_count(config); i++) {
        const char *cluster_id = config_cluster_id(config, i);
        _cleanup_credentials_ struct credentials credentials = {0};
        _cleanup_usage_snapshot_ struct usage_snapshot *snapshot = NULL;

        if (standing_credentials_get(controller->standing, call, cluster_id, NULL, &credentials,
                                     err) < 0 ||
            usage_cache_get(controller->usage, call, cluster_id, &credentials, &snapshot, err) < 0)
            return -1;
        capacity->available_bytes += usage_snapshot_usage(snapshot)->available_bytes;
    }
    return 0;
}

static bool names_a_class(const struct capacity_request *request)
{
    return strmap_has(&request->parameters, "clusterID") ||
           strmap_has(&request->parameters, "pool") ||
           strmap_has(&request->parameters, "topologyConstrainedPools");
}

static void inquiry_done(struct inquiry *inquiry)
{
    class_pools_done(&inquiry->class);
    pool_entries_done(&inquiry->entries);
}

int controller_get_capacity(const struct controller *controller, struct call *call,
                            const struct capacity_request *request, struct capacity *capacity,
                            struct error *err)
{
    _cleanup_(inquiry_done) struct inquiry inquiry = {
        .controller = controller, .call = call, .request = request};

    if (!controller_backend(controller)->has_capacity)
        return error_set(err, STATUS_UNIMPLEMENTED, "volumes of type %s have no capacity to tell",
                         controller_backend(controller)->type);
    *capacity = (struct capacity){.minimum_bytes = SMALLEST_VOLUME};
    if (!names_a_class(request))
        return total_capacity(controller, call, capacity, err);
    capacity->has_maximum = true;
    if (class_pools_parse(&request->parameters, &inquiry.class, err) < 0)
        return -1;
    if (collect_entries(&inquiry, err) < 0)
        return -1;
    return sum_entries(&inquiry, capacity, err);
}
