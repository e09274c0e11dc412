#include "common/ceph/subvolume_meta.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"

static void add_section(struct subvolume_meta *meta, const char *name, size_t length)
{
    meta->sections = xreallocarray(meta->sections, meta->count + 1, sizeof(*meta->sections));
    meta->sections[meta->count++] = (struct meta_section){.name = xstrndup(name, length)};
}

/* "[NAME]" */
static int parse_section(struct subvolume_meta *meta, const char *line, size_t length,
                         struct error *err)
{
    _cleanup_free_ char *name = length > 2 ? xstrndup(line + 1, length - 2) : NULL;

    if (!name || line[length - 1] != ']' || strpbrk(name, "[]"))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.*s' is no section", (int)length, line);
    if (subvolume_meta_find(meta, name))
        return error_set(err, STATUS_INVALID_ARGUMENT, "section '%s' is there twice", name);
    add_section(meta, name, strlen(name));
    return 0;
}

/* A per cent sign stands there twice; what begins a reference to another value is not understood.
 */
static int fold_percent(char *value, struct error *err)
{
    char *to = value;

    for (const char *from = value; *from; from++) {
        if (*from == '%' && *++from != '%')
            return error_set(err, STATUS_INVALID_ARGUMENT, "a value has a single %%");
        *to++ = *from;
    }
    *to = '\0';
    return 0;
}

static bool is_plain_key(const char *key, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (isupper((unsigned char)key[i]) || iscntrl((unsigned char)key[i]))
            return false;
    return length > 0 && !isspace((unsigned char)key[0]) &&
           !isspace((unsigned char)key[length - 1]) && key[0] != '#' && key[0] != ';';
}

/* "KEY = VALUE" */
static int parse_entry(struct subvolume_meta *meta, const char *line, size_t length,
                       struct error *err)
{
    _cleanup_free_ char *copy = xstrndup(line, length);
    const size_t key_length = strcspn(copy, "=:"); /* either ends a key for the manager */

    if (meta->count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is outside of any section", copy);
    if (key_length < 2 || strncmp(copy + key_length - 1, " = ", 3) != 0 ||
        !is_plain_key(copy, key_length - 1))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no key with a value", copy);
    copy[key_length - 1] = '\0';
    char *value = copy + key_length + 2;
    struct strmap *entries = &meta->sections[meta->count - 1].entries;
    if (strmap_has(entries, copy))
        return error_set(err, STATUS_INVALID_ARGUMENT, "key '%s' is there twice", copy);
    if (strpbrk(value, "\r\f\v") || isspace((unsigned char)value[0]) ||
        (value[0] && isspace((unsigned char)value[strlen(value) - 1])))
        return error_set(err, STATUS_INVALID_ARGUMENT, "the value of '%s' has odd spaces", copy);
    if (fold_percent(value, err) < 0)
        return -1;
    strmap_set(entries, copy, value);
    return 0;
}

static int parse_lines(const char *text, struct subvolume_meta *meta, struct error *err)
{
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        int result = 0;

        if (length > 0)
            result = line[0] == '[' ? parse_section(meta, line, length, err)
                                    : parse_entry(meta, line, length, err);
        if (result < 0)
            return -1;
        line += length + (line[length] == '\n');
    }
    if (!subvolume_meta_find(meta, SUBVOLUME_META_GLOBAL))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "there is no section " SUBVOLUME_META_GLOBAL);
    return 0;
}

int subvolume_meta_parse(const char *text, struct subvolume_meta *meta, struct error *err)
{
    struct subvolume_meta parsed = {0};

    if (parse_lines(text, &parsed, err) < 0) {
        subvolume_meta_done(&parsed);
        return -1;
    }
    *meta = parsed;
    return 0;
}

const struct strmap *subvolume_meta_find(const struct subvolume_meta *meta, const char *section)
{
    for (size_t i = 0; i < meta->count; i++)
        if (strcmp(meta->sections[i].name, section) == 0)
            return &meta->sections[i].entries;
    return NULL;
}

const char *subvolume_meta_get(const struct subvolume_meta *meta, const char *key)
{
    const struct strmap *global = subvolume_meta_find(meta, SUBVOLUME_META_GLOBAL);

    return global ? strmap_get_or(global, key, "") : "";
}

void subvolume_meta_done(struct subvolume_meta *meta)
{
    for (size_t i = 0; i < meta->count; i++) {
        free(meta->sections[i].name);
        strmap_done(&meta->sections[i].entries);
    }
    free(meta->sections);
    *meta = (struct subvolume_meta){0};
}
