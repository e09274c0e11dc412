#pragma once

#include "common/base/metrics.h"
#include "common/volume/identity.h"
#include "controller/controller.h"
#include "controller/publish_capacity.h"
#include "programs/cephcsi/driver_kube.h"
#include "programs/cephcsi/options.h"

/* --publish-capacity: NULL unless asked for, and where there is neither a Kubernetes nor the
 * controller role, which is logged. @controller and @metrics are borrowed. */
struct capacity_publisher *driver_capacity_start(const struct driver_kube *kube,
                                                 const struct options *options,
                                                 struct controller *controller,
                                                 struct metrics *metrics);
/* @publisher may be NULL. */
void driver_capacity_report(struct capacity_publisher *publisher, struct health_sink *sink);
