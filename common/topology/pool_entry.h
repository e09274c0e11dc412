#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/strmap.h"
#include "common/topology/requirement.h"

/*
 * The pools of a class and their places: the class parameter topologyConstrainedPools, in
 * Ceph-CSI's JSON plus our optional fields. Pure; any thread. Strings are owned.
 *
 *   [{"poolName": "rbd-a", "dataPool": "ec-a", "clusterID": "...", "fsName": "...",
 *     "domainSegments": [{"domainLabel": "region", "value": "r1"},
 *                        {"domainLabel": "zone", "value": "zone-a"}]}, ...]
 */
#define POOL_ENTRIES_MAX 4096

struct pool_segment {
    char *level; /* domainLabel: the tail, "zone" */
    char *value;
};

struct pool_entry {
    char *pool;
    char *data_pool;               /* NULL: none */
    char *cluster_id;              /* NULL: the class's */
    char *fs_name;                 /* NULL: the class's; CephFS only */
    struct pool_segment *segments; /* outermost first, once pool_entry_order() has sorted them */
    size_t count;
    bool is_unordered;  /* nobody knows which of its levels is the deepest */
    const char *origin; /* static: where the place comes from, "class", "metadata" or "crush" */
};

struct pool_entries {
    struct pool_entry *items;
    size_t count;
};

/*
 * Keys are taken without regard to case, as Go does it, but a key that is not known, a missing
 * poolName or domainSegments, a level twice in an entry (upper and lower case are one) or more than
 * TOPOLOGY_LEVELS_MAX of them, the same pool with the same domains twice,
 * an empty list, or a value that cannot be a label's are INVALID_ARGUMENT with key and position
 * ("topologyConstrainedPools[2].domainSegments[0].domainLable: unknown key; did you mean
 * 'domainLabel'?"). An explicit empty domainSegments stands for everywhere.
 */
_must_check_ int pool_entries_parse(const char *text, struct pool_entries *entries,
                                    struct error *err);

/* Appends an entry that was found elsewhere; takes over what @entry owns. */
void pool_entries_add(struct pool_entries *entries, struct pool_entry *entry);

/* Whether @term, a segment map of CSI, is in all domains of the entry. */
bool pool_entry_is_served(const struct pool_entry *entry, const struct strmap *term);

/* The first term of preferred, then of requisite, that is; NULL if none is. Borrowed. */
const struct strmap *pool_entry_find_term(const struct pool_entry *entry,
                                          const struct topology_requirement *requirement);

/* "region=r1,zone=zone-a" or "anywhere". Caller frees. */
char *pool_entry_place(const struct pool_entry *entry);

/* Caller calls pool_entry_done() on @to. */
void pool_entry_copy(const struct pool_entry *from, struct pool_entry *to);
void pool_entry_done(struct pool_entry *entry);
void pool_entries_done(struct pool_entries *entries);
#define _cleanup_pool_entries_ _cleanup_(pool_entries_done)
