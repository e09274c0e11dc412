/* A decision in words: as one line, as a table, as JSON. */
#include <stdlib.h>
#include <string.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
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
    [VERDICT_NO_ROOM] = "no-room",
    [VERDICT_REFUSED] = "refused",
    [VERDICT_ELSEWHERE] = "elsewhere",
};

/* --- what was asked --- */

static bool is_membership(const char *tail)
{
    return text_has_prefix(tail, "member.");
}

/* "region=r1,zone=zone-a"; membership keys only where there is nothing else. */
static void print_term(const struct strmap *term, struct text *text)
{
    size_t printed = 0;

    for (int members = 0; members < 2 && printed == 0; members++)
        for (size_t i = 0; i < term->count; i++) {
            const char *tail = label_tail(term->entries[i].key);

            if (is_membership(tail) == (members == 0))
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

static void print_no_room(const struct placement_request *request, const struct room *room,
                          struct text *text)
{
    _cleanup_free_ char *left = text_size(room->bytes);

    if (room->bytes > 0 && request->has_overcommit)
        text_addf(text, "%s left", left);
    else
        text_add(text, room->remark[0] ? room->remark : "full");
}

static void print_verdict(const struct decision *decision, size_t index, struct text *text)
{
    const struct placement_candidate *candidate = &decision->request->candidates[index];

    switch (decision->verdicts[index]) {
    case VERDICT_CHOSEN:
        text_addf(text, "chosen (%s)", placement_policy_name(decision->request->policy));
        return;
    case VERDICT_NOT_NEEDED:
        text_add(text, "not needed");
        return;
    case VERDICT_LESS_SPECIFIC:
        text_add(text, "for a wider place than the one chosen");
        return;
    case VERDICT_POLICY:
        text_addf(text, "would do, but %s took another",
                  placement_policy_name(decision->request->policy));
        return;
    case VERDICT_NO_ROOM:
        print_no_room(decision->request, &candidate->room, text);
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

static bool is_all_elsewhere(const struct decision *decision)
{
    for (size_t i = 0; i < decision->request->count; i++)
        if (decision->verdicts[i] != VERDICT_ELSEWHERE)
            return false;
    return true;
}

void decision_print_line(const struct decision *decision, struct text *line)
{
    const struct placement_request *request = decision->request;
    _cleanup_free_ char *size = text_size(request->size_bytes);

    if (decision->chosen >= 0) {
        print_candidate(decision, (size_t)decision->chosen, line);
        text_addf(line, " for %s ", size);
        print_requirement(request->requirement, line);
        print_candidates(decision, line);
        return;
    }
    text_addf(line, "no pool %s %s ",
              is_all_elsewhere(decision) ? "of the class serves the place asked for,"
                                         : "that serves the place has room for",
              size);
    print_requirement(request->requirement, line);
    print_candidates(decision, line);
}

/* --- a table --- */

static char *room_cell(const struct placement_candidate *candidate)
{
    if (!candidate->room.is_known)
        return xstrdup("?");
    return text_size(candidate->room.bytes);
}

static void add_row(const struct decision *decision, size_t index, struct columns *columns)
{
    const struct placement_candidate *candidate = &decision->request->candidates[index];
    _cleanup_text_ struct text verdict = TEXT_INIT(CELL_LIMIT);
    bool is_chosen = (ssize_t)index == decision->chosen;

    print_verdict(decision, index, &verdict);
    columns_take(columns, xasprintf("%s%s", is_chosen ? "* " : "  ", candidate->entry->pool));
    columns_take(columns, pool_entry_place(candidate->entry));
    columns_take(columns, room_cell(candidate));
    columns_take(columns, xasprintf("%llu", (unsigned long long)candidate->volumes));
    columns_add(columns, text_chars(&verdict));
}

void decision_print_table(const struct decision *decision, struct text *table)
{
    static const char *const titles[] = {"  POOL", "PLACE", "ROOM", "VOLUMES", "VERDICT"};
    _cleanup_columns_ struct columns columns = {.count = ARRAY_LENGTH(titles)};

    for (size_t i = 0; i < ARRAY_LENGTH(titles); i++)
        columns_add(&columns, titles[i]);
    for (size_t i = 0; i < decision->request->count; i++)
        add_row(decision, i, &columns);
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
    json_t *object = json_object();

    print_verdict(decision, index, &reason);
    json_object_set_new(object, "pool", json_string(candidate->entry->pool));
    if (candidate->entry->cluster_id)
        json_object_set_new(object, "clusterID", json_string(candidate->entry->cluster_id));
    json_object_set_new(object, "place", json_string(place));
    json_object_set_new(object, "origin", json_string(candidate->entry->origin));
    json_object_set_new(object, "roomBytes",
                        candidate->room.is_known ? json_integer((json_int_t)candidate->room.bytes)
                                                 : json_null());
    json_object_set_new(object, "volumes", json_integer((json_int_t)candidate->volumes));
    json_object_set_new(object, "verdict", json_string(VERDICTS[decision->verdicts[index]]));
    json_object_set_new(object, "reason", json_string(text_chars(&reason)));
    return object;
}

json_t *decision_to_json(const struct decision *decision)
{
    const struct placement_request *request = decision->request;
    json_t *object = json_object();
    json_t *candidates = json_array();

    for (size_t i = 0; i < request->count; i++)
        json_array_append_new(candidates, candidate_to_json(decision, i));
    json_object_set_new(object, "volume", json_string(request->volume_name));
    json_object_set_new(object, "sizeBytes", json_integer((json_int_t)request->size_bytes));
    json_object_set_new(object, "preferred", terms_to_json(&request->requirement->preferred));
    json_object_set_new(object, "requisite", terms_to_json(&request->requirement->requisite));
    json_object_set_new(object, "policy", json_string(placement_policy_name(request->policy)));
    json_object_set_new(object, "pool",
                        decision->chosen >= 0
                            ? json_string(request->candidates[decision->chosen].entry->pool)
                            : json_null());
    json_object_set_new(object, "term",
                        decision->term ? term_to_json(decision->term) : json_null());
    json_object_set_new(object, "candidates", candidates);
    return object;
}
