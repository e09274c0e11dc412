#pragma once

#include "common/scheduling/binding_check.h"
#include "common/scheduling/volume_limits.h"
#include "common/scheduling/volume_restrictions.h"
#include "common/scheduling/volume_zone.h"

/*
 * Why a pod is where it is, or nowhere: the scheduler's answer per node in its own words, and
 * beside it what is wrong and what would help. Looks at volumes (VolumeRestrictions,
 * NodeVolumeLimits, VolumeBinding, VolumeZone) and at labels and taints (pod_placement.h);
 * processors, memory and the affinity between pods are not looked at. One thread; the cluster is
 * not changed but counts are remembered in it.
 */
/* Those of nodes in the order in which one is picked for the whole pod: a claim that is tied to a
 * node makes all others irrelevant, and then the one closest to success says most. */
enum explain_cause {
    EXPLAIN_FITS,
    EXPLAIN_POD, /* for the whole pod: a claim is missing, lost, unbound */
    EXPLAIN_FAULT,
    EXPLAIN_IN_USE,        /* another pod has the claim or disk, which is for one alone */
    EXPLAIN_SELECTED_NODE, /* a claim is tied to another node */
    EXPLAIN_VOLUME_MISSING,
    EXPLAIN_NO_SPACE,
    EXPLAIN_LIMIT,       /* the node has as many volumes as it may */
    EXPLAIN_NO_CAPACITY, /* nobody publishes how much free space there is */
    EXPLAIN_NO_DRIVER,
    EXPLAIN_LABEL_MISSING, /* the node lacks the label that a volume or class asks for */
    EXPLAIN_ALLOWED,       /* allowedTopologies */
    EXPLAIN_PREBOUND,      /* the volume meant for the claim is of no use here */
    EXPLAIN_PLACEMENT,     /* the volumes fit, the pod itself does not */
    EXPLAIN_NO_VOLUME,
    EXPLAIN_AFFINITY,
    EXPLAIN_ZONE,
    EXPLAIN_CAUSES,
};

struct explained_node {
    const struct kube_node *node;
    enum explain_cause cause;
    char *place;         /* the node's zone, rack or region; "-" */
    char *verdict;       /* Kubernetes' texts of the plugin that rejects it first; "" if it fits */
    char *reason;        /* those of all plugins, joined by "; " */
    char *detail;        /* what is wrong, "" if nothing is */
    char *fix;           /* what would help */
    int64_t score;       /* of the volumes; only if it fits */
    uint64_t free_bytes; /* of NO_SPACE: how much there is */
    char *subject; /* of LABEL_MISSING: the label, of NO_DRIVER and LIMIT: the driver; else NULL */
    bool is_takeover; /* fits because the node serves a domain that is not its own */
    char *volumes;    /* what the claims would get: "data: volume 'pv-1', log: new"; "" */
};

struct explanation {
    char *headline; /* the cause and the closest fix, one line */
    char *summary;  /* as the scheduler's event has it: "0/3 nodes are available: ..." */
    struct explained_node *nodes; /* by name */
    size_t count;
    size_t fitting;
    struct string_list notes;
};

/* NOT_FOUND, with the closest name, if there is no such pod. Caller calls explanation_done(). */
_must_check_ int explain_pod(struct cluster_objects *cluster, const struct binding_options *options,
                             const char *ns, const char *name, struct explanation *explanation,
                             struct error *err);

/* A claim: through a pod that uses it and is not placed, else as if a pod without any other wish
 * used it. */
_must_check_ int explain_claim(struct cluster_objects *cluster,
                               const struct binding_options *options, const char *ns,
                               const char *name, struct explanation *explanation,
                               struct error *err);

void explanation_done(struct explanation *explanation);
#define _cleanup_explanation_ _cleanup_(explanation_done)

/* "room", "label-missing"; for JSON. */
const char *explain_cause_name(enum explain_cause cause);

/* The node's place for people: its value for the level closest to a zone. Borrowed, "-" if none. */
const char *explain_place(const struct kube_node *node);
