#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strmap.h"
#include "common/ceph/ceph_ops.h"
#include "common/ceph/filesystem.h"
#include "common/topology/free_space.h"
#include "common/usage/crush.h"

/*
 * What the monitors say about a cluster's pools: figures, quotas, places. Any thread.
 */
#define CLUSTER_USAGE_DF "{\"prefix\":\"df\",\"format\":\"json\"}"
/* Not "osd dump", which has the pools too, but also every OSD, remapped placement group and
 * blocklisted client: many megabytes on a large cluster. */
#define CLUSTER_USAGE_POOLS "{\"prefix\":\"osd pool ls\",\"detail\":\"detail\",\"format\":\"json\"}"

struct cluster_pool {
    struct pool_usage usage; /* its root is borrowed from the crush map */
    int64_t id;
    int64_t crush_rule;
    bool is_replicated;
    bool is_rbd;                   /* has the application "rbd" */
    struct strmap rbd_metadata;    /* of that application */
    struct strmap cephfs_metadata; /* of the application "cephfs" */
};

struct cluster_usage {
    struct cluster_pool *pools; /* sorted by name */
    size_t count;
    uint64_t available_bytes;           /* of the whole cluster, raw */
    struct crush_map crush;             /* empty until cluster_usage_set_crush() */
    struct filesystem_list filesystems; /* empty unless asked for */
};

/* From the answers to CLUSTER_USAGE_DF and CLUSTER_USAGE_POOLS. INVALID_ARGUMENT naming the
 * place for anything else. Caller calls cluster_usage_done(). */
_must_check_ int cluster_usage_parse(const char *df, const char *pools, struct cluster_usage *usage,
                                     struct error *err);
/* Takes over @crush and sets the root of each pool. */
void cluster_usage_set_crush(struct cluster_usage *usage, struct crush_map *crush);
/* Asks a cluster for all of it: three questions to the monitors, and with @is_cephfs a fourth for
 * its file systems. */
_must_check_ int cluster_usage_ask(struct ceph_cluster *cluster, struct call *call, bool is_cephfs,
                                   struct cluster_usage *usage, struct error *err);
void cluster_usage_done(struct cluster_usage *usage);
#define _cleanup_cluster_usage_ _cleanup_(cluster_usage_done)

/* NULL if there is no such pool. Borrowed. */
const struct cluster_pool *cluster_usage_find(const struct cluster_usage *usage, const char *name);
const struct cluster_pool *cluster_usage_find_id(const struct cluster_usage *usage, int64_t id);

/* NULL if there is no such file system, or none that keeps files in that pool. Borrowed. */
const struct filesystem *cluster_usage_find_fs(const struct cluster_usage *usage, const char *name);
const struct filesystem *cluster_usage_fs_of_pool(const struct cluster_usage *usage,
                                                  int64_t pool_id);
