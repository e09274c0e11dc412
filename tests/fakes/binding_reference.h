#pragma once

#include "common/scheduling/binding_check.h"

/*
 * The rules of volume binding written down once more, straight from the facts, without any index
 * and without looking at the real one: what it says must be what binding_check says. Walks through
 * every volume and every capacity for every claim and node.
 */
struct reference_choice {
    enum choice_kind kind;
    const char *pv;
    const char *capacity;
};

#define REFERENCE_CLAIMS_MAX 16

struct reference_result {
    enum binding_verdict verdict;
    unsigned reasons;
    char text[512]; /* of what holds for the whole pod */
    struct reference_choice choices[REFERENCE_CLAIMS_MAX];
    size_t count;
};

void binding_reference(const struct cluster_objects *cluster, const struct binding_options *options,
                       const struct kube_pod *pod, const struct kube_node *node,
                       struct reference_result *result);

/* All that the caches hold, as text: versions, assumptions, the indexes in their order. Empty
 * entries are left out. Caller frees. */
char *binding_reference_dump(const struct cluster_objects *cluster);
