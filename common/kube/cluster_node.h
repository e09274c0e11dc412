#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/string_list.h"
#include "common/base/strmap.h"

/*
 * A node of the cluster, as takeover and capacity need to know it: its Node object together with
 * what its CSINode says of our driver. Plain; whoever asks the API server fills it.
 */
struct cluster_node {
    char *name;
    char *version;           /* of the Node object, for writes that must not overtake others */
    struct strmap labels;    /* of the Node */
    bool has_driver;         /* the CSINode has an entry of our driver */
    struct string_list keys; /* topologyKeys of that entry: what kubelet was told */
    char *node_id;           /* what the driver calls the node in that entry; "" without one */
    /* Where its clients may connect from: internal IPs, and what volumes have recorded. */
    struct string_list addresses;
    char *boot_id;
    bool is_ready;
    struct string_list handles; /* volumes of our driver that kubelet says are in use */
    bool is_out_of_service;     /* has the taint node.kubernetes.io/out-of-service */
    /* What a fence of ours has written down; no addresses: there is none. */
    struct string_list fenced_addresses;
    char *fenced_boot_id; /* "" without a fence */
    bool was_tainted;     /* by us */
    /* Domains ("zone=zone-a") that it has served, and whose pods have to leave it. */
    struct string_list draining;
};

struct cluster_nodes {
    struct cluster_node *items;
    size_t count;
};

void cluster_nodes_done(struct cluster_nodes *nodes);
#define _cleanup_cluster_nodes_ _cleanup_(cluster_nodes_done)
void cluster_node_done(struct cluster_node *node);
/* Appends an empty one. */
struct cluster_node *cluster_nodes_add(struct cluster_nodes *nodes);
