#include "common/usage/crush.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"

struct bucket_item {
    int64_t id;
};

struct dumped_bucket {
    int64_t id;
    char *name;
    char *type_name;
    int64_t type_id;
    struct bucket_item *items;
    size_t count;
};

struct rule_step {
    char *op;
    char *item_name;
};

struct dumped_rule {
    int64_t rule_id;
    struct rule_step *steps;
    size_t count;
};

struct dumped_type {
    int64_t type_id;
    char *name;
};

struct dumped_map {
    struct dumped_bucket *buckets;
    size_t bucket_count;
    struct dumped_rule *rules;
    size_t rule_count;
    struct dumped_type *types;
    size_t type_count;
    bool has_buckets;
    bool has_rules;
};

static const struct json_field ITEM_FIELDS[] = {
    JSON_FIELD_INT("id", struct bucket_item, id),
};
static const struct json_table ITEM_TABLE = JSON_TABLE(struct bucket_item, ITEM_FIELDS);

static const struct json_field BUCKET_FIELDS[] = {
    JSON_FIELD_INT("id", struct dumped_bucket, id),
    JSON_FIELD_STRING("name", struct dumped_bucket, name),
    JSON_FIELD_STRING("type_name", struct dumped_bucket, type_name),
    JSON_FIELD_INT("type_id", struct dumped_bucket, type_id),
    JSON_FIELD_OBJECTS("items", struct dumped_bucket, items, count, &ITEM_TABLE),
};
static const struct json_table BUCKET_TABLE = JSON_TABLE(struct dumped_bucket, BUCKET_FIELDS);

static const struct json_field STEP_FIELDS[] = {
    JSON_FIELD_STRING("op", struct rule_step, op),
    JSON_FIELD_STRING("item_name", struct rule_step, item_name),
};
static const struct json_table STEP_TABLE = JSON_TABLE(struct rule_step, STEP_FIELDS);

static const struct json_field RULE_FIELDS[] = {
    JSON_FIELD_INT("rule_id", struct dumped_rule, rule_id),
    JSON_FIELD_OBJECTS("steps", struct dumped_rule, steps, count, &STEP_TABLE),
};
static const struct json_table RULE_TABLE = JSON_TABLE(struct dumped_rule, RULE_FIELDS);

static const struct json_field TYPE_FIELDS[] = {
    JSON_FIELD_INT("type_id", struct dumped_type, type_id),
    JSON_FIELD_STRING("name", struct dumped_type, name),
};
static const struct json_table TYPE_TABLE = JSON_TABLE(struct dumped_type, TYPE_FIELDS);

static const struct json_field MAP_FIELDS[] = {
    JSON_FIELD_OBJECTS("buckets", struct dumped_map, buckets, bucket_count, &BUCKET_TABLE),
    JSON_FIELD_PRESENT("buckets", struct dumped_map, has_buckets),
    JSON_FIELD_OBJECTS("rules", struct dumped_map, rules, rule_count, &RULE_TABLE),
    JSON_FIELD_PRESENT("rules", struct dumped_map, has_rules),
    JSON_FIELD_OBJECTS("types", struct dumped_map, types, type_count, &TYPE_TABLE),
};
static const struct json_table MAP_TABLE = JSON_TABLE(struct dumped_map, MAP_FIELDS);

/* --- parsing --- */

static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const struct crush_bucket *)a)->id;
    int64_t y = ((const struct crush_bucket *)b)->id;

    return (x > y) - (x < y);
}

static struct crush_bucket *find_bucket_id(const struct crush_map *map, int64_t id)
{
    const struct crush_bucket key = {.id = id};

    return map->bucket_count
               ? bsearch(&key, map->buckets, map->bucket_count, sizeof(key), compare_ids)
               : NULL;
}

static void take_buckets(struct dumped_map *dump, struct crush_map *map)
{
    map->buckets = xcalloc(dump->bucket_count + 1, sizeof(*map->buckets));
    map->bucket_count = dump->bucket_count;
    for (size_t i = 0; i < dump->bucket_count; i++) {
        struct dumped_bucket *from = &dump->buckets[i];

        map->buckets[i] = (struct crush_bucket){.id = from->id, .type_id = from->type_id};
        map->buckets[i].name = TAKE(from->name);
        map->buckets[i].type = TAKE(from->type_name);
    }
    qsort(map->buckets, map->bucket_count, sizeof(*map->buckets), compare_ids);
    for (size_t i = 0; i < dump->bucket_count; i++)
        for (size_t j = 0; j < dump->buckets[i].count; j++) {
            struct crush_bucket *child = find_bucket_id(map, dump->buckets[i].items[j].id);

            if (child)
                child->parent = dump->buckets[i].id;
        }
}

/* Choosing stays below what was taken. "choosemsr", of rules for several OSDs in a failure domain,
 * came with Ceph 19. */
static bool is_known_step(const struct rule_step *step)
{
    static const char *const known[] = {"noop", "take", "emit", "choosemsr"};
    static const char *const families[] = {"choose_", "chooseleaf_", "set_"};

    for (size_t i = 0; step->op && i < ARRAY_LENGTH(known); i++)
        if (strcmp(step->op, known[i]) == 0)
            return true;
    for (size_t i = 0; step->op && i < ARRAY_LENGTH(families); i++)
        if (text_has_prefix(step->op, families[i]))
            return true;
    return false;
}

static char *find_strange_step(const struct dumped_rule *rule)
{
    for (size_t i = 0; i < rule->count; i++)
        if (!is_known_step(&rule->steps[i]))
            return xstrdup(rule->steps[i].op ? rule->steps[i].op : "without a name");
    return NULL;
}

/* The one bucket that the rule takes. A rule that takes several has no place. */
static char *find_taken_bucket(const struct dumped_rule *rule)
{
    const char *takes = NULL;

    for (size_t i = 0; i < rule->count; i++) {
        const struct rule_step *step = &rule->steps[i];

        if (!step->op || strcmp(step->op, "take") != 0 || !step->item_name)
            continue;
        if (takes && strcmp(takes, step->item_name) != 0)
            return NULL;
        takes = step->item_name;
    }
    return takes ? xstrdup(takes) : NULL;
}

static void take_rules_and_types(struct dumped_map *dump, struct crush_map *map)
{
    map->rules = xcalloc(dump->rule_count + 1, sizeof(*map->rules));
    map->rule_count = dump->rule_count;
    for (size_t i = 0; i < dump->rule_count; i++) {
        map->rules[i] = (struct crush_rule){.id = dump->rules[i].rule_id,
                                            .strange = find_strange_step(&dump->rules[i])};
        if (!map->rules[i].strange)
            map->rules[i].takes = find_taken_bucket(&dump->rules[i]);
    }
    map->types = xcalloc(dump->type_count + 1, sizeof(*map->types));
    map->type_count = dump->type_count;
    for (size_t i = 0; i < dump->type_count; i++) {
        map->types[i].name = TAKE(dump->types[i].name);
        map->types[i].id = dump->types[i].type_id;
    }
}

static int check_crush_dump(const struct dumped_map *dump, struct error *err)
{
    if (!dump->has_buckets || !dump->has_rules)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s is missing",
                         dump->has_buckets ? "rules" : "buckets");
    for (size_t i = 0; i < dump->bucket_count; i++)
        if (!dump->buckets[i].name || !dump->buckets[i].type_name)
            return error_set(err, STATUS_INVALID_ARGUMENT, "buckets[%zu].%s is missing", i,
                             dump->buckets[i].name ? "type_name" : "name");
    for (size_t i = 0; i < dump->type_count; i++)
        if (!dump->types[i].name)
            return error_set(err, STATUS_INVALID_ARGUMENT, "types[%zu].name is missing", i);
    return 0;
}

int crush_map_parse(const char *text, struct crush_map *map, struct error *err)
{
    struct dumped_map dump = {0};
    json_auto_t *json = NULL;

    if (json_load_large(text, strlen(text), "osd crush dump", &json, err) < 0)
        return -1;
    int result = json_decode(json, &MAP_TABLE, &dump, err);
    if (result == 0)
        result = check_crush_dump(&dump, err);
    if (result == 0) {
        *map = (struct crush_map){0};
        take_buckets(&dump, map);
        take_rules_and_types(&dump, map);
    } else {
        error_wrap(err, "osd crush dump");
    }
    json_free_fields(&MAP_TABLE, &dump);
    return result;
}

void crush_map_done(struct crush_map *map)
{
    for (size_t i = 0; i < map->bucket_count; i++)
        free_all(map->buckets[i].name, map->buckets[i].type);
    for (size_t i = 0; i < map->rule_count; i++)
        free_all(map->rules[i].takes, map->rules[i].strange);
    for (size_t i = 0; i < map->type_count; i++)
        free(map->types[i].name);
    free_all(map->buckets, map->rules, map->types);
    *map = (struct crush_map){0};
}

/* --- asking --- */

static const struct crush_rule *find_rule(const struct crush_map *map, int64_t rule)
{
    for (size_t i = 0; i < map->rule_count; i++)
        if (map->rules[i].id == rule)
            return &map->rules[i];
    return NULL;
}

const char *crush_rule_takes(const struct crush_map *map, int64_t rule)
{
    const struct crush_rule *found = find_rule(map, rule);

    return found ? found->takes : NULL;
}

const char *crush_rule_strange_step(const struct crush_map *map, int64_t rule)
{
    const struct crush_rule *found = find_rule(map, rule);

    return found ? found->strange : NULL;
}

const struct crush_bucket *crush_find_bucket(const struct crush_map *map, const char *name)
{
    size_t length = strcspn(name, "~");

    for (size_t i = 0; i < map->bucket_count; i++)
        if (strlen(map->buckets[i].name) == length &&
            strncmp(map->buckets[i].name, name, length) == 0)
            return &map->buckets[i];
    return NULL;
}

const struct crush_bucket *crush_parent(const struct crush_map *map,
                                        const struct crush_bucket *bucket)
{
    return bucket->parent ? find_bucket_id(map, bucket->parent) : NULL;
}

int64_t crush_type_id(const struct crush_map *map, const char *type)
{
    for (size_t i = 0; i < map->type_count; i++)
        if (strcmp(map->types[i].name, type) == 0)
            return map->types[i].id;
    return -1;
}

static int compare_types(const void *a, const void *b)
{
    const int64_t first = (*(const struct crush_type *const *)a)->id;
    const int64_t second = (*(const struct crush_type *const *)b)->id;

    return (first < second) - (first > second);
}

void crush_list_types(const struct crush_map *map, struct string_list *types)
{
    const struct crush_type **sorted = xcalloc(map->type_count + 1, sizeof(*sorted));

    for (size_t i = 0; i < map->type_count; i++)
        sorted[i] = &map->types[i];
    qsort(sorted, map->type_count, sizeof(*sorted), compare_types);
    for (size_t i = 0; i < map->type_count; i++)
        string_list_add(types, sorted[i]->name);
    free(sorted);
}
