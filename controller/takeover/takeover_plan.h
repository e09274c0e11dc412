#pragma once

#include <stdbool.h>

#include "common/base/string_list.h"
#include "common/kube/fence_notes.h"
#include "common/topology/takeover.h"
#include "controller/takeover/fence_sight.h"

/*
 * What has to be done next so that the nodes' labels follow the takeover map. Pure: the cluster as
 * it was just read in, steps out; whoever carries them out reads everything again and asks again,
 * until no step is left. So a step is only ever planned on what has been seen to be true, and a
 * process that dies between two steps is continued by the next one.
 *
 *   takeover   record the fence               what will be fenced, and the boot id of now
 *              renew the record               the node has rebooted, and is not wholly fenced
 *              fence                          every address of every node that may write to the
 *                                             domain's volumes, in every cluster: internal ones and
 *                                             those that volumes have recorded
 *              taint                          release the attachments of nodes that are down
 *              label                          once all fences have been read back
 *   giveback   unfence                        a node that has rebooted since, or holds no volume
 *              untaint, forget                once the fence has been seen to be gone
 *              unlabel                        once a home node serves again; notes that pods leave
 *              evict                          a few pods at a time, once all labels are gone
 *              note that it is drained        once no pod of the domain is left
 *
 * A domain's home nodes are those whose plain segment says so. A label that kubelet set
 * (topologyKeys) is a home label and is never touched, nor is any node without the driver.
 */
enum takeover_step_kind {
    TAKEOVER_RECORD,
    TAKEOVER_RENEW,
    TAKEOVER_FENCE,
    TAKEOVER_TAINT,
    TAKEOVER_LABEL,
    TAKEOVER_UNFENCE,
    TAKEOVER_UNTAINT,
    TAKEOVER_FORGET,
    TAKEOVER_UNLABEL,
    TAKEOVER_EVICT,
    TAKEOVER_DRAINED,
};

#define TAKEOVER_EVICTIONS_MAX 5 /* pods of a domain that leave at once */

struct takeover_step {
    enum takeover_step_kind kind;
    const struct cluster_node *node; /* borrowed from the nodes */
    char *subject; /* the address, the label's key, the pod's NAMESPACE/NAME; or "" */
    char *domain;  /* "zone=zone-a" */
};

/* Where a domain stands. */
struct takeover_progress {
    char *domain;
    bool is_giveback;
    bool is_done;    /* nothing is left to do */
    bool is_blocked; /* something else has to happen first */
    /* It goes on only when the recorded clients of its volumes are known. */
    bool waits_for_clients;
    struct string_list writers; /* names of the nodes that are, or have to be, fenced for it */
    bool drains;                /* pods have to leave nodes that served it */
    bool is_closed;             /* nothing new may be placed there */
    char *explanation;          /* one sentence */
};

/* A pod on a node that has served a domain, with a volume that is pinned to the domain. */
struct takeover_pod {
    char *node;
    char *domain;
    char *name;          /* "NAMESPACE/NAME" */
    bool is_leaving;     /* is being deleted */
    bool has_controller; /* that will make another one elsewhere */
};

struct takeover_pods {
    struct takeover_pod *items;
    size_t count;
};

void takeover_pods_add(struct takeover_pods *pods, const struct takeover_pod *pod); /* a copy */
void takeover_pods_done(struct takeover_pods *pods);

struct takeover_plan {
    struct takeover_step *steps;
    size_t count;
    struct takeover_progress *domains;
    size_t domain_count;
};

/* What the plan is made of; all borrowed. */
struct takeover_world {
    const char *driver;
    const char *prefix; /* "topology.DRIVER" */
    const struct takeover_map *map;
    const struct cluster_nodes *nodes;
    const struct fence_sight *fenced;
    const char *fences_unknown; /* why fences cannot be read or made; NULL: they can */
    /* Why the nodes' addresses lack those that volumes have recorded; NULL: they have them. Without
     * them no node is written down, released or labelled. */
    const char *clients_unknown;
    /* What other drivers, and we, have fenced; NULL: nothing. */
    const struct fence_notes *notes;
    /* Addresses of monitors, managers, OSDs and MDS, and which of them: they are not fenced. NULL:
     * not asked for. */
    const struct strmap *daemons;
    const struct takeover_pods *pods;
    const char *pods_unknown; /* why @pods lacks those of draining nodes; NULL: it has them */
    /* Kubelet reports, in volumesInUse, all volumes of the driver that it has: true of drivers that
     * are attached (CSIDriver.spec.attachRequired). */
    bool use_is_reported;
    const char *own_node; /* of the reconciler, which must not fence itself; "" if unknown */
    bool only_removes;    /* --takeover-via=nodeinfo: kubelet adds the labels and leaves them */
};

/* @plan is zero; takeover_plan_done() frees. Steps of a domain come in the order above. */
void takeover_plan_make(const struct takeover_world *world, struct takeover_plan *plan);
void takeover_plan_done(struct takeover_plan *plan);
#define _cleanup_takeover_plan_ _cleanup_(takeover_plan_done)

/* The level on which nodes are at home in the domain @value. FAILED_PRECONDITION if there is none,
 * or more than one. @prefix is "topology.DRIVER". Caller frees. */
_must_check_ int takeover_level_of(const char *prefix, const struct cluster_nodes *nodes,
                                   const char *value, char **level, struct error *err);

/* "fence node 'node-7': blocklist 10.0.0.7 in every cluster". Caller frees. */
char *takeover_step_text(const struct takeover_step *step);

/* Changes the cluster as the step would, for looking ahead. @step is of a plan made from @nodes. */
void takeover_step_assume(const struct takeover_step *step, struct cluster_nodes *nodes,
                          struct fence_sight *fenced, struct takeover_pods *pods);
