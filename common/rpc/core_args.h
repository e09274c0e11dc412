#pragma once

#include <grpc/grpc.h>
#include <stdint.h>

/* Settings for core. It wants keys and strings mutable, but copies them. */

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
