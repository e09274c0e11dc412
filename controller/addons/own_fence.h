#pragma once

#include "common/base/call.h"
#include "common/base/string_list.h"
#include "common/ceph/ceph_ops.h"
#include "common/kube/kube_ops.h"
#include "common/linux/host_ops.h"

/*
 * With --enable-fencing a controller fences nodes that are out of service (node_fencing.h), and the
 * node ends that fence when it is back: the sidecar of csi-addons asks it for its addresses, again
 * and again, and each time it looks whether it is fenced by one of them.
 *
 * Only what such a controller or Ceph-CSI adds by itself is removed: a range of that one address
 * that lasts no longer than BLOCKLIST_NODE_SECONDS. NetworkFences last longer, fences of takeovers
 * are no ranges. Where Ceph does not know ranges, what a takeover has noted stays too.
 * And nothing is removed while something of Ceph is mounted here, because that may hold writes from
 * before the fence, which the OSDs would then accept. Any thread.
 */
struct own_fence {
    struct host *host;       /* all borrowed */
    struct kube *kube;       /* NULL: none to ask */
    const char *driver_name; /* --drivername */
    const char *name_space;  /* of the notes of takeovers */
};

#define OWN_FENCE_REST_SECONDS 300 /* as in Ceph-CSI: a fence stays at least as long */

/* @cidrs are this node's addresses. INTERNAL while a fence is younger than that,
 * FAILED_PRECONDITION while something is mounted. One command, and one for each fence. */
_must_check_ int own_fence_lift(const struct own_fence *own, struct call *call,
                                struct ceph_cluster *cluster, const struct string_list *cidrs,
                                struct error *err);
