#include "common/topology/placement_policy.h"

#include <math.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/topology/placement.h"

int placement_parse_choice(const char *parameter, const char *const *names, size_t count,
                           const char *text, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(text);
    _cleanup_text_ struct text all = TEXT_INIT(256);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0)
            return (int)i;
        nearest_offer(&nearest, names[i]);
        text_addf(&all, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", names[i]);
    }
    error_set(err, STATUS_INVALID_ARGUMENT, "%s: '%.40s' is none of %s", parameter, text,
              text_chars(&all));
    if (nearest.name)
        error_hint(err, "did you mean '%s'?", nearest.name);
    return -1;
}

/* Weighted rendezvous: exponentially distributed with the space as rate, drawn from the names, so
 * that a retry draws the same and a change of it moves few. */
static double cost_by_draw(const struct placement_request *request,
                           const struct placement_candidate *candidate, double usual)
{
    const struct pool_entry *entry = candidate->entry;
    double space = candidate->space.is_known ? (double)candidate->space.bytes : usual;
    uint64_t hash = hash_field(HASH_START, request->volume_name);

    hash = hash_field(hash, entry->cluster_id ? entry->cluster_id : "");
    hash = hash_mix(hash_field(hash, entry->pool));
    return -log(((double)(hash >> 11) + 0.5) * 0x1p-53) / space;
}

static double cost_by_volumes(const struct placement_request *request,
                              const struct placement_candidate *candidate, double usual)
{
    (void)request, (void)usual;
    return (double)candidate->volumes;
}

static double cost_by_space(const struct placement_request *request,
                            const struct placement_candidate *candidate, double usual)
{
    (void)request, (void)usual;
    return candidate->space.is_known ? (double)candidate->space.bytes : INFINITY;
}

static double cost_of_all(const struct placement_request *request,
                          const struct placement_candidate *candidate, double usual)
{
    (void)request, (void)candidate, (void)usual;
    return 0;
}

static const struct policy {
    const char *name;
    double (*cost)(const struct placement_request *request,
                   const struct placement_candidate *candidate, double usual);
    bool counts_volumes;
} POLICIES[] = {
    [PLACEMENT_FREE_SPACE] = {"free-space", cost_by_draw, false},
    [PLACEMENT_SPREAD] = {"spread", cost_by_volumes, true},
    [PLACEMENT_PACK] = {"pack", cost_by_space, false},
    [PLACEMENT_FIRST] = {"first", cost_of_all, false},
};

const char *placement_policy_name(enum placement_policy policy)
{
    return POLICIES[policy].name;
}

bool placement_policy_counts_volumes(enum placement_policy policy)
{
    return POLICIES[policy].counts_volumes;
}

int placement_policy_parse(const char *text, enum placement_policy *policy, struct error *err)
{
    const char *names[ARRAY_LENGTH(POLICIES)];

    for (size_t i = 0; i < ARRAY_LENGTH(POLICIES); i++)
        names[i] = POLICIES[i].name;
    int choice = placement_parse_choice("poolSelection", names, ARRAY_LENGTH(names), text, err);
    if (choice < 0)
        return -1;
    *policy = (enum placement_policy)choice;
    return 0;
}

double placement_policy_cost(const struct placement_request *request,
                             const struct placement_candidate *candidate, double usual)
{
    return POLICIES[request->policy].cost(request, candidate, usual);
}
