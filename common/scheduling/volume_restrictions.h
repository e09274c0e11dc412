#pragma once

#include "common/scheduling/binding_check.h"

/*
 * The scheduler's VolumeRestrictions: a claim with the access mode ReadWriteOncePod serves one pod
 * of the whole cluster, and a disk that pods name by themselves (exclusive_disk.h) one pod of a
 * node that writes. Pure; any thread while the cluster does not change.
 *
 * Cost: preparing looks at the pods that use the pod's claims; a node costs nothing unless the pod
 * names such a disk, and then looks at the volumes of its pods.
 */
#define RESTRICTIONS_CLAIM_IN_USE                                                                  \
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "  \
    "in-use by another pod"
#define RESTRICTIONS_DISK_CONFLICT "node(s) had no available disk"

struct pod_restrictions {
    const struct kube_pod *pod;
    enum binding_verdict verdict; /* REJECTED: for all nodes */
    char *reason;                 /* of REJECTED */
    const struct kube_pvc *claim; /* that only one pod may have; NULL: no pod has it */
    const struct kube_pod *user;  /* of the claim */
    bool has_disks;
};

/* PreFilter. Before 1.22 there is no ReadWriteOncePod; from 1.22 to 1.26 the gate is off. Caller
 * calls pod_restrictions_done(). */
void volume_restrictions_prepare(const struct cluster_objects *cluster,
                                 const struct binding_options *options, const struct kube_pod *pod,
                                 struct pod_restrictions *restrictions);
void pod_restrictions_done(struct pod_restrictions *restrictions);
#define _cleanup_pod_restrictions_ _cleanup_(pod_restrictions_done)

/* Filter: NULL, or Kubernetes' reason (static). *@user, if not NULL, is the pod that is in the way.
 */
const char *volume_restrictions_check(const struct cluster_objects *cluster,
                                      const struct pod_restrictions *restrictions,
                                      const struct kube_node *node, const struct kube_pod **user);

/* Whether a pod that is gone may have been in the way. */
bool volume_restrictions_are_eased(const struct kube_pod *pod, const struct kube_pod *gone);
