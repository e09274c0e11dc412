#pragma once

#include <stdbool.h>

#include "common/rpc/server.h"
#include "controller/addons/network_fences.h"

/*
 * What the driver serves on the second socket, --csi-addons-endpoint: the Identity service of
 * csi-addons, which reports to its sidecar what there is, and its FenceController. A controller
 * fences; a node reports by which address it would be fenced. Nothing is advertised that is not
 * served.
 */
struct addons {
    const char *driver_name;
    const char *version;
    bool is_controller;
    bool is_node;
    struct network_fences fences;
};

/* @addons is borrowed by the services. */
struct rpc_service addons_identity_service(struct addons *addons);
/* For controllers: fences, unfences, lists, and describes itself. */
struct rpc_service addons_fence_service(struct addons *addons);
/* For nodes: describes itself. */
struct rpc_service addons_client_service(struct addons *addons);
