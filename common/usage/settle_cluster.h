#pragma once

#include "common/ceph/ceph_ops.h"

/*
 * Returns when every OSD keeps to the fences that the monitors have shown: their answer alone stops
 * no client, OSDs receive the osdmap later. Asks each placement group of all pools for RBD and
 * CephFS, one after the other; groups that no OSD serves are passed over. Fails if one does not
 * answer. Any thread.
 */
_must_check_ int settle_cluster(struct ceph_cluster *cluster, struct call *call, struct error *err);
/* The same with @reply, the answer to CLUSTER_USAGE_POOLS. */
_must_check_ int settle_pools(struct ceph_cluster *cluster, struct call *call, const char *reply,
                              struct error *err);
