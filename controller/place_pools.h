#pragma once

#include "common/usage/class_pools.h"
#include "controller/controller.h"

/* The pools of a class, for those who place volumes and those who count free space. */

/* The class's pools in @cluster_id: the listed ones, or those that carry their place. @levels as in
 * class_pools_find(). */
_must_check_ int place_entries(const struct controller *controller, struct call *call,
                               const struct class_pools *class,
                               const struct credentials *credentials,
                               const struct string_list *levels, struct pool_entries *entries,
                               struct error *err);

/* Why such a pool is not used. */
#define PLACE_TAKEN_OVER "its place is being taken over by others or given back"

/* Whether one of the entry's domains is in the map: nothing new is placed there. */
bool place_is_taken_over(const struct takeover_map *map, const struct pool_entry *entry);
/* The map now in force, with the domains that are being given back; empty without a source: one
 * look for all entries. Caller calls takeover_snapshot_done(). */
void place_takeovers(const struct controller *controller, struct takeover_snapshot *snapshot);

/* The levels that the terms of a requirement name. */
void place_levels(const struct topology_requirement *requirement, struct string_list *levels);
