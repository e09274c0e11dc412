#pragma once

#include "common/base/call.h"
#include "common/ceph/ceph_ops.h"
#include "common/kube/kube_ops.h"

/*
 * --enable-fencing: when a volume is detached from a node that an administrator, or a takeover, has
 * declared out of service (the taint node.kubernetes.io/out-of-service), the node may still write:
 * nobody has seen it unmount. Its client is put on the OSDs' blocklist first, as Ceph-CSI 3.16 does
 * it: the address as a range, for three years, which the node lifts itself when it is back
 * (controller/addons/own_fence.h).
 *
 * An entry that lasts longer is somebody else's and stays as it is, and so does one that a takeover
 * has noted (common/kube/fence_notes.h). Any thread.
 */
struct node_fencing {
    struct kube *kube;       /* borrowed */
    const char *driver_name; /* --drivername */
    const char *name_space;  /* of the notes of takeovers */
};

/*
 * Returns when the OSDs refuse the client, or at once if the node is in service or is gone.
 * @address is what the volume knows of its client on the node; NULL: nothing, and nothing is done.
 * Never NOT_FOUND. A request to the API server; for a node out of service 3 commands and one
 * question for each placement group.
 */
_must_check_ int node_fencing_apply(const struct node_fencing *fencing, struct call *call,
                                    struct ceph_cluster *cluster, const char *node_id,
                                    const char *address, struct error *err);
