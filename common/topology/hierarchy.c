#include "common/topology/hierarchy.h"

#include <string.h>

/* How deep a level is, 0 the outermost; -1: not known. */
typedef int (*depth_of)(const struct hierarchy *hierarchy, const char *level);

static int depth_by_labels(const struct hierarchy *hierarchy, const char *level)
{
    return hierarchy->labels ? topology_level_find(hierarchy->labels, level) : -1;
}

static int depth_by_types(const struct hierarchy *hierarchy, const char *level)
{
    for (size_t i = 0; hierarchy->types && i < hierarchy->types->count; i++)
        if (strcmp(hierarchy->types->items[i], level) == 0)
            return (int)i;
    return -1;
}

static int compare_depths(const struct hierarchy *hierarchy, depth_of depth, const char *a,
                          const char *b)
{
    return depth ? depth(hierarchy, a) - depth(hierarchy, b) : strcmp(a, b);
}

static bool knows_all_levels(const struct pool_entry *entry, const struct hierarchy *hierarchy,
                             depth_of depth)
{
    for (size_t i = 0; i < entry->count; i++)
        if (depth(hierarchy, entry->segments[i].level) < 0)
            return false;
    return true;
}

void pool_entry_order(struct pool_entry *entry, const struct hierarchy *hierarchy)
{
    depth_of depth = NULL;

    if (entry->count < 2)
        return;
    if (knows_all_levels(entry, hierarchy, depth_by_labels))
        depth = depth_by_labels;
    else if (knows_all_levels(entry, hierarchy, depth_by_types))
        depth = depth_by_types;
    entry->is_unordered = !depth;
    for (size_t i = 1; i < entry->count; i++) {
        const struct pool_segment segment = entry->segments[i];
        size_t at = i;

        for (; at > 0 &&
               compare_depths(hierarchy, depth, entry->segments[at - 1].level, segment.level) > 0;
             at--)
            entry->segments[at] = entry->segments[at - 1];
        entry->segments[at] = segment;
    }
}
