#pragma once

#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "common/topology/placement.h"
#include "tests/test.h"

/*
 * For tests of pool selection and pinning: a question in short form. For one translation unit per
 * program.
 *
 *   pools   "a:region=r1,zone=z1;b/0:zone=z2;c/500/7:"   name/room/volumes:place; room 1000 if not
 *           given, ? if unknown; a name with ! behind it is refused
 *   terms   "region=r1,zone=z1|+zone=z2"                 plain segments, + membership keys
 */
#define PREFIX "topology.rbd.csi.ceph.com"
#define POOLS_MAX 64

struct question {
    struct pool_entries entries;
    struct placement_candidate candidates[POOLS_MAX];
    struct topology_requirement requirement;
    struct placement_request request;
};

/* Cuts the next part off @rest, which becomes NULL behind the last. Caller frees. */
static inline char *next_part(const char **rest, char separator)
{
    const char *end = strchrnul(*rest, separator);
    char *part = xstrndup(*rest, (size_t)(end - *rest));

    *rest = *end ? end + 1 : NULL;
    return part;
}

static inline void add_place(struct pool_entry *entry, const char *place)
{
    for (const char *rest = place && *place ? place : NULL; rest;) {
        _cleanup_free_ char *segment = next_part(&rest, ',');
        char *equals = strchr(segment, '=');

        assert_non_null(equals);
        *equals = '\0';
        entry->segments =
            xreallocarray(entry->segments, entry->count + 1, sizeof(*entry->segments));
        entry->segments[entry->count++] =
            (struct pool_segment){xstrdup(segment), xstrdup(equals + 1)};
    }
}

static inline void add_pool(struct question *question, const char *text)
{
    struct placement_candidate *candidate = &question->candidates[question->entries.count];
    const char *rest = text;
    _cleanup_free_ char *left = next_part(&rest, ':');
    struct pool_entry entry = {.origin = "class"};

    add_place(&entry, rest);
    rest = left;
    entry.pool = next_part(&rest, '/');
    _cleanup_free_ char *room = rest ? next_part(&rest, '/') : xstrdup("1000");
    *candidate = (struct placement_candidate){
        .room = {.bytes = strtoull(room, NULL, 10), .is_known = room[0] != '?', .remark = ""},
        .volumes = rest ? strtoull(rest, NULL, 10) : 0,
    };
    char *mark = strchr(entry.pool, '!');
    if (mark) {
        *mark = '\0';
        candidate->refusal = "taken over by zone-b";
    }
    pool_entries_add(&question->entries, &entry);
}

static inline void add_terms(struct topology_terms *terms, const char *text)
{
    for (const char *rest = text; rest;) {
        _cleanup_free_ char *term_text = next_part(&rest, '|');
        _cleanup_strmap_ struct strmap term = {0};

        for (const char *left = *term_text ? term_text : NULL; left;) {
            _cleanup_free_ char *segment = next_part(&left, ',');
            char *equals = strchr(segment, '=');
            bool is_member = segment[0] == '+';

            assert_non_null(equals);
            *equals = '\0';
            _cleanup_free_ char *key = is_member ? membership_key(PREFIX, segment + 1, equals + 1)
                                       : strchr(segment, '/') ? xstrdup(segment)
                                                              : segment_key(PREFIX, segment);
            strmap_set(&term, key, is_member ? "true" : equals + 1);
        }
        topology_terms_add(terms, &term);
    }
}

/* NULL terms: none. */
static inline void question_init(struct question *question, const char *pools,
                                 const char *preferred, const char *requisite)
{
    *question = (struct question){0};
    for (const char *rest = pools; rest;) {
        _cleanup_free_ char *text = next_part(&rest, ';');

        add_pool(question, text);
    }
    for (size_t i = 0; i < question->entries.count; i++)
        question->candidates[i].entry = &question->entries.items[i];
    add_terms(&question->requirement.preferred, preferred);
    add_terms(&question->requirement.requisite, requisite);
    question->request = (struct placement_request){
        .volume_name = "pvc-1",
        .size_bytes = 100,
        .requirement = &question->requirement,
        .candidates = question->candidates,
        .count = question->entries.count,
        .policy = PLACEMENT_FIRST,
    };
}

static inline void question_done(struct question *question)
{
    pool_entries_done(&question->entries);
    topology_requirement_done(&question->requirement);
}
#define _cleanup_question_ _cleanup_(question_done)
