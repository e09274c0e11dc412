/*
 * The choice of a pool. The domains of all candidates are numbered once, in a hash table; a term
 * then costs one look-up per segment, and only candidates that have one of its domains are looked
 * at. Walking every candidate for every term would take a hundred times as long.
 */
#include "common/topology/placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "common/topology/labels.h"

#define NOBODY UINT32_MAX

int immediate_topology_parse(const char *text, enum immediate_topology *immediate,
                             struct error *err)
{
    static const char *const names[] = {
        [IMMEDIATE_FIRST] = "first", [IMMEDIATE_SPREAD] = "spread", [IMMEDIATE_PIN] = "pin"};
    int choice = placement_parse_choice("immediateTopology", names, ARRAY_LENGTH(names), text, err);

    if (choice < 0)
        return -1;
    *immediate = (enum immediate_topology)choice;
    return 0;
}

/* --- the index --- */

/* A domain that some candidate constrains. */
struct known_domain {
    const char *level;
    const char *value;
    uint32_t level_index;
    uint32_t first;       /* candidate whose last segment this is; the others by next_candidate */
    uint32_t served_in;   /* number of the last term that has it */
    char *membership_key; /* "/" and the tail; made when a term without plain segments comes */
};

/* Open addressing, at most half full; slots hold the number of a domain, or NOBODY. */
struct domain_table {
    uint32_t *slots;
    size_t mask;
};

struct placement_index {
    const struct placement_request *request;
    struct known_domain *domains;
    size_t domain_count;
    const char **levels;
    size_t level_count;
    uint32_t *level_seen_in;     /* number of the last term that has a plain segment of it */
    struct domain_table plain;   /* by level and value */
    struct domain_table members; /* by the tail of the membership key; empty until needed */
    uint32_t *next_candidate;
    uint32_t *segment_domains; /* of all candidates, one after the other */
    size_t *first_segment;     /* of a candidate in segment_domains */
    uint32_t *served;          /* domains that the term now looked at has */
    size_t served_count;
    uint32_t *hits; /* candidates that it has */
    size_t hit_count;
    uint32_t number; /* of the term now looked at, from 1 */
};

static void table_init(struct domain_table *table, size_t count)
{
    size_t size = 16;

    while (size < count * 2)
        size *= 2;
    table->slots = xmalloc(size * sizeof(*table->slots));
    memset(table->slots, 0xff, size * sizeof(*table->slots));
    table->mask = size - 1;
}

static uint32_t *find_plain(const struct placement_index *index, size_t level, const char *value)
{
    size_t slot = (size_t)hash_mix(hash_field(level, value)) & index->plain.mask;

    for (;; slot = (slot + 1) & index->plain.mask) {
        uint32_t *found = &index->plain.slots[slot];
        const struct known_domain *domain = &index->domains[*found];

        if (*found == NOBODY || (domain->level_index == level && strcmp(domain->value, value) == 0))
            return found;
    }
}

static uint32_t *find_member(const struct placement_index *index, const char *tail)
{
    size_t slot = (size_t)hash_mix(hash_field(HASH_START, tail)) & index->members.mask;

    for (;; slot = (slot + 1) & index->members.mask) {
        uint32_t *found = &index->members.slots[slot];

        if (*found == NOBODY || strcmp(index->domains[*found].membership_key + 1, tail) == 0)
            return found;
    }
}

static size_t find_level(const struct placement_index *index, const char *level)
{
    for (size_t i = 0; i < index->level_count; i++)
        if (index->levels[i][0] == level[0] && strcmp(index->levels[i], level) == 0)
            return i;
    return SIZE_MAX;
}

static uint32_t add_domain(struct placement_index *index, const struct pool_segment *segment)
{
    size_t level = find_level(index, segment->level);

    if (level == SIZE_MAX) {
        level = index->level_count++;
        index->levels[level] = segment->level;
    }
    uint32_t *slot = find_plain(index, level, segment->value);
    if (*slot == NOBODY) {
        *slot = (uint32_t)index->domain_count++;
        index->domains[*slot] = (struct known_domain){.level = segment->level,
                                                      .value = segment->value,
                                                      .level_index = (uint32_t)level,
                                                      .first = NOBODY};
    }
    return *slot;
}

/* Candidates are chained backwards, so that a chain gives them in the class's order. */
static void index_candidates(struct placement_index *index)
{
    const struct placement_request *request = index->request;
    size_t next = 0;

    for (size_t i = 0; i < request->count; i++) {
        const struct pool_entry *entry = request->candidates[i].entry;

        index->first_segment[i] = next;
        for (size_t j = 0; j < entry->count; j++)
            index->segment_domains[next++] = add_domain(index, &entry->segments[j]);
    }
    for (size_t i = request->count; i-- > 0;) {
        size_t segments = request->candidates[i].entry->count;

        if (segments == 0)
            continue;
        struct known_domain *last =
            &index->domains[index->segment_domains[index->first_segment[i] + segments - 1]];
        index->next_candidate[i] = last->first;
        last->first = (uint32_t)i;
    }
}

static void index_init(struct placement_index *index, const struct placement_request *request)
{
    size_t segments = 0;

    for (size_t i = 0; i < request->count; i++)
        segments += request->candidates[i].entry->count;
    *index = (struct placement_index){
        .request = request,
        .domains = xcalloc(segments + 1, sizeof(*index->domains)),
        .levels = xcalloc(segments + 1, sizeof(*index->levels)),
        .next_candidate = xcalloc(request->count + 1, sizeof(*index->next_candidate)),
        .segment_domains = xcalloc(segments + 1, sizeof(*index->segment_domains)),
        .first_segment = xcalloc(request->count + 1, sizeof(*index->first_segment)),
        .hits = xcalloc(request->count + 1, sizeof(*index->hits)),
    };
    table_init(&index->plain, segments);
    index_candidates(index);
    index->level_seen_in = xcalloc(index->level_count + 1, sizeof(*index->level_seen_in));
    index->served = xcalloc(index->domain_count + 1, sizeof(*index->served));
}

static void index_members(struct placement_index *index)
{
    table_init(&index->members, index->domain_count);
    for (size_t i = 0; i < index->domain_count; i++) {
        struct known_domain *domain = &index->domains[i];

        domain->membership_key = membership_key("", domain->level, domain->value);
        *find_member(index, domain->membership_key + 1) = (uint32_t)i;
    }
}

static void index_done(struct placement_index *index)
{
    for (size_t i = 0; i < index->domain_count; i++)
        free(index->domains[i].membership_key);
    free_all(index->domains, index->levels, index->level_seen_in, index->plain.slots,
             index->members.slots, index->next_candidate, index->segment_domains,
             index->first_segment, index->served, index->hits);
}

/* --- one term --- */

static void mark_served(struct placement_index *index, uint32_t domain, uint32_t number)
{
    if (domain == NOBODY || index->domains[domain].served_in == number)
        return;
    index->domains[domain].served_in = number;
    index->served[index->served_count++] = domain;
}

/* Marks the domains of the term's plain segments; returns how many levels have one. From the end:
 * there they usually are, behind the membership keys, and the rest need not be looked at. */
static size_t mark_plain(struct placement_index *index, const struct strmap *term, uint32_t number)
{
    size_t levels = 0;

    for (size_t i = term->count; i-- > 0 && levels < index->level_count;) {
        size_t level = find_level(index, label_tail(term->entries[i].key));

        if (level == SIZE_MAX || index->level_seen_in[level] == number)
            continue;
        index->level_seen_in[level] = number;
        levels++;
        mark_served(index, *find_plain(index, level, term->entries[i].value), number);
    }
    return levels;
}

/* Marks the domains of membership keys on levels without a plain segment. */
static void mark_members(struct placement_index *index, const struct strmap *term, uint32_t number)
{
    if (!index->members.slots)
        index_members(index);
    for (size_t i = 0; i < term->count; i++) {
        const char *key = term->entries[i].key;

        if (!membership_tail(key) || strcmp(term->entries[i].value, "true") != 0)
            continue;
        uint32_t domain = *find_member(index, label_tail(key));
        if (domain != NOBODY && index->level_seen_in[index->domains[domain].level_index] != number)
            mark_served(index, domain, number);
    }
}

static bool is_served(const struct placement_index *index, size_t candidate, uint32_t number)
{
    const uint32_t *domains = &index->segment_domains[index->first_segment[candidate]];

    for (size_t i = 0; i < index->request->candidates[candidate].entry->count; i++)
        if (index->domains[domains[i]].served_in != number)
            return false;
    return true;
}

/* Candidates whose last domain the term has are found through that domain. */
static void hit_term(struct placement_index *index, const struct strmap *term)
{
    const uint32_t number = ++index->number;

    index->served_count = 0;
    if (mark_plain(index, term, number) < index->level_count)
        mark_members(index, term, number);
    for (size_t i = 0; i < index->served_count; i++) {
        uint32_t candidate = index->domains[index->served[i]].first;

        for (; candidate != NOBODY; candidate = index->next_candidate[candidate])
            if (is_served(index, candidate, number))
                index->hits[index->hit_count++] = candidate;
    }
}

/* Entries for everywhere, which every term hits; or all there are. */
static void hit_everywhere(struct placement_index *index, bool all)
{
    index->hit_count = 0;
    for (size_t i = 0; i < index->request->count; i++)
        if (all || index->request->candidates[i].entry->count == 0)
            index->hits[index->hit_count++] = (uint32_t)i;
}

static void mark_hits(struct placement_index *index, const struct topology_terms *terms,
                      bool *is_hit)
{
    for (size_t i = 0; i < terms->count; i++) {
        index->hit_count = 0;
        hit_term(index, &terms->items[i]);
        for (size_t j = 0; j < index->hit_count; j++)
            is_hit[index->hits[j]] = true;
    }
}

/* Whatever one of the terms hits, once. */
static void hit_all_terms(struct placement_index *index)
{
    const struct placement_request *request = index->request;
    _cleanup_free_ bool *is_hit = xcalloc(request->count + 1, sizeof(*is_hit));

    mark_hits(index, &request->requirement->preferred, is_hit);
    mark_hits(index, &request->requirement->requisite, is_hit);
    index->hit_count = 0;
    for (size_t i = 0; i < request->count; i++)
        if (is_hit[i] || request->candidates[i].entry->count == 0)
            index->hits[index->hit_count++] = (uint32_t)i;
}

/* --- choosing --- */

static bool has_space(const struct placement_request *request,
                      const struct placement_candidate *candidate)
{
    if (!candidate->space.is_known)
        return true;
    return request->has_overcommit ? candidate->space.bytes >= request->size_bytes
                                   : candidate->space.bytes > 0;
}

/* Keeps of the hits those that can be used; says of the others why not. */
static void drop_unusable(struct placement_index *index, struct decision *decision)
{
    const struct placement_request *request = index->request;
    size_t kept = 0;

    for (size_t i = 0; i < index->hit_count; i++) {
        const struct placement_candidate *candidate = &request->candidates[index->hits[i]];

        if (candidate->refusal)
            decision->verdicts[index->hits[i]] = VERDICT_REFUSED;
        else if (!has_space(request, candidate))
            decision->verdicts[index->hits[i]] = VERDICT_NO_SPACE;
        else
            index->hits[kept++] = index->hits[i];
    }
    index->hit_count = kept;
}

/* A zone's own pool beats a regional one. */
static void keep_most_specific(struct placement_index *index, struct decision *decision)
{
    const struct placement_candidate *candidates = index->request->candidates;
    size_t most = 0;
    size_t kept = 0;

    for (size_t i = 0; i < index->hit_count; i++)
        if (candidates[index->hits[i]].entry->count > most)
            most = candidates[index->hits[i]].entry->count;
    for (size_t i = 0; i < index->hit_count; i++) {
        if (candidates[index->hits[i]].entry->count == most)
            index->hits[kept++] = index->hits[i];
        else
            decision->verdicts[index->hits[i]] = VERDICT_LESS_SPECIFIC;
    }
    index->hit_count = kept;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void choose_candidate(struct placement_index *index, struct decision *decision)
{
    const struct placement_candidate *candidates = index->request->candidates;
    double lowest = INFINITY;
    double sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < index->hit_count; i++)
        if (candidates[index->hits[i]].space.is_known) {
            sum += (double)candidates[index->hits[i]].space.bytes;
            known++;
        }
    double usual = known ? sum / (double)known : 1; /* what pools without figures are taken for */
    qsort(index->hits, index->hit_count, sizeof(*index->hits), compare_numbers);
    decision->chosen = index->hits[0];
    for (size_t i = 0; i < index->hit_count; i++) {
        double cost = placement_policy_cost(index->request, &candidates[index->hits[i]], usual);

        decision->verdicts[index->hits[i]] = VERDICT_POLICY;
        if (cost < lowest) {
            lowest = cost;
            decision->chosen = index->hits[i];
        }
    }
    decision->verdicts[decision->chosen] = VERDICT_CHOSEN;
}

/* True if one of the hits can be used, and is chosen; else none is left of them. */
static bool choose_hit(struct placement_index *index, struct decision *decision)
{
    drop_unusable(index, decision);
    if (index->hit_count == 0)
        return false;
    keep_most_specific(index, decision);
    choose_candidate(index, decision);
    return true;
}

static bool try_terms(struct placement_index *index, const struct topology_terms *terms,
                      struct decision *decision)
{
    for (size_t i = 0; i < terms->count; i++) {
        hit_term(index, &terms->items[i]);
        if (choose_hit(index, decision)) {
            decision->term = &terms->items[i];
            return true;
        }
    }
    return false;
}

static void try_terms_in_order(struct placement_index *index, struct decision *decision)
{
    const struct topology_requirement *requirement = index->request->requirement;

    /* entries for everywhere are hit by the first term: if one can be used, it wins */
    hit_everywhere(index, false);
    if (!try_terms(index, &requirement->preferred, decision))
        try_terms(index, &requirement->requisite, decision);
}

/* The first term that serves what was chosen. */
static const struct strmap *term_of_chosen(const struct placement_request *request,
                                           const struct decision *decision)
{
    static const struct strmap no_segments = {0};
    const struct strmap *term =
        pool_entry_find_term(request->candidates[decision->chosen].entry, request->requirement);

    return term ? term : &no_segments;
}

/* No pod has chosen: all terms, or all pools, are alike. */
static void try_all_at_once(struct placement_index *index, struct decision *decision)
{
    const struct placement_request *request = index->request;

    if (topology_requirement_is_empty(request->requirement))
        hit_everywhere(index, true);
    else
        hit_all_terms(index);
    if (choose_hit(index, decision) && request->immediate == IMMEDIATE_PIN)
        decision->term = term_of_chosen(request, decision);
}

/* Whether no entry is for the place where the pod is to run or, if that is not known, for any of
 * those that are allowed. */
static bool is_place_unserved(struct placement_index *index)
{
    const struct topology_requirement *requirement = index->request->requirement;
    const struct topology_terms *terms =
        requirement->preferred.count ? &requirement->preferred : &requirement->requisite;
    size_t asked = requirement->preferred.count ? 1 : requirement->requisite.count;

    hit_everywhere(index, false);
    for (size_t i = 0; i < asked && index->hit_count == 0; i++)
        hit_term(index, &terms->items[i]);
    return index->hit_count == 0 && asked > 0;
}

static void search_terms(struct placement_index *index, struct decision *decision)
{
    const struct placement_request *request = index->request;

    if (request->may_be_anywhere && is_place_unserved(index)) {
        decision->is_unserved = true;
        hit_everywhere(index, true);
        choose_hit(index, decision);
    } else if (request->immediate != IMMEDIATE_FIRST ||
               topology_requirement_is_empty(request->requirement)) {
        try_all_at_once(index, decision);
    } else {
        try_terms_in_order(index, decision);
    }
    if (decision->chosen < 0)
        return;
    for (size_t i = 0; i < request->count; i++)
        if (decision->verdicts[i] == VERDICT_ELSEWHERE)
            decision->verdicts[i] = VERDICT_NOT_NEEDED;
}

int placement_decide(const struct placement_request *request, struct decision *decision,
                     struct error *err)
{
    _cleanup_text_ struct text line = TEXT_INIT(4096);
    struct placement_index index;

    *decision = (struct decision){
        .request = request,
        .chosen = -1,
        .verdicts = xcalloc(request->count + 1, sizeof(*decision->verdicts)),
    };
    for (size_t i = 0; i < request->count; i++)
        decision->verdicts[i] = VERDICT_ELSEWHERE;
    index_init(&index, request);
    search_terms(&index, decision);
    index_done(&index);
    if (decision->chosen >= 0)
        return 0;
    decision_print_line(decision, &line);
    return error_set(err, STATUS_RESOURCE_EXHAUSTED, "%s", text_chars(&line));
}

void decision_done(struct decision *decision)
{
    free(decision->verdicts);
    *decision = (struct decision){.chosen = -1};
}
