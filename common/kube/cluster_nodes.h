#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/kube/kube_ops.h"

/*
 * The nodes of the cluster as the API server knows them, and the changes that a takeover makes to
 * them. What was fenced is kept elsewhere (fence_notes.h). That pods have to leave a node that
 * served a domain is written on the Node itself, so that whoever leads next knows it:
 *
 *   metadata.annotations["takeover.DRIVER/member.zone.zone-a"]    "zone=zone-a"
 *
 * Any thread. Errors as in kube_ops.h.
 */

/* A node as takeover and capacity need to know it: its Node object together with what its CSINode
 * has for our driver. */
struct cluster_node {
    char *name;
    char *version;           /* of the Node object, for writes that must not overtake others */
    struct strmap labels;    /* of the Node */
    bool has_driver;         /* the CSINode has an entry of our driver */
    struct string_list keys; /* topologyKeys of that entry: what kubelet knows */
    char *node_id;           /* the driver's name for the node in that entry; "" without one */
    /* Where its clients may connect from: internal IPs, and what volumes have recorded. */
    struct string_list addresses;
    size_t internal_count; /* the first ones, which the Node has now */
    char *boot_id;
    char *machine; /* the UUID of its system; "" if unknown */
    bool is_ready;
    struct string_list handles; /* volumes of our driver that kubelet reports as in use */
    bool is_out_of_service;     /* has the taint node.kubernetes.io/out-of-service */
    bool was_tainted;           /* with that, by a takeover */
    bool is_gone;               /* there is no Node: what is known is from elsewhere */
    /* Of a note of ours, see fence_notes_join(); no addresses: there is none. */
    struct string_list fenced_addresses;
    /* Of these, those that somebody else had fenced before: they are not ours to remove. */
    struct string_list found_addresses;
    char *fenced_boot_id; /* "" without a note */
    char *fenced_machine; /* the same; another one may have the name now */
    bool is_releasing;    /* some of the addresses are being removed from the blocklists */
    /* Domains ("zone=zone-a") that it has served, and whose pods have to leave it. */
    struct string_list draining;
};

struct cluster_nodes {
    struct cluster_node *items;
    size_t count;
};

void cluster_nodes_done(struct cluster_nodes *nodes);
#define _cleanup_cluster_nodes_ _cleanup_(cluster_nodes_done)

/* Nodes and CSINodes, one list each. @nodes is empty. */
_must_check_ int cluster_nodes_read(struct kube *kube, struct call *call, const char *driver,
                                    struct cluster_nodes *nodes, struct error *err);

/* The node that the driver calls @node_id: the Node of that name or, if there is none, the one
 * whose CSINode says so. *@node is in @nodes, which is empty before; NULL if there is none. */
_must_check_ int cluster_node_find(struct kube *kube, struct call *call, const char *driver,
                                   const char *node_id, struct cluster_nodes *nodes,
                                   const struct cluster_node **node, struct error *err);

/*
 * Sets the label @key of membership of @domain and drops the note that pods have to leave; or
 * removes the label and, in the same request, adds that note, unless the domain has no name.
 */
_must_check_ int cluster_node_serve(struct kube *kube, struct call *call, const char *driver,
                                    const char *node, const char *key, const char *domain,
                                    bool serves, struct error *err);
/* Drops the note. */
_must_check_ int cluster_node_drained(struct kube *kube, struct call *call, const char *driver,
                                      const char *node, const char *key, struct error *err);

/* Whether kubelet lists in a Node's volumesInUse all volumes of the driver that it has: the
 * CSIDriver is there and its volumes are attached. */
_must_check_ int cluster_use_is_reported(struct kube *kube, struct call *call, const char *driver,
                                         bool *is_reported, struct error *err);

/* Appends a node that is_gone, about which nothing else is known. Valid until the next one. */
struct cluster_node *cluster_nodes_add_gone(struct cluster_nodes *nodes, const char *name);

/* Adds the taint node.kubernetes.io/out-of-service, or removes ours. ABORTED if the Node has
 * changed meanwhile. */
_must_check_ int cluster_node_taint(struct kube *kube, struct call *call,
                                    const struct cluster_node *node, bool is_out,
                                    struct error *err);
