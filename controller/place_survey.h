#pragma once

#include "common/usage/usage_cache.h"
#include "controller/place.h"

/* What is known of the pools that a volume may go to: their free space, and what speaks against
 * them. */

/* The figures of a cluster that entries are in. */
struct known_cluster {
    const char *id;
    struct usage_snapshot *snapshot; /* NULL: not known */
    struct string_list types;        /* of its CRUSH map, outermost first */
};

/* The caller sets the first two; for survey_all() it also allocates @candidates, one per entry, and
 * reads @takeovers. */
struct survey {
    const struct placing *placing;
    struct pool_entries *entries;
    struct known_cluster *clusters;
    size_t cluster_count;
    struct placement_candidate *candidates;
    struct takeover_snapshot takeovers;
};

/* Fills the candidates. With @call the listing of a pool's volumes is waited for. INVALID_ARGUMENT
 * if the class lists a pool that does not exist. */
_must_check_ int survey_all(struct survey *survey, struct call *call, struct error *err);
/* What is decided must not depend on the order of the levels in the class. */
void survey_order_entries(struct survey *survey);
void survey_done(struct survey *survey);

/* Whether the entry is in that cluster and, unless @fs_name is NULL, in that file system. */
bool placing_is_in(const struct placing *placing, const struct pool_entry *entry,
                   const char *cluster_id, const char *fs_name);
