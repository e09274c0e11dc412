#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/topology/requirement.h"
#include "common/topology/selector.h"

/*
 * What external-provisioner (v6.3) asks of CreateVolume for a claim: its TopologyRequirement, made
 * from class, nodes and the scheduler's choice. For telling beforehand, and for tests that must ask
 * as it does. Pure; any thread.
 *
 * It remembers for a claim what it found at the first try; here everything is as it is now. Where
 * it takes the topology keys of a random node (a claim bound immediately, without
 * allowedTopologies), we take those of the first node by name that has some.
 */

/* A node with its Node and CSINode objects, as far as they exist. Borrowed. */
struct provisioner_node {
    const char *name;
    const struct strmap *labels;    /* NULL: there is no such Node */
    const struct string_list *keys; /* the driver's in CSINode, none if it is not registered there;
                                       NULL: there is no such CSINode */
};

struct provisioner_request {
    const char *claim;                        /* its name; spreads the volumes of a StatefulSet */
    const struct allowed_topologies *allowed; /* NULL is none */
    const struct provisioner_node *selected;  /* NULL: bound immediately */
    const struct provisioner_node *nodes;     /* all of the cluster, in any order */
    size_t count;
    bool strict;    /* --strict-topology */
    bool immediate; /* --immediate-topology, which is true by default */
};

/* What becomes of the claim after a failure. */
enum provisioner_state {
    PROVISIONER_NO_CHANGE,  /* tried again on the same node */
    PROVISIONER_RESCHEDULE, /* the scheduler chooses again */
};

/* So many segments may be copied to multiply allowedTopologies out; upstream has no limit. */
#define PROVISIONER_SEGMENTS_MAX 500000

/*
 * Fills @requirement, which must be zeroed; it stays empty when none is sent. On failure *@state is
 * set and @err has upstream's text, with what would help behind a semicolon: FAILED_PRECONDITION,
 * NOT_FOUND for a CSINode, INVALID_ARGUMENT beyond PROVISIONER_SEGMENTS_MAX. (For NO_CHANGE the
 * provisioner's event puts "error generating accessibility requirements: " in front.)
 *
 * Cost: O(n log n) over nodes or allowed terms.
 */
_must_check_ int provisioner_requirement(const struct provisioner_request *request,
                                         struct topology_requirement *requirement,
                                         enum provisioner_state *state, struct error *err);

/*
 * By which the terms are rotated for a claim that is bound immediately: a hash (32-bit FNV-1) plus
 * an index. data-web-2 is the index 2 and the hash of "web", so that claims of one pod come
 * together and pods of one set apart. (For an empty name upstream takes a random hash.)
 */
void provisioner_spread(const char *claim, uint32_t *hash, uint32_t *index);
