#include "common/volume/class_pools.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define METADATA_PREFIX "cephzone."
#define METADATA_CLASS METADATA_PREFIX "class"

/* --- parameters ---------------------------------------------------------------------------------
 */

static int parse_auto(const struct strmap *parameters, struct class_pools *pools, struct error *err)
{
    const char *value = strmap_get_or(parameters, "topologyPools", NULL);

    if (!value)
        return 0;
    if (strcmp(value, "auto") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "topologyPools: '%.40s' is unknown; there is only 'auto'", value);
    if (strmap_has(parameters, "topologyConstrainedPools"))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "topologyPools: auto and topologyConstrainedPools exclude each other");
    if (!pools->pool)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "topologyPools: auto needs the parameter pool, where the names of "
                         "requests are kept");
    pools->is_auto = true;
    pools->topology_class = strmap_get_or(parameters, "topologyClass", pools->pool);
    return 0;
}

static int parse_choices(const struct strmap *parameters, struct class_pools *pools,
                         struct error *err)
{
    const char *policy = strmap_get_or(parameters, "poolSelection", NULL);
    const char *pinning = strmap_get_or(parameters, "topologyPinning", NULL);
    const char *overcommit = strmap_get_or(parameters, "overcommit", NULL);
    const char *crossing = strmap_get_or(parameters, "crossPoolRestore", NULL);

    pools->has_policy = policy != NULL;
    if ((policy && placement_policy_parse(policy, &pools->policy, err) < 0) ||
        (pinning && pinning_parse(pinning, &pools->pinning, err) < 0) ||
        (overcommit && overcommit_parse(overcommit, &pools->overcommit, err) < 0))
        return -1;
    if (crossing && strcmp(crossing, "copy") != 0 && strcmp(crossing, "none") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "crossPoolRestore: '%.40s' is neither 'copy' nor 'none'", crossing);
    pools->may_cross_pools = crossing && strcmp(crossing, "copy") == 0;
    return 0;
}

int class_pools_parse(const struct strmap *parameters, struct class_pools *out, struct error *err)
{
    const char *constrained = strmap_get(parameters, "topologyConstrainedPools");
    _cleanup_class_pools_ struct class_pools pools = {
        .cluster_id = strmap_get_or(parameters, "clusterID", NULL),
        .pool = strmap_get_or(parameters, "pool", NULL),
        .data_pool = strmap_get_or(parameters, "dataPool", NULL),
    };

    if (parse_auto(parameters, &pools, err) < 0 || parse_choices(parameters, &pools, err) < 0)
        return -1;
    if (constrained && pool_entries_parse(constrained, &pools.entries, err) < 0)
        return -1;
    *out = pools;
    pools = (struct class_pools){0};
    return 0;
}

void class_pools_done(struct class_pools *pools)
{
    pool_entries_done(&pools->entries);
}

bool class_pools_have_places(const struct class_pools *pools)
{
    return pools->is_auto || pools->entries.count > 0;
}

bool class_pools_want_place(const struct class_pools *pools,
                            const struct topology_requirement *requirement)
{
    if (!class_pools_have_places(pools))
        return false;
    return !pools->pool || pools->has_policy || !topology_requirement_is_empty(requirement);
}

const char *class_pools_cluster(const struct class_pools *pools, const struct pool_entry *entry)
{
    return entry->cluster_id ? entry->cluster_id : pools->cluster_id;
}

int class_pools_look_up(const struct class_pools *pools, const struct pool_entry *entry,
                        size_t index, const struct cluster_usage *usage,
                        const struct cluster_pool **pool, struct error *err)
{
    const struct cluster_pool *own = cluster_usage_find(usage, entry->pool);
    const struct cluster_pool *found =
        own && entry->data_pool ? cluster_usage_find(usage, entry->data_pool) : own;

    if (!found)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "topologyConstrainedPools[%zu].%s: there is no pool '%s' in cluster '%s'",
                         index, own ? "dataPool" : "poolName", own ? entry->data_pool : entry->pool,
                         class_pools_cluster(pools, entry));
    *pool = found;
    return 0;
}

struct pool_entry class_pools_plain(const struct class_pools *pools)
{
    return (struct pool_entry){
        .pool = xstrdup(pools->pool),
        .data_pool = pools->data_pool ? xstrdup(pools->data_pool) : NULL,
        .origin = "class",
    };
}

/* --- pools that carry their place ---------------------------------------------------------------
 */

static bool takes_part(const struct class_pools *pools, const struct cluster_pool *pool)
{
    const char *class = strmap_get(&pool->rbd_metadata, METADATA_CLASS);

    return pool->is_rbd && pool->is_replicated && class &&
           strcmp(class, pools->topology_class) == 0;
}

/* Puts a segment where its level belongs, outermost first. */
static void add_segment(struct pool_entry *entry, const struct crush_map *crush, const char *level,
                        const char *value)
{
    int64_t order = crush_type_id(crush, level);
    size_t at = 0;

    while (at < entry->count && crush_type_id(crush, entry->segments[at].level) > order)
        at++;
    entry->segments = xreallocarray(entry->segments, entry->count + 1, sizeof(*entry->segments));
    memmove(&entry->segments[at + 1], &entry->segments[at],
            (entry->count - at) * sizeof(*entry->segments));
    entry->segments[at] = (struct pool_segment){xstrdup(level), xstrdup(value)};
    entry->count++;
}

static void place_by_metadata(const struct cluster_pool *pool, const struct crush_map *crush,
                              struct pool_entry *entry)
{
    for (size_t i = 0; i < pool->rbd_metadata.count; i++) {
        const struct strmap_entry *item = &pool->rbd_metadata.entries[i];

        if (!text_has_prefix(item->key, METADATA_PREFIX) || strcmp(item->key, METADATA_CLASS) == 0)
            continue;
        add_segment(entry, crush, item->key + strlen(METADATA_PREFIX), item->value);
        entry->origin = "metadata";
    }
}

/* host and osd are no places of volumes, root is everywhere */
static bool is_level(const struct crush_map *crush, const struct crush_bucket *bucket,
                     const struct string_list *levels)
{
    if (levels)
        return string_list_has(levels, bucket->type);
    return bucket->type_id > crush_type_id(crush, "host") && strcmp(bucket->type, "root") != 0;
}

/* False if the rule leads to buckets, but to none of a level that was asked for. */
static bool place_by_crush(const struct cluster_pool *pool, const struct crush_map *crush,
                           const struct string_list *levels, struct pool_entry *entry)
{
    const char *takes = crush_rule_takes(crush, pool->crush_rule);
    const struct crush_bucket *bucket = takes ? crush_find_bucket(crush, takes) : NULL;
    bool is_everywhere = !bucket || strcmp(bucket->type, "root") == 0;

    entry->origin = "crush";
    /* a map of the cluster's making cannot be deeper than it has buckets */
    for (size_t i = 0; bucket && i < crush->bucket_count; i++) {
        if (is_level(crush, bucket, levels))
            add_segment(entry, crush, bucket->type, bucket->name);
        bucket = crush_parent(crush, bucket);
    }
    return is_everywhere || entry->count > 0;
}

void class_pools_find(const struct class_pools *pools, const struct cluster_usage *usage,
                      const struct string_list *levels, struct pool_entries *entries)
{
    for (size_t i = 0; i < usage->count && entries->count < POOL_ENTRIES_MAX; i++) {
        const struct cluster_pool *pool = &usage->pools[i];
        struct pool_entry entry = {0};

        if (!takes_part(pools, pool))
            continue;
        entry.pool = xstrdup(pool->usage.name);
        place_by_metadata(pool, &usage->crush, &entry);
        if (entry.origin || place_by_crush(pool, &usage->crush, levels, &entry))
            pool_entries_add(entries, &entry);
        else
            pool_entry_done(&entry);
    }
}

int class_pools_refuse_none(const struct class_pools *pools, struct error *err)
{
    return error_set(err, STATUS_RESOURCE_EXHAUSTED,
                     "topologyPools: auto: no replicated pool of cluster '%s' with application "
                     "'rbd' has the metadata cephzone.class=%s; 'ceph osd pool application set "
                     "POOL rbd cephzone.class %s' makes one take part",
                     pools->cluster_id, pools->topology_class, pools->topology_class);
}
