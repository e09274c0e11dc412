#pragma once

#include "common/scheduling/binding_check.h"
#include "common/scheduling/binding_hints.h"
#include "common/scheduling/volume_limits.h"
#include "common/scheduling/volume_restrictions.h"
#include "common/scheduling/volume_zone.h"

/*
 * One pod against the nodes of a cluster by all checks that there are, in the scheduler's order:
 * labels and taints (pod_placement.h), volume restrictions, volume limits, volume binding, zones.
 * What holds for every node is looked at once, by pod_survey_prepare(). Borrows from the cluster
 * and is void after any change of it, but for its texts. One thread: counts are remembered in the
 * cluster.
 */

/* Who rejects: the plugins of enum volume_plugin, and this one for labels and taints. */
#define PLUGIN_PLACEMENT 8

struct pod_survey {
    const struct kube_pod *pod;
    struct pod_restrictions restrictions;
    struct pod_claims claims;
    struct pod_volume_keys keys;
    struct pod_zones zones;
    struct pod_decisions decisions; /* in the order of the cluster's nodes */
    unsigned plugin;                /* that rejects the pod on every node, unseen; 0: none does */
    bool is_error;                  /* the scheduler tries again, whatever happens */
    const char *reason;             /* of the plugin */
    struct reason_counts reasons;   /* of nodes, by the plugin that rejected them first */
};

/* Why a node will not do: the first plugin that says so, and its reasons. */
struct node_rejection {
    unsigned plugin;
    bool is_error;
    struct string_list reasons;
};

void node_rejection_done(struct node_rejection *rejection);
#define _cleanup_node_rejection_ _cleanup_(node_rejection_done)

/* PreFilter of all plugins. Where @survey->plugin is set afterwards no node need be asked. */
void pod_survey_prepare(const struct cluster_objects *cluster,
                        const struct binding_options *options, const struct kube_pod *pod,
                        struct pod_survey *survey);
/* Makes place for the decisions; not needed for a pod that is rejected on every node. */
void pod_survey_start(const struct cluster_objects *cluster, struct pod_survey *survey);
void pod_survey_done(struct pod_survey *survey);
#define _cleanup_pod_survey_ _cleanup_(pod_survey_done)

/* Filter for the cluster's node number @at. False: it is counted in @survey->reasons, and
 * @rejection, empty before, has the reasons. The choice of volumes is in the decision. */
bool pod_survey_check_node(struct cluster_objects *cluster, const struct binding_options *options,
                           struct pod_survey *survey, size_t at, struct node_rejection *rejection);

/* "0/3 nodes are available: 2 node(s) ..., 1 node(s) ...". Caller frees. */
char *pod_survey_describe(const struct pod_survey *survey);
