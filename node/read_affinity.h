#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/strmap.h"
#include "common/config/config.h"
#include "node/node_labels.h"

/*
 * Reads from the replica that is nearest: the CRUSH location of this node, from its labels, as an
 * option for krbd's map and the kernel's mount of CephFS (not for rbd-nbd, not for ceph-fuse).
 *
 *   read_from_replica=localize,crush_location=host:node-1|zone:zone-a
 *
 * Any thread; waits for labels that were never known, see NODE_LABELS_WAIT_MS.
 */
struct read_affinity {
    bool is_enabled;                         /* --enable-read-affinity */
    const char *labels;                      /* --crush-location-labels, "a,b" */
    const struct node_labels_source *source; /* borrowed, as is the text */
};

/*
 * The options for a volume of a cluster, in the order of the labels; NULL where there is to be no
 * read affinity, as for @affinity NULL. Caller frees.
 *
 * As in Ceph-CSI the cluster's readAffinity.enabled decides, whatever the flags say; its labels
 * count or, where it has none, those of the flags. Labels that the node lacks are left out, and
 * nothing is asked for when none is left or when the labels are not known: volumes are mounted all
 * the same, and the health report says what is amiss.
 */
char *read_affinity_options(const struct read_affinity *affinity,
                            const struct read_affinity_config *cluster, struct call *call);

/* The string alone, from @wanted and the labels; NULL if no label is there. Pure. */
char *read_affinity_format(const struct string_list *wanted, const struct strmap *labels);
