#include "common/usage/cluster_usage.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/encoding/json.h"

#define POOLS_WHAT "osd pool ls" /* in messages */

/* As the monitors of Ceph 16 answer. Presence is checked: a figure that has moved elsewhere in
 * another release must not read as zero. */
struct df_pool {
    char *name;
    uint64_t stored;
    uint64_t objects;
    uint64_t max_avail;
    bool has_stored;
    bool has_max_avail;
};

struct df_answer {
    uint64_t available;
    struct df_pool *pools;
    size_t count;
    bool has_pools;
};

struct listed_pool {
    int64_t id;
    char *name;
    int64_t type; /* 1: replicated */
    int64_t crush_rule;
    char *flags;
    uint64_t quota;
    uint64_t quota_objects;
    struct strmap rbd;
    struct strmap cephfs;
    bool has_rbd;
    bool has_quota;
};

struct listed_pools {
    struct listed_pool *items;
    size_t count;
};

static const struct json_field DF_POOL_FIELDS[] = {
    JSON_FIELD_STRING("name", struct df_pool, name),
    JSON_FIELD_UINT("stats.stored", struct df_pool, stored),
    JSON_FIELD_UINT("stats.objects", struct df_pool, objects),
    JSON_FIELD_UINT("stats.max_avail", struct df_pool, max_avail),
    JSON_FIELD_PRESENT("stats.stored", struct df_pool, has_stored),
    JSON_FIELD_PRESENT("stats.max_avail", struct df_pool, has_max_avail),
};
static const struct json_table DF_POOL_TABLE = JSON_TABLE(struct df_pool, DF_POOL_FIELDS);

static const struct json_field DF_FIELDS[] = {
    JSON_FIELD_UINT("stats.total_avail_bytes", struct df_answer, available),
    JSON_FIELD_OBJECTS("pools", struct df_answer, pools, count, &DF_POOL_TABLE),
    JSON_FIELD_PRESENT("pools", struct df_answer, has_pools),
};
static const struct json_table DF_TABLE = JSON_TABLE(struct df_answer, DF_FIELDS);

static const struct json_field LISTED_POOL_FIELDS[] = {
    JSON_FIELD_INT("pool_id", struct listed_pool, id),
    JSON_FIELD_STRING("pool_name", struct listed_pool, name),
    JSON_FIELD_INT("type", struct listed_pool, type),
    JSON_FIELD_INT("crush_rule", struct listed_pool, crush_rule),
    JSON_FIELD_STRING("flags_names", struct listed_pool, flags),
    JSON_FIELD_UINT("quota_max_objects", struct listed_pool, quota_objects),
    JSON_FIELD_STRMAP("application_metadata.rbd", struct listed_pool, rbd),
    JSON_FIELD_PRESENT("application_metadata.rbd", struct listed_pool, has_rbd),
    JSON_FIELD_STRMAP("application_metadata.cephfs", struct listed_pool, cephfs),
    JSON_FIELD_UINT("quota_max_bytes", struct listed_pool, quota),
    JSON_FIELD_PRESENT("quota_max_bytes", struct listed_pool, has_quota),
};
static const struct json_table LISTED_POOL_TABLE =
    JSON_TABLE(struct listed_pool, LISTED_POOL_FIELDS);

/* --- the monitors' answers --- */

static int check_df(const struct df_answer *df, struct error *err)
{
    if (!df->has_pools)
        return error_set(err, STATUS_INVALID_ARGUMENT, "df: pools is missing");
    for (size_t i = 0; i < df->count; i++) {
        const struct df_pool *pool = &df->pools[i];

        if (!pool->name || !pool->has_stored || !pool->has_max_avail)
            return error_set(err, STATUS_INVALID_ARGUMENT, "df: pools[%zu].%s is missing", i,
                             !pool->name         ? "name"
                             : !pool->has_stored ? "stats.stored"
                                                 : "stats.max_avail");
    }
    return 0;
}

static int check_listed_pools(const struct listed_pools *pools, struct error *err)
{
    for (size_t i = 0; i < pools->count; i++)
        if (!pools->items[i].name || !pools->items[i].has_quota)
            return error_set(err, STATUS_INVALID_ARGUMENT, POOLS_WHAT ": [%zu].%s is missing", i,
                             pools->items[i].name ? "quota_max_bytes" : "pool_name");
    return 0;
}

static int compare_pool_names(const void *a, const void *b)
{
    return strcmp(((const struct cluster_pool *)a)->usage.name,
                  ((const struct cluster_pool *)b)->usage.name);
}

static struct cluster_pool *find_pool_named(const struct cluster_usage *usage, const char *name)
{
    const struct cluster_pool key = {.usage = {.name = (char *)(uintptr_t)name}};

    return usage->count ? bsearch(&key, usage->pools, usage->count, sizeof(key), compare_pool_names)
                        : NULL;
}

/* "hashpspool,full,full_quota": whether one of the words is "full". */
static bool has_full_flag(const char *flags)
{
    for (const char *word = flags; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (strncmp(word, "full", 4) == 0 && (word[4] == ',' || word[4] == '\0'))
            return true;
    }
    return false;
}

static void take_pool(struct listed_pool *from, struct cluster_pool *pool)
{
    *pool = (struct cluster_pool){
        .usage = {.quota_bytes = from->quota,
                  .quota_objects = from->quota_objects,
                  .is_full = has_full_flag(from->flags)},
        .id = from->id,
        .crush_rule = from->crush_rule,
        .is_replicated = from->type == 1,
        .is_rbd = from->has_rbd,
        .rbd_metadata = from->rbd,
        .cephfs_metadata = from->cephfs,
    };
    pool->usage.name = TAKE(from->name);
    from->rbd = (struct strmap){0};
    from->cephfs = (struct strmap){0};
}

/* The osdmap says which pools there are; df follows it by a few seconds. */
static void merge_answers(const struct df_answer *df, struct listed_pools *listed,
                          struct cluster_usage *usage)
{
    *usage = (struct cluster_usage){
        .pools = xcalloc(listed->count + 1, sizeof(*usage->pools)),
        .count = listed->count,
        .available_bytes = df->available,
    };
    for (size_t i = 0; i < listed->count; i++)
        take_pool(&listed->items[i], &usage->pools[i]);
    qsort(usage->pools, usage->count, sizeof(*usage->pools), compare_pool_names);
    for (size_t i = 0; i < df->count; i++) {
        struct cluster_pool *pool = find_pool_named(usage, df->pools[i].name);

        if (!pool)
            continue;
        pool->usage.stored_bytes = df->pools[i].stored;
        pool->usage.objects = df->pools[i].objects;
        pool->usage.max_avail_bytes = df->pools[i].max_avail;
        pool->usage.has_figures = true;
    }
}

static int decode_df(const char *text, struct df_answer *df, struct error *err)
{
    json_auto_t *json = NULL;

    if (json_load_large(text, strlen(text), "df", &json, err) < 0)
        return -1;
    if (json_decode(json, &DF_TABLE, df, err) < 0)
        return error_wrap(err, "df");
    return check_df(df, err);
}

static int decode_pools(const char *text, struct listed_pools *pools, struct error *err)
{
    json_auto_t *json = NULL;
    void *items = NULL;

    if (json_load_large(text, strlen(text), POOLS_WHAT, &json, err) < 0)
        return -1;
    if (json_decode_array(json, &LISTED_POOL_TABLE, &items, &pools->count, err) < 0)
        return error_wrap(err, POOLS_WHAT);
    pools->items = items;
    return check_listed_pools(pools, err);
}

int cluster_usage_parse(const char *df_text, const char *pools_text, struct cluster_usage *usage,
                        struct error *err)
{
    struct df_answer df = {0};
    struct listed_pools listed = {0};
    int result = decode_df(df_text, &df, err);

    if (result == 0)
        result = decode_pools(pools_text, &listed, err);
    if (result == 0)
        merge_answers(&df, &listed, usage);
    json_free_fields(&DF_TABLE, &df);
    json_free_array(&LISTED_POOL_TABLE, listed.items, listed.count);
    return result;
}

void cluster_usage_set_crush(struct cluster_usage *usage, struct crush_map *crush)
{
    crush_map_done(&usage->crush);
    usage->crush = *crush;
    *crush = (struct crush_map){0};
    for (size_t i = 0; i < usage->count; i++)
        usage->pools[i].usage.root = crush_rule_takes(&usage->crush, usage->pools[i].crush_rule);
}

static void warn_of_strange_rules(const struct cluster_usage *usage, const struct call *call)
{
    for (size_t i = 0; i < usage->count; i++) {
        const char *step = crush_rule_strange_step(&usage->crush, usage->pools[i].crush_rule);

        if (step)
            log_warn(
                call,
                "pool '%s' has a CRUSH rule with a step '%s', which this driver does not know: "
                "it takes no part in 'topologyPools: auto' unless its metadata say where it is",
                usage->pools[i].usage.name, step);
    }
}

int cluster_usage_ask(struct ceph_cluster *cluster, struct call *call, bool is_cephfs,
                      struct cluster_usage *out, struct error *err)
{
    const struct ceph_ops *ops = cluster->ops;
    _cleanup_cluster_usage_ struct cluster_usage usage = {0};
    _cleanup_free_ char *df = NULL;
    _cleanup_free_ char *pools = NULL;
    _cleanup_free_ char *crush_dump = NULL;
    struct crush_map crush = {0};

    if (ops->mon_command(cluster, call, CLUSTER_USAGE_DF, &df, err) < 0 ||
        ops->mon_command(cluster, call, CLUSTER_USAGE_POOLS, &pools, err) < 0 ||
        cluster_usage_parse(df, pools, &usage, err) < 0 ||
        ops->mon_command(cluster, call, CRUSH_DUMP, &crush_dump, err) < 0 ||
        crush_map_parse(crush_dump, &crush, err) < 0)
        return -1;
    cluster_usage_set_crush(&usage, &crush);
    warn_of_strange_rules(&usage, call);
    if (is_cephfs && filesystem_list_read(cluster, call, &usage.filesystems, err) < 0)
        return -1;
    *out = usage;
    usage = (struct cluster_usage){0};
    return 0;
}

void cluster_usage_done(struct cluster_usage *usage)
{
    for (size_t i = 0; i < usage->count; i++) {
        free(usage->pools[i].usage.name);
        strmap_done(&usage->pools[i].rbd_metadata);
        strmap_done(&usage->pools[i].cephfs_metadata);
    }
    free(usage->pools);
    crush_map_done(&usage->crush);
    filesystem_list_done(&usage->filesystems);
    *usage = (struct cluster_usage){0};
}

const struct cluster_pool *cluster_usage_find(const struct cluster_usage *usage, const char *name)
{
    return find_pool_named(usage, name);
}

const struct cluster_pool *cluster_usage_find_id(const struct cluster_usage *usage, int64_t id)
{
    for (size_t i = 0; i < usage->count; i++)
        if (usage->pools[i].id == id)
            return &usage->pools[i];
    return NULL;
}

const struct filesystem *cluster_usage_find_fs(const struct cluster_usage *usage, const char *name)
{
    for (size_t i = 0; i < usage->filesystems.count; i++)
        if (strcmp(usage->filesystems.items[i].name, name) == 0)
            return &usage->filesystems.items[i];
    return NULL;
}

const struct filesystem *cluster_usage_fs_of_pool(const struct cluster_usage *usage,
                                                  int64_t pool_id)
{
    for (size_t i = 0; i < usage->filesystems.count; i++)
        if (filesystem_has_data_pool(&usage->filesystems.items[i], pool_id))
            return &usage->filesystems.items[i];
    return NULL;
}
