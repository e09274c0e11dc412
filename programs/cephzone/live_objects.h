#pragma once

#include "common/scheduling/cluster_objects.h"

/*
 * Lists all objects of a live cluster that volume binding depends on, page by page from its API
 * server, and settles them. @kubeconfig and @context as in kube_config_load(). A resource that may
 * not be listed, or that the server does not have, fails naming it. Caller calls cluster_done().
 */
_must_check_ int live_objects_load(const char *kubeconfig, const char *context,
                                   struct cluster_objects *cluster, struct error *err);
