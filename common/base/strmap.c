#include "common/base/strmap.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

/* Index of @key, or of the place where it belongs; *@found says which. */
static size_t locate_key(const struct strmap *map, const char *key, bool *found)
{
    size_t low = 0;
    size_t high = map->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(map->entries[middle].key, key);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

void strmap_set(struct strmap *map, const char *key, const char *value)
{
    bool found = false;
    size_t at = locate_key(map, key, &found);
    char *copy = xstrdup(value);

    if (found) {
        free(map->entries[at].value);
        map->entries[at].value = copy;
        return;
    }
    map->entries = xreallocarray(map->entries, map->count + 1, sizeof(*map->entries));
    memmove(map->entries + at + 1, map->entries + at, (map->count - at) * sizeof(*map->entries));
    map->entries[at] = (struct strmap_entry){xstrdup(key), copy};
    map->count++;
}

const char *strmap_get(const struct strmap *map, const char *key)
{
    bool found = false;
    size_t at = locate_key(map, key, &found);

    return found ? map->entries[at].value : NULL;
}

const char *strmap_get_or(const struct strmap *map, const char *key, const char *fallback)
{
    const char *value = strmap_get(map, key);

    return value && value[0] != '\0' ? value : fallback;
}

bool strmap_has(const struct strmap *map, const char *key)
{
    return strmap_get(map, key) != NULL;
}

void strmap_remove(struct strmap *map, const char *key)
{
    bool found = false;
    size_t at = locate_key(map, key, &found);

    if (!found)
        return;
    free(map->entries[at].key);
    free(map->entries[at].value);
    map->count--;
    memmove(map->entries + at, map->entries + at + 1, (map->count - at) * sizeof(*map->entries));
}

void strmap_merge(struct strmap *map, const struct strmap *from)
{
    for (size_t i = 0; i < from->count; i++)
        strmap_set(map, from->entries[i].key, from->entries[i].value);
}

bool strmap_is_equal(const struct strmap *a, const struct strmap *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->entries[i].key, b->entries[i].key) != 0 ||
            strcmp(a->entries[i].value, b->entries[i].value) != 0)
            return false;
    return true;
}

void strmap_done(struct strmap *map)
{
    for (size_t i = 0; i < map->count; i++)
        free_all(map->entries[i].key, map->entries[i].value);
    free(map->entries);
    *map = (struct strmap){0};
}
