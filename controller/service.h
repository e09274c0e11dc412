#pragma once

#include "common/rpc/server.h"
#include "controller/controller.h"

/* The Controller service over @controller, which is borrowed, in two parts, and GroupController. */
struct rpc_service controller_volume_service(struct controller *controller);
struct rpc_service controller_snapshot_service(struct controller *controller);
struct rpc_service controller_group_service(struct controller *controller);
