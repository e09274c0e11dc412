#pragma once

#include "common/base/cleanup.h"
#include "common/base/string_list.h"

/* What the blocklists of all clusters say, as just read. Of entries for whole addresses
 * ("10.0.0.7"), those of takeovers are in every cluster and last; of ranges none is. */
struct fence_sight {
    struct string_list everywhere; /* addresses in every cluster, for at least a year more */
    struct string_list partly;     /* others: not in every cluster, or not for long */
    struct string_list ranges;     /* networks ("10.0.0.0/24") in any cluster */
};

void fence_sight_done(struct fence_sight *sight);
#define _cleanup_fence_sight_ _cleanup_(fence_sight_done)
