#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/strmap.h"

/*
 * CSI's TopologyRequirement: where a volume may be and where it had better be. A term is one
 * Topology: segment key to value. Owned.
 */
struct topology_terms {
    struct strmap *items;
    size_t count;
};

struct topology_requirement {
    struct topology_terms requisite;
    struct topology_terms preferred;
};

/* Appends a copy. */
void topology_terms_add(struct topology_terms *terms, const struct strmap *term);
void topology_terms_done(struct topology_terms *terms);

/* Neither requisite nor preferred: the caller has no wish. */
bool topology_requirement_is_empty(const struct topology_requirement *requirement);
void topology_requirement_done(struct topology_requirement *requirement);
#define _cleanup_topology_requirement_ _cleanup_(topology_requirement_done)
