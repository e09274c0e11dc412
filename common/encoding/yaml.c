#include "common/encoding/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"

/*
 * libyaml turns the text into events; one recursive function per kind of value takes them and
 * returns a new json_t, or NULL with the error set. The recursion is as deep as the text and
 * therefore bounded by YAML_DEPTH_LIMIT.
 */
struct loader {
    yaml_parser_t parser;
    const char *what;
    size_t nodes;
    struct error *err;
};

static int refuse_at(struct loader *loader, yaml_mark_t mark, const char *reason)
{
    return error_set(loader->err, STATUS_INVALID_ARGUMENT, "%s: line %zu, column %zu: %s",
                     loader->what, mark.line + 1, mark.column + 1, reason);
}

static void *refuse_event(struct loader *loader, const yaml_event_t *event, const char *reason)
{
    refuse_at(loader, event->start_mark, reason);
    return NULL;
}

static int next_event(struct loader *loader, yaml_event_t *event)
{
    const yaml_parser_t *parser = &loader->parser;

    if (yaml_parser_parse(&loader->parser, event))
        return 0;
    *event = (yaml_event_t){0};
    /* libyaml's reasons are fixed phrases; none quotes the text */
    if (parser->error == YAML_READER_ERROR)
        return error_set(loader->err, STATUS_INVALID_ARGUMENT, "%s: byte %zu: %s", loader->what,
                         parser->problem_offset, parser->problem);
    return refuse_at(loader, parser->problem_mark, parser->problem ? parser->problem : "malformed");
}

#define _cleanup_event_ _cleanup_(yaml_event_delete)

/* --- scalars --- */

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

static json_t *word_value(const char *text)
{
    static const char *const yes[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                      "True", "TRUE", "on",  "On",  "ON"};
    static const char *const no[] = {"n",     "N",     "no",  "No",  "NO", "false",
                                     "False", "FALSE", "off", "Off", "OFF"};
    static const char *const nothing[] = {"", "~", "null", "Null", "NULL"};

    if (is_one_of(text, yes, ARRAY_LENGTH(yes)))
        return json_true();
    if (is_one_of(text, no, ARRAY_LENGTH(no)))
        return json_false();
    if (is_one_of(text, nothing, ARRAY_LENGTH(nothing)))
        return json_null();
    return NULL;
}

/* The base that the digits are written in; *@digits moves behind its mark. */
static int number_base(const char **digits)
{
    static const struct {
        const char *mark;
        int base;
    } bases[] = {{"0x", 16}, {"0X", 16}, {"0o", 8}, {"0O", 8}, {"0b", 2}, {"0B", 2}};

    for (size_t i = 0; i < ARRAY_LENGTH(bases); i++) {
        if (strncmp(*digits, bases[i].mark, 2) == 0) {
            *digits += 2;
            return bases[i].base;
        }
    }
    return (*digits)[0] == '0' && (*digits)[1] != '\0' ? 8 : 10;
}

/* NULL if @text, from which underscores were removed, is no integer of 64 bits. */
static json_t *integer_value(const char *text)
{
    bool negative = text[0] == '-';
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    char *end = NULL;

    int base = number_base(&digits);
    errno = 0;
    unsigned long long number = strtoull(digits, &end, base);
    /* strtoull takes spaces, signs and a second 0x */
    if (!isxdigit((unsigned char)digits[0]) || (base == 16 && tolower(digits[1]) == 'x') || *end ||
        errno == ERANGE || number > (unsigned long long)INT64_MAX + negative)
        return NULL;
    return json_integer((json_int_t)(negative ? 0 - number : number));
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Sign, digits, point, digits, exponent, with at least one digit before the exponent: JSON's form,
 * also without digits on one side of the point. */
static bool is_real(const char *text)
{
    const char *whole = text + (text[0] == '-' || text[0] == '+');
    const char *at = skip_digits(whole);
    size_t digits = (size_t)(at - whole);

    if (*at == '.') {
        const char *fraction = at + 1;

        at = skip_digits(fraction);
        digits += (size_t)(at - fraction);
    }
    if (digits == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1 + (at[1] == '-' || at[1] == '+');

        at = skip_digits(exponent);
        if (at == exponent)
            return false;
    }
    return *at == '\0';
}

static json_t *number_value(const char *text)
{
    _cleanup_free_ char *plain = xstrdup(text);
    char *end = plain;

    if (!strchr("+-.0123456789", text[0]))
        return NULL;
    for (const char *at = text; *at; at++)
        if (*at != '_')
            *end++ = *at;
    *end = '\0';
    json_t *value = integer_value(plain);
    if (value || !is_real(plain))
        return value;
    return json_real(strtod(plain, NULL)); /* NULL, thus a string, when it is not finite */
}

/* The tag without its standard prefix, "" for none; NULL if it is not a standard scalar one. */
static const char *short_tag(const yaml_char_t *tag)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    static const char *const known[] = {"str", "int", "bool", "float", "null", "timestamp"};
    const char *chars = (const char *)tag;

    if (!chars)
        return "";
    if (strcmp(chars, "!") == 0) /* the way to say "as if quoted" */
        return "str";
    if (strncmp(chars, prefix, strlen(prefix)) != 0)
        return NULL;
    chars += strlen(prefix);
    return is_one_of(chars, known, ARRAY_LENGTH(known)) ? chars : NULL;
}

static bool tag_agrees(const char *tag, const json_t *value)
{
    return tag[0] == '\0' || (strcmp(tag, "int") == 0 && json_is_integer(value)) ||
           (strcmp(tag, "float") == 0 && json_is_number(value)) ||
           (strcmp(tag, "bool") == 0 && json_is_boolean(value)) ||
           (strcmp(tag, "null") == 0 && json_is_null(value)) ||
           (strcmp(tag, "timestamp") == 0 && json_is_string(value));
}

static json_t *read_scalar(struct loader *loader, const yaml_event_t *event)
{
    static const char *const not_json[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                           "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = short_tag(event->data.scalar.tag);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (strlen(text) != event->data.scalar.length)
        return refuse_event(loader, event, "a string must not contain NUL");
    if (!tag)
        return refuse_event(loader, event, "tags other than !!str, !!int, ... are not supported");
    if (strcmp(tag, "str") == 0 || (tag[0] == '\0' && !plain))
        return json_string(text);
    if (is_one_of(text, not_json, ARRAY_LENGTH(not_json)))
        return refuse_event(loader, event, "infinity and NaN are not numbers of JSON");
    json_auto_t *value = word_value(text);
    if (!value)
        value = number_value(text);
    if (!value)
        value = json_string(text);
    if (!tag_agrees(tag, value))
        return refuse_event(loader, event, "the value is not what its tag says");
    return TAKE(value);
}

/* --- structure --- */

static json_t *read_value(struct loader *loader, const yaml_event_t *event, unsigned depth);

static json_t *read_sequence(struct loader *loader, unsigned depth)
{
    json_auto_t *array = json_array();

    for (;;) { /* bounded by the node limit */
        _cleanup_event_ yaml_event_t event = {0};

        if (next_event(loader, &event) < 0)
            return NULL;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            return TAKE(array);
        json_t *item = read_value(loader, &event, depth);
        if (!item)
            return NULL;
        json_array_append_new(array, item);
    }
}

/* A key as a string; NULL with the error set if it is no scalar. Caller frees. */
static char *read_key(struct loader *loader, const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT)
        return refuse_event(loader, event, "a key must be a plain word or a quoted string");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        strcmp((const char *)event->data.scalar.value, "<<") == 0)
        return refuse_event(loader, event, "merge keys (<<) are not supported; write the keys out");
    json_auto_t *value = read_scalar(loader, event);
    if (!value)
        return NULL;
    if (json_is_string(value))
        return xstrdup(json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY);
}

/* Reads the value that belongs to the key. */
static int read_member(struct loader *loader, json_t *object, const yaml_event_t *key_event,
                       unsigned depth)
{
    _cleanup_free_ char *key = read_key(loader, key_event);
    _cleanup_event_ yaml_event_t event = {0};

    if (!key)
        return -1;
    if (json_object_get(object, key))
        return refuse_at(loader, key_event->start_mark, "this key is there already");
    if (next_event(loader, &event) < 0)
        return -1;
    json_t *value = read_value(loader, &event, depth);
    return value ? json_object_set_new(object, key, value) : -1;
}

static json_t *read_mapping(struct loader *loader, unsigned depth)
{
    json_auto_t *object = json_object();

    for (;;) {
        _cleanup_event_ yaml_event_t event = {0};

        if (next_event(loader, &event) < 0)
            return NULL;
        if (event.type == YAML_MAPPING_END_EVENT)
            return TAKE(object);
        if (read_member(loader, object, &event, depth) < 0)
            return NULL;
    }
}

/* A mapping or sequence may carry its own standard tag, which says nothing new. */
static bool tag_is_redundant(const yaml_char_t *tag)
{
    static const char *const known[] = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"};

    return !tag || is_one_of((const char *)tag, known, ARRAY_LENGTH(known));
}

static json_t *read_value(struct loader *loader, const yaml_event_t *event, unsigned depth)
{
    bool is_sequence = event->type == YAML_SEQUENCE_START_EVENT;
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;

    if (++loader->nodes > YAML_NODE_LIMIT)
        return refuse_event(loader, event, "more values than a text may have");
    if ((is_sequence || is_mapping) && depth > YAML_DEPTH_LIMIT)
        return refuse_event(loader, event, "nested too deeply");
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(loader, event);
    if (is_sequence && tag_is_redundant(event->data.sequence_start.tag))
        return read_sequence(loader, depth + 1);
    if (is_mapping && tag_is_redundant(event->data.mapping_start.tag))
        return read_mapping(loader, depth + 1);
    if (is_sequence || is_mapping)
        return refuse_event(loader, event,
                            "tags other than !!map and !!seq are not supported here");
    if (event->type == YAML_ALIAS_EVENT)
        return refuse_event(loader, event,
                            "aliases (*name) are not supported; write the value out");
    return refuse_event(loader, event, "expected a value");
}

/* --- the stream --- */

static int read_stream(struct loader *loader, json_t *documents)
{
    for (;;) {
        _cleanup_event_ yaml_event_t event = {0};
        _cleanup_event_ yaml_event_t root = {0};

        if (next_event(loader, &event) < 0)
            return -1;
        if (event.type == YAML_STREAM_END_EVENT)
            return 0;
        if (event.type != YAML_DOCUMENT_START_EVENT)
            continue;
        if (next_event(loader, &root) < 0)
            return -1;
        json_t *value = read_value(loader, &root, 1);
        if (!value)
            return -1;
        if (json_is_null(value))
            json_decref(value);
        else
            json_array_append_new(documents, value);
    }
}

int yaml_load_text(const char *text, size_t length, const char *what, json_t **documents,
                   struct error *err)
{
    struct loader loader = {.what = what, .err = err};
    _cleanup_error_ struct error ignored = {0};
    json_t *value = NULL;

    if (length > YAML_TEXT_LIMIT)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s: larger than %zu bytes", what,
                         YAML_TEXT_LIMIT);
    /* JSON is almost YAML; the rest (pairs of surrogates) is why a text that is JSON is read so */
    if (length > 0 && (text[0] == '{' || text[0] == '[') &&
        json_load_text(text, length, what, &value, &ignored) == 0) {
        *documents = json_pack("[o]", value);
        return 0;
    }
    if (!yaml_parser_initialize(&loader.parser))
        abort(); /* out of memory */
    json_auto_t *found = json_array();
    yaml_parser_set_input_string(&loader.parser, (const unsigned char *)text, length);
    int result = read_stream(&loader, found);
    yaml_parser_delete(&loader.parser);
    if (result == 0)
        *documents = TAKE(found);
    return result;
}

int yaml_load_path(const char *path, size_t limit, json_t **documents, struct error *err)
{
    _cleanup_text_ struct text content = TEXT_INIT(limit);

    if (text_read_path(&content, path, err) < 0)
        return -1;
    return yaml_load_text(text_chars(&content), content.length, path, documents, err);
}

int documents_load_path(const char *path, size_t limit, json_t **documents, struct error *err)
{
    _cleanup_text_ struct text content = TEXT_INIT(limit);
    json_t *value = NULL;

    if (text_read_path(&content, path, err) < 0)
        return -1;
    const char *first = text_chars(&content) + strspn(text_chars(&content), " \t\r\n");
    if (*first != '{' && *first != '[' && *first != '\0')
        return yaml_load_text(text_chars(&content), content.length, path, documents, err);
    if (json_load_whole(&content, path, &value, err) < 0)
        return -1;
    *documents = json_pack("[o]", value);
    return 0;
}
