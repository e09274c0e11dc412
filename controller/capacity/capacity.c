/*
 * GetCapacity: the free space of a class in a place, from memory. The sum over its pools there,
 * those that share a CRUSH root counted once; the largest volume is what the best single pool
 * takes.
 */
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/config/class_parameters.h"
#include "common/config/session.h"
#include "common/topology/domain.h"
#include "common/usage/usage_cache.h"
#include "controller/backend.h"
#include "controller/place_pools.h"

struct inquiry {
    const struct controller *controller;
    struct call *call;
    const struct capacity_request *request;
    struct class_pools class;
    struct pool_entries entries;
};

static int credentials_of(const struct inquiry *inquiry, const char *cluster_id,
                          struct credentials *credentials, struct error *err)
{
    return standing_credentials_get(inquiry->controller->standing, inquiry->call, cluster_id,
                                    &inquiry->request->parameters, credentials, err);
}

/* The class's only pool. */
static int add_plain(struct inquiry *inquiry, struct error *err)
{
    const struct class_pools *class = &inquiry->class;
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_usage_snapshot_ struct usage_snapshot *snapshot = NULL;

    if (!class->home)
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter %s is missing",
                         class->is_cephfs ? PARAM_FS_NAME : PARAM_POOL);
    /* the cluster knows a file system's first data pool */
    if (!class->pool && (credentials_of(inquiry, class->cluster_id, &credentials, err) < 0 ||
                         usage_cache_get(inquiry->controller->usage, inquiry->call,
                                         class->cluster_id, &credentials, &snapshot, err) < 0))
        return -1;
    struct pool_entry plain =
        class_pools_plain(class, snapshot ? usage_snapshot_usage(snapshot) : NULL);
    pool_entries_add(&inquiry->entries, &plain);
    return 0;
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
    if (!class_pools_have_places(class))
        return add_plain(inquiry, err);
    topology_terms_add(&place.requisite, &inquiry->request->segments);
    place_levels(&place, &levels);
    if (credentials_of(inquiry, class->cluster_id, &credentials, err) < 0)
        return -1;
    if (place_entries(inquiry->controller, inquiry->call, class, &credentials,
                      levels.count ? &levels : NULL, &inquiry->entries, err) == 0)
        return 0;
    return error_ignore(err, STATUS_RESOURCE_EXHAUSTED); /* no pool takes part yet: no capacity */
}

/* What the entry's pool has promised, where that counts. */
static int ask_provision(const struct inquiry *inquiry, const struct credentials *credentials,
                         const struct pool_entry *entry, struct pool_provision *provision,
                         struct error *err)
{
    const char *cluster_id = class_pools_cluster(&inquiry->class, entry);
    struct usage_pool pool = {cluster_id, entry->pool, "",
                              class_pools_filesystem(&inquiry->class, entry)};
    _cleanup_config_ struct config *config = NULL;
    const struct cluster_config *cluster = NULL;

    if (inquiry->class.overcommit == 0)
        return 0;
    if (!inquiry->class.is_cephfs) { /* volumes of CephFS are distinguished by their file system */
        if (config_file_get(inquiry->controller->config, &config, err) < 0 ||
            config_find_cluster(config, cluster_id, &cluster, err) < 0)
            return -1;
        if (cluster->rbd.rados_namespace)
            pool.rados_namespace = cluster->rbd.rados_namespace;
    }
    *provision =
        usage_cache_provision(inquiry->controller->usage, inquiry->call, &pool, credentials, true);
    return 0;
}

/* The capacity of one entry, by *@snapshot, which the caller releases. A pool that does not exist
 * has none. */
static int entry_capacity(const struct inquiry *inquiry, const struct pool_entry *entry,
                          struct usage_snapshot **snapshot, struct free_space_item *item,
                          struct error *err)
{
    const char *cluster_id = class_pools_cluster(&inquiry->class, entry);
    _cleanup_credentials_ struct credentials credentials = {0};
    struct pool_provision provision = {0};
    const char *remark = NULL;

    if (credentials_of(inquiry, cluster_id, &credentials, err) < 0 ||
        usage_cache_get(inquiry->controller->usage, inquiry->call, cluster_id, &credentials,
                        snapshot, err) < 0)
        return -1;
    const struct cluster_pool *pool =
        class_pools_pool(&inquiry->class, entry, usage_snapshot_usage(*snapshot), &remark);
    if (!pool)
        return 0;
    if (ask_provision(inquiry, &credentials, entry, &provision, err) < 0)
        return -1;
    *item = (struct free_space_item){
        free_space_of_pool(&pool->usage, &provision, inquiry->class.overcommit), pool->usage.root,
        cluster_id};
    return 0;
}

/* With unservedDomains: anywhere a place without pools has all of them. */
static bool is_any_pool_good(const struct inquiry *inquiry)
{
    const struct strmap *segments = &inquiry->request->segments;

    for (size_t i = 0; i < inquiry->entries.count && segments->count > 0; i++)
        if (pool_entry_is_served(&inquiry->entries.items[i], segments))
            return false;
    return segments->count == 0 || inquiry->class.may_be_anywhere;
}

static int sum_entries(struct inquiry *inquiry, struct capacity *capacity, struct error *err)
{
    const struct pool_entries *entries = &inquiry->entries;
    const struct strmap *segments = &inquiry->request->segments;
    struct free_space_item *items = xcalloc(entries->count + 1, sizeof(*items));
    /* roots are borrowed from them */
    struct usage_snapshot **snapshots =
        xcalloc(entries->count + 1, sizeof(struct usage_snapshot *));
    _cleanup_takeover_snapshot_ struct takeover_snapshot takeovers = {0};
    const bool any_is_good = is_any_pool_good(inquiry);
    int result = 0;

    place_takeovers(inquiry->controller, &takeovers);
    for (size_t i = 0; i < entries->count && result == 0; i++) {
        const struct pool_entry *entry = &entries->items[i];

        if ((any_is_good || pool_entry_is_served(entry, segments)) &&
            !place_is_taken_over(takeovers.map, entry))
            result = entry_capacity(inquiry, entry, &snapshots[i], &items[i], err);
    }
    if (result == 0)
        free_space_sum(items, entries->count, &capacity->available_bytes, &capacity->maximum_bytes);
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

static void inquiry_done(struct inquiry *inquiry)
{
    class_pools_done(&inquiry->class);
    pool_entries_done(&inquiry->entries);
}

int controller_get_capacity(const struct controller *controller, struct call *call,
                            const struct capacity_request *request, struct capacity *capacity,
                            struct error *err)
{
    const struct controller_backend *backend = controller_backend(controller);
    const struct strmap *parameters = &request->parameters;
    _cleanup_(inquiry_done) struct inquiry inquiry = {
        .controller = controller, .call = call, .request = request};

    *capacity = (struct capacity){.minimum_bytes = backend->smallest_volume};
    if (!strmap_has(parameters, PARAM_CLUSTER_ID) && !strmap_has(parameters, PARAM_POOL) &&
        !strmap_has(parameters, PARAM_FS_NAME) && !strmap_has(parameters, PARAM_CONSTRAINED_POOLS))
        return total_capacity(controller, call, capacity, err);
    capacity->has_maximum = true;
    if (backend->parse_pools(parameters, &inquiry.class, err) < 0 ||
        collect_entries(&inquiry, err) < 0 || sum_entries(&inquiry, capacity, err) < 0)
        return -1;
    if (inquiry.class.overcommit > 0) /* the size that is compared is rounded up before */
        capacity->maximum_bytes = volume_size_within(capacity->maximum_bytes);
    return 0;
}
