#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/kube/objects/kube_objects.h"

/*
 * The first of the scheduler's two caches: what it has decided about volumes and claims before the
 * API server knows. A stored object carries at most one assumption; readers see the object through
 * it (assume_cache_claim() and so on). Kubernetes changed the rules in 1.35; both are here. The
 * rules are about versions only and know no container: see cluster_assume_pv() for that.
 */
enum assume_rules {
    /* From 1.35: an assumption belongs to exactly one version of its object, compared as text. */
    ASSUME_SAME_VERSION,
    /* Before: versions are numbers; the newest of stored and assumed object wins. */
    ASSUME_NEWEST_VERSION,
};

struct assumption {
    char *version; /* of the object it was made from */
    /* of a volume: for which claim */
    bool has_claim;
    struct kube_claim_ref claim;
    bool bound_by_controller;
    /* of a claim: annotation selected-node */
    char *selected_node;
};

void assumption_free(struct assumption *assumption);

/* Whether an object that is stored with @stored (NULL: not at all) and perhaps @current may be
 * assumed with @version. NOT_FOUND, or FAILED_PRECONDITION in Kubernetes' words. */
_must_check_ int assume_check(enum assume_rules rules, const char *key, const char *stored,
                              const struct assumption *current, const char *version,
                              struct error *err);

/* An event brings the object in @version: does the cache take it? */
bool assume_takes_event(enum assume_rules rules, const char *stored,
                        const struct assumption *current, const char *version);

/* Does the assumption stay once the store has @version? */
bool assume_survives(enum assume_rules rules, const struct assumption *assumption,
                     const char *version);

/* Does giving up an assumption made at @version drop @current? */
bool assume_restores(enum assume_rules rules, const struct assumption *current,
                     const char *version);

/* The object through its assumption. NULL: none. Borrowed until the next change. */
const struct kube_claim_ref *assume_cache_claim(const struct kube_pv *pv);
const char *assume_cache_selected_node(const struct kube_pvc *claim);
