#pragma once

#include <signal.h>

#include "common/ceph/ceph.h"
#include "programs/cephcsi/options.h"

/*
 * --type=controller, which deployments for Ceph-CSI run beside the driver: regenerates the journal
 * entries of RBD volumes from their PersistentVolumes (controller/regenerate/regenerator.h) until a
 * signal arrives. It serves no socket, but a pod whose container exits is not ready: so it waits
 * even where it cannot do anything. Returns the exit code.
 */
int generator_run(const struct options *options, const sigset_t *signals,
                  struct ceph *(*make_ceph)(const struct ceph_options *options));
