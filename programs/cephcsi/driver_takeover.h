#pragma once

#include "common/base/metrics.h"
#include "common/config/takeover_source.h"
#include "common/volume/client_records.h"
#include "common/volume/identity.h"
#include "controller/takeover/fences.h"
#include "controller/takeover/takeover.h"
#include "programs/cephcsi/driver_kube.h"
#include "programs/cephcsi/options.h"

/* What the controller role does about takeovers where there is a Kubernetes; zero-initialise. */
struct driver_takeover {
    struct fences fences;
    struct client_records records;
    struct takeover_reconciler *reconciler; /* NULL: none */
};

/* Lets @source look into the ConfigMap, for those roles that need it there. Before anybody else
 * uses the source. */
void driver_takeover_watch(const struct driver_kube *kube, const struct options *options,
                           struct takeover_source *source);

/* When the driver serves. Nothing without a Kubernetes or without the controller role. */
void driver_takeover_start(struct driver_takeover *takeover, const struct driver_kube *kube,
                           const struct options *options, struct takeover_source *source,
                           struct metrics *metrics);
void driver_takeover_report(struct driver_takeover *takeover, struct health_sink *sink);
/* Stops. Nobody may read the metrics any more. */
void driver_takeover_done(struct driver_takeover *takeover);
