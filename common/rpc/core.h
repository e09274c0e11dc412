#pragma once

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

/* What server and client give to core and get from it. */

/* Settings. Core wants keys and strings mutable, but copies them. */
static inline grpc_arg core_integer_arg(const char *key, int value)
{
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

static inline grpc_arg core_string_arg(const char *key, const char *value)
{
    return (grpc_arg){.type = GRPC_ARG_STRING,
                      .key = (char *)(uintptr_t)key,
                      .value.string = (char *)(uintptr_t)value};
}

/* Caller destroys the buffer. */
static inline grpc_byte_buffer *core_pack(const ProtobufCMessage *message)
{
    grpc_slice packed = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));

    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(packed));
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&packed, 1);
    grpc_slice_unref(packed);
    return buffer;
}

/* The buffer's bytes in one piece, for the caller to unref; false if they cannot be read. */
static inline bool core_read(grpc_byte_buffer *buffer, grpc_slice *bytes)
{
    grpc_byte_buffer_reader reader;

    if (!grpc_byte_buffer_reader_init(&reader, buffer))
        return false;
    *bytes = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    return true;
}
