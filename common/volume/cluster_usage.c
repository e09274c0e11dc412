#include "common/volume/class_capacity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/memory.h"

/* As the monitors of Ceph 16 answer. Presence is checked: a figure that has moved elsewhere in
 * another release must not read as zero. */
struct df_stats {
    uint64_t stored;
    uint64_t max_avail;
    bool has_stored;
    bool has_max_avail;
};

struct df_pool {
    char *name;
    struct df_stats stats;
};

struct df_answer {
    struct df_pool *pools;
    size_t count;
    bool has_pools;
};

struct dump_pool {
    char *name;
    uint64_t quota;
    bool has_quota;
};

struct dump_answer {
    struct dump_pool *pools;
    size_t count;
    bool has_pools;
};

static const struct json_field STATS_FIELDS[] = {
    JSON_FIELD_UINT("stored", struct df_stats, stored),
    JSON_FIELD_UINT("max_avail", struct df_stats, max_avail),
    JSON_FIELD_PRESENT("stored", struct df_stats, has_stored),
    JSON_FIELD_PRESENT("max_avail", struct df_stats, has_max_avail),
};
static const struct json_table STATS_TABLE = JSON_TABLE(struct df_stats, STATS_FIELDS);

static const struct json_field DF_POOL_FIELDS[] = {
    JSON_FIELD_STRING("name", struct df_pool, name),
    JSON_FIELD_OBJECT("stats", struct df_pool, stats, &STATS_TABLE),
};
static const struct json_table DF_POOL_TABLE = JSON_TABLE(struct df_pool, DF_POOL_FIELDS);

static const struct json_field DF_FIELDS[] = {
    JSON_FIELD_OBJECTS("pools", struct df_answer, pools, count, &DF_POOL_TABLE),
    JSON_FIELD_PRESENT("pools", struct df_answer, has_pools),
};
static const struct json_table DF_TABLE = JSON_TABLE(struct df_answer, DF_FIELDS);

static const struct json_field DUMP_POOL_FIELDS[] = {
    JSON_FIELD_STRING("pool_name", struct dump_pool, name),
    JSON_FIELD_UINT("quota_max_bytes", struct dump_pool, quota),
    JSON_FIELD_PRESENT("quota_max_bytes", struct dump_pool, has_quota),
};
static const struct json_table DUMP_POOL_TABLE = JSON_TABLE(struct dump_pool, DUMP_POOL_FIELDS);

static const struct json_field DUMP_FIELDS[] = {
    JSON_FIELD_OBJECTS("pools", struct dump_answer, pools, count, &DUMP_POOL_TABLE),
    JSON_FIELD_PRESENT("pools", struct dump_answer, has_pools),
};
static const struct json_table DUMP_TABLE = JSON_TABLE(struct dump_answer, DUMP_FIELDS);

/* --- the monitors' answers --------------------------------------------------------------------
 */

static int check_df(const struct df_answer *df, struct error *err)
{
    if (!df->has_pools)
        return error_set(err, STATUS_INVALID_ARGUMENT, "df: pools is missing");
    for (size_t i = 0; i < df->count; i++) {
        const struct df_pool *pool = &df->pools[i];

        if (!pool->name || !pool->stats.has_stored || !pool->stats.has_max_avail)
            return error_set(err, STATUS_INVALID_ARGUMENT, "df: pools[%zu].%s is missing", i,
                             !pool->name               ? "name"
                             : !pool->stats.has_stored ? "stats.stored"
                                                       : "stats.max_avail");
    }
    return 0;
}

static int check_dump(const struct dump_answer *dump, struct error *err)
{
    if (!dump->has_pools)
        return error_set(err, STATUS_INVALID_ARGUMENT, "osd dump: pools is missing");
    for (size_t i = 0; i < dump->count; i++)
        if (!dump->pools[i].name || !dump->pools[i].has_quota)
            return error_set(err, STATUS_INVALID_ARGUMENT, "osd dump: pools[%zu].%s is missing", i,
                             dump->pools[i].name ? "quota_max_bytes" : "pool_name");
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct pool_usage *)a)->name, ((const struct pool_usage *)b)->name);
}

/* The osdmap says which pools there are; df follows it by a few seconds. */
static void merge(const struct df_answer *df, struct dump_answer *dump, struct cluster_usage *usage)
{
    usage->pools = xcalloc(dump->count + 1, sizeof(*usage->pools));
    usage->count = dump->count;
    for (size_t i = 0; i < dump->count; i++) {
        usage->pools[i].name = TAKE(dump->pools[i].name);
        usage->pools[i].quota_bytes = dump->pools[i].quota;
    }
    qsort(usage->pools, usage->count, sizeof(*usage->pools), compare_names);
    for (size_t i = 0; i < df->count; i++) {
        const struct pool_usage key = {.name = df->pools[i].name};
        struct pool_usage *pool =
            bsearch(&key, usage->pools, usage->count, sizeof(key), compare_names);

        if (!pool)
            continue;
        pool->stored_bytes = df->pools[i].stats.stored;
        pool->max_avail_bytes = df->pools[i].stats.max_avail;
        pool->has_figures = true;
    }
}

static int decode_answer(const char *text, const char *what, const struct json_table *table,
                         void *target, struct error *err)
{
    json_auto_t *json = NULL;

    if (json_load_text(text, strlen(text), what, &json, err) < 0)
        return -1;
    return json_decode(json, table, target, err) < 0 ? error_wrap(err, "%s", what) : 0;
}

int cluster_usage_parse(const char *df_text, const char *dump_text, struct cluster_usage *usage,
                        struct error *err)
{
    struct df_answer df = {0};
    struct dump_answer dump = {0};
    int result = decode_answer(df_text, "df", &DF_TABLE, &df, err);

    if (result == 0)
        result = decode_answer(dump_text, "osd dump", &DUMP_TABLE, &dump, err);
    if (result == 0)
        result = check_df(&df, err);
    if (result == 0)
        result = check_dump(&dump, err);
    if (result == 0)
        merge(&df, &dump, usage);
    json_free_fields(&DF_TABLE, &df);
    json_free_fields(&DUMP_TABLE, &dump);
    return result;
}

void cluster_usage_done(struct cluster_usage *usage)
{
    for (size_t i = 0; i < usage->count; i++)
        free(usage->pools[i].name);
    free(usage->pools);
    *usage = (struct cluster_usage){0};
}

const struct pool_usage *cluster_usage_find(const struct cluster_usage *usage, const char *name)
{
    for (size_t i = 0; i < usage->count; i++)
        if (strcmp(usage->pools[i].name, name) == 0)
            return &usage->pools[i];
    return NULL;
}

/* --- arithmetic -------------------------------------------------------------------------------
 */

uint64_t pool_usage_room(const struct pool_usage *pool)
{
    if (pool->quota_bytes == 0)
        return pool->max_avail_bytes;
    if (pool->stored_bytes >= pool->quota_bytes)
        return 0;
    uint64_t left = pool->quota_bytes - pool->stored_bytes;
    return left < pool->max_avail_bytes ? left : pool->max_avail_bytes;
}

static const char *room_remark(const struct pool_usage *pool)
{
    if (!pool->has_figures)
        return "no figures yet";
    if (pool->quota_bytes && pool->stored_bytes >= pool->quota_bytes)
        return "quota used up";
    return pool->max_avail_bytes == 0 ? "full" : "";
}

struct place_capacity class_pool_capacity(const struct class_pool *place,
                                          const struct cluster_usage *usage)
{
    const struct pool_usage *pool = cluster_usage_find(usage, place->pool);

    if (!pool)
        return (struct place_capacity){.remark = "no such pool", .is_wrong = true};
    if (place->data_pool)
        pool = cluster_usage_find(usage, place->data_pool);
    if (!pool)
        return (struct place_capacity){.remark = "no such data pool", .is_wrong = true};
    return (struct place_capacity){
        .room_bytes = pool_usage_room(pool),
        .used_bytes = pool->stored_bytes,
        .quota_bytes = pool->quota_bytes,
        .remark = room_remark(pool),
    };
}

char *capacity_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;

    if (bytes < 1024)
        return xasprintf("%" PRIu64 " B", bytes);
    while (unit + 1 < ARRAY_LENGTH(units) && bytes >> (10 * (unit + 2)))
        unit++;
    unsigned shift = 10 * (unit + 1);
    /* the bits below the unit, as tenths; EiB leave four bits above them, enough for the ten */
    uint64_t tenths = ((bytes & ((UINT64_C(1) << shift) - 1)) * 10) >> shift;
    return xasprintf("%" PRIu64 ".%" PRIu64 " %s", bytes >> shift, tenths, units[unit]);
}
