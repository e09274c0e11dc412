/* A decision in words: as one line, as a table, as JSON. */
#include <stdlib.h>
#include <string.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "common/topology/labels.h"
#include "common/topology/placement.h"

#define TERMS_SHOWN 4
#define CANDIDATES_SHOWN 8
#define CELL_LIMIT 4096

static const char *const VERDICTS[] = {
    [VERDICT_CHOSEN] = "chosen",
    [VERDICT_NOT_NEEDED] = "not-needed",
    [VERDICT_LESS_SPECIFIC] = "less-specific",
    [VERDICT_POLICY] = "policy",
    [VERDICT_NO_SPACE] = "no-room",
    [VERDICT_REFUSED] = "refused",
    [VERDICT_ELSEWHERE] = "elsewhere",
};

/* --- what was asked --- */

/* "region=r1,zone=zone-a"; membership keys only where there is nothing else. */
static void print_term(const struct strmap *term, struct text *text)
{
    size_t printed = 0;

    for (int members = 0; members < 2 && printed == 0; members++)
        for (size_t i = 0; i < term->count; i++) {
            const char *tail = label_tail(term->entries[i].key);

            if ((membership_tail(term->entries[i].key) != NULL) == (members == 0))
                continue;
            text_addf(text, "%s%s%s%s", printed++ ? "," : "", tail, members ? "" : "=",
                      members ? "" : term->entries[i].value);
        }
    if (printed == 0)
        text_add(text, "an empty term");
}

static void print_requirement(const struct topology_requirement *requirement, struct text *text)
{
    const struct topology_terms *terms =
        requirement->preferred.count ? &requirement->preferred : &requirement->requisite;

    if (terms->count == 0) {
        text_add(text, "anywhere");
        return;
    }
    text_add(text, "in ");
    for (size_t i = 0; i < terms->count && i < TERMS_SHOWN; i++) {
        text_add(text, i ? " or " : "");
        print_term(&terms->items[i], text);
    }
    if (terms->count > TERMS_SHOWN)
        text_addf(text, " or %zu more", terms->count - TERMS_SHOWN);
}

/* --- what became of a candidate --- */

static void print_verdict(const struct decision *decision, size_t index, struct text *text)
{
    const struct placement_request *request = decision->request;
    const struct placement_candidate *candidate = &request->candidates[index];
    _cleanup_free_ char *left = text_size(candidate->space.bytes);

    switch (decision->verdicts[index]) {
    case VERDICT_CHOSEN:
        text_addf(text, "chosen (%s)", placement_policy_name(request->policy));
        return;
    case VERDICT_NOT_NEEDED:
        text_add(text, "not needed");
        return;
    case VERDICT_LESS_SPECIFIC:
        text_add(text, "for a wider place than the one chosen");
        return;
    case VERDICT_POLICY:
        text_addf(text, "would do, but %s took another", placement_policy_name(request->policy));
        return;
    case VERDICT_NO_SPACE:
        if (candidate->space.bytes > 0 && request->has_overcommit)
            text_addf(text, "%s left", left);
        else
            text_add(text, candidate->space.remark[0] ? candidate->space.remark : "full");
        return;
    case VERDICT_REFUSED:
        text_add(text, candidate->refusal);
        return;
    case VERDICT_ELSEWHERE:
        text_add(text, "elsewhere");
        return;
    }
}

/* --- one line --- */

static void print_candidate(const struct decision *decision, size_t index, struct text *line)
{
    const struct pool_entry *entry = decision->request->candidates[index].entry;
    _cleanup_free_ char *place = pool_entry_place(entry);

    text_addf(line, "pool '%s' (%s): ", entry->pool, place);
    print_verdict(decision, index, line);
}

/* First those that the requirement asked for, then the rest. */
static void print_candidates(const struct decision *decision, struct text *line)
{
    size_t shown = 0;

    for (int elsewhere = 0; elsewhere < 2; elsewhere++)
        for (size_t i = 0; i < decision->request->count; i++) {
            enum candidate_verdict verdict = decision->verdicts[i];
            bool is_elsewhere = verdict == VERDICT_ELSEWHERE || verdict == VERDICT_NOT_NEEDED;

            if (is_elsewhere != (elsewhere == 1) || verdict == VERDICT_CHOSEN ||
                shown == CANDIDATES_SHOWN)
                continue;
            text_add(line, shown++ ? "; " : ": ");
            print_candidate(decision, i, line);
        }
    size_t all = decision->request->count - (decision->chosen >= 0);
    if (all > shown)
        text_addf(line, "; and %zu more", all - shown);
}

void decision_print_line(const struct decision *decision, struct text *line)
{
    const struct placement_request *request = decision->request;
    _cleanup_free_ char *size = text_size(request->size_bytes);
    bool is_served = false;

    for (size_t i = 0; i < request->count; i++)
        is_served = is_served || decision->verdicts[i] != VERDICT_ELSEWHERE;
    if (decision->chosen >= 0) {
        print_candidate(decision, (size_t)decision->chosen, line);
        text_addf(line, " for %s ", size);
    } else {
        text_addf(line, "no pool %s %s ",
                  decision->is_unserved ? "of the class has room for"
                  : is_served           ? "that serves the place has room for"
                                        : "of the class serves the place asked for,",
                  size);
    }
    print_requirement(request->requirement, line);
    if (decision->is_unserved)
        text_add(line, ", which no pool serves");
    print_candidates(decision, line);
}

/* --- a table --- */

void decision_print_table(const struct decision *decision, struct text *table)
{
    static const char *const titles[] = {"  POOL", "PLACE", "ROOM", "VOLUMES", "VERDICT"};
    _cleanup_columns_ struct columns columns = {.count = ARRAY_LENGTH(titles)};

    for (size_t i = 0; i < ARRAY_LENGTH(titles); i++)
        columns_add(&columns, titles[i]);
    for (size_t i = 0; i < decision->request->count; i++) {
        const struct placement_candidate *candidate = &decision->request->candidates[i];
        _cleanup_text_ struct text verdict = TEXT_INIT(CELL_LIMIT);
        const char *mark = (ssize_t)i == decision->chosen ? "* " : "  ";

        print_verdict(decision, i, &verdict);
        columns_take(&columns, xasprintf("%s%s", mark, candidate->entry->pool));
        columns_take(&columns, pool_entry_place(candidate->entry));
        columns_take(&columns,
                     candidate->space.is_known ? text_size(candidate->space.bytes) : xstrdup("?"));
        columns_take(&columns, xasprintf("%llu", (unsigned long long)candidate->volumes));
        columns_add(&columns, text_chars(&verdict));
    }
    columns_print(&columns, table);
}

/* --- JSON --- */

static json_t *term_to_json(const struct strmap *term)
{
    json_t *object = json_object();

    for (size_t i = 0; i < term->count; i++)
        json_object_set_new(object, term->entries[i].key, json_string(term->entries[i].value));
    return object;
}

static json_t *terms_to_json(const struct topology_terms *terms)
{
    json_t *array = json_array();

    for (size_t i = 0; i < terms->count; i++)
        json_array_append_new(array, term_to_json(&terms->items[i]));
    return array;
}

static json_t *candidate_to_json(const struct decision *decision, size_t index)
{
    const struct placement_candidate *candidate = &decision->request->candidates[index];
    _cleanup_free_ char *place = pool_entry_place(candidate->entry);
    _cleanup_text_ struct text reason = TEXT_INIT(CELL_LIMIT);

    print_verdict(decision, index, &reason);
    return json_pack("{s:s, s:s*, s:s, s:s, s:o, s:I, s:s, s:s}", "pool", candidate->entry->pool,
                     "clusterID", candidate->entry->cluster_id, "place", place, "origin",
                     candidate->entry->origin, "roomBytes",
                     candidate->space.is_known ? json_integer((json_int_t)candidate->space.bytes)
                                               : json_null(),
                     "volumes", (json_int_t)candidate->volumes, "verdict",
                     VERDICTS[decision->verdicts[index]], "reason", text_chars(&reason));
}

json_t *decision_to_json(const struct decision *decision)
{
    const struct placement_request *request = decision->request;
    const char *pool =
        decision->chosen >= 0 ? request->candidates[decision->chosen].entry->pool : NULL;
    json_t *candidates = json_array();

    for (size_t i = 0; i < request->count; i++)
        json_array_append_new(candidates, candidate_to_json(decision, i));
    return json_pack("{s:s, s:I, s:o, s:o, s:s, s:s?, s:o, s:o}", "volume", request->volume_name,
                     "sizeBytes", (json_int_t)request->size_bytes, "preferred",
                     terms_to_json(&request->requirement->preferred), "requisite",
                     terms_to_json(&request->requirement->requisite), "policy",
                     placement_policy_name(request->policy), "pool", pool, "term",
                     decision->term ? term_to_json(decision->term) : json_null(), "candidates",
                     candidates);
}
