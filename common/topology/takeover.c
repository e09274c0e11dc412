#include "common/topology/takeover.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/topology/labels.h"

#define EVERYBODY "all"

/* --- reading --- */

static void takeover_entry_done(struct takeover_entry *entry)
{
    free(entry->level);
    free(entry->value);
    string_list_done(&entry->targets);
    *entry = (struct takeover_entry){0};
}

void takeover_map_done(struct takeover_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        takeover_entry_done(&map->entries[i]);
    free(map->entries);
    *map = (struct takeover_map){0};
}

/* The value in "zone=zone-a" or "zone-a", borrowed; NULL if it is malformed. *@level is NULL where
 * none is given. Caller frees it. */
static const char *split_name(const char *name, char **level, struct error *err)
{
    const char *equals = strchr(name, '=');
    _cleanup_free_ char *before = equals ? xstrndup(name, (size_t)(equals - name)) : NULL;
    const char *value = equals ? equals + 1 : name;

    if (value[0] == '\0') {
        error_set(err, STATUS_INVALID_ARGUMENT, "the name of a domain is missing");
        return NULL;
    }
    if (label_value_check(value, err) < 0)
        return NULL;
    if (before && strchr(before, '/')) {
        error_set(err, STATUS_INVALID_ARGUMENT,
                  "a level is called by what is behind the slash: '%s=%s'", label_tail(before),
                  value);
        return NULL;
    }
    if (before && label_key_check(before, err) < 0) {
        error_wrap(err, "level");
        return NULL;
    }
    *level = TAKE(before);
    return value;
}

static int add_target(struct takeover_entry *entry, const json_t *target, struct error *err)
{
    _cleanup_free_ char *level = NULL;

    if (!json_is_string(target))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected the name of a domain, or 'all'");
    const char *value = split_name(json_string_value(target), &level, err);
    if (!value)
        return -1;
    /* what one end says of the level holds for the other */
    if (level && !entry->level)
        entry->level = xstrdup(level);
    if (level && strcmp(entry->level, level) != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'%s': is of level '%s', but domains are taken over by others of their "
                         "own level, here '%s'",
                         value, level, entry->level);
    if (strcmp(value, EVERYBODY) == 0)
        entry->to_all = true;
    else if (strcmp(value, entry->value) == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' cannot take itself over", value);
    else if (!string_list_has(&entry->targets, value))
        string_list_add(&entry->targets, value);
    return 0;
}

static int decode_targets(const json_t *list, struct takeover_entry *entry, struct error *err)
{
    size_t count = json_array_size(list);

    if (!json_is_array(list))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected a list of domains");
    if (count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "nobody is named; to give the domain back, remove its entry");
    if (count > TAKEOVER_TARGETS_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "more than %d domains",
                         TAKEOVER_TARGETS_MAX);
    for (size_t i = 0; i < count; i++)
        if (add_target(entry, json_array_get(list, i), err) < 0)
            return error_wrap(err, "[%zu]", i);
    return 0;
}

/* The long form of an entry. */
struct long_entry {
    json_t *to;
    char *fence;
    bool has_fence;
};

static const struct json_field LONG_ENTRY_FIELDS[] = {
    JSON_FIELD_VALUE("to", struct long_entry, to),
    JSON_FIELD_STRING("fence", struct long_entry, fence),
    JSON_FIELD_PRESENT("fence", struct long_entry, has_fence),
};
static const struct json_table LONG_ENTRY = JSON_STRICT_TABLE(struct long_entry, LONG_ENTRY_FIELDS);

static int use_long_entry(const struct long_entry *terms, struct takeover_entry *entry,
                          struct error *err)
{
    if (!terms->to)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'to' is missing");
    if (decode_targets(terms->to, entry, err) < 0)
        return error_wrap(err, "to");
    if (!terms->has_fence || strcmp(terms->fence, "required") == 0)
        return 0;
    if (strcmp(terms->fence, "none") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "fence: '%s' is neither 'required' nor 'none'", terms->fence);
    entry->fence = TAKEOVER_FENCE_NONE;
    return 0;
}

static int decode_entry(const char *name, const json_t *value, struct takeover_entry *entry,
                        struct error *err)
{
    const char *domain = split_name(name, &entry->level, err);
    struct long_entry terms = {0};

    if (!domain)
        return -1;
    entry->value = xstrdup(domain);
    if (strcmp(domain, EVERYBODY) == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'all' stands for domains that take over; "
                         "those taken over are named one by one");
    if (!json_is_object(value))
        return decode_targets(value, entry, err);
    int result = json_decode(value, &LONG_ENTRY, &terms, err);
    if (result == 0)
        result = use_long_entry(&terms, entry, err);
    json_free_fields(&LONG_ENTRY, &terms);
    return result;
}

const struct takeover_entry *takeover_find(const struct takeover_map *map, const char *level,
                                           const char *value)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct takeover_entry *entry = &map->entries[i];

        if (strcmp(entry->value, value) == 0 &&
            (!entry->level || !level || strcmp(entry->level, level) == 0))
            return entry;
    }
    return NULL;
}

const struct takeover_entry *takeover_find_pool(const struct takeover_map *map,
                                                const struct pool_entry *pool)
{
    const struct takeover_entry *found = NULL;

    for (size_t i = 0; i < pool->count && !found; i++)
        found = takeover_find(map, pool->segments[i].level, pool->segments[i].value);
    return found;
}

int takeover_map_decode(const json_t *value, struct takeover_map *out, struct error *err)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};
    json_t *object = (json_t *)(uintptr_t)value; /* jansson's iterator is not const */

    if (!json_is_object(object))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "expected an object: {\"zone-a\": [\"zone-b\"]}");
    if (json_object_size(object) > TAKEOVER_ENTRIES_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "more than %d entries",
                         TAKEOVER_ENTRIES_MAX);
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        const char *name = json_object_iter_key(i);
        _cleanup_(takeover_entry_done) struct takeover_entry entry = {0};

        if (decode_entry(name, json_object_iter_value(i), &entry, err) < 0)
            return error_wrap(err, "'%.80s'", name);
        if (takeover_find(&map, entry.level, entry.value))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "'%.80s': an entry before may mean the same domain; one entry per "
                             "domain, with its level where two levels have one of that name",
                             name);
        *array_add(map.entries, map.count) = entry;
        entry = (struct takeover_entry){0};
    }
    *out = map;
    map = (struct takeover_map){0};
    return 0;
}

/* --- who takes over --- */

bool takeover_is_target(const struct takeover_entry *entry, const char *value)
{
    return value && strcmp(value, entry->value) != 0 &&
           (entry->to_all || string_list_has(&entry->targets, value));
}

/* One node under the map. */
struct node_takeover {
    const struct topology_levels *levels;
    const struct strmap *labels;
    struct strmap *segments;
    struct strmap seen; /* the segments' keys, see membership_key_claim() */
    struct string_list *skipped;
};

static const char *home_of(const struct node_takeover *node, size_t level)
{
    return topology_home_value(&node->levels->items[level], node->labels);
}

/* The level that an entry names; -1 if there is none of that name. */
static int named_level(const struct node_takeover *node, const struct takeover_entry *entry)
{
    struct nearest nearest = NEAREST_INIT(entry->level);
    int found = topology_level_find(node->levels, entry->level);

    if (found >= 0)
        return found;
    for (size_t i = 0; i < node->levels->count; i++)
        nearest_offer(&nearest, node->levels->items[i].name);
    string_list_addf(node->skipped, "'%s=%s': no level is called '%s'%s%s%s", entry->level,
                     entry->value, entry->level, nearest.name ? "; did you mean '" : "",
                     nearest.name ? nearest.name : "", nearest.name ? "'?" : "");
    return -1;
}

/* The level on which a bare name concerns this node; -1 if there is none, or more than one. */
static int bare_level(const struct node_takeover *node, const struct takeover_entry *entry)
{
    const struct topology_level *levels = node->levels->items;
    int found = -1;

    if (node->levels->count == 1)
        return 0;
    for (size_t i = 0; i < node->levels->count; i++) {
        if (!takeover_is_target(entry, home_of(node, i)))
            continue;
        if (found >= 0) {
            string_list_addf(node->skipped, "'%s' may be a %s or a %s: write '%s=%s' or '%s=%s'",
                             entry->value, levels[found].name, levels[i].name, levels[found].name,
                             entry->value, levels[i].name, entry->value);
            return -1;
        }
        found = (int)i;
    }
    return found;
}

static void apply_entry(struct node_takeover *node, const struct takeover_entry *entry)
{
    _cleanup_error_ struct error err = {0};
    int level = entry->level ? named_level(node, entry) : bare_level(node, entry);

    if (level < 0 || !takeover_is_target(entry, home_of(node, (size_t)level)))
        return;
    _cleanup_free_ char *key =
        membership_key(node->levels->prefix, node->levels->items[level].name, entry->value);
    if (membership_key_claim(&node->seen, key, &err) == 0)
        strmap_set(node->segments, key, "true");
    else
        string_list_addf(node->skipped, "'%s': %s", entry->value, err.message);
}

void takeover_apply(const struct takeover_map *map, const struct topology_levels *levels,
                    const struct strmap *labels, struct strmap *segments,
                    struct string_list *skipped)
{
    struct node_takeover node = {levels, labels, segments, {0}, skipped};
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < segments->count; i++)
        if (membership_key_claim(&node.seen, segments->entries[i].key, &err) < 0)
            error_clear(&err); /* the caller's own; not made better by refusing others */
    for (size_t i = 0; i < map->count; i++)
        apply_entry(&node, &map->entries[i]);
    strmap_done(&node.seen);
}
