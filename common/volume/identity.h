#pragma once

#include <stdbool.h>
#include <time.h>

#include "common/base/metrics.h"
#include "common/rpc/server.h"

/*
 * The Identity service, and our own Health service beside it, which reports to the liveness program
 * what Probe must not: Probe is OK while the process serves, because a failing one makes the
 * sidecars exit, and a cluster that is away is no reason for that.
 */
struct health_sink;

/* Reports one thing's state to the sink. @message says what is wrong, "" if nothing is. */
void health_add(struct health_sink *sink, const char *subject, bool healthy, const char *message,
                time_t since);

struct identity {
    const char *driver_name;
    const char *version;
    bool topology;         /* advertise VOLUME_ACCESSIBILITY_CONSTRAINTS */
    bool group_controller; /* advertise GROUP_CONTROLLER_SERVICE */
    struct metrics *metrics;
    /* Adds the state of everything that can be in trouble; must not block. */
    void (*report)(void *object, struct health_sink *sink);
    void *report_object;
};

/* @identity is borrowed by the service. */
struct rpc_service identity_service(struct identity *identity);
struct rpc_service health_service(struct identity *identity);
