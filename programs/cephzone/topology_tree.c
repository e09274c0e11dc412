#include "programs/cephzone/topology_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/base/text.h"

#define CELL_LIMIT 8192

/* --- building --- */

static struct tree_place *enter_place(struct tree_place *place, const char *level,
                                      const char *value)
{
    for (size_t i = 0; i < place->place_count; i++)
        if (strcmp(place->places[i]->level, level) == 0 &&
            strcmp(place->places[i]->value, value) == 0)
            return place->places[i];
    struct tree_place *fresh = xcalloc(1, sizeof(*fresh));
    *fresh = (struct tree_place){.level = xstrdup(level), .value = xstrdup(value)};
    *array_add(place->places, place->place_count) = fresh;
    return fresh;
}

static struct tree_place *find_place(struct tree_place *root, const struct topology_levels *levels,
                                     const struct pool_entry *entry)
{
    struct tree_place *place = root;

    for (size_t i = 0; i < levels->count; i++)
        for (size_t j = 0; j < entry->count; j++)
            if (strcmp(entry->segments[j].level, levels->items[i].name) == 0)
                place = enter_place(place, entry->segments[j].level, entry->segments[j].value);
    for (size_t j = 0; j < entry->count; j++)
        if (topology_level_find(levels, entry->segments[j].level) < 0)
            place = enter_place(place, entry->segments[j].level, entry->segments[j].value);
    return place;
}

void tree_add(struct tree_place *root, const struct topology_levels *levels,
              const struct storage_class *class, const struct pool_entry *entry,
              const struct pool_figures *figures)
{
    struct tree_place *place = find_place(root, levels, entry);

    *array_add(place->pools, place->pool_count) = (struct tree_pool){
        .pool = xstrdup(entry->pool),
        .data_pool = entry->data_pool ? xstrdup(entry->data_pool) : NULL,
        .class_name = xstrdup(class->name),
        .cluster_id = xstrdup(class_pools_cluster(&class->pools, entry)),
        .origin = entry->origin,
        .figures = *figures,
    };
}

/* The pools here and below, for the sum of their free space. */
static void collect_pools(const struct tree_place *place, struct free_space_item **items,
                          size_t *count)
{
    for (size_t i = 0; i < place->pool_count; i++) {
        const struct tree_pool *pool = &place->pools[i];

        /* a pool whose root is not known shares with itself: several classes may have it */
        *array_add(*items, *count) = (struct free_space_item){
            pool->figures.room, pool->figures.root ? pool->figures.root : pool->pool,
            pool->cluster_id};
    }
    for (size_t i = 0; i < place->place_count; i++)
        collect_pools(place->places[i], items, count);
}

static char *who_takes_over(const struct tree_place *place, const struct takeover_map *map)
{
    const struct takeover_entry *entry =
        map && place->level ? takeover_find(map, place->level, place->value) : NULL;
    _cleanup_text_ struct text text = TEXT_INIT(CELL_LIMIT);

    if (!entry)
        return NULL;
    for (size_t i = 0; i < entry->targets.count; i++)
        text_addf(&text, "%s%s", i ? ", " : "", entry->targets.items[i]);
    if (entry->to_all)
        text_addf(&text, "%sall others", text.length ? ", " : "");
    return text_take(&text);
}

void tree_finish(struct tree_place *root, const struct takeover_map *map)
{
    struct free_space_item *items = NULL;
    size_t count = 0;
    uint64_t largest = 0;

    collect_pools(root, &items, &count);
    free_space_sum(items, count, &root->room_bytes, &largest);
    free(items);
    root->takeover = who_takes_over(root, map);
    for (size_t i = 0; i < root->place_count; i++)
        tree_finish(root->places[i], map);
}

void tree_done(struct tree_place *root)
{
    for (size_t i = 0; i < root->pool_count; i++) {
        struct tree_pool *pool = &root->pools[i];

        free_all(pool->pool, pool->data_pool, pool->class_name, pool->cluster_id);
    }
    for (size_t i = 0; i < root->place_count; i++) {
        tree_done(root->places[i]);
        free(root->places[i]);
    }
    free_all(root->pools, root->places, root->level, root->value, root->takeover);
    *root = (struct tree_place){0};
}

/* --- text --- */

static void add_place_row(const struct tree_place *place, int depth, struct columns *columns)
{
    columns_take(columns, place->level
                              ? xasprintf("%*s%s %s", 2 * depth, "", place->level, place->value)
                              : xstrdup("everywhere"));
    columns_take(columns, text_size(place->room_bytes));
    for (int i = 0; i < 4; i++)
        columns_add(columns, "");
    columns_take(columns,
                 place->takeover ? xasprintf("taken over by %s", place->takeover) : xstrdup(""));
}

static void add_pool_row(const struct tree_pool *pool, int depth, struct columns *columns)
{
    const struct pool_figures *figures = &pool->figures;

    columns_take(columns, xasprintf("%*spool %s%s%s", 2 * depth, "", pool->pool,
                                    pool->data_pool ? " with data pool " : "",
                                    pool->data_pool ? pool->data_pool : ""));
    columns_take(columns, figures->room.is_known ? text_size(figures->room.bytes) : xstrdup("?"));
    columns_take(columns, text_size(figures->used_bytes));
    columns_take(columns, figures->quota_bytes ? text_size(figures->quota_bytes) : NULL);
    columns_add(columns, pool->origin);
    columns_add(columns, pool->class_name);
    columns_add(columns, figures->room.remark);
}

static void add_rows(const struct tree_place *place, int depth, struct columns *columns)
{
    add_place_row(place, depth, columns);
    for (size_t i = 0; i < place->pool_count; i++)
        add_pool_row(&place->pools[i], depth + 1, columns);
    for (size_t i = 0; i < place->place_count; i++)
        add_rows(place->places[i], depth + 1, columns);
}

void tree_print_text(const struct tree_place *root, FILE *file)
{
    static const char *const titles[] = {"PLACE",      "ROOM",  "USED",  "QUOTA",
                                         "PLACE FROM", "CLASS", "REMARK"};
    _cleanup_columns_ struct columns columns = {.right = 1 << 1 | 1 << 2 | 1 << 3};

    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    add_rows(root, 0, &columns);
    columns_write(&columns, file);
}

/* --- JSON --- */

static json_t *pool_to_json(const struct tree_pool *pool)
{
    const struct pool_figures *figures = &pool->figures;
    json_t *room =
        figures->room.is_known ? json_integer((json_int_t)figures->room.bytes) : json_null();
    json_t *quota =
        figures->quota_bytes ? json_integer((json_int_t)figures->quota_bytes) : json_null();

    return json_pack("{s:s, s:s?, s:s, s:s, s:s, s:o, s:I, s:o, s:s?, s:s}", "pool", pool->pool,
                     "dataPool", pool->data_pool, "class", pool->class_name, "cluster",
                     pool->cluster_id, "placeFrom", pool->origin, "roomBytes", room, "usedBytes",
                     (json_int_t)figures->used_bytes, "quotaBytes", quota, "root", figures->root,
                     "remark", figures->room.remark);
}

json_t *tree_to_json(const struct tree_place *root)
{
    json_t *pools = json_array();
    json_t *places = json_array();

    for (size_t i = 0; i < root->pool_count; i++)
        json_array_append_new(pools, pool_to_json(&root->pools[i]));
    for (size_t i = 0; i < root->place_count; i++)
        json_array_append_new(places, tree_to_json(root->places[i]));
    return json_pack("{s:s?, s:s?, s:s?, s:I, s:o, s:o}", "level", root->level, "value",
                     root->value, "takenOverBy", root->takeover, "roomBytes",
                     (json_int_t)root->room_bytes, "pools", pools, "places", places);
}
