#pragma once

#include <stdbool.h>

#include "common/ceph/ceph_ops.h"

/* True if the monitors say that the pool is for applications other than rbd and cephfs alone, so
 * that it has no volumes. False for one without any application, which may be a pool of RBD that
 * was never initialised, and when the monitors do not answer. */
bool pool_is_for_others(struct ceph_cluster *cluster, struct call *call, const char *name);
