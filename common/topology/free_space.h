#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/*
 * How much space a pool has for new volumes. Pure; any thread.
 *
 * Volumes are thin: without overcommit a pool has no space only when nothing can be written any
 * more, and min(max_avail, quota - stored) is what is reported. With it, the space is
 * (stored + that) * overcommit - provisioned - in flight.
 */
struct pool_usage {
    char *name;
    uint64_t stored_bytes;
    uint64_t max_avail_bytes; /* what clients can still write: replication is taken off */
    uint64_t quota_bytes;     /* 0: none */
    uint64_t quota_objects;   /* 0: none */
    uint64_t objects;
    const char *root; /* what its CRUSH rule takes, "default~ssd"; pools of one root share space.
                         Borrowed; NULL: unknown */
    bool has_figures; /* false: too new for df to know it */
    bool is_full;     /* the pool's own full flag (quota reached) */
};

/* What we know beyond the monitors' figures. */
struct pool_provision {
    uint64_t bytes;     /* sizes of all volumes; counts only with overcommit */
    uint64_t in_flight; /* sizes of creations under way that @bytes does not have yet */
    uint64_t volumes;   /* with those under way */
    bool is_known;
};

struct free_space {
    uint64_t bytes;     /* for the sum of new volumes */
    bool is_known;      /* false: no figures; placement then counts on there being enough */
    const char *remark; /* static; why it is 0 or unknown, "" otherwise */
};

/* @overcommit in thousandths, 0: none given. */
struct free_space free_space_of_pool(const struct pool_usage *usage,
                                     const struct pool_provision *provision, uint64_t overcommit);

/* "1.5" to 1500; INVALID_ARGUMENT unless between 0.001 and 1000 with at most 3 decimals. */
_must_check_ int overcommit_parse(const char *text, uint64_t *overcommit, struct error *err);

/*
 * Free space of several pools together: those with the same root of the same cluster share it (the
 * largest counts), those with different roots add up. @largest is that of the best single pool.
 */
struct free_space_item {
    struct free_space space;
    const char *root;    /* NULL: shares with nobody */
    const char *cluster; /* NULL: all are of one */
};
void free_space_sum(const struct free_space_item *items, size_t count, uint64_t *total,
                    uint64_t *largest);
