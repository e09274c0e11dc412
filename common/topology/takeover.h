#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/topology/domain.h"

/*
 * The takeover map: which domains serve the volumes of a failed one. Pure; any thread.
 *
 *   {"zone-a": ["zone-b", "zone-c"], "rack=r7": ["all"],
 *    "zone=zone-d": {"to": ["zone-b"], "fence": "none"}}
 *
 * A bare name must be unambiguous over the levels, level=value always works, "all" means every
 * other domain of that level.
 */
enum takeover_fence { TAKEOVER_FENCE_REQUIRED, TAKEOVER_FENCE_NONE };

struct takeover_entry {
    char *level; /* NULL until resolved: a bare name */
    char *value;
    struct string_list targets; /* as written: "zone-b", "zone=zone-b", "all" */
    enum takeover_fence fence;
};

struct takeover_map {
    struct takeover_entry *entries;
    size_t count;
};

#define TAKEOVER_ENTRIES_MAX 1024

/* INVALID_ARGUMENT with key and position. A domain that takes itself over is an error. */
_must_check_ int takeover_map_decode(const json_t *value, struct takeover_map *map,
                                     struct error *err);
void takeover_map_done(struct takeover_map *map);
#define _cleanup_takeover_map_ _cleanup_(takeover_map_done)

/*
 * Adds to @segments the membership keys of the domains that a node with these @labels takes over.
 * A bare name means the level on which this node has a value named among the targets of the entry,
 * or the only level there is; if that leaves two levels, the entry is skipped and its name added to
 * @ambiguous. Domains that are the node's home are not added again.
 */
void takeover_apply(const struct takeover_map *map, const struct topology_levels *levels,
                    const struct strmap *labels, struct strmap *segments,
                    struct string_list *ambiguous);

/* Whether the domain is being taken over: nothing new is placed there. @levels may be NULL: a bare
 * name then matches on any level. */
const struct takeover_entry *takeover_find(const struct takeover_map *map, const char *level,
                                           const char *value);
