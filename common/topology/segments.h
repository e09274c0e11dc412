#pragma once

#include <stdbool.h>

#include "common/base/strmap.h"
#include "common/topology/domain.h"

/* Segments as one text, "KEY=VALUE,KEY=VALUE": keys and values of labels have neither of these
 * signs. Pure; any thread. */

/* Caller frees. */
char *segments_format(const struct strmap *segments);
/* Adds to @segments; a key without a value has an empty one. */
void segments_parse(const char *text, struct strmap *segments);

/*
 * The first of the segments that a volume is pinned to and a node does not serve; NULL if it serves
 * all. @served are the node's segments. What the node cannot judge counts as served: keys of
 * others, levels on which it has no domain and, unless @knows_members, membership keys. Borrowed
 * from @pinned.
 */
const struct strmap_entry *segments_find_unserved(const struct strmap *pinned,
                                                  const struct topology_levels *levels,
                                                  const struct strmap *served, bool knows_members);
