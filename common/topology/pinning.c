#include "common/topology/pinning.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "common/topology/labels.h"

#define STANDARD_PREFIX "topology.kubernetes.io/"

static const char *const NAMES[] = {
    [PINNING_AUTO] = "auto",   [PINNING_MEMBERSHIP] = "membership",
    [PINNING_PLAIN] = "plain", [PINNING_STANDARD] = "standard",
    [PINNING_NONE] = "none",
};

int pinning_parse(const char *text, enum pinning *pinning, struct error *err)
{
    int choice = PINNING_AUTO;

    if (!text_is_empty(text))
        choice = placement_parse_choice("topologyPinning", NAMES, ARRAY_LENGTH(NAMES), text, err);
    if (choice < 0)
        return -1;
    *pinning = (enum pinning)choice;
    return 0;
}

/* The term's own key with that tail; NULL if it has none. */
static const char *key_in_term(const struct strmap *term, const char *tail)
{
    for (size_t i = 0; i < term->count; i++)
        if (strcmp(label_tail(term->entries[i].key), tail) == 0)
            return term->entries[i].key;
    return NULL;
}

/* The entry's value on that level; NULL if it constrains none. */
static const char *value_on_level(const struct pool_entry *entry, const char *level)
{
    for (size_t i = 0; i < entry->count; i++)
        if (strcmp(entry->segments[i].level, level) == 0)
            return entry->segments[i].value;
    return NULL;
}

static bool differs_on(const struct pool_entry *entry, const struct pool_segment *segment)
{
    const char *value = value_on_level(entry, segment->level);

    return value && strcmp(value, segment->value) != 0;
}

/* Another entry has the same value on that level, but under other parents: "rack=r1" of two zones.
 * One that does not tell its parents says nothing. */
static bool deepest_is_ambiguous(const struct placement_request *request,
                                 const struct pool_entry *chosen)
{
    const struct pool_segment *deepest = &chosen->segments[chosen->count - 1];

    for (size_t i = 0; i < request->count; i++) {
        const struct pool_entry *other = request->candidates[i].entry;

        if (!value_on_level(other, deepest->level) || differs_on(other, deepest))
            continue;
        for (size_t j = 0; j + 1 < chosen->count; j++)
            if (differs_on(other, &chosen->segments[j]))
                return true;
    }
    return false;
}

static void pin_segment(const struct strmap *term, const char *prefix,
                        const struct pool_segment *segment, enum pinning pinning,
                        struct strmap *segments)
{
    bool is_plain = pinning == PINNING_PLAIN;
    _cleanup_free_ char *key = is_plain ? segment_key(prefix, segment->level)
                                        : membership_key(prefix, segment->level, segment->value);
    const char *carried = key_in_term(term, label_tail(key));

    strmap_set(segments, carried ? carried : key, is_plain ? segment->value : "true");
}

static int pin_standard(const struct pool_entry *entry, struct strmap *segments, struct error *err)
{
    for (size_t i = 0; i < entry->count; i++) {
        const struct pool_segment *segment = &entry->segments[i];
        _cleanup_free_ char *key = xasprintf(STANDARD_PREFIX "%s", segment->level);

        if (strcmp(segment->level, "zone") == 0 || strcmp(segment->level, "region") == 0)
            strmap_set(segments, key, segment->value);
    }
    if (segments->count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "topologyPinning: standard needs pools with a zone or a region; pool "
                         "'%s' has neither",
                         entry->pool);
    return 0;
}

static bool term_has_member(const struct strmap *term, const char *prefix,
                            const struct pool_segment *segment)
{
    _cleanup_free_ char *key = membership_key(prefix, segment->level, segment->value);
    const char *carried = key_in_term(term, label_tail(key));

    return carried && strcmp(strmap_get(term, carried), "true") == 0;
}

/* The term says which keys the nodes have: those from @first on are to be pinned. */
static enum pinning resolve_auto(enum pinning pinning, const struct strmap *term,
                                 const char *prefix, const struct pool_entry *entry, size_t first)
{
    if (pinning != PINNING_AUTO)
        return pinning;
    for (size_t i = first; i < entry->count; i++)
        if (!term_has_member(term, prefix, &entry->segments[i]))
            return PINNING_PLAIN;
    return PINNING_MEMBERSHIP;
}

int placement_pin(const struct decision *decision, const char *prefix, enum pinning pinning,
                  struct strmap *segments, struct error *err)
{
    const struct placement_request *request = decision->request;
    const struct pool_entry *entry = request->candidates[decision->chosen].entry;

    if (!decision->term || entry->count == 0 || pinning == PINNING_NONE)
        return 0;
    if (pinning == PINNING_STANDARD)
        return pin_standard(entry, segments, err);
    size_t first = entry->is_unordered ? 0 : entry->count - 1;
    pinning = resolve_auto(pinning, decision->term, prefix, entry, first);
    if (pinning == PINNING_PLAIN || deepest_is_ambiguous(request, entry))
        first = 0;
    for (size_t i = first; i < entry->count; i++)
        pin_segment(decision->term, prefix, &entry->segments[i], pinning, segments);
    return 0;
}
