#pragma once

#include <stdbool.h>

/*
 * The status of a failed call. Same numbers as gRPC, so that an error travels from the bottom to
 * the wire without translation; common/rpc asserts at compile time that they agree.
 */
enum status {
    STATUS_OK = 0,
    STATUS_CANCELLED = 1,
    STATUS_UNKNOWN = 2,
    STATUS_INVALID_ARGUMENT = 3,
    STATUS_DEADLINE_EXCEEDED = 4,
    STATUS_NOT_FOUND = 5,
    STATUS_ALREADY_EXISTS = 6,
    STATUS_PERMISSION_DENIED = 7,
    STATUS_RESOURCE_EXHAUSTED = 8,
    STATUS_FAILED_PRECONDITION = 9,
    STATUS_ABORTED = 10,
    STATUS_OUT_OF_RANGE = 11,
    STATUS_UNIMPLEMENTED = 12,
    STATUS_INTERNAL = 13,
    STATUS_UNAVAILABLE = 14,
    STATUS_DATA_LOSS = 15,
    STATUS_UNAUTHENTICATED = 16,
};

/* The name as gRPC's documents write it ("INVALID_ARGUMENT"); "UNKNOWN" for anything else. */
const char *status_name(enum status status);

/* Whether the operation is over. After the others (CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE,
 * ABORTED) the caller repeats the request, and the operation may still be running: what it began
 * must stay. */
bool status_is_final(enum status status);
