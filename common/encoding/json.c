#include "common/encoding/json.h"

#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"

/* Keys of any length come from the peer; the place of a mistake needs no more than this. */
#define PATH_LIMIT 1024

static void add_path(struct text *text, const struct json_path *path)
{
    if (!path)
        return;
    add_path(text, path->parent);
    if (!path->key)
        text_addf(text, "[%zu]", path->index);
    else
        text_addf(text, "%s%s", text->length > 0 ? "." : "", path->key);
}

int json_path_wrap(const struct json_path *path, struct error *err)
{
    _cleanup_text_ struct text text = TEXT_INIT(PATH_LIMIT);

    add_path(&text, path);
    return text.length > 0 ? error_wrap(err, "%s", text_chars(&text)) : -1;
}

/* Line and column are counted from 1, in characters, as editors do. */
static int refuse_depth(const char *text, size_t at, const char *what, struct error *err)
{
    size_t line = 1;
    size_t column = 1;

    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else if ((text[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "%s: line %zu, column %zu: nested more than %d levels deep", what, line,
                     column, JSON_DEPTH_LIMIT);
}

/* Before the parser runs, so that depth costs no stack. Malformed text may be counted wrongly; the
 * parser refuses it anyway. */
static int check_depth(const char *text, size_t length, const char *what, struct error *err)
{
    bool in_string = false;
    int depth = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            in_string = !in_string;
        else if (in_string && text[i] == '\\')
            i++;
        else if (!in_string && (text[i] == '[' || text[i] == '{') && ++depth > JSON_DEPTH_LIMIT)
            return refuse_depth(text, i, what, err);
        else if (!in_string && (text[i] == ']' || text[i] == '}'))
            depth--;
    }
    return 0;
}

static int parse_json(const char *text, size_t length, size_t flags, const char *what, json_t **out,
                      struct error *err)
{
    json_error_t reason;

    if (check_depth(text, length, what, err) < 0)
        return -1;
    json_t *value = json_loadb(text, length, flags | JSON_REJECT_DUPLICATES, &reason);
    if (!value) {
        /* jansson quotes the token where it stopped: a repeated key is worth reading, any other
         * may be the value of a secret */
        char *quoted = strstr(reason.text, " near '");

        if (quoted && json_error_code(&reason) != json_error_duplicate_key)
            *quoted = '\0';
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: line %d, column %d: %s", what,
                         reason.line, reason.column, reason.text);
    }
    *out = value;
    return 0;
}

int json_load_large(const char *text, size_t length, const char *what, json_t **out,
                    struct error *err)
{
    return parse_json(text, length, JSON_ALLOW_NUL, what, out, err);
}

int json_load_text(const char *text, size_t length, const char *what, json_t **out,
                   struct error *err)
{
    if (length > JSON_TEXT_LIMIT)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: larger than %zu bytes", what,
                         JSON_TEXT_LIMIT);
    return parse_json(text, length, 0, what, out, err);
}

int json_load_whole(const struct text *text, const char *what, json_t **out, struct error *err)
{
    return parse_json(text_chars(text), text->length, 0, what, out, err);
}

int json_load_path(const char *path, size_t limit, json_t **out, struct error *err)
{
    _cleanup_text_ struct text content = TEXT_INIT(limit);

    if (text_read_path(&content, path, err) < 0)
        return -1;
    return parse_json(text_chars(&content), content.length, 0, path, out, err);
}

json_t *json_from_strings(const struct string_list *list)
{
    json_t *strings = json_array();

    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(strings, json_string(list->items[i]));
    return strings;
}

const char *json_type_name(const json_t *value)
{
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "a number";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

static int refuse_type(const json_t *value, const char *expected, const struct json_path *path,
                       struct error *err)
{
    error_set(err, STATUS_INVALID_ARGUMENT, "expected %s, found %s", expected,
              json_type_name(value));
    return json_path_wrap(path, err);
}

/* Null is "" here, as in Go; *@chars is borrowed from the value. */
static int string_of(const json_t *value, const struct json_path *path, const char **chars,
                     struct error *err)
{
    if (!json_is_string(value) && !json_is_null(value))
        return refuse_type(value, "a string", path, err);
    *chars = json_is_null(value) ? "" : json_string_value(value);
    return 0;
}

static int decode_integer(const json_t *value, bool is_unsigned, const struct json_path *path,
                          int64_t *target, struct error *err)
{
    if (json_is_real(value)) {
        error_set(err, STATUS_INVALID_ARGUMENT,
                  "expected a whole number, found one with a fraction or an exponent");
        return json_path_wrap(path, err);
    }
    if (!json_is_integer(value))
        return refuse_type(value, "a whole number", path, err);
    if (is_unsigned && json_integer_value(value) < 0) {
        error_set(err, STATUS_INVALID_ARGUMENT, "must not be negative");
        return json_path_wrap(path, err);
    }
    *target = json_integer_value(value);
    return 0;
}

static int decode_strings(const json_t *value, const struct json_path *path,
                          struct string_list *target, struct error *err)
{
    if (!json_is_array(value))
        return refuse_type(value, "an array", path, err);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const struct json_path item = {.parent = path, .index = i};
        const char *chars = NULL;

        if (string_of(json_array_get(value, i), &item, &chars, err) < 0)
            return -1;
        string_list_add(target, chars);
    }
    return 0;
}

/* Jansson iterates through a pointer to non-const but changes nothing. */
static void *first_key(const json_t *object)
{
    return json_object_iter((json_t *)(uintptr_t)object);
}

static void *next_key(const json_t *object, void *key)
{
    return json_object_iter_next((json_t *)(uintptr_t)object, key);
}

static int decode_strmap(const json_t *value, const struct json_path *path, struct strmap *target,
                         struct error *err)
{
    if (!json_is_object(value))
        return refuse_type(value, "an object", path, err);
    for (void *at = first_key(value); at; at = next_key(value, at)) {
        const struct json_path item = {.parent = path, .key = json_object_iter_key(at)};
        const char *chars = NULL;

        if (string_of(json_object_iter_value(at), &item, &chars, err) < 0)
            return -1;
        strmap_set(target, item.key, chars);
    }
    return 0;
}

static int decode_object(const json_t *value, const struct json_table *table,
                         const struct json_path *path, void *target, struct error *err);

static int decode_objects(const json_t *value, const struct json_table *table,
                          const struct json_path *path, void **out, size_t *out_count,
                          struct error *err)
{
    size_t count = json_array_size(value);

    if (!json_is_array(value))
        return refuse_type(value, "an array", path, err);
    if (count == 0)
        return 0;
    char *items = xcalloc(count, table->size);
    for (size_t i = 0; i < count; i++) {
        const struct json_path step = {.parent = path, .index = i};
        const json_t *element = json_array_get(value, i);

        if (!json_is_null(element) &&
            decode_object(element, table, &step, items + i * table->size, err) < 0) {
            json_free_array(table, items, count);
            return -1;
        }
    }
    *out = items;
    *out_count = count;
    return 0;
}

/* @value is not null and the member is zero. */
static int decode_member(const json_t *value, const struct json_field *field,
                         const struct json_path *path, void *target, struct error *err)
{
    void *member = (char *)target + field->offset;
    size_t *count = (size_t *)(void *)((char *)target + field->count_offset);
    const char *chars = NULL;
    void *items = NULL;

    switch (field->kind) {
    case JSON_KIND_STRING:
        if (string_of(value, path, &chars, err) < 0)
            return -1;
        *(char **)member = xstrdup(chars);
        return 0;
    case JSON_KIND_BOOL:
        if (!json_is_boolean(value))
            return refuse_type(value, "true or false", path, err);
        *(bool *)member = json_is_true(value);
        return 0;
    case JSON_KIND_INT:
    case JSON_KIND_UINT:
        return decode_integer(value, field->kind == JSON_KIND_UINT, path, member, err);
    case JSON_KIND_STRINGS:
        return decode_strings(value, path, member, err);
    case JSON_KIND_STRMAP:
        return decode_strmap(value, path, member, err);
    case JSON_KIND_OBJECT:
        return decode_object(value, field->table, path, member, err);
    case JSON_KIND_OBJECTS:
        if (decode_objects(value, field->table, path, &items, count, err) < 0)
            return -1;
        memcpy(member, &items, sizeof(items)); /* there it is a pointer to the caller's struct */
        return 0;
    case JSON_KIND_PRESENT:
        *(bool *)member = true;
        return 0;
    case JSON_KIND_VALUE:
        *(json_t **)member = json_incref((json_t *)(uintptr_t)value);
        return 0;
    }
    return error_set(err, STATUS_INTERNAL, "key '%s' is of no known kind", field->key);
}

/* Two spellings of one key: the last one counts, as in Go. */
static const json_t *find_value(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    for (void *at = value ? NULL : first_key(object); at; at = next_key(object, at))
        if (strcasecmp(json_object_iter_key(at), key) == 0)
            value = json_object_iter_value(at);
    return value;
}

/* As find_value(), where the key may be a path. */
static int find_at_path(const json_t *object, const char *path_of_keys,
                        const struct json_path *path, const json_t **found, struct error *err)
{
    const char *key = path_of_keys;

    for (const char *dot = strchr(key, '.'); dot; dot = strchr(key, '.')) {
        object = json_object_getn(object, key, (size_t)(dot - key));
        if (!object || json_is_null(object))
            return 0;
        if (!json_is_object(object)) {
            _cleanup_free_ char *begin = xstrndup(path_of_keys, (size_t)(dot - path_of_keys));
            const struct json_path step = {.parent = path, .key = begin};

            return refuse_type(object, "an object", &step, err);
        }
        key = dot + 1;
    }
    *found = find_value(object, key);
    return 0;
}

static int check_key(const struct json_table *table, const char *key, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(key);

    for (size_t i = 0; i < table->count; i++) {
        if (strcasecmp(table->fields[i].key, key) == 0)
            return 0;
        nearest_offer(&nearest, table->fields[i].key);
    }
    if (nearest.name)
        return error_set(err, STATUS_INVALID_ARGUMENT, "unknown key (did you mean '%s'?)",
                         nearest.name);
    return error_set(err, STATUS_INVALID_ARGUMENT, "unknown key");
}

static int check_keys(const json_t *object, const struct json_table *table,
                      const struct json_path *path, struct error *err)
{
    for (void *at = first_key(object); at; at = next_key(object, at)) {
        const struct json_path step = {.parent = path, .key = json_object_iter_key(at)};

        if (check_key(table, step.key, err) < 0)
            return json_path_wrap(&step, err);
        /* all keys before this one belong to different fields, so there are few of them */
        for (void *other = first_key(object); other != at; other = next_key(object, other)) {
            if (strcasecmp(json_object_iter_key(other), step.key) == 0) {
                error_set(err, STATUS_INVALID_ARGUMENT, "same key as '%s'",
                          json_object_iter_key(other));
                return json_path_wrap(&step, err);
            }
        }
    }
    return 0;
}

/* Back to the zero value. */
static void free_member(const struct json_field *field, void *target)
{
    void *member = (char *)target + field->offset;
    size_t *count = (size_t *)(void *)((char *)target + field->count_offset);
    void *items = NULL;

    switch (field->kind) {
    case JSON_KIND_STRING:
        free(*(char **)member);
        *(char **)member = NULL;
        break;
    case JSON_KIND_BOOL:
    case JSON_KIND_PRESENT:
        *(bool *)member = false;
        break;
    case JSON_KIND_INT:
    case JSON_KIND_UINT:
        *(int64_t *)member = 0;
        break;
    case JSON_KIND_STRINGS:
        string_list_done(member);
        break;
    case JSON_KIND_STRMAP:
        strmap_done(member);
        break;
    case JSON_KIND_OBJECT:
        json_free_fields(field->table, member);
        break;
    case JSON_KIND_OBJECTS:
        memcpy(&items, member, sizeof(items));
        json_free_array(field->table, items, *count);
        memset(member, 0, sizeof(items));
        *count = 0;
        break;
    case JSON_KIND_VALUE:
        json_decref(*(json_t **)member);
        *(json_t **)member = NULL;
        break;
    }
}

static int decode_object(const json_t *value, const struct json_table *table,
                         const struct json_path *path, void *target, struct error *err)
{
    if (!json_is_object(value))
        return refuse_type(value, "an object", path, err);
    if (table->strict && check_keys(value, table, path, err) < 0)
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        const struct json_field *field = &table->fields[i];
        const struct json_path step = {.parent = path, .key = field->key};
        const json_t *found = NULL;

        if (find_at_path(value, field->key, path, &found, err) < 0)
            return -1;
        if (!found)
            continue;
        free_member(field, target);
        if (!json_is_null(found) && decode_member(found, field, &step, target, err) < 0)
            return -1;
    }
    return 0;
}

int json_decode(const json_t *value, const struct json_table *table, void *target,
                struct error *err)
{
    return decode_object(value, table, NULL, target, err);
}

int json_decode_array(const json_t *value, const struct json_table *table, void **items,
                      size_t *count, struct error *err)
{
    return decode_objects(value, table, NULL, items, count, err);
}

void json_free_fields(const struct json_table *table, void *target)
{
    for (size_t i = 0; i < table->count; i++)
        free_member(&table->fields[i], target);
}

void json_free_array(const struct json_table *table, void *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_free_fields(table, (char *)items + i * table->size);
    free(items);
}

json_t *json_from_strmap(const struct strmap *map)
{
    json_t *object = json_object();

    for (size_t i = 0; i < map->count; i++)
        json_object_set_new(object, map->entries[i].key, json_string(map->entries[i].value));
    return object;
}
