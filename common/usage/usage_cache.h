#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/call.h"
#include "common/ceph/ceph_ops.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "common/usage/cluster_usage.h"
#include "common/usage/subvolume_count.h"

/*
 * What is known about the capacity of the clusters, kept in memory: the monitors' figures, one
 * round of questions per cluster, user and interval however many callers there are, and for the
 * pools where somebody needs it the number and sizes of volumes, listed in the background and
 * corrected by our own calls in between.
 *
 * Any thread. A look-up costs a mutex and a reference.
 */
struct usage_cache;

struct usage_cache_options {
    struct ceph *ceph;
    struct config_file *config;
    const struct subvolume_source *subvolumes; /* CephFS: where volumes are noted; NULL: RBD */
    int64_t max_age_ms;                        /* of the monitors' figures */
    int64_t listing_age_ms;                    /* of the volumes' listing */
};

struct usage_cache *usage_cache_new(const struct usage_cache_options *options);
/* Ends the background work; false if something hangs in Ceph: do not free then. */
_must_check_ bool usage_cache_stop(struct usage_cache *cache, int64_t timeout_ms);
void usage_cache_free(struct usage_cache *cache);

/* The figures at one time. Shared; read only. */
struct usage_snapshot;
const struct cluster_usage *usage_snapshot_usage(const struct usage_snapshot *snapshot);
void usage_snapshot_unref(struct usage_snapshot *snapshot);
DEFINE_CLEANUP(struct usage_snapshot, usage_snapshot_unref)
#define _cleanup_usage_snapshot_ _cleanup_(usage_snapshot_unrefp)

/*
 * The newest figures. From half of the maximal age on they are asked for anew in the background;
 * beyond it the caller waits for the answer, but not longer than two seconds if there are older
 * ones. Fails as the monitors do when there have never been any.
 */
_must_check_ int usage_cache_get(struct usage_cache *cache, struct call *call,
                                 const char *cluster_id, const struct credentials *credentials,
                                 struct usage_snapshot **snapshot, struct error *err);

/* One pool's volumes. */
struct usage_pool {
    const char *cluster_id;
    const char *pool;
    const char *rados_namespace; /* of images; "" for CephFS */
    const char *fs_name;         /* CephFS: whose data pool it is; NULL: RBD */
};

/*
 * Number and total size of the volumes in a pool. With @need_bytes their sizes are listed too,
 * which takes a round trip per volume (CephFS: in any case); without, only their number. The first
 * time the listing is waited for as long as @call may take, not at all if that is NULL; is_known is
 * false if it has not finished by then.
 */
struct pool_provision usage_cache_provision(struct usage_cache *cache, struct call *call,
                                            const struct usage_pool *pool,
                                            const struct credentials *credentials, bool need_bytes);

/* What our own calls change. A creation begins, then ends with or without a volume. */
void usage_cache_creation_begins(struct usage_cache *cache, const struct usage_pool *pool,
                                 uint64_t size_bytes);
void usage_cache_creation_ends(struct usage_cache *cache, const struct usage_pool *pool,
                               uint64_t size_bytes, bool is_made);
void usage_cache_deletion(struct usage_cache *cache, const struct usage_pool *pool,
                          uint64_t size_bytes);
/* A volume has @more_bytes more than before. */
void usage_cache_growth(struct usage_cache *cache, const struct usage_pool *pool,
                        uint64_t more_bytes);

/* Who wants to know when a volume was created, deleted or expanded; one at a time, NULL for nobody.
 * @changed is called with a lock held: it must not wait, nor use the cache. */
typedef void usage_changed_fn(void *object);
void usage_cache_notify(struct usage_cache *cache, usage_changed_fn *changed, void *object);

/* Held from a decision to the start of the creation that it leads to; others wait. No I/O in
 * between. */
void usage_cache_lock_placement(struct usage_cache *cache);
void usage_cache_unlock_placement(struct usage_cache *cache);
