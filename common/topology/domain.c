#include "common/topology/domain.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/labels.h"

#define PREFIX_MAX 63 /* CSI's limit; Kubernetes would take more */
#define MEMBER "member."
#define SEPARATORS ",;" /* Ceph-CSI's flag has commas, the design before it semicolons */
#define HASH_DIGITS 16

/* --- levels --- */

static char *lower_case(const char *text)
{
    char *lower = xstrdup(text);

    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return lower;
}

/* Whether @name is @outer or @outer with something behind a dot. */
static bool is_within(const char *name, const char *outer)
{
    size_t length = strlen(outer);

    return strncasecmp(name, outer, length) == 0 && (name[length] == '\0' || name[length] == '.');
}

/* Keys of different levels must never be the same, whatever the domains are called. */
static int check_apart(const struct topology_level *other, const char *label, struct error *err)
{
    const char *name = label_tail(label);

    if (strcasecmp(other->name, name) == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "labels '%s' and '%s' would both be called '%s'", other->label, label,
                         name);
    if (is_within(other->name, name) || is_within(name, other->name))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "labels '%s' and '%s' cannot both be levels: domains of '%s' and '%s' "
                         "could get the same membership key",
                         other->label, label, other->name, name);
    return 0;
}

static int add_level(struct topology_levels *levels, const char *label, struct error *err)
{
    const char *name = label_tail(label);

    if (label_key_check(label, err) < 0)
        return error_wrap(err, "label '%s'", label);
    if (strncasecmp(name, MEMBER, strlen(MEMBER)) == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "label '%s': '" MEMBER "' is kept for membership keys", label);
    for (size_t i = 0; i < levels->count; i++)
        if (check_apart(&levels->items[i], label, err) < 0)
            return -1;
    if (levels->count == TOPOLOGY_LEVELS_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "more than %d labels", TOPOLOGY_LEVELS_MAX);
    *array_add(levels->items, levels->count) =
        (struct topology_level){.label = xstrdup(label), .name = xstrdup(name)};
    return 0;
}

int topology_levels_parse(const char *driver, const char *labels, struct topology_levels *out,
                          struct error *err)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_free_ char *prefix = xasprintf("topology.%s", driver);

    levels.prefix = lower_case(prefix);
    if (labels[0] && strlen(prefix) > PREFIX_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'%s' has more than %d bytes and cannot stand before topology keys; a "
                         "shorter driver name would help",
                         prefix, PREFIX_MAX);
    for (const char *next = labels; *next;) {
        size_t length = strcspn(next, SEPARATORS);
        _cleanup_free_ char *label = xstrndup(next, length);

        if (add_level(&levels, label, err) < 0)
            return -1;
        next += length;
        if (*next && *++next == '\0')
            return error_set(err, STATUS_INVALID_ARGUMENT, "a label is missing behind the '%c'",
                             next[-1]);
    }
    *out = levels;
    levels = (struct topology_levels){0};
    return 0;
}

void topology_levels_done(struct topology_levels *levels)
{
    for (size_t i = 0; i < levels->count; i++) {
        free(levels->items[i].label);
        free(levels->items[i].name);
    }
    free(levels->items);
    free(levels->prefix);
    *levels = (struct topology_levels){0};
}

int topology_level_find(const struct topology_levels *levels, const char *name)
{
    for (size_t i = 0; i < levels->count; i++)
        if (strcmp(levels->items[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* --- keys --- */

char *segment_key(const char *prefix, const char *level)
{
    return xasprintf("%s/%s", prefix, level);
}

/* These keys are in PersistentVolumes: the same value must give the same key for ever. */
char *membership_key(const char *prefix, const char *level, const char *value)
{
    _cleanup_free_ char *name = xasprintf(MEMBER "%s.%s", level, value);
    size_t keep = LABEL_NAME_MAX - HASH_DIGITS - 1;

    if (strlen(name) <= LABEL_NAME_MAX)
        return xasprintf("%s/%s", prefix, name);
    return xasprintf("%s/%.*s-%016" PRIx64, prefix, (int)keep, name, hash_text(HASH_START, name));
}

const char *membership_tail(const char *key)
{
    const char *tail = label_tail(key);

    return text_has_prefix(tail, MEMBER) ? tail + strlen(MEMBER) : NULL;
}

int membership_key_claim(struct strmap *seen, const char *key, struct error *err)
{
    _cleanup_free_ char *lower = lower_case(key);
    const char *earlier = strmap_get(seen, lower);

    if (earlier && strcmp(earlier, key) != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'%s' and '%s' differ in case only, which CSI does not allow", earlier,
                         key);
    strmap_set(seen, lower, key);
    return 0;
}

/* --- a node's home --- */

const char *topology_home_value(const struct topology_level *level, const struct strmap *labels)
{
    _cleanup_error_ struct error err = {0};
    const char *value = strmap_get_or(labels, level->label, NULL);

    return value && label_value_check(value, &err) == 0 ? value : NULL;
}

void topology_home(const struct topology_levels *levels, const struct strmap *labels,
                   struct strmap *segments, struct string_list *missing)
{
    for (size_t i = 0; i < levels->count; i++) {
        const struct topology_level *level = &levels->items[i];
        const char *value = topology_home_value(level, labels);

        if (!value) {
            string_list_add(missing, level->label);
            continue;
        }
        _cleanup_free_ char *plain = segment_key(levels->prefix, level->name);
        _cleanup_free_ char *member = membership_key(levels->prefix, level->name, value);
        strmap_set(segments, plain, value);
        strmap_set(segments, member, "true");
    }
}

/* --- what a term serves --- */

bool topology_term_serves(const struct strmap *term, const char *level, const char *value)
{
    _cleanup_free_ char *member = membership_key("", level, value);
    bool is_member = false;

    for (size_t i = term->count; i-- > 0;) {
        const struct strmap_entry *segment = &term->entries[i];
        const char *tail = label_tail(segment->key);

        if (strcmp(tail, level) == 0)
            return strcmp(segment->value, value) == 0;
        is_member |= strcmp(tail, member + 1) == 0 && strcmp(segment->value, "true") == 0;
    }
    return is_member;
}
