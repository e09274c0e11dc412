#include "controller/place.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/hierarchy.h"
#include "common/usage/usage_cache.h"
#include "controller/claim_events.h"
#include "controller/place_survey.h"

#define LINE_LIMIT 4096

/* --- deciding --- */

/* Volumes that no takeover covers are worth a warning. */
static void warn_of_unknown_order(const struct placing *placing, const struct pool_entry *entry,
                                  const struct strmap *segments)
{
    _cleanup_free_ char *place = pool_entry_place(entry);

    if (entry->is_unordered && segments->count > 1)
        log_warn(placing->call,
                 "pool '%s' (%s): neither --domainlabels nor the CRUSH map has all of these "
                 "levels, so that the deepest is not known; the volume is pinned to all of them, "
                 "and no takeover covers it",
                 entry->pool, place);
}

static char *key_prefix(const struct controller *controller)
{
    return xasprintf("topology.%s", controller->driver_name);
}

static struct usage_pool usage_pool_of(const struct place *place)
{
    return (struct usage_pool){place->cluster_id, place->entry.pool, place->rados_namespace,
                               place->fs_name};
}

static void reserve(const struct placing *placing, struct place *place)
{
    place->rados_namespace = xstrdup(placing->rados_namespace);
    const struct usage_pool pool = usage_pool_of(place);
    usage_cache_creation_begins(placing->controller->usage, &pool, placing->size_bytes);
    place->controller = placing->controller;
    place->reserved_bytes = placing->size_bytes;
    place->is_reserved = true;
}

static void log_decision(const struct placing *placing, const struct decision *decision)
{
    _cleanup_text_ struct text line = TEXT_INIT(LINE_LIMIT);

    decision_print_line(decision, &line);
    log_v(3, placing->call, "%s", text_chars(&line));
}

static void take_entry(const struct placing *placing, const struct pool_entry *entry,
                       struct place *place)
{
    pool_entry_copy(entry, &place->entry);
    place->cluster_id = class_pools_cluster(placing->class, &place->entry);
    place->fs_name = class_pools_filesystem(placing->class, &place->entry);
    place->data_pool = placing->class->is_cephfs ? place->entry.pool : place->entry.data_pool;
}

/* Placement lock held: what is decided here counts for the next decision. */
static int decide(struct survey *survey, struct place *place, struct error *err)
{
    const struct placing *placing = survey->placing;
    const struct placement_request request = {
        .volume_name = placing->volume_name,
        .size_bytes = placing->size_bytes,
        .requirement = placing->requirement,
        .candidates = survey->candidates,
        .count = survey->entries->count,
        .policy = placing->class->policy,
        .has_overcommit = placing->class->overcommit > 0,
        .immediate = placing->class->immediate,
        .may_be_anywhere = placing->class->may_be_anywhere,
    };
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_free_ char *prefix = key_prefix(placing->controller);

    if (survey_all(survey, NULL, err) < 0 || placement_decide(&request, &decision, err) < 0 ||
        placement_pin(&decision, prefix, placing->class->pinning, &place->segments, err) < 0)
        return -1;
    take_entry(placing, &survey->entries->items[decision.chosen], place);
    warn_of_unknown_order(placing, &place->entry, &place->segments);
    reserve(placing, place);
    log_decision(placing, &decision);
    claim_event_placed(placing->controller, placing->parameters, &decision);
    return 0;
}

int place_decide(const struct placing *placing, struct place *place, struct error *err)
{
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    _cleanup_string_list_ struct string_list levels = {0};
    struct survey survey = {.placing = placing, .entries = &entries};

    place_levels(placing->requirement, &levels);
    if (place_entries(placing->controller, placing->call, placing->class, placing->credentials,
                      levels.count ? &levels : NULL, &entries, err) < 0)
        return -1;
    survey.candidates = xcalloc(entries.count + 1, sizeof(*survey.candidates));
    place_takeovers(placing->controller, &survey.takeovers);
    int result = survey_all(&survey, placing->call, err); /* waits for what is not known yet */
    if (result == 0) {
        survey_order_entries(&survey);
        usage_cache_lock_placement(placing->controller->usage);
        result = decide(&survey, place, err);
        usage_cache_unlock_placement(placing->controller->usage);
    }
    survey_done(&survey);
    return result;
}

void place_end(struct place *place, bool is_made)
{
    const struct usage_pool pool = usage_pool_of(place);

    if (!place->is_reserved)
        return;
    usage_cache_creation_ends(place->controller->usage, &pool, place->reserved_bytes, is_made);
    place->is_reserved = false;
}

void place_done(struct place *place)
{
    place_end(place, false);
    pool_entry_done(&place->entry);
    strmap_done(&place->segments);
    free(place->rados_namespace);
    *place = (struct place){0};
}

/* --- volumes found by their name --- */

/* Of the entries with that pool, or in the file system, of the cluster that the name leads to, the
 * first that a term serves, else the first. */
static struct pool_entry *find_entry(const struct placing *placing,
                                     const struct pool_entries *entries, const char *pool,
                                     const struct strmap **term)
{
    struct pool_entry *first = NULL;

    *term = NULL;
    for (size_t i = 0; i < entries->count; i++) {
        struct pool_entry *entry = &entries->items[i];

        if ((pool && strcmp(entry->pool, pool) != 0) ||
            !placing_is_in(placing, entry, placing->only_cluster, placing->only_fs))
            continue;
        first = first ? first : entry;
        *term = pool_entry_find_term(entry, placing->requirement);
        if (*term)
            return entry;
    }
    return first;
}

/* The cluster is asked for its CRUSH map only where the flag does not suffice. */
static void order_recovered(const struct placing *placing, struct pool_entry *entry)
{
    const struct hierarchy by_labels = {.labels = placing->controller->levels};
    struct pool_entries entries = {entry, 1};
    struct survey survey = {.placing = placing, .entries = &entries};

    pool_entry_order(entry, &by_labels);
    if (!entry->is_unordered || !placing->controller->usage)
        return;
    survey_order_entries(&survey);
    survey_done(&survey);
}

/* @term serves the entry of a volume that was found; NULL: none does. */
static bool is_to_be_pinned(const struct placing *placing, const struct strmap *term)
{
    const struct class_pools *class = placing->class;

    if (class->immediate == IMMEDIATE_SPREAD)
        return false;
    if (topology_requirement_is_empty(placing->requirement))
        return class->immediate == IMMEDIATE_PIN;
    return term || !class->may_be_anywhere;
}

int place_recover(const struct placing *placing, const char *pool, struct place *place,
                  struct error *err)
{
    static const struct strmap no_term = {0};
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    _cleanup_free_ char *prefix = key_prefix(placing->controller);
    const struct strmap *term = NULL;

    if (place_entries(placing->controller, placing->call, placing->class, placing->credentials,
                      NULL, &entries, err) < 0)
        return -1;
    struct pool_entry *entry = find_entry(placing, &entries, pool, &term);
    if (!entry) {
        place->entry.pool = pool ? xstrdup(pool) : NULL;
        return 0;
    }
    if (!is_to_be_pinned(placing, term)) {
        take_entry(placing, entry, place);
        return 0;
    }
    order_recovered(placing, entry);
    take_entry(placing, entry, place);
    const struct placement_candidate candidate = {.entry = entry};
    const struct placement_request request = {
        .requirement = placing->requirement, .candidates = &candidate, .count = 1};
    const struct decision decision = {
        .request = &request, .chosen = 0, .term = term ? term : &no_term};
    return placement_pin(&decision, prefix, placing->class->pinning, &place->segments, err);
}
