#pragma once

#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/topology/pinning.h"
#include "common/topology/placement.h"
#include "common/topology/pool_entry.h"
#include "common/topology/requirement.h"
#include "common/usage/cluster_usage.h"

/*
 * What a StorageClass says about where its volumes go. Pure; any thread. Strings are borrowed from
 * the parameters.
 *
 *   pool, dataPool             for all volumes, or where the request names are kept
 *   fsName                     CephFS: the file system, which keeps the request names too; there
 *                              pool is the data pool, and so is a place's poolName
 *   topologyConstrainedPools   pools and their places, see pool_entry.h
 *   topologyPools: auto        pools that carry their place themselves, see class_pools_find()
 *   topologyClass              which of these: the value of their cephzone.class; default: pool,
 *                              CephFS: fsName
 *   poolSelection              free-space, spread, pack, first
 *   topologyPinning            auto, membership, plain, standard, none
 *   immediateTopology          first, spread, pin
 *   unservedDomains            refuse, anywhere
 *   overcommit                 1.5: sizes of volumes may add up to 1.5 times what fits
 *   crossPoolRestore: copy     a restore or clone may leave its source's pool; CephFS copies in any
 *                              case, so there it may unless this is none
 */
struct class_pools {
    bool is_cephfs;
    const char *cluster_id;
    const char *home; /* where the request names are: RBD's pool, CephFS' fsName; NULL: beside the
                         volumes */
    const char *pool; /* NULL if there is none */
    const char *data_pool; /* NULL if there is none */
    struct pool_entries entries;
    bool is_auto;
    const char *topology_class; /* with is_auto */
    bool has_policy;
    enum placement_policy policy;
    enum pinning pinning;
    enum immediate_topology immediate;
    bool may_be_anywhere; /* unservedDomains: anywhere */
    uint64_t overcommit;  /* in thousandths; 0: none given */
    bool may_cross_pools;
};

/* INVALID_ARGUMENT naming key and position. Does not ask whether there is a clusterID or a pool.
 * Caller calls class_pools_done() after success. */
_must_check_ int class_pools_parse_rbd(const struct strmap *parameters, struct class_pools *pools,
                                       struct error *err);
_must_check_ int class_pools_parse_cephfs(const struct strmap *parameters,
                                          struct class_pools *pools, struct error *err);
void class_pools_done(struct class_pools *pools);
#define _cleanup_class_pools_ _cleanup_(class_pools_done)

/* Whether there are several pools to choose from; without, the class's pool is the only one. */
bool class_pools_have_places(const struct class_pools *pools);

/* Whether a volume with that requirement goes into one of these: without a requirement it goes into
 * the class's pool, if there is one, unless poolSelection or immediateTopology say otherwise. */
bool class_pools_want_place(const struct class_pools *pools,
                            const struct topology_requirement *requirement);

/* Whether the choice of a pool depends on the volumes that are in it. */
bool class_pools_need_volumes(const struct class_pools *pools);

/* The cluster of an entry of the class, and its file system: NULL for RBD. */
const char *class_pools_cluster(const struct class_pools *pools, const struct pool_entry *entry);
const char *class_pools_filesystem(const struct class_pools *pools, const struct pool_entry *entry);

/* The pool whose free space counts for the entry: its data pool where it has one. Borrowed from
 * @usage. NULL if it cannot be used, with the reason, which is static, in *@remark. */
const struct cluster_pool *class_pools_pool(const struct class_pools *pools,
                                            const struct pool_entry *entry,
                                            const struct cluster_usage *usage, const char **remark);

/* As class_pools_pool() for the entry at @index; INVALID_ARGUMENT naming key and position. */
_must_check_ int class_pools_look_up(const struct class_pools *pools,
                                     const struct pool_entry *entry, size_t index,
                                     const struct cluster_usage *usage,
                                     const struct cluster_pool **pool, struct error *err);

/*
 * Adds to @entries the pools of @usage that carry their own place: replicated, with the application
 * "rbd" (CephFS: data pools of any type, with the application "cephfs"), and its metadata
 * cephzone.class naming the class. The place is the metadata's other cephzone.LEVEL keys or, if
 * there are none, the bucket that the pool's CRUSH rule takes and those above it, as far as @levels
 * has their type; a rule that takes a root, or several buckets, gives everywhere. A pool none of
 * whose buckets is of a level is left out. Levels are in CRUSH's order, outermost first.
 *
 * @levels are the levels that are asked for; NULL: all types but root, host and what is below it.
 */
void class_pools_find(const struct class_pools *pools, const struct cluster_usage *usage,
                      const struct string_list *levels, struct pool_entries *entries);

/* Sets RESOURCE_EXHAUSTED for a class that found no pools and says how one takes part.
 * Returns -1. */
int class_pools_refuse_none(const struct class_pools *pools, struct error *err);

/* The class's one pool, as an entry for everywhere. A CephFS class that names none has its file
 * system's first, which @usage (NULL: not known) names. Caller calls pool_entry_done(). */
struct pool_entry class_pools_plain(const struct class_pools *pools,
                                    const struct cluster_usage *usage);
