#pragma once

#include "common/rpc/server.h"
#include "programs/cephcsi/options.h"

/* The gRPC servers of a driver: that of CSI, and that of csi-addons. Main thread. */

struct driver_service {
    struct rpc_service service;
    bool wanted; /* by the flags of this process */
};

struct driver_server_plan {
    const char *endpoint;
    unsigned workers;
    struct metrics *metrics;
    const char *metrics_prefix;
    const struct driver_service *services;
    size_t count;
};

/* A server of those services that are wanted, which drains and logs slow calls as the flags say.
 * Not started; caller calls rpc_server_free(). */
_must_check_ int driver_server_new(const struct driver_server_plan *plan,
                                   const struct options *options, struct rpc_server **server,
                                   struct error *err);
