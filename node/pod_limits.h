#pragma once

#include <sys/types.h>

#include "common/base/cleanup.h"
#include "common/linux/host_ops.h"

/*
 * Limits on what a pod reads from and writes to a device, in io.max of the pod's cgroup: the second
 * hierarchy of cgroups, which Kubernetes calls v2. Where kubelet keeps the cgroup of a pod depends
 * on its driver (systemd or cgroupfs) and on the pod's class; the first place that has an io.max
 * counts.
 *
 * Remembers which limits this process has set or found as wanted, because only these are lifted:
 * others may be an administrator's. Any thread; nothing is held over I/O.
 */
struct pod_limits;

struct pod_limits *pod_limits_new(void);
void pod_limits_free(struct pod_limits *limits); /* NULL is fine */

/*
 * Makes @wanted, "rbps=V wbps=V riops=V wiops=V" in this order as the kernel prints it, the limits
 * of the pod on the device; NULL lifts them. *@is_missing: the pod has no cgroup with io.max, and
 * nothing was done; it may come. INVALID_ARGUMENT if @pod is no uuid.
 */
_must_check_ int pod_limits_set(struct pod_limits *limits, struct host *host, const char *pod,
                                dev_t device, const char *wanted, bool *is_missing,
                                struct error *err);

/* Forgets all but those of @pods: they have ended. */
void pod_limits_keep(struct pod_limits *limits, const struct string_list *pods);

/* The pod that a path of kubelet's is for; NULL: it names none. Caller frees. */
char *kubelet_path_pod(const char *path);
