#pragma once

#include <jansson.h>

#include "common/scheduling/binding_check.h"

/*
 * Zone labels on volumes, the way before node affinity: the scheduler's VolumeZone, and the
 * conversion of such labels to node affinity. Pure.
 */

/* Zones joined by "__" to a set; spaces around each are cut off. INVALID_ARGUMENT if one is empty.
 */
_must_check_ int zone_set_parse(const char *text, struct string_list *zones, struct error *err);

/* One label of one of the pod's volumes. */
struct zone_constraint {
    const char *key; /* static */
    const struct kube_pv *pv;
    struct string_list zones;
};

struct pod_zones {
    enum binding_verdict verdict; /* SKIPPED: no volume has zone labels; REJECTED: for all nodes */
    char *reason;
    struct zone_constraint *items;
    size_t count;
};

void volume_zone_prepare(const struct cluster_objects *cluster, const struct kube_pod *pod,
                         struct pod_zones *zones);
void pod_zones_done(struct pod_zones *zones);
#define _cleanup_pod_zones_ _cleanup_(pod_zones_done)

/* Whether the labels of two objects say the same about zones and regions. */
bool volume_zone_is_same(const struct kube_meta *a, const struct kube_meta *b);

#define VOLUME_ZONE_CONFLICT "node(s) had no available volume zone"

/* The constraint that the node does not fulfil; NULL if it fulfils all. A node without any zone or
 * region label fulfils everything; a node's new label serves for a volume's old one, not the other
 * way round. */
const struct zone_constraint *volume_zone_check(const struct pod_zones *zones,
                                                const struct kube_node *node);

/*
 * The patch that gives a volume the node affinity which its zone and region labels mean; the labels
 * stay. With @new_keys the affinity uses the topology.kubernetes.io keys instead of the label's
 * own, and keys of old in an affinity that is there become the new ones. *@patch is NULL when there
 * is nothing to do: no such labels, or an affinity on zones is there already; *@remark (caller
 * frees) says which. INVALID_ARGUMENT for a label that is no set of zones. An affinity on other
 * keys is kept: the zones are ANDed into each of its terms, which the API server takes only with
 * MutablePVNodeAffinity.
 */
_must_check_ int volume_zone_convert(const struct kube_pv *pv, bool new_keys, json_t **patch,
                                     char **remark, struct error *err);
