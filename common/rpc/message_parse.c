#include <float.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/rpc/message.h"
#include "common/rpc/message_internal.h"

static int reject_value(const struct json_path *path, const char *reason, struct error *err)
{
    error_set(err, STATUS_INVALID_ARGUMENT, "%s", reason);
    return json_path_wrap(path, err);
}

static int reject_kind(const struct json_path *path, const char *expected, const json_t *json,
                       struct error *err)
{
    error_set(err, STATUS_INVALID_ARGUMENT, "expected %s, found %s", expected,
              json_type_name(json));
    return json_path_wrap(path, err);
}

static int parse_signed(const struct json_path *path, const json_t *json, int64_t low, int64_t high,
                        int64_t *value, struct error *err)
{
    if (!json_is_string(json) && !json_is_integer(json))
        return reject_kind(path, "a whole number", json, err);
    *value = json_integer_value(json);
    if (json_is_string(json) && text_parse_i64(json_string_value(json), value, err) < 0)
        return json_path_wrap(path, err);
    return *value < low || *value > high ? reject_value(path, "is out of range", err) : 0;
}

static int parse_unsigned(const struct json_path *path, const json_t *json, uint64_t high,
                          uint64_t *value, struct error *err)
{
    if (!json_is_string(json) && !json_is_integer(json))
        return reject_kind(path, "a whole number", json, err);
    *value = (uint64_t)json_integer_value(json);
    if (json_is_string(json) && text_parse_u64(json_string_value(json), value, err) < 0)
        return json_path_wrap(path, err);
    return json_integer_value(json) < 0 || *value > high
               ? reject_value(path, "is out of range", err)
               : 0;
}

static int parse_real(const struct json_path *path, const json_t *json, double high, double *value,
                      struct error *err)
{
    if (!json_is_number(json))
        return reject_kind(path, "a number", json, err);
    *value = json_number_value(json);
    return *value < -high || *value > high ? reject_value(path, "is out of range", err) : 0;
}

static int parse_string(const struct json_path *path, const json_t *json, char **value,
                        struct error *err)
{
    const char *chars = json_string_value(json);

    if (!chars)
        return reject_kind(path, "a string", json, err);
    if (strlen(chars) != json_string_length(json))
        return reject_value(path, "contains a NUL byte", err);
    *value = xstrdup(chars);
    return 0;
}

static int parse_enum(const struct json_path *path, const ProtobufCEnumDescriptor *type,
                      const json_t *json, int *value, struct error *err)
{
    const char *name = json_string_value(json);
    struct nearest nearest = NEAREST_INIT(name);
    int64_t number = 0;

    if (json_is_integer(json)) {
        if (parse_signed(path, json, INT_MIN, INT_MAX, &number, err) < 0)
            return -1;
        *value = (int)number;
        return 0;
    }
    if (!name)
        return reject_kind(path, "the name of a value", json, err);
    const ProtobufCEnumValue *known = protobuf_c_enum_descriptor_get_value_by_name(type, name);
    if (known) {
        *value = known->value;
        return 0;
    }
    for (unsigned i = 0; i < type->n_value_names; i++)
        nearest_offer(&nearest, type->values_by_name[i].name);
    error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not a %s", name, type->name);
    json_path_wrap(path, err);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

static int parse_message(const struct json_path *path, const ProtobufCMessageDescriptor *type,
                         json_t *json, ProtobufCMessage **out, struct error *err);

/* Numbers of all widths. */
static int parse_number(const struct json_path *path, const ProtobufCFieldDescriptor *field,
                        const json_t *json, void *value, struct error *err)
{
    int64_t integer = 0;
    uint64_t natural = 0;
    double real = 0;
    int result = 0;

    switch (field->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return parse_signed(path, json, INT64_MIN, INT64_MAX, value, err);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return parse_unsigned(path, json, UINT64_MAX, value, err);
    case PROTOBUF_C_TYPE_DOUBLE:
        return parse_real(path, json, DBL_MAX, value, err);
    case PROTOBUF_C_TYPE_FLOAT:
        result = parse_real(path, json, (double)FLT_MAX, &real, err);
        *(float *)value = (float)real;
        return result;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        result = parse_unsigned(path, json, UINT32_MAX, &natural, err);
        *(uint32_t *)value = (uint32_t)natural;
        return result;
    default:
        result = parse_signed(path, json, INT32_MIN, INT32_MAX, &integer, err);
        *(int32_t *)value = (int32_t)integer;
        return result;
    }
}

/* Writes one value where it belongs: a member of the message or an element of an array. */
static int parse_value(const struct json_path *path, const ProtobufCFieldDescriptor *field,
                       json_t *json, void *value, struct error *err)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        if (!json_is_boolean(json))
            return reject_kind(path, "true or false", json, err);
        *(protobuf_c_boolean *)value = json_is_true(json);
        return 0;
    case PROTOBUF_C_TYPE_ENUM:
        return parse_enum(path, field->descriptor, json, value, err);
    case PROTOBUF_C_TYPE_STRING:
        return parse_string(path, json, value, err);
    case PROTOBUF_C_TYPE_MESSAGE:
        return parse_message(path, field->descriptor, json, value, err);
    case PROTOBUF_C_TYPE_BYTES:
        return reject_value(path, "bytes cannot be given as JSON", err);
    default:
        return parse_number(path, field, json, value, err);
    }
}

static int parse_map_entry(const struct json_path *path, const ProtobufCMessageDescriptor *type,
                           const char *key, json_t *json, ProtobufCMessage **out, struct error *err)
{
    const struct json_path inner = {.parent = path, .key = key};
    _cleanup_(message_freep) ProtobufCMessage *entry = message_new(type);
    json_auto_t *key_json = json_string(key);

    if (parse_value(&inner, &type->fields[0], key_json,
                    message_at_mutable(entry, type->fields[0].offset), err) < 0 ||
        parse_value(&inner, &type->fields[1], json,
                    message_at_mutable(entry, type->fields[1].offset), err) < 0)
        return -1;
    *out = TAKE(entry);
    return 0;
}

/* The array and its count belong to the message from the start, so that freeing the message frees
 * what was read before an error. */
static void *array_new(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                       size_t count)
{
    void **array = message_at_mutable(message, field->offset);

    *array = xcalloc(count, message_value_size(field->type));
    return *array;
}

static int parse_map(const struct json_path *path, const ProtobufCFieldDescriptor *field,
                     json_t *json, ProtobufCMessage *message, struct error *err)
{
    size_t *count = message_at_mutable(message, field->quantifier_offset);
    const char *key = NULL;
    json_t *value = NULL;

    if (!json_is_object(json))
        return reject_kind(path, "an object", json, err);
    ProtobufCMessage **entries = array_new(message, field, json_object_size(json));
    json_object_foreach(json, key, value)
    {
        if (parse_map_entry(path, field->descriptor, key, value, &entries[*count], err) < 0)
            return -1;
        ++*count;
    }
    return 0;
}

static int parse_array(const struct json_path *path, const ProtobufCFieldDescriptor *field,
                       json_t *json, ProtobufCMessage *message, struct error *err)
{
    size_t *count = message_at_mutable(message, field->quantifier_offset);
    size_t size = message_value_size(field->type);

    if (!json_is_array(json))
        return reject_kind(path, "an array", json, err);
    char *elements = array_new(message, field, json_array_size(json));
    for (size_t i = 0; i < json_array_size(json); i++) {
        const struct json_path element = {.parent = path, .index = i};

        if (parse_value(&element, field, json_array_get(json, i), elements + i * size, err) < 0)
            return -1;
        ++*count;
    }
    return 0;
}

/* Says in the message that a single field is there, where that is not clear from its value. */
static int mark_present(const struct json_path *path, const ProtobufCFieldDescriptor *field,
                        ProtobufCMessage *message, struct error *err)
{
    void *quantifier = message_at_mutable(message, field->quantifier_offset);

    if (message_field_is_oneof(field)) {
        uint32_t *in_use = quantifier;

        if (*in_use != 0)
            return reject_value(path, "excludes another field that is given too", err);
        *in_use = field->id;
    } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset != 0) {
        *(protobuf_c_boolean *)quantifier = 1;
    }
    return 0;
}

static int parse_field(const struct json_path *path, const ProtobufCFieldDescriptor *field,
                       json_t *json, ProtobufCMessage *message, struct error *err)
{
    if (json_is_null(json))
        return 0;
    if (message_field_is_map(field))
        return parse_map(path, field, json, message, err);
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return parse_array(path, field, json, message, err);
    if (mark_present(path, field, message, err) < 0)
        return -1;
    return parse_value(path, field, json, message_at_mutable(message, field->offset), err);
}

static int unknown_field(const struct json_path *path, const ProtobufCMessageDescriptor *type,
                         const char *name, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(name);

    for (unsigned i = 0; i < type->n_fields; i++)
        nearest_offer(&nearest, type->fields[i].name);
    error_set(err, STATUS_INVALID_ARGUMENT, "%s%shas no field '%s'", path ? "" : type->short_name,
              path ? "" : " ", name);
    json_path_wrap(path, err);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

static int parse_fields(const struct json_path *path, const ProtobufCMessageDescriptor *type,
                        json_t *json, ProtobufCMessage *message, struct error *err)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach(json, name, value)
    {
        const struct json_path inner = {.parent = path, .key = name};
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(type, name);

        if (!field)
            return unknown_field(path, type, name, err);
        if (parse_field(&inner, field, value, message, err) < 0)
            return -1;
    }
    return 0;
}

/* "2026-01-31T12:00:00Z", with up to nine digits behind a decimal point. */
static int parse_timestamp(const struct json_path *path, const char *chars,
                           ProtobufCMessage *message, struct error *err)
{
    const ProtobufCFieldDescriptor *fields = message->descriptor->fields;
    struct tm utc = {0};
    const char *end = strptime(chars, "%Y-%m-%dT%H:%M:%S", &utc);
    int32_t nanos = 0;

    if (end && *end == '.') {
        end++;
        for (int32_t unit = 100000000; unit > 0 && *end >= '0' && *end <= '9'; unit /= 10)
            nanos += (*end++ - '0') * unit;
    }
    if (!end || strcmp(end, "Z") != 0)
        return reject_value(path, "expected a time like 2026-01-31T12:00:00Z", err);
    *(int64_t *)message_at_mutable(message, fields[0].offset) = timegm(&utc);
    *(int32_t *)message_at_mutable(message, fields[1].offset) = nanos;
    return 0;
}

static int parse_message(const struct json_path *path, const ProtobufCMessageDescriptor *type,
                         json_t *json, ProtobufCMessage **out, struct error *err)
{
    _cleanup_(message_freep) ProtobufCMessage *message = message_new(type);
    int result = 0;

    if (message_type_is_timestamp(type) && json_is_string(json))
        result = parse_timestamp(path, json_string_value(json), message, err);
    else if (message_type_is_wrapper(type) && !json_is_object(json))
        result = parse_value(path, &type->fields[0], json,
                             message_at_mutable(message, type->fields[0].offset), err);
    else if (!json_is_object(json))
        result = reject_kind(path, "an object", json, err);
    else
        result = parse_fields(path, type, json, message, err);
    if (result < 0)
        return -1;
    *out = TAKE(message);
    return 0;
}

int message_parse_json(const ProtobufCMessageDescriptor *type, json_t *json, ProtobufCMessage **out,
                       struct error *err)
{
    return parse_message(NULL, type, json, out, err);
}
