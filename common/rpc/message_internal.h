#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/encoding/json.h"

/* What the parts of message.h share. */

/* protobuf-c's descriptors do not mark maps; their entry types are recognised by their form. */
bool message_field_is_map(const ProtobufCFieldDescriptor *field);

/* google.protobuf.BoolValue and the like. */
bool message_type_is_wrapper(const ProtobufCMessageDescriptor *type);
bool message_type_is_timestamp(const ProtobufCMessageDescriptor *type);

/* True for a field of a oneof, whose quantifier is then the number of the field in use. */
bool message_field_is_oneof(const ProtobufCFieldDescriptor *field);

/* Size of one value of that type as a member or as an array's element. */
size_t message_value_size(ProtobufCType type);

static inline const void *message_at(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

static inline void *message_at_mutable(ProtobufCMessage *message, unsigned offset)
{
    return (char *)message + offset;
}
