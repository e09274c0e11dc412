#pragma once

#include "common/topology/domain.h"
#include "common/topology/pool_entry.h"

/*
 * Which level is within which. A class may list the levels of a pool in any order, and nothing that
 * is decided may depend on that order. Pure; any thread.
 */
struct hierarchy {
    const struct topology_levels *labels; /* --domainlabels; NULL: not given */
    const struct string_list *types; /* CRUSH's bucket types, outermost first; NULL: not known */
};

/*
 * Sorts the segments of the entry, outermost first: by the labels if these have all of its levels,
 * else by the types if those have. If neither knows them all, the segments are sorted by name and
 * the entry is marked as unordered.
 */
void pool_entry_order(struct pool_entry *entry, const struct hierarchy *hierarchy);
