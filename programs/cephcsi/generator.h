#pragma once

#include <signal.h>

#include "common/ceph/ceph.h"
#include "programs/cephcsi/options.h"

/*
 * --type=controller, which deployments for Ceph-CSI run beside the driver: writes journal entries
 * of RBD volumes anew from their PersistentVolumes (controller/regenerate/regenerator.h) until a
 * signal comes. It has no socket and nobody asks it, but a pod whose container ends is not ready:
 * so it waits even where it cannot do anything. Returns the exit code.
 */
int generator_run(const struct options *options, const sigset_t *signals,
                  struct ceph *(*make_ceph)(const struct ceph_options *options));
