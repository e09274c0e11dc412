#pragma once

#include "common/base/metrics.h"
#include "common/config/takeover_source.h"
#include "common/volume/client_records.h"
#include "common/volume/identity.h"
#include "controller/capacity/capacity_publisher.h"
#include "controller/controller.h"
#include "controller/takeover/fences.h"
#include "controller/takeover/takeover.h"
#include "programs/cephcsi/driver_kube.h"
#include "programs/cephcsi/options.h"

/* What the controller role does by itself where there is a Kubernetes: carries takeovers out and,
 * with --publish-capacity, publishes capacity. Zero-initialise; then fill in the first two. */
struct driver_controller {
    struct fences fences;
    struct client_records records;
    struct takeover_reconciler *reconciler; /* NULL: none */
    struct capacity_publisher *publisher;   /* NULL: none */
    struct usage_cache *usage;              /* what tells the publisher of changes; borrowed */
};

/* When the driver serves. Nothing without a Kubernetes or without the controller role. The pointers
 * are borrowed. */
void driver_controller_start(struct driver_controller *own, const struct driver_kube *kube,
                             const struct options *options, struct takeover_source *source,
                             struct controller *controller, struct metrics *metrics);
void driver_controller_report(struct driver_controller *own, struct health_sink *sink);
/* Stops. Nobody may read the metrics any more. */
void driver_controller_done(struct driver_controller *own);
