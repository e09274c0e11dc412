#pragma once

#include "common/kube/kube_config.h"
#include "common/kube/kube_ops.h"

/*
 * The real API server behind struct kube_ops.
 *
 * Every request is bounded in time (30 s for each try, a watch by its own time) and size (16 MiB),
 * and within the call's deadline repeated up to 5 times with growing, random pauses: always after
 * 429 and after a connection that was never made; other failures of the connection and 502, 503 and
 * 504 only where repeating cannot do twice what was asked once, which leaves out create. The
 * server's Retry-After is obeyed, or the call ends at once when its deadline comes first.
 *
 * Takes @config over and leaves it empty. Does not connect yet. kube_free() frees.
 */
struct kube *kube_client_new(struct kube_config *config);
