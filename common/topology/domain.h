#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"

/*
 * Levels (region, zone, rack), domains (zone=zone-a) and what CSI sees of them. Pure; any thread.
 *
 *   --domainlabels=topology.kubernetes.io/region,topology.kubernetes.io/zone      outermost first;
 *                                                                 a semicolon may be in between,
 * too segment          topology.DRIVER/zone: zone-a membership key
 * topology.DRIVER/member.zone.zone-a: "true"   "serves zone-a's volumes"
 *
 * The segment's name is the label's text behind its first slash, as Ceph-CSI has it: volumes are
 * pinned to it. A domain whose membership key would be longer than 63 bytes is shortened to a
 * prefix and a hash of the whole, the same for ever.
 */
struct topology_level {
    char *label; /* of the Kubernetes node */
    char *name;  /* what the segment is called */
};

struct topology_levels {
    char *prefix; /* "topology.DRIVER", lower case */
    struct topology_level *items;
    size_t count;
};

#define TOPOLOGY_LEVELS_MAX 16

/* @labels is the flag's text, "" for no levels. INVALID_ARGUMENT for a label twice, two labels with
 * one tail (upper and lower case are one), a malformed label, a prefix of more than 63 bytes, or
 * tails whose keys could be taken for membership keys of others ("member.x", "zone" and "zone.x").
 */
_must_check_ int topology_levels_parse(const char *driver, const char *labels,
                                       struct topology_levels *levels, struct error *err);
void topology_levels_done(struct topology_levels *levels);
#define _cleanup_topology_levels_ _cleanup_(topology_levels_done)

/* Index of the level of that name, -1 if there is none. */
int topology_level_find(const struct topology_levels *levels, const char *name);

/* PREFIX/LEVEL and PREFIX/member.LEVEL.VALUE. Caller frees. */
char *segment_key(const char *prefix, const char *level);
char *membership_key(const char *prefix, const char *level, const char *value);
/* LEVEL.VALUE of a membership key, whatever stands before its slash; NULL for other keys. Borrowed.
 */
const char *membership_tail(const char *key);

/* The node's domain of that level, NULL if it lacks the label or its value is none that CSI allows.
 * Borrowed. */
const char *topology_home_value(const struct topology_level *level, const struct strmap *labels);

/*
 * The home of a node: for each level whose label it has, the segment and the membership key, added
 * to @segments. Labels without a usable value are added to @missing.
 */
void topology_home(const struct topology_levels *levels, const struct strmap *labels,
                   struct strmap *segments, struct string_list *missing);

/*
 * Whether @term, a segment map of CSI, is in the domain @level=@value. Where it has a plain segment
 * of that level, that decides: on a node under takeover the home counts. Else a membership key
 * does. Keys count by their tail, whatever stands before it, as in Ceph-CSI; of several with one
 * tail the last counts.
 */
bool topology_term_serves(const struct strmap *term, const char *level, const char *value);

/* CSI's keys must differ in more than case: INVALID_ARGUMENT if @key and one of @seen do not. Adds
 * @key to @seen, which maps lower case to the spelling. */
_must_check_ int membership_key_claim(struct strmap *seen, const char *key, struct error *err);
