#include "controller/place_pools.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/labels.h"
#include "common/usage/usage_cache.h"

#define MEMBER_PREFIX "member."

static void add_level(struct string_list *levels, const char *tail, size_t length)
{
    _cleanup_free_ char *level = xstrndup(tail, length);

    if (length > 0 && !string_list_has(levels, level))
        string_list_add(levels, level);
}

static void add_levels(const struct topology_terms *terms, struct string_list *levels)
{
    for (size_t i = 0; i < terms->count; i++)
        for (size_t j = 0; j < terms->items[i].count; j++) {
            const char *tail = label_tail(terms->items[i].entries[j].key);

            if (text_has_prefix(tail, MEMBER_PREFIX)) {
                tail += strlen(MEMBER_PREFIX);
                add_level(levels, tail, strcspn(tail, "."));
            } else {
                add_level(levels, tail, strlen(tail));
            }
        }
}

void place_levels(const struct topology_requirement *requirement, struct string_list *levels)
{
    add_levels(&requirement->preferred, levels);
    add_levels(&requirement->requisite, levels);
}

int place_entries(const struct controller *controller, struct call *call,
                  const struct class_pools *class, const struct credentials *credentials,
                  const struct string_list *levels, struct pool_entries *entries, struct error *err)
{
    _cleanup_usage_snapshot_ struct usage_snapshot *snapshot = NULL;

    if (!class->is_auto) {
        for (size_t i = 0; i < class->entries.count; i++) {
            struct pool_entry entry;

            pool_entry_copy(&class->entries.items[i], &entry);
            pool_entries_add(entries, &entry);
        }
        return 0;
    }
    if (usage_cache_get(controller->usage, call, class->cluster_id, credentials, &snapshot, err) <
        0)
        return error_wrap(err, "find the pools of class '%s'", class->topology_class);
    class_pools_find(class, usage_snapshot_usage(snapshot), levels, entries);
    if (entries->count == 0)
        return class_pools_refuse_none(class, err);
    return 0;
}
void place_takeovers(const struct controller *controller, struct takeover_snapshot *snapshot)
{
    static const struct takeover_map none = {0};

    *snapshot = (struct takeover_snapshot){.map = &none};
    if (controller->takeover)
        takeover_source_get_closed(controller->takeover, snapshot);
}

bool place_is_taken_over(const struct takeover_map *map, const struct pool_entry *entry)
{
    return takeover_find_pool(map, entry) != NULL;
}
