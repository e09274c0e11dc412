#pragma once

#include "common/rpc/server.h"
#include "node/node_info.h"

/* The node's side of the driver. What it needs to know of its machine is given by main. */
struct node {
    const char *node_id; /* --nodeid: the Kubernetes node's name */
    struct node_info *info;
};

/* The Node service over @node, which is borrowed. */
struct rpc_service node_service(struct node *node);
