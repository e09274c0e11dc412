#include "common/rpc/message.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/rpc/message_internal.h"

void *message_new(const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *message = xcalloc(1, type->sizeof_message);

    protobuf_c_message_init(type, message);
    return message;
}

void message_free(ProtobufCMessage *message)
{
    protobuf_c_message_free_unpacked(message, NULL);
}

static void *allocate_bytes(void *context, size_t size)
{
    (void)context;
    return xmalloc(size);
}

static void zero_and_free(void *context, void *pointer)
{
    (void)context;
    if (pointer)
        explicit_bzero(pointer, malloc_usable_size(pointer));
    free(pointer);
}

ProtobufCAllocator *message_allocator(void)
{
    /* protobuf-c wants it mutable, but never writes to it */
    static ProtobufCAllocator zeroing = {.alloc = allocate_bytes, .free = zero_and_free};

    return &zeroing;
}

bool message_field_is_map(const ProtobufCFieldDescriptor *field)
{
    if (field->label != PROTOBUF_C_LABEL_REPEATED || field->type != PROTOBUF_C_TYPE_MESSAGE)
        return false;
    const ProtobufCMessageDescriptor *entry = field->descriptor;
    return entry->n_fields == 2 && entry->fields[0].id == 1 && entry->fields[1].id == 2 &&
           strcmp(entry->fields[0].name, "key") == 0 &&
           strcmp(entry->fields[1].name, "value") == 0 &&
           text_has_suffix(entry->short_name, "Entry");
}

bool message_type_is_wrapper(const ProtobufCMessageDescriptor *type)
{
    return strcmp(type->package_name, "google.protobuf") == 0 && type->n_fields == 1 &&
           strcmp(type->fields[0].name, "value") == 0 && text_has_suffix(type->short_name, "Value");
}

bool message_type_is_timestamp(const ProtobufCMessageDescriptor *type)
{
    return strcmp(type->name, "google.protobuf.Timestamp") == 0;
}

bool message_field_is_oneof(const ProtobufCFieldDescriptor *field)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

size_t message_value_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_FLOAT:
        return 4;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    }
    abort(); /* a type that protobuf-c does not have */
}

const char *message_subject(const ProtobufCMessage *message)
{
    static const char *const names[] = {"name", "volume_id", "snapshot_id", "group_snapshot_id",
                                        "source_volume_id"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(message->descriptor, names[i]);

        if (!field || field->type != PROTOBUF_C_TYPE_STRING ||
            field->label == PROTOBUF_C_LABEL_REPEATED || message_field_is_oneof(field))
            continue;
        const char *value = *(char *const *)message_at(message, field->offset);
        if (!text_is_empty(value))
            return value;
    }
    return NULL;
}
