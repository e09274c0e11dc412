#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "common/rpc/message.h"
#include "common/rpc/message_internal.h"

static const char STRIPPED[] = "\"***stripped***\"";

/* csi.proto marks secrets by an option that leaves no trace in protobuf-c's descriptors, so the
 * name decides. Mount flags may hold credentials too. */
static bool is_secret(const ProtobufCFieldDescriptor *field)
{
    return strcmp(field->name, "secrets") == 0 || strcmp(field->name, "mount_flags") == 0;
}

/* Length of the part of @chars that can be copied as it is; the character behind it needs care. */
static size_t plain_length(const char *chars, bool is_utf8)
{
    size_t length = 0;

    for (;; length++) {
        unsigned char byte = (unsigned char)chars[length];

        if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\')
            return length;
        if (byte >= 0x80 && !is_utf8)
            return length;
        if (byte == 0xc2 && (unsigned char)chars[length + 1] < 0xa0)
            return length; /* U+0080 to U+009F: control characters, some terminals obey them */
    }
}

static void print_string(const char *chars, struct text *out)
{
    bool is_utf8 = text_is_utf8(chars, strlen(chars));

    text_add(out, "\"");
    while (!out->truncated) {
        size_t plain = plain_length(chars, is_utf8);

        text_add_bytes(out, chars, plain);
        chars += plain;
        if (*chars == '\0')
            break;
        unsigned char byte = (unsigned char)*chars++;
        if (byte == '"' || byte == '\\')
            text_addf(out, "\\%c", byte);
        else if (byte == '\n')
            text_add(out, "\\n");
        else if (byte == '\t')
            text_add(out, "\\t");
        else if (byte < 0x80)
            text_addf(out, "\\u%04x", byte);
        else if (is_utf8)
            text_addf(out, "\\u%04x", (unsigned char)*chars++); /* 0xc2 and the character itself */
        else
            text_add(out, "\\ufffd");
    }
    text_add(out, "\"");
}

static void print_double(double value, int digits, struct text *out)
{
    if (isfinite(value))
        text_addf(out, "%.*g", digits, value);
    else
        text_add(out, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

static void print_value(const ProtobufCFieldDescriptor *field, const void *value, struct text *out)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        text_addf(out, "%" PRId32, *(const int32_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        text_addf(out, "%" PRIu32, *(const uint32_t *)value);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        text_addf(out, "%" PRId64, *(const int64_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        text_addf(out, "%" PRIu64, *(const uint64_t *)value);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        print_double((double)*(const float *)value, 9, out);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        print_double(*(const double *)value, 17, out);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        text_add(out, *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM: {
        const ProtobufCEnumValue *known =
            protobuf_c_enum_descriptor_get_value(field->descriptor, *(const int *)value);

        if (known)
            print_string(known->name, out);
        else
            text_addf(out, "%d", *(const int *)value);
        break;
    }
    case PROTOBUF_C_TYPE_STRING: {
        const char *chars = *(char *const *)value;

        print_string(chars ? chars : "", out);
        break;
    }
    case PROTOBUF_C_TYPE_BYTES:
        text_addf(out, "\"(%zu bytes)\"", ((const ProtobufCBinaryData *)value)->len);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        message_print_json(*(ProtobufCMessage *const *)value, out);
        break;
    }
}

static const char *entry_at(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                            size_t index)
{
    const char *array = *(char *const *)message_at(message, field->offset);

    return array + index * message_value_size(field->type);
}

/* A later entry with the same key wins, but both are shown: the log has what came. */
static void print_map(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                      struct text *out)
{
    size_t count = *(const size_t *)message_at(message, field->quantifier_offset);
    const ProtobufCMessageDescriptor *type = field->descriptor;
    bool quoted = type->fields[0].type == PROTOBUF_C_TYPE_STRING;

    text_add(out, "{");
    for (size_t i = 0; i < count && !out->truncated; i++) {
        const ProtobufCMessage *entry =
            *(ProtobufCMessage *const *)(const void *)entry_at(message, field, i);

        text_add(out, i > 0 ? "," : "");
        text_add(out, quoted ? "" : "\"");
        print_value(&type->fields[0], message_at(entry, type->fields[0].offset), out);
        text_add(out, quoted ? ":" : "\":");
        print_value(&type->fields[1], message_at(entry, type->fields[1].offset), out);
    }
    text_add(out, "}");
}

static bool is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    static const char zeros[sizeof(ProtobufCBinaryData)];
    const void *value = message_at(message, field->offset);

    if (message_field_is_oneof(field))
        return *(const uint32_t *)message_at(message, field->quantifier_offset) == field->id;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)message_at(message, field->quantifier_offset) > 0;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return !text_is_empty(*(char *const *)value);
    if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->type != PROTOBUF_C_TYPE_MESSAGE)
        return *(const protobuf_c_boolean *)message_at(message, field->quantifier_offset) != 0;
    return memcmp(value, zeros, message_value_size(field->type)) != 0;
}

static void print_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                        struct text *out)
{
    text_addf(out, "\"%s\":", field->name);
    if (is_secret(field)) {
        text_add(out, STRIPPED);
    } else if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        print_value(field, message_at(message, field->offset), out);
    } else if (message_field_is_map(field)) {
        print_map(message, field, out);
    } else {
        size_t count = *(const size_t *)message_at(message, field->quantifier_offset);

        text_add(out, "[");
        for (size_t i = 0; i < count && !out->truncated; i++) {
            text_add(out, i > 0 ? "," : "");
            print_value(field, entry_at(message, field, i), out);
        }
        text_add(out, "]");
    }
}

/* False if the time has no RFC 3339 form. */
static bool print_timestamp(const ProtobufCMessage *message, struct text *out)
{
    const ProtobufCFieldDescriptor *fields = message->descriptor->fields;
    time_t seconds = (time_t) * (const int64_t *)message_at(message, fields[0].offset);
    int32_t nanos = *(const int32_t *)message_at(message, fields[1].offset);
    char date[32];
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || utc.tm_year < 1 - 1900 || utc.tm_year > 9999 - 1900 ||
        nanos < 0 || nanos > 999999999)
        return false;
    strftime(date, sizeof(date), "%FT%T", &utc);
    text_addf(out, "\"%s", date);
    if (nanos != 0)
        text_addf(out, ".%09d", nanos);
    text_add(out, "Z\"");
    return true;
}

void message_print_json(const ProtobufCMessage *message, struct text *out)
{
    bool first = true;

    if (!message) {
        text_add(out, "null");
        return;
    }
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (message_type_is_wrapper(type)) {
        print_value(&type->fields[0], message_at(message, type->fields[0].offset), out);
        return;
    }
    if (message_type_is_timestamp(type) && print_timestamp(message, out))
        return;
    text_add(out, "{");
    for (unsigned i = 0; i < type->n_fields && !out->truncated; i++) {
        if (!is_present(message, &type->fields[i]))
            continue;
        text_add(out, first ? "" : ",");
        print_field(message, &type->fields[i], out);
        first = false;
    }
    text_add(out, "}");
}
