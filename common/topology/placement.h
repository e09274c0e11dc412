#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/topology/free_space.h"
#include "common/topology/placement_policy.h"
#include "common/topology/pool_entry.h"
#include "common/topology/requirement.h"

/*
 * Chooses the pool for a new volume, and remembers why. Pure; any thread.
 *
 * Terms in order: each of preferred, then each of requisite; an empty requirement is one empty term
 * that every entry serves. Candidates of a term: entries all of whose domains the term has. Those
 * without enough free space are dropped. The first term with candidates left wins; of these only
 * the ones that constrain the most levels remain, and the policy decides among them.
 *
 * IMMEDIATE_SPREAD and IMMEDIATE_PIN take all terms as one. With may_be_anywhere a place that no
 * entry serves (the first preferred term, where the pod is to run; without preferred, all of
 * requisite) is as good as no requirement.
 *
 * Cost: one pass over the entries and one over the terms, with a hash of the entries' domains;
 * about 0.5 ms for 1,000 entries and 5,000 terms.
 */
struct placement_candidate {
    const struct pool_entry *entry;
    struct free_space space;
    uint64_t volumes;
    const char *refusal; /* not to be used at all, and why: "taken over by zone-b"; NULL usually */
};

/* What becomes of a volume for which no pod has chosen a node, the class parameter
 * immediateTopology. With a requirement the caller cannot be told from one for whom the scheduler
 * chose, so that the class must say it. */
#define IMMEDIATE_TOPOLOGIES "first, spread, pin" /* for users, in the same order */

enum immediate_topology {
    IMMEDIATE_FIRST,  /* the first term binds, as in Ceph-CSI; without a requirement it is unpinned
                       */
    IMMEDIATE_SPREAD, /* the policy decides among the pools of all terms, and it is unpinned */
    IMMEDIATE_PIN,    /* the same, but it is pinned to the pool's place */
};

_must_check_ int immediate_topology_parse(const char *text, enum immediate_topology *immediate,
                                          struct error *err);

struct placement_request {
    const char *volume_name;
    uint64_t size_bytes;
    const struct topology_requirement *requirement;
    const struct placement_candidate *candidates; /* in the class's order */
    size_t count;
    enum placement_policy policy;
    bool has_overcommit; /* the space must cover the size; else any at all will do */
    enum immediate_topology immediate;
    bool may_be_anywhere; /* unservedDomains: anywhere: any pool will do for a place without one */
};

enum candidate_verdict {
    VERDICT_CHOSEN,
    VERDICT_NOT_NEEDED,    /* not in the winning term, nor in one before it */
    VERDICT_LESS_SPECIFIC, /* of the winning term, but constrains fewer levels */
    VERDICT_POLICY,        /* of the last round, but the policy took another */
    VERDICT_NO_SPACE,
    VERDICT_REFUSED,
    VERDICT_ELSEWHERE, /* serves none of the terms */
};

struct decision {
    const struct placement_request *request; /* borrowed: print before it goes */
    ssize_t chosen;                          /* index of a candidate; -1: none */
    const struct strmap *term; /* which won, in the requirement; NULL: the volume is unpinned */
    bool is_unserved;          /* no entry serves the place that was asked for: any would do */
    enum candidate_verdict *verdicts; /* one per candidate */
};

/*
 * Fills @decision in every case; the caller calls decision_done(). RESOURCE_EXHAUSTED with the
 * trace in one line when no entry serves the domains or none has space, so that the scheduler tries
 * another node.
 */
_must_check_ int placement_decide(const struct placement_request *request,
                                  struct decision *decision, struct error *err);

/* One line: what was asked, what became of it, and of each candidate (of eight at most, then how
 * many more). */
void decision_print_line(const struct decision *decision, struct text *line);
/* Columns POOL PLACE ROOM VOLUMES VERDICT, one candidate per line, the winner marked. */
void decision_print_table(const struct decision *decision, struct text *table);
/* Caller frees with json_decref(). */
json_t *decision_to_json(const struct decision *decision);
void decision_done(struct decision *decision);
#define _cleanup_decision_ _cleanup_(decision_done)
