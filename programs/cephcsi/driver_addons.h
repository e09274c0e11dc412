#pragma once

#include "common/base/metrics.h"
#include "common/rpc/server.h"
#include "controller/addons/addons.h"
#include "node/volumes.h"
#include "programs/cephcsi/options.h"

/* The driver's second socket, if --csi-addons-endpoint asks for one; zero-initialise. */
struct driver_addons {
    struct addons addons;
    struct rpc_server *server; /* NULL: there is none */
};

/* What its services work on. Borrowed. */
struct driver_addons_parts {
    struct network_fences fences;
    struct controller *controller;
    struct node_volumes *volumes;
    struct metrics *metrics;
};

/* Serves, as the driver with these options. Fails if the socket cannot be had. */
_must_check_ int driver_addons_start(struct driver_addons *addons, const struct options *options,
                                     const struct driver_addons_parts *parts, struct error *err);
/* False if handlers still run: the process can only end by _exit(). */
_must_check_ bool driver_addons_drain(struct driver_addons *addons);
void driver_addons_done(struct driver_addons *addons);
