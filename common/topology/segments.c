#include "common/topology/segments.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define SEGMENTS_LIMIT 8192

char *segments_format(const struct strmap *segments)
{
    _cleanup_text_ struct text text = TEXT_INIT(SEGMENTS_LIMIT);

    for (size_t i = 0; i < segments->count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "", segments->entries[i].key,
                  segments->entries[i].value);
    return xstrdup(text_chars(&text));
}

void segments_parse(const char *text, struct strmap *segments)
{
    const char *next = text;

    while (*next) {
        size_t length = strcspn(next, ",");
        size_t key_length = strcspn(next, "=,");
        _cleanup_free_ char *key = xstrndup(next, key_length);
        _cleanup_free_ char *value = key_length < length
                                         ? xstrndup(next + key_length + 1, length - key_length - 1)
                                         : xstrdup("");

        strmap_set(segments, key, value);
        next += length;
        next += *next == ',';
    }
}

/* The level of a key of the driver, by what stands behind its prefix: "zone" or, of a membership
 * key, "zone.zone-a"; NULL: none of the node's. */
static const char *find_level(const struct topology_levels *levels, const char *tail,
                              bool is_member)
{
    for (size_t i = 0; i < levels->count; i++) {
        const char *name = levels->items[i].name;
        const size_t length = strlen(name);

        if (strncmp(tail, name, length) == 0 && tail[length] == (is_member ? '.' : '\0'))
            return name;
    }
    return NULL;
}

static bool is_served(const struct strmap_entry *segment, const struct topology_levels *levels,
                      const struct strmap *served, bool knows_members)
{
    const size_t length = strlen(levels->prefix);
    const char *member = membership_tail(segment->key);
    const char *value = strmap_get(served, segment->key);

    if (strncmp(segment->key, levels->prefix, length) != 0 || segment->key[length] != '/' ||
        (member && !knows_members) || (value && strcmp(value, segment->value) == 0))
        return true;
    const char *level =
        find_level(levels, member ? member : segment->key + length + 1, member != NULL);
    if (!level)
        return true;
    _cleanup_free_ char *home = segment_key(levels->prefix, level);
    return !strmap_has(served, home);
}

const struct strmap_entry *segments_find_unserved(const struct strmap *pinned,
                                                  const struct topology_levels *levels,
                                                  const struct strmap *served, bool knows_members)
{
    for (size_t i = 0; i < pinned->count; i++)
        if (!is_served(&pinned->entries[i], levels, served, knows_members))
            return &pinned->entries[i];
    return NULL;
}
