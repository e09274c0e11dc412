/*
 * Walks the packed bytes of a message beside its descriptor, before protobuf-c unpacks them.
 *
 * protobuf-c accepts invalid UTF-8, silently truncates a string at a NUL byte, has no limit on
 * depth, and needs up to forty bytes of memory for each byte of a message made of empty fields. So
 * all of this is looked at here, where the bytes are still as they came; the walk allocates nothing
 * but a few counters per nested message.
 *
 * It is stricter than protobuf in one point: a nested message that may occur once must not occur
 * twice. Merging the two is what the standard asks for, no known encoder ever sends it, and
 * protobuf-c 1.4.1 fails to merge messages that have a oneof.
 */
#include <limits.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/rpc/message_internal.h"

const struct message_limits MESSAGE_LIMITS_DEFAULT = {
    .total_bytes = 4 << 20,
    .string_bytes = 4 << 10,
    .map_bytes = 256 << 10,
    .elements = 10000,
    .fields = 500000,
    .depth = 32,
};

struct span {
    const uint8_t *at;
    const uint8_t *end;
};

struct walk {
    const ProtobufCMessageDescriptor *root;
    const struct message_limits *limits;
    size_t fields; /* seen so far */
    struct error *err;
};

/* One nested message on the way from the outside in. */
struct level {
    const struct json_path *path;
    const ProtobufCMessageDescriptor *type;
    unsigned depth;
    bool is_map_entry;
};

/* A field as it lies on the wire. */
struct wire_field {
    uint32_t number;
    unsigned wire_type;
    struct span content; /* without the length prefix */
};

/* What has been seen of one field in one message. */
struct seen {
    size_t count;
    size_t bytes;
};

static size_t span_length(struct span span)
{
    return (size_t)(span.end - span.at);
}

static int reject_value(struct walk *walk, const struct json_path *path, const char *reason)
{
    error_set(walk->err, STATUS_INVALID_ARGUMENT, "%s", reason);
    return json_path_wrap(path, walk->err);
}

static int reject_size(struct walk *walk, const struct json_path *path, size_t length, size_t limit,
                       const char *unit)
{
    error_set(walk->err, STATUS_INVALID_ARGUMENT, "%shas %zu %s, at most %zu are allowed",
              path ? "" : "request ", length, unit, limit);
    return json_path_wrap(path, walk->err);
}

/* The bytes are no message of the type: @number is the field where it shows, 0 if not even that. */
static int reject_wire(struct walk *walk, const struct level *level, uint32_t number,
                       const char *reason)
{
    error_set(walk->err, STATUS_INVALID_ARGUMENT, "%s", reason);
    if (number != 0)
        error_wrap(walk->err, "field %u", number);
    json_path_wrap(level->path, walk->err);
    return error_wrap(walk->err, "request is not a valid %s", walk->root->name);
}

/* False if it does not end within @max_bytes or the span. */
static bool read_varint(struct span *in, unsigned max_bytes, uint64_t *value)
{
    uint64_t result = 0;

    for (unsigned i = 0; i < max_bytes && in->at < in->end; i++) {
        uint8_t byte = *in->at++;

        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *value = result;
            return true;
        }
    }
    return false;
}

/* Moves @in behind the field's content. False if there is less than the wire type asks for. */
static bool read_content(struct span *in, struct wire_field *field)
{
    const uint8_t *start = in->at;
    uint64_t length = 0;

    switch (field->wire_type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        if (!read_varint(in, 10, &length))
            return false;
        field->content = (struct span){start, in->at};
        return true;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        length = 8;
        break;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        length = 4;
        break;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        if (!read_varint(in, 5, &length))
            return false;
        break;
    default:
        return false;
    }
    if (length > span_length(*in))
        return false;
    field->content = (struct span){in->at, in->at + length};
    in->at += length;
    return true;
}

static int read_field(struct walk *walk, const struct level *level, struct span *in,
                      struct wire_field *field)
{
    uint64_t tag = 0;

    if (!read_varint(in, 5, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return reject_wire(walk, level, 0, "a field has no number");
    field->number = (uint32_t)(tag >> 3);
    field->wire_type = tag & 7;
    if (field->wire_type > PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED &&
        field->wire_type != PROTOBUF_C_WIRE_TYPE_32BIT)
        return reject_wire(walk, level, field->number, "has an unknown wire type");
    if (!read_content(in, field))
        return reject_wire(walk, level, field->number, "ends too early");
    if (++walk->fields > walk->limits->fields)
        return reject_size(walk, NULL, walk->fields, walk->limits->fields, "fields");
    return 0;
}

static unsigned wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return PROTOBUF_C_WIRE_TYPE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    default:
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    }
}

/* Numbers of a repeated field may come one by one or packed into one length-prefixed field. */
static int check_packed(struct walk *walk, const struct level *level,
                        const ProtobufCFieldDescriptor *field, struct span in, size_t *count)
{
    size_t unit = message_value_size(field->type);
    uint64_t value = 0;

    if (wire_type_of(field->type) != PROTOBUF_C_WIRE_TYPE_VARINT) {
        *count = span_length(in) / unit;
        return span_length(in) % unit == 0
                   ? 0
                   : reject_wire(walk, level, field->id, "ends within a number");
    }
    for (*count = 0; in.at < in.end; ++*count)
        if (!read_varint(&in, 10, &value))
            return reject_wire(walk, level, field->id, "ends within a number");
    return 0;
}

static int check_string(struct walk *walk, const struct level *level, const struct json_path *path,
                        const ProtobufCFieldDescriptor *field, struct span in)
{
    size_t limit = level->is_map_entry ? walk->limits->map_bytes : walk->limits->string_bytes;

    if (span_length(in) > limit)
        return reject_size(walk, path, span_length(in), limit, "bytes");
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return 0;
    if (memchr(in.at, '\0', span_length(in)))
        return reject_value(walk, path, "contains a NUL byte");
    if (!text_is_utf8(in.at, span_length(in)))
        return reject_value(walk, path, "is not valid UTF-8");
    return 0;
}

static int check_message(struct walk *walk, const struct level *level, struct span in);

static int check_value(struct walk *walk, const struct level *level,
                       const ProtobufCFieldDescriptor *field, struct span in, size_t index)
{
    const struct json_path whole = {.parent = level->path, .key = field->name};
    const struct json_path element = {.parent = &whole, .index = index};
    const struct json_path *path = field->label == PROTOBUF_C_LABEL_REPEATED ? &element : &whole;
    const struct level inner = {
        .path = path,
        .type = field->descriptor,
        .depth = level->depth + 1,
        .is_map_entry = message_field_is_map(field),
    };

    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return check_string(walk, level, path, field, in);
    case PROTOBUF_C_TYPE_MESSAGE:
        return check_message(walk, &inner, in);
    default:
        return 0; /* any number is valid; unknown values of an enum are for the handler */
    }
}

/* Counts what this field adds to what was seen of it, and compares with the limits. */
static int check_count(struct walk *walk, const struct level *level,
                       const ProtobufCFieldDescriptor *field, size_t added, struct seen *seen)
{
    const struct json_path path = {.parent = level->path, .key = field->name};

    seen->count += added;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        if (seen->count > 1 && field->type == PROTOBUF_C_TYPE_MESSAGE &&
            !message_field_is_oneof(field))
            return reject_wire(walk, level, field->id, "occurs twice");
        return 0;
    }
    if (seen->count > walk->limits->elements)
        return reject_size(walk, &path, seen->count, walk->limits->elements, "elements");
    if (message_field_is_map(field) && seen->bytes > walk->limits->map_bytes)
        return reject_size(walk, &path, seen->bytes, walk->limits->map_bytes, "bytes");
    return 0;
}

static int check_field(struct walk *walk, const struct level *level,
                       const ProtobufCFieldDescriptor *field, const struct wire_field *wire,
                       struct seen *seen)
{
    unsigned expected = wire_type_of(field->type);
    bool packed = field->label == PROTOBUF_C_LABEL_REPEATED &&
                  wire->wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED &&
                  expected != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    size_t added = 1;

    if (wire->wire_type != expected && !packed)
        return reject_wire(walk, level, wire->number, "has the wrong wire type");
    if (packed && check_packed(walk, level, field, wire->content, &added) < 0)
        return -1;
    seen->bytes += span_length(wire->content);
    if (check_count(walk, level, field, added, seen) < 0)
        return -1;
    return check_value(walk, level, field, wire->content, seen->count - 1);
}

static int check_message(struct walk *walk, const struct level *level, struct span in)
{
    _cleanup_free_ struct seen *seen = xcalloc(level->type->n_fields, sizeof(*seen));

    if (level->depth > walk->limits->depth)
        return reject_size(walk, NULL, level->depth, walk->limits->depth, "levels of nesting");
    while (in.at < in.end) {
        struct wire_field wire = {.content = in};

        if (read_field(walk, level, &in, &wire) < 0)
            return -1;
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(level->type, wire.number);
        if (field && check_field(walk, level, field, &wire, &seen[field - level->type->fields]) < 0)
            return -1;
    }
    return 0;
}

int message_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t length,
                  const struct message_limits *limits, struct error *err)
{
    struct walk walk = {
        .root = type, .limits = limits ? limits : &MESSAGE_LIMITS_DEFAULT, .err = err};
    const struct level level = {.type = type, .depth = 1};

    if (!bytes || length == 0) { /* no arithmetic on NULL, which an empty message may have */
        bytes = (const uint8_t *)"";
        length = 0;
    }
    if (length > walk.limits->total_bytes)
        return reject_size(&walk, NULL, length, walk.limits->total_bytes, "bytes");
    return check_message(&walk, &level, (struct span){bytes, bytes + length});
}
