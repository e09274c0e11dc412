#pragma once

#include <signal.h>

#include "programs/cephcsi/options.h"

/*
 * Runs --type=liveness until one of @signals arrives: probes the driver's socket every --polltime
 * and serves over HTTP
 *   /healthz   200 while the last probe succeeded
 *   /readyz    200 while nothing is in trouble, else 503 and what is, since when and why
 *   /metrics   csi_liveness and the driver's own metrics
 * Returns the exit code.
 */
int liveness_run(const struct options *options, const sigset_t *signals);
