#include "common/topology/pool_entry.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/topology/domain.h"
#include "common/topology/labels.h"

#define PARAMETER "topologyConstrainedPools"
#define PLACE_LIMIT 8192

struct decoded_entry {
    struct pool_entry entry;
    bool has_segments;
};

static const struct json_field SEGMENT_FIELDS[] = {
    JSON_FIELD_STRING("domainLabel", struct pool_segment, level),
    JSON_FIELD_STRING("value", struct pool_segment, value),
};
static const struct json_table SEGMENT_TABLE =
    JSON_STRICT_TABLE(struct pool_segment, SEGMENT_FIELDS);

static const struct json_field ENTRY_FIELDS[] = {
    JSON_FIELD_STRING("poolName", struct decoded_entry, entry.pool),
    JSON_FIELD_STRING("dataPool", struct decoded_entry, entry.data_pool),
    JSON_FIELD_STRING("clusterID", struct decoded_entry, entry.cluster_id),
    JSON_FIELD_STRING("fsName", struct decoded_entry, entry.fs_name),
    JSON_FIELD_OBJECTS("domainSegments", struct decoded_entry, entry.segments, entry.count,
                       &SEGMENT_TABLE),
    JSON_FIELD_PRESENT("domainSegments", struct decoded_entry, has_segments),
};
static const struct json_table ENTRY_TABLE = JSON_STRICT_TABLE(struct decoded_entry, ENTRY_FIELDS);

/* --- what an entry must be --- */

static int check_segment(const struct pool_segment *segment, struct error *err)
{
    if (text_is_empty(segment->level))
        return error_set(err, STATUS_INVALID_ARGUMENT, "domainLabel is missing");
    if (text_is_empty(segment->value))
        return error_set(err, STATUS_INVALID_ARGUMENT, "value is missing");
    if (strchr(segment->level, '/'))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "domainLabel '%s' is a whole label; only what stands behind the slash "
                         "counts: '%s'",
                         segment->level, label_tail(segment->level));
    if (label_key_check(segment->level, err) < 0)
        return error_wrap(err, "domainLabel");
    return label_value_check(segment->value, err) < 0 ? error_wrap(err, "value") : 0;
}

static int check_entry(const struct decoded_entry *decoded, struct error *err)
{
    const struct pool_entry *entry = &decoded->entry;

    if (text_is_empty(entry->pool))
        return error_set(err, STATUS_INVALID_ARGUMENT, "poolName is missing");
    if (!decoded->has_segments)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "domainSegments is missing; [] stands for everywhere");
    if (entry->count > TOPOLOGY_LEVELS_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "domainSegments: %zu segments are more than %d", entry->count,
                         TOPOLOGY_LEVELS_MAX);
    for (size_t i = 0; i < entry->count; i++) {
        if (check_segment(&entry->segments[i], err) < 0)
            return error_wrap(err, "domainSegments[%zu]", i);
        for (size_t j = 0; j < i; j++)
            if (strcasecmp(entry->segments[i].level, entry->segments[j].level) == 0)
                return error_set(err, STATUS_INVALID_ARGUMENT,
                                 "domainSegments[%zu].domainLabel: '%s' is there twice", i,
                                 entry->segments[i].level);
    }
    return 0;
}

/* --- the same twice --- */

static int compare_segments(const void *a, const void *b)
{
    return strcmp(((const struct pool_segment *)a)->level, ((const struct pool_segment *)b)->level);
}

/* What two entries must not have in common: cluster, pool and domains in any order. */
static char *identify_entry(const struct pool_entry *entry)
{
    struct pool_segment *sorted = xcalloc(entry->count + 1, sizeof(*sorted));
    _cleanup_text_ struct text text = TEXT_INIT(JSON_TEXT_LIMIT);

    if (entry->count)
        memcpy(sorted, entry->segments, entry->count * sizeof(*sorted));
    qsort(sorted, entry->count, sizeof(*sorted), compare_segments);
    text_addf(&text, "%s\n%s\n%s", entry->cluster_id ? entry->cluster_id : "",
              entry->fs_name ? entry->fs_name : "", entry->pool);
    for (size_t i = 0; i < entry->count; i++)
        text_addf(&text, "\n%s=%s", sorted[i].level, sorted[i].value);
    free(sorted);
    return text_take(&text);
}

static int refuse_twins(const struct pool_entries *entries, struct error *err)
{
    _cleanup_strmap_ struct strmap seen = {0}; /* identity to index */

    for (size_t i = 0; i < entries->count; i++) {
        _cleanup_free_ char *key = identify_entry(&entries->items[i]);
        _cleanup_free_ char *index = xasprintf("%zu", i);
        const char *earlier = strmap_get(&seen, key);

        if (earlier)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "[%s] is the same pool '%s' for the same domains as [%s]", index,
                             entries->items[i].pool, earlier);
        strmap_set(&seen, key, index);
    }
    return 0;
}

/* --- parsing --- */

static void drop_empty(char **text)
{
    if (*text && **text == '\0') {
        free(*text);
        *text = NULL;
    }
}

static int take_entries(struct decoded_entry *decoded, size_t count, struct pool_entries *entries,
                        struct error *err)
{
    if (count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "the list is empty");
    if (count > POOL_ENTRIES_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%zu entries are more than %d", count,
                         POOL_ENTRIES_MAX);
    for (size_t i = 0; i < count; i++)
        if (check_entry(&decoded[i], err) < 0)
            return error_wrap(err, "[%zu]", i);
    for (size_t i = 0; i < count; i++) {
        decoded[i].entry.origin = "class";
        drop_empty(&decoded[i].entry.data_pool);
        drop_empty(&decoded[i].entry.cluster_id);
        drop_empty(&decoded[i].entry.fs_name);
        pool_entries_add(entries, &decoded[i].entry);
    }
    return refuse_twins(entries, err);
}

/* A line break in the middle of a string is a space, as Ceph-CSI has it. Others stay, so that the
 * place of an error is right. */
static void join_lines(char *text)
{
    bool in_string = false;

    for (char *c = text; *c; c++) {
        if (*c == '"')
            in_string = !in_string;
        else if (in_string && *c == '\\' && c[1])
            c++;
        else if (in_string && *c == '\n')
            *c = ' ';
    }
}

int pool_entries_parse(const char *text, struct pool_entries *out, struct error *err)
{
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    _cleanup_free_ char *plain = xstrdup(text);
    json_auto_t *json = NULL;
    void *decoded = NULL;
    size_t count = 0;

    join_lines(plain);
    if (json_load_text(plain, strlen(plain), PARAMETER, &json, err) < 0)
        return -1;
    if (json_decode_array(json, &ENTRY_TABLE, &decoded, &count, err) < 0)
        return error_wrap(err, PARAMETER);
    int result = take_entries(decoded, count, &entries, err);
    json_free_array(&ENTRY_TABLE, decoded, count);
    if (result < 0)
        return error_wrap(err, PARAMETER);
    *out = entries;
    entries = (struct pool_entries){0};
    return 0;
}

void pool_entries_add(struct pool_entries *entries, struct pool_entry *entry)
{
    *array_add(entries->items, entries->count) = *entry;
    *entry = (struct pool_entry){0};
}

bool pool_entry_is_served(const struct pool_entry *entry, const struct strmap *term)
{
    for (size_t i = 0; i < entry->count; i++)
        if (!topology_term_serves(term, entry->segments[i].level, entry->segments[i].value))
            return false;
    return true;
}

static const struct strmap *find_term(const struct topology_terms *terms,
                                      const struct pool_entry *entry)
{
    for (size_t i = 0; i < terms->count; i++)
        if (pool_entry_is_served(entry, &terms->items[i]))
            return &terms->items[i];
    return NULL;
}

const struct strmap *pool_entry_find_term(const struct pool_entry *entry,
                                          const struct topology_requirement *requirement)
{
    const struct strmap *term = find_term(&requirement->preferred, entry);

    return term ? term : find_term(&requirement->requisite, entry);
}

char *pool_entry_place(const struct pool_entry *entry)
{
    _cleanup_text_ struct text text = TEXT_INIT(PLACE_LIMIT);

    if (entry->count == 0)
        return xstrdup("anywhere");
    for (size_t i = 0; i < entry->count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "", entry->segments[i].level,
                  entry->segments[i].value);
    return text_take(&text);
}

void pool_entry_copy(const struct pool_entry *from, struct pool_entry *to)
{
    *to = (struct pool_entry){
        .pool = xstrdup(from->pool),
        .data_pool = from->data_pool ? xstrdup(from->data_pool) : NULL,
        .cluster_id = from->cluster_id ? xstrdup(from->cluster_id) : NULL,
        .fs_name = from->fs_name ? xstrdup(from->fs_name) : NULL,
        .segments = xcalloc(from->count + 1, sizeof(*to->segments)),
        .count = from->count,
        .is_unordered = from->is_unordered,
        .origin = from->origin,
    };
    for (size_t i = 0; i < from->count; i++)
        to->segments[i] = (struct pool_segment){xstrdup(from->segments[i].level),
                                                xstrdup(from->segments[i].value)};
}

void pool_entry_done(struct pool_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++) {
        free(entry->segments[i].level);
        free(entry->segments[i].value);
    }
    free_all(entry->segments, entry->pool, entry->data_pool, entry->cluster_id, entry->fs_name);
    *entry = (struct pool_entry){0};
}

void pool_entries_done(struct pool_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        pool_entry_done(&entries->items[i]);
    free(entries->items);
    *entries = (struct pool_entries){0};
}
