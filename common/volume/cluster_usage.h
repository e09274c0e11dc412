#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/volume/storage_class.h"

/*
 * How much room the pools of a StorageClass have, from two answers of the monitors. Pure: no I/O.
 * Any thread.
 */
#define CLUSTER_USAGE_DF "{\"prefix\":\"df\",\"format\":\"json\"}"
#define CLUSTER_USAGE_OSD_DUMP "{\"prefix\":\"osd dump\",\"format\":\"json\"}"

struct pool_usage {
    char *name;
    uint64_t stored_bytes;
    uint64_t max_avail_bytes; /* what clients can still write: replication is taken off */
    uint64_t quota_bytes;     /* 0: none */
    bool has_figures;         /* false: too new for df to know it */
};

struct cluster_usage {
    struct pool_usage *pools; /* sorted by name */
    size_t count;
};

/* From the answers to CLUSTER_USAGE_DF and CLUSTER_USAGE_OSD_DUMP. INVALID_ARGUMENT naming the
 * place for anything else. Caller calls cluster_usage_done(). */
_must_check_ int cluster_usage_parse(const char *df, const char *osd_dump,
                                     struct cluster_usage *usage, struct error *err);
void cluster_usage_done(struct cluster_usage *usage);
#define _cleanup_cluster_usage_ _cleanup_(cluster_usage_done)

/* NULL if there is no such pool. Borrowed. */
const struct pool_usage *cluster_usage_find(const struct cluster_usage *usage, const char *name);

/* min(max_avail, quota - stored), 0 when the quota is used up. */
uint64_t pool_usage_room(const struct pool_usage *pool);

/* The room of one place of a class: that of the data pool where there is one. */
struct place_capacity {
    uint64_t room_bytes;
    uint64_t used_bytes;
    uint64_t quota_bytes; /* 0: none */
    const char *remark;   /* static; "" if there is nothing to say */
    bool is_wrong;        /* volumes cannot be made there until somebody mends the class */
};

struct place_capacity class_pool_capacity(const struct class_pool *place,
                                          const struct cluster_usage *usage);

/* "0 B", "1023 B", "1.0 KiB", ... up to EiB, rounded down to one decimal: never more room than
 * there is. Caller frees. */
char *capacity_text(uint64_t bytes);
