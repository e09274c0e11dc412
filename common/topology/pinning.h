#pragma once

#include "common/topology/placement.h"

/* Where a volume may be used, once its pool is chosen: CSI's accessible_topology. Pure. */
enum pinning {
    PINNING_AUTO,       /* membership if the winning term carries that key, else plain */
    PINNING_MEMBERSHIP, /* topology.DRIVER/member.zone.zone-a: "true" */
    PINNING_PLAIN,      /* the segments of the levels that the entry constrains */
    PINNING_STANDARD,   /* topology.kubernetes.io/zone and region, which autoscalers know */
    PINNING_NONE,
};

/* The class parameter topologyPinning; NULL or "" is PINNING_AUTO. INVALID_ARGUMENT naming the
 * choices. */
_must_check_ int pinning_parse(const char *text, enum pinning *pinning, struct error *err);

/*
 * Fills @segments, which stay empty for a volume that may be used everywhere: no requirement, an
 * entry for everywhere, PINNING_NONE. Only levels that the entry constrains are pinned.
 *
 * Membership takes the deepest level, the last segment of an entry that pool_entry_order() has
 * sorted; where that is not known, or another entry has the value under other parents, the keys of
 * all levels are ANDed, and the domain cannot be taken over.
 * @prefix is "topology.DRIVER"; a key that the winning term carries is taken as it is there.
 * INVALID_ARGUMENT if PINNING_STANDARD is asked for and the entry has neither zone nor region.
 */
_must_check_ int placement_pin(const struct decision *decision, const char *prefix,
                               enum pinning pinning, struct strmap *segments, struct error *err);
