#pragma once

#include <stdbool.h>

#include "common/rpc/server.h"
#include "controller/addons/network_fences.h"
#include "controller/controller.h"

/*
 * What the driver serves on the second socket, --csi-addons-endpoint: the Identity service of
 * csi-addons, which reports to its sidecar what there is, its FenceController and, for RBD,
 * ReclaimSpace and replication. A controller fences, and frees space of volumes that nobody uses; a
 * node reports by which address it would be fenced, and frees space of those that it has mounted
 * (node_reclaim_service() of node/volumes.h). Nothing is advertised that is not served.
 */
struct addons {
    const char *driver_name;
    const char *version;
    bool is_controller;
    bool is_node;
    bool is_rbd; /* so that space is reclaimed and volumes are replicated */
    struct network_fences fences;
};

/* @addons is borrowed by the services. */
struct rpc_service addons_identity_service(struct addons *addons);
/* For controllers: fences, unfences, lists, and describes itself. */
struct rpc_service addons_fence_service(struct addons *addons);
/* For nodes: describes itself. */
struct rpc_service addons_client_service(struct addons *addons);
/* For controllers of RBD. @controller is borrowed. */
struct rpc_service addons_reclaim_service(struct controller *controller);
struct rpc_service addons_replication_service(struct controller *controller);
