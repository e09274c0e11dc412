#pragma once

#include "common/base/metrics.h"
#include "common/config/config.h"
#include "common/config/takeover_source.h"
#include "common/kube/kube_ops.h"
#include "common/topology/domain.h"
#include "common/volume/identity.h"
#include "node/node_info.h"
#include "node/node_labels.h"
#include "node/read_affinity.h"
#include "node/registrar.h"
#include "programs/cephcsi/driver_kube.h"
#include "programs/cephcsi/options.h"

/* What the driver knows about where its node is, built from the command line. */
struct driver_node {
    struct topology_levels levels;
    struct node_labels_source labels;
    struct takeover_source *takeover;
    struct node_info *info;
    struct read_affinity read_affinity;
    struct registrar *registrar; /* NULL: a sidecar registers us with kubelet */
    bool serves_node;
};

/* Fails with INVALID_ARGUMENT for invalid flags, and for nothing else. All arguments are borrowed;
 * @kube may have no client; @metrics must be freed before @node. */
_must_check_ int driver_node_init(struct driver_node *node, const struct options *options,
                                  struct config_file *config, const struct driver_kube *kube,
                                  struct metrics *metrics, struct error *err);
void driver_node_report(struct driver_node *node, struct health_sink *sink);
void driver_node_done(struct driver_node *node);
