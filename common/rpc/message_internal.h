#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"

/* What the parts of message.h share. */

/* The place of a value, as a chain of stack frames from the inside out; NULL is the message itself.
 * It is written out only when something is wrong there. */
struct message_path {
    const struct message_path *parent;
    const char *name;
    size_t index; /* in a repeated field; MESSAGE_PATH_SINGLE otherwise */
};

#define MESSAGE_PATH_SINGLE ((size_t)-1)

/* Appends "parameters[3].value: ", and nothing for NULL. */
void message_path_print(const struct message_path *path, struct text *out);

/* protobuf-c's descriptors do not mark maps; their entry types are recognised by their form. */
bool message_field_is_map(const ProtobufCFieldDescriptor *field);

/* google.protobuf.BoolValue and its like. */
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
