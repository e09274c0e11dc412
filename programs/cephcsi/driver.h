#pragma once

#include <signal.h>

#include "common/ceph/ceph.h"
#include "common/linux/host.h"
#include "programs/cephcsi/options.h"

/* Serves --type=rbd or cephfs until one of @signals arrives, then drains. Returns the exit code.
 * @make_ceph is ceph_new() and @make_host host_new(), or what a test puts around them. */
int driver_run(const struct options *options, const sigset_t *signals,
               struct ceph *(*make_ceph)(const struct ceph_options *options),
               struct host *(*make_host)(const char *kubelet_dir, const char *key_dir));
