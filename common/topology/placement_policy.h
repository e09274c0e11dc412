#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* Which of several pools that would do is taken. Pure; any thread. */
#define PLACEMENT_POLICIES "free-space, spread, pack, first" /* for users, in the same order */

enum placement_policy {
    PLACEMENT_FREE_SPACE, /* at random weighted by space, but the same for the same volume name */
    PLACEMENT_SPREAD,     /* fewest volumes */
    PLACEMENT_PACK,       /* least space that suffices */
    PLACEMENT_FIRST,      /* first in the list, as Ceph-CSI does */
};

/* The position of @text among the names that a parameter may have; -1 and INVALID_ARGUMENT naming
 * these and the closest. */
_must_check_ int placement_parse_choice(const char *parameter, const char *const *names,
                                        size_t count, const char *text, struct error *err);

/* By its name, one of PLACEMENT_POLICIES. */
_must_check_ int placement_policy_parse(const char *text, enum placement_policy *policy,
                                        struct error *err);
const char *placement_policy_name(enum placement_policy policy);
/* Whether it looks at placement_candidate.volumes, which somebody must count then. */
bool placement_policy_counts_volumes(enum placement_policy policy);

struct placement_request;
struct placement_candidate;

/* How badly the request's policy wants a candidate; the lowest wins, the earlier of equals. @usual
 * is the space that a pool without figures is taken to have. */
double placement_policy_cost(const struct placement_request *request,
                             const struct placement_candidate *candidate, double usual);
