#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/topology/domain.h"
#include "common/topology/pool_entry.h"

/*
 * The takeover map: which domains serve the volumes of a failed one. Pure; any thread.
 *
 *   {"zone-a": ["zone-b", "zone-c"], "rack=r7": ["all"],
 *    "zone=zone-d": {"to": ["zone-b"], "fence": "none"}}
 *
 * A bare name must be unambiguous over the levels, level=value always works (in the key or in one
 * of the targets: both are of one level), "all" means every other domain of that level. Takeovers
 * do not chain: with a to b and b to c, c serves b's volumes and not a's.
 */
enum takeover_fence { TAKEOVER_FENCE_REQUIRED, TAKEOVER_FENCE_NONE };

struct takeover_entry {
    char *level; /* NULL: a bare name, none of whose targets says the level either */
    char *value;
    struct string_list targets; /* values, without level and "all" */
    bool to_all;
    enum takeover_fence fence;
};

struct takeover_map {
    struct takeover_entry *entries; /* in the order of the file */
    size_t count;
};

#define TAKEOVER_ENTRIES_MAX 1024
#define TAKEOVER_TARGETS_MAX 1024 /* of one entry */

/*
 * INVALID_ARGUMENT with key and position for what is malformed, for keys that are not known, and
 * for what cannot be meant: a domain twice (also once bare and once with its level), one that takes
 * itself over, one of another level, one that nobody takes over.
 */
_must_check_ int takeover_map_decode(const json_t *value, struct takeover_map *map,
                                     struct error *err);
void takeover_map_done(struct takeover_map *map);
#define _cleanup_takeover_map_ _cleanup_(takeover_map_done)

/*
 * Adds to @segments, which has the node's home, the membership keys of the domains that a node with
 * these @labels takes over. A bare name means the only level there is, else the level on which this
 * node has a value named among the targets. Domains that are the node's home are not added again.
 *
 * An entry is skipped, and why is added to @skipped in one sentence, when its name may be of two
 * levels, when there is no such level, or when its key and one of @segments differ in case only.
 */
void takeover_apply(const struct takeover_map *map, const struct topology_levels *levels,
                    const struct strmap *labels, struct strmap *segments,
                    struct string_list *skipped);

/* The entry by which the domain is being taken over, NULL if it is not: nothing new is placed
 * there. A bare name matches on any level, and @level NULL matches any. Borrowed. */
const struct takeover_entry *takeover_find(const struct takeover_map *map, const char *level,
                                           const char *value);

/* The first entry by which a domain of the pool is being taken over; NULL if none is. Borrowed. */
const struct takeover_entry *takeover_find_pool(const struct takeover_map *map,
                                                const struct pool_entry *pool);

/* Whether nodes whose domain of the entry's level is @value (NULL: none) take over. */
bool takeover_is_target(const struct takeover_entry *entry, const char *value);
