#include "controller/place.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/session.h"
#include "common/topology/hierarchy.h"
#include "common/topology/labels.h"
#include "common/usage/usage_cache.h"
#include "controller/claim_events.h"

#define MEMBER_PREFIX "member."
#define LINE_LIMIT 4096
#define SEGMENTS_LIMIT 8192

/* --- the class's pools --- */

static void add_level(struct string_list *levels, const char *tail, size_t length)
{
    _cleanup_free_ char *level = xstrndup(tail, length);

    if (length > 0 && !string_list_has(levels, level))
        string_list_add(levels, level);
}

static void add_levels(const struct topology_terms *terms, struct string_list *levels)
{
    for (size_t i = 0; i < terms->count; i++)
        for (size_t j = 0; j < terms->items[i].count; j++) {
            const char *tail = label_tail(terms->items[i].entries[j].key);

            if (text_has_prefix(tail, MEMBER_PREFIX)) {
                tail += strlen(MEMBER_PREFIX);
                add_level(levels, tail, strcspn(tail, "."));
            } else {
                add_level(levels, tail, strlen(tail));
            }
        }
}

void place_levels(const struct topology_requirement *requirement, struct string_list *levels)
{
    add_levels(&requirement->preferred, levels);
    add_levels(&requirement->requisite, levels);
}

static void copy_entry(const struct pool_entry *from, struct pool_entry *to)
{
    *to = (struct pool_entry){
        .pool = xstrdup(from->pool),
        .data_pool = from->data_pool ? xstrdup(from->data_pool) : NULL,
        .cluster_id = from->cluster_id ? xstrdup(from->cluster_id) : NULL,
        .fs_name = from->fs_name ? xstrdup(from->fs_name) : NULL,
        .segments = xcalloc(from->count + 1, sizeof(*to->segments)),
        .count = from->count,
        .is_unordered = from->is_unordered,
        .origin = from->origin,
    };
    for (size_t i = 0; i < from->count; i++)
        to->segments[i] = (struct pool_segment){xstrdup(from->segments[i].level),
                                                xstrdup(from->segments[i].value)};
}

int place_entries(const struct controller *controller, struct call *call,
                  const struct class_pools *class, const struct credentials *credentials,
                  const struct string_list *levels, struct pool_entries *entries, struct error *err)
{
    _cleanup_usage_snapshot_ struct usage_snapshot *snapshot = NULL;

    if (!class->is_auto) {
        for (size_t i = 0; i < class->entries.count; i++) {
            struct pool_entry entry;

            copy_entry(&class->entries.items[i], &entry);
            pool_entries_add(entries, &entry);
        }
        return 0;
    }
    if (usage_cache_get(controller->usage, call, class->cluster_id, credentials, &snapshot, err) <
        0)
        return error_wrap(err, "find the pools of class '%s'", class->topology_class);
    class_pools_find(class, usage_snapshot_usage(snapshot), levels, entries);
    if (entries->count == 0)
        return class_pools_refuse_none(class, err);
    return 0;
}

/* --- their free space --- */

/* The figures of the clusters that the entries are in. */
struct known_cluster {
    const char *id;
    struct usage_snapshot *snapshot; /* NULL: not known */
    struct string_list types;        /* of its CRUSH map, outermost first */
};

struct survey {
    const struct placing *placing;
    struct pool_entries *entries;
    struct known_cluster *clusters;
    size_t cluster_count;
    struct placement_candidate *candidates;
    struct takeover_snapshot takeovers;
};

static const char *cluster_of(const struct placing *placing, const struct pool_entry *entry)
{
    return class_pools_cluster(placing->class, entry);
}

/* Asked once. Valid until another cluster is asked. */
static const struct known_cluster *know_cluster(struct survey *survey, const char *cluster_id)
{
    const struct placing *placing = survey->placing;
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < survey->cluster_count; i++)
        if (strcmp(survey->clusters[i].id, cluster_id) == 0)
            return &survey->clusters[i];
    struct known_cluster *known = array_add(survey->clusters, survey->cluster_count);
    *known = (struct known_cluster){.id = cluster_id};
    if (usage_cache_get(placing->controller->usage, placing->call, cluster_id, placing->credentials,
                        &known->snapshot, &err) == 0)
        crush_list_types(&usage_snapshot_usage(known->snapshot)->crush, &known->types);
    else
        log_warn(placing->call,
                 "choosing a pool without knowing the free space of cluster '%s': %s", cluster_id,
                 err.message);
    return known;
}

static const struct cluster_usage *usage_of(struct survey *survey, const char *cluster_id)
{
    const struct known_cluster *known = know_cluster(survey, cluster_id);

    return known->snapshot ? usage_snapshot_usage(known->snapshot) : NULL;
}

/* What is decided must not depend on the order of the levels in the class. */
static void order_entries(struct survey *survey)
{
    for (size_t i = 0; i < survey->entries->count; i++) {
        struct pool_entry *entry = &survey->entries->items[i];
        const char *cluster_id = cluster_of(survey->placing, entry);
        const struct hierarchy hierarchy = {survey->placing->controller->levels,
                                            &know_cluster(survey, cluster_id)->types};

        pool_entry_order(entry, &hierarchy);
    }
}

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

/* With @call the listing of a pool's volumes is waited for. */
static struct pool_provision provision_of(const struct placing *placing,
                                          const struct pool_entry *entry, struct call *call)
{
    const struct usage_pool pool = {cluster_of(placing, entry), entry->pool,
                                    placing->rados_namespace,
                                    class_pools_filesystem(placing->class, entry)};

    if (!class_pools_need_volumes(placing->class))
        return (struct pool_provision){0};
    return usage_cache_provision(placing->controller->usage, call, &pool, placing->credentials,
                                 placing->class->overcommit > 0);
}

static int survey_entry(struct survey *survey, size_t index, struct call *call, struct error *err)
{
    const struct placing *placing = survey->placing;
    const struct pool_entry *entry = &survey->entries->items[index];
    const struct cluster_usage *usage = usage_of(survey, cluster_of(placing, entry));
    struct placement_candidate *candidate = &survey->candidates[index];
    const struct cluster_pool *pool = NULL;

    *candidate = (struct placement_candidate){.entry = entry, .space = {.remark = "room unknown"}};
    struct pool_provision provision = provision_of(placing, entry, call);
    candidate->volumes = provision.volumes;
    if (!usage)
        return 0;
    if (class_pools_look_up(placing->class, entry, index, usage, &pool, err) < 0)
        return -1;
    candidate->space = free_space_of_pool(&pool->usage, &provision, placing->class->overcommit);
    return 0;
}

static bool is_in(const struct placing *placing, const struct pool_entry *entry,
                  const char *cluster_id, const char *fs_name)
{
    if (strcmp(cluster_of(placing, entry), cluster_id) != 0)
        return false;
    return !fs_name || strcmp(class_pools_filesystem(placing->class, entry), fs_name) == 0;
}

/* Why the entry does not suit the source; NULL if it does. A restore or clone stays beside its
 * source unless the class says otherwise. */
static const char *refuse_crossing(const struct placing *placing, const struct pool_entry *entry)
{
    if (!placing->source_cluster)
        return NULL;
    if (!is_in(placing, entry, placing->source_cluster, NULL))
        return "in another cluster than the source";
    if (!is_in(placing, entry, placing->source_cluster, placing->source_fs))
        return "in another file system than the source, and Ceph copies within one";
    if (!placing->source_pool || strcmp(entry->pool, placing->source_pool) == 0)
        return NULL;
    if (placing->shows_source)
        return "not where the files of the snapshot are, which the volume shows";
    return placing->class->may_cross_pools
               ? NULL
               : "not the pool of the source, and the class does not say crossPoolRestore: copy";
}

static const char *refuse_entry(const struct survey *survey, const struct pool_entry *entry)
{
    const struct placing *placing = survey->placing;

    if (place_is_taken_over(survey->takeovers.map, entry))
        return PLACE_TAKEN_OVER;
    if (placing->only_fs && !is_in(placing, entry, placing->only_cluster, placing->only_fs))
        return "not in the file system in which the volume was begun";
    return refuse_crossing(placing, entry);
}

void place_takeovers(const struct controller *controller, struct takeover_snapshot *snapshot)
{
    static const struct takeover_map none = {0};

    *snapshot = (struct takeover_snapshot){.map = &none};
    if (controller->takeover)
        takeover_source_get_closed(controller->takeover, snapshot);
}

bool place_is_taken_over(const struct takeover_map *map, const struct pool_entry *entry)
{
    return takeover_find_pool(map, entry) != NULL;
}

static int survey_all(struct survey *survey, struct call *call, struct error *err)
{
    for (size_t i = 0; i < survey->entries->count; i++)
        if (survey_entry(survey, i, call, err) < 0)
            return -1;
    for (size_t i = 0; i < survey->entries->count; i++)
        survey->candidates[i].refusal = refuse_entry(survey, &survey->entries->items[i]);
    return 0;
}

static void survey_done(struct survey *survey)
{
    for (size_t i = 0; i < survey->cluster_count; i++) {
        if (survey->clusters[i].snapshot)
            usage_snapshot_unref(survey->clusters[i].snapshot);
        string_list_done(&survey->clusters[i].types);
    }
    takeover_snapshot_done(&survey->takeovers);
    free(survey->clusters);
    free(survey->candidates);
}

/* --- deciding --- */

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
    copy_entry(entry, &place->entry);
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
        order_entries(&survey);
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

static const struct strmap *find_term(const struct topology_terms *terms,
                                      const struct pool_entry *entry)
{
    for (size_t i = 0; i < terms->count; i++)
        if (pool_entry_is_served(entry, &terms->items[i]))
            return &terms->items[i];
    return NULL;
}

/* Of the entries with that pool, or in the file system, of the cluster that the name leads to, the
 * first that a term serves, else the first. */
static struct pool_entry *find_entry(const struct placing *placing,
                                     const struct pool_entries *entries, const char *pool,
                                     const struct strmap **term)
{
    const struct topology_requirement *requirement = placing->requirement;
    struct pool_entry *first = NULL;

    *term = NULL;
    for (size_t i = 0; i < entries->count; i++) {
        struct pool_entry *entry = &entries->items[i];

        if ((pool && strcmp(entry->pool, pool) != 0) ||
            !is_in(placing, entry, placing->only_cluster, placing->only_fs))
            continue;
        first = first ? first : entry;
        *term = find_term(&requirement->preferred, entry);
        if (!*term)
            *term = find_term(&requirement->requisite, entry);
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
    order_entries(&survey);
    survey_done(&survey);
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
    if (topology_requirement_is_empty(placing->requirement)) {
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

/* --- in the journal --- */

void segments_write(const struct strmap *segments, struct strmap *extra)
{
    _cleanup_text_ struct text text = TEXT_INIT(SEGMENTS_LIMIT);

    for (size_t i = 0; i < segments->count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "", segments->entries[i].key,
                  segments->entries[i].value);
    strmap_set(extra, JOURNAL_KEY_SEGMENTS, text_chars(&text));
}

bool segments_are_written(const struct strmap *extra)
{
    return strmap_has(extra, JOURNAL_KEY_SEGMENTS);
}

void segments_read(const struct strmap *extra, struct strmap *segments)
{
    const char *next = strmap_get_or(extra, JOURNAL_KEY_SEGMENTS, "");

    while (*next) {
        size_t length = strcspn(next, ",");
        size_t key_length = strcspn(next, "=,");
        _cleanup_free_ char *key = xstrndup(next, key_length);
        _cleanup_free_ char *value = key_length < length
                                         ? xstrndup(next + key_length + 1, length - key_length - 1)
                                         : xstrdup("");

        strmap_set(segments, key, value);
        next += length;
        next += *next == ',';
    }
}
