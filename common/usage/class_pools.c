#include "common/usage/class_pools.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"

/* --- parameters --- */

static int parse_auto(const struct strmap *parameters, struct class_pools *pools, struct error *err)
{
    const enum class_driver driver = pools->is_cephfs ? CLASS_CEPHFS : CLASS_RBD;

    if (class_parameter_check(parameters, driver, PARAM_TOPOLOGY_POOLS, err) < 0)
        return -1;
    if (!class_parameter_get(parameters, PARAM_TOPOLOGY_POOLS))
        return 0;
    if (strmap_has(parameters, PARAM_CONSTRAINED_POOLS))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "topologyPools: auto and topologyConstrainedPools exclude each other");
    if (!pools->home)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "topologyPools: auto needs the parameter %s, where the names of "
                         "requests are kept",
                         pools->is_cephfs ? PARAM_FS_NAME : PARAM_POOL);
    pools->is_auto = true;
    pools->topology_class = strmap_get_or(parameters, PARAM_TOPOLOGY_CLASS, pools->home);
    return 0;
}

static int parse_choices(const struct strmap *parameters, struct class_pools *pools,
                         struct error *err)
{
    const char *policy = strmap_get_or(parameters, PARAM_POOL_SELECTION, NULL);
    const char *pinning = strmap_get_or(parameters, PARAM_TOPOLOGY_PINNING, NULL);
    const char *overcommit = strmap_get_or(parameters, PARAM_OVERCOMMIT, NULL);
    const char *immediate = strmap_get_or(parameters, PARAM_IMMEDIATE_TOPOLOGY, NULL);
    const char *unserved = strmap_get_or(parameters, PARAM_UNSERVED_DOMAINS, "refuse");
    const char *crossing = strmap_get_or(parameters, PARAM_CROSS_POOL_RESTORE, NULL);
    const enum class_driver driver = pools->is_cephfs ? CLASS_CEPHFS : CLASS_RBD;

    pools->has_policy = policy != NULL;
    if ((policy && placement_policy_parse(policy, &pools->policy, err) < 0) ||
        (pinning && pinning_parse(pinning, &pools->pinning, err) < 0) ||
        (immediate && immediate_topology_parse(immediate, &pools->immediate, err) < 0) ||
        (overcommit && overcommit_parse(overcommit, &pools->overcommit, err) < 0) ||
        class_parameter_check(parameters, driver, PARAM_UNSERVED_DOMAINS, err) < 0 ||
        class_parameter_check(parameters, driver, PARAM_CROSS_POOL_RESTORE, err) < 0)
        return -1;
    pools->may_be_anywhere = strcmp(unserved, "anywhere") == 0;
    /* a clone in CephFS is a full copy, in whichever pool, that does not depend on its source */
    pools->may_cross_pools = crossing ? strcmp(crossing, "copy") == 0 : pools->is_cephfs;
    return 0;
}

/* Mistakes that depend on the kind of volume. */
static int check_class_entry(const struct class_pools *pools, const struct pool_entry *entry,
                             struct error *err)
{
    if (entry->cluster_id && class_check_cluster(entry->cluster_id, err) < 0)
        return -1;
    if (!pools->is_cephfs)
        return 0;
    if (entry->data_pool)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "dataPool is for RBD; the data pool of a CephFS volume is poolName");
    if (!class_pools_filesystem(pools, entry))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "fsName is missing, and the class does not name one for all");
    return 0;
}

static int parse_pools(const struct strmap *parameters, struct class_pools start,
                       struct class_pools *out, struct error *err)
{
    const char *constrained = strmap_get(parameters, PARAM_CONSTRAINED_POOLS);
    _cleanup_class_pools_ struct class_pools pools = start;

    if (parse_auto(parameters, &pools, err) < 0 || parse_choices(parameters, &pools, err) < 0)
        return -1;
    if (constrained && pool_entries_parse(constrained, &pools.entries, err) < 0)
        return -1;
    for (size_t i = 0; i < pools.entries.count; i++)
        if (check_class_entry(&pools, &pools.entries.items[i], err) < 0)
            return error_wrap(err, PARAM_CONSTRAINED_POOLS "[%zu]", i);
    *out = pools;
    pools = (struct class_pools){0};
    return 0;
}

int class_pools_parse_rbd(const struct strmap *parameters, struct class_pools *out,
                          struct error *err)
{
    const struct class_pools start = {
        .cluster_id = strmap_get_or(parameters, PARAM_CLUSTER_ID, NULL),
        .home = strmap_get_or(parameters, PARAM_POOL, NULL),
        .pool = strmap_get_or(parameters, PARAM_POOL, NULL),
        .data_pool = strmap_get_or(parameters, PARAM_DATA_POOL, NULL),
    };

    return parse_pools(parameters, start, out, err);
}

int class_pools_parse_cephfs(const struct strmap *parameters, struct class_pools *out,
                             struct error *err)
{
    const struct class_pools start = {
        .is_cephfs = true,
        .cluster_id = strmap_get_or(parameters, PARAM_CLUSTER_ID, NULL),
        .home = strmap_get_or(parameters, PARAM_FS_NAME, NULL),
        .pool = strmap_get_or(parameters, PARAM_POOL, NULL),
    };

    return parse_pools(parameters, start, out, err);
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
    return !pools->home || pools->has_policy || pools->immediate != IMMEDIATE_FIRST ||
           !topology_requirement_is_empty(requirement);
}

bool class_pools_need_volumes(const struct class_pools *pools)
{
    return pools->overcommit > 0 || placement_policy_counts_volumes(pools->policy);
}

const char *class_pools_cluster(const struct class_pools *pools, const struct pool_entry *entry)
{
    return entry->cluster_id ? entry->cluster_id : pools->cluster_id;
}

const char *class_pools_filesystem(const struct class_pools *pools, const struct pool_entry *entry)
{
    if (!pools->is_cephfs)
        return NULL;
    return entry->fs_name ? entry->fs_name : pools->home;
}

/* --- what the cluster has of it --- */

enum pool_fault { POOL_USABLE, POOL_MISSING, DATA_POOL_MISSING, FS_MISSING, POOL_NOT_OF_FS };

static enum pool_fault find_entry_pool(const struct class_pools *pools,
                                       const struct pool_entry *entry,
                                       const struct cluster_usage *usage,
                                       const struct cluster_pool **pool)
{
    const char *fs_name = class_pools_filesystem(pools, entry);
    const struct filesystem *fs = fs_name ? cluster_usage_find_fs(usage, fs_name) : NULL;

    *pool = cluster_usage_find(usage, entry->pool);
    if (pools->is_cephfs && !fs)
        return FS_MISSING;
    if (!*pool)
        return POOL_MISSING;
    if (pools->is_cephfs)
        return filesystem_has_data_pool(fs, (*pool)->id) ? POOL_USABLE : POOL_NOT_OF_FS;
    if (entry->data_pool)
        *pool = cluster_usage_find(usage, entry->data_pool);
    return *pool ? POOL_USABLE : DATA_POOL_MISSING;
}

const struct cluster_pool *class_pools_pool(const struct class_pools *pools,
                                            const struct pool_entry *entry,
                                            const struct cluster_usage *usage, const char **remark)
{
    static const char *const remarks[] = {
        [POOL_USABLE] = "",
        [POOL_MISSING] = "no such pool",
        [DATA_POOL_MISSING] = "no such data pool",
        [FS_MISSING] = "no such file system",
        [POOL_NOT_OF_FS] = "no data pool of the file system",
    };
    const struct cluster_pool *pool = NULL;
    enum pool_fault fault = find_entry_pool(pools, entry, usage, &pool);

    *remark = remarks[fault];
    return fault == POOL_USABLE ? pool : NULL;
}

int class_pools_look_up(const struct class_pools *pools, const struct pool_entry *entry,
                        size_t index, const struct cluster_usage *usage,
                        const struct cluster_pool **pool, struct error *err)
{
    const char *cluster_id = class_pools_cluster(pools, entry);
    const char *fs_name = class_pools_filesystem(pools, entry);
    const enum pool_fault fault = find_entry_pool(pools, entry, usage, pool);

    switch (fault) {
    case POOL_USABLE:
        return 0;
    case FS_MISSING:
        error_set(err, STATUS_INVALID_ARGUMENT,
                  PARAM_CONSTRAINED_POOLS
                  "[%zu].fsName: there is no file system '%s' in cluster '%s'",
                  index, fs_name, cluster_id);
        break;
    case POOL_NOT_OF_FS:
        error_set(
            err, STATUS_INVALID_ARGUMENT,
            PARAM_CONSTRAINED_POOLS
            "[%zu].poolName: '%s' is no data pool of file system '%s'; 'ceph fs add_data_pool %s "
            "%s' makes it one",
            index, entry->pool, fs_name, fs_name, entry->pool);
        break;
    case POOL_MISSING:
    case DATA_POOL_MISSING:
        error_set(err, STATUS_INVALID_ARGUMENT,
                  PARAM_CONSTRAINED_POOLS "[%zu].%s: there is no pool '%s' in cluster '%s'", index,
                  fault == POOL_MISSING ? "poolName" : "dataPool",
                  fault == POOL_MISSING ? entry->pool : entry->data_pool, cluster_id);
        break;
    }
    return -1;
}

/* The name of the file system's first data pool, or a description of it. */
static char *name_default_pool(const struct class_pools *pools, const struct cluster_usage *usage)
{
    const struct filesystem *fs = usage ? cluster_usage_find_fs(usage, pools->home) : NULL;
    const struct cluster_pool *pool =
        fs && fs->data_pool_count ? cluster_usage_find_id(usage, fs->data_pool_ids[0]) : NULL;

    return pool ? xstrdup(pool->usage.name) : xasprintf("first of '%s'", pools->home);
}

struct pool_entry class_pools_plain(const struct class_pools *pools,
                                    const struct cluster_usage *usage)
{
    return (struct pool_entry){
        .pool = pools->pool ? xstrdup(pools->pool) : name_default_pool(pools, usage),
        .data_pool = pools->data_pool ? xstrdup(pools->data_pool) : NULL,
        .origin = "class",
    };
}

/* --- pools that carry their place --- */

static const struct strmap *metadata_of(const struct class_pools *pools,
                                        const struct cluster_pool *pool)
{
    return pools->is_cephfs ? &pool->cephfs_metadata : &pool->rbd_metadata;
}

/* *@fs is the file system of a data pool. */
static bool takes_part(const struct class_pools *pools, const struct cluster_usage *usage,
                       const struct cluster_pool *pool, const struct filesystem **fs)
{
    const char *class = strmap_get(metadata_of(pools, pool), POOL_METADATA_CLASS);

    *fs = pools->is_cephfs ? cluster_usage_fs_of_pool(usage, pool->id) : NULL;
    bool is_fit = pools->is_cephfs ? *fs != NULL : pool->is_rbd && pool->is_replicated;
    return is_fit && class && strcmp(class, pools->topology_class) == 0;
}

/* Puts a segment where its level belongs, outermost first. */
static void insert_segment(struct pool_entry *entry, const struct crush_map *crush,
                           const char *level, const char *value)
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

static void place_by_metadata(const struct strmap *metadata, const struct crush_map *crush,
                              struct pool_entry *entry)
{
    for (size_t i = 0; i < metadata->count; i++) {
        const struct strmap_entry *item = &metadata->entries[i];

        if (!text_has_prefix(item->key, POOL_METADATA) ||
            strcmp(item->key, POOL_METADATA_CLASS) == 0)
            continue;
        insert_segment(entry, crush, item->key + strlen(POOL_METADATA), item->value);
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

/* False if the rule leads to buckets, but to none of a level that was asked for, and if it is
 * unknown where it leads. */
static bool place_by_crush(const struct cluster_pool *pool, const struct crush_map *crush,
                           const struct string_list *levels, struct pool_entry *entry)
{
    const char *takes = crush_rule_takes(crush, pool->crush_rule);
    const struct crush_bucket *bucket = takes ? crush_find_bucket(crush, takes) : NULL;
    bool is_everywhere = !bucket || strcmp(bucket->type, "root") == 0;

    if (crush_rule_strange_step(crush, pool->crush_rule))
        return false;
    entry->origin = "crush";
    /* no map is deeper than it has buckets, unless it is broken */
    for (size_t i = 0; bucket && i < crush->bucket_count; i++) {
        if (is_level(crush, bucket, levels))
            insert_segment(entry, crush, bucket->type, bucket->name);
        bucket = crush_parent(crush, bucket);
    }
    return is_everywhere || entry->count > 0;
}

void class_pools_find(const struct class_pools *pools, const struct cluster_usage *usage,
                      const struct string_list *levels, struct pool_entries *entries)
{
    for (size_t i = 0; i < usage->count && entries->count < POOL_ENTRIES_MAX; i++) {
        const struct cluster_pool *pool = &usage->pools[i];
        const struct filesystem *fs = NULL;
        struct pool_entry entry = {0};

        if (!takes_part(pools, usage, pool, &fs))
            continue;
        entry.pool = xstrdup(pool->usage.name);
        entry.fs_name = fs ? xstrdup(fs->name) : NULL;
        place_by_metadata(metadata_of(pools, pool), &usage->crush, &entry);
        if (entry.origin || place_by_crush(pool, &usage->crush, levels, &entry))
            pool_entries_add(entries, &entry);
        else
            pool_entry_done(&entry);
    }
}

int class_pools_refuse_none(const struct class_pools *pools, struct error *err)
{
    const char *application = pools->is_cephfs ? "cephfs" : "rbd";

    return error_set(err, STATUS_RESOURCE_EXHAUSTED,
                     "topologyPools: auto: no %s pool of cluster '%s' with application "
                     "'%s' has the metadata cephzone.class=%s; 'ceph osd pool application set "
                     "POOL %s cephzone.class %s' makes one take part",
                     pools->is_cephfs ? "data" : "replicated", pools->cluster_id, application,
                     pools->topology_class, application, pools->topology_class);
}
