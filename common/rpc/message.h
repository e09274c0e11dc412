#pragma once

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"
#include "common/base/text.h"

/*
 * Work on protobuf messages of any type, led by their descriptors: checking what a peer sent,
 * printing for the log, building from JSON. Any thread.
 *
 * Who makes a message on the heap uses message_new() and gives it strings from xstrdup() and arrays
 * from xmalloc(); message_free() then frees all of it. It is protobuf_c_message_free_unpacked()
 * with the default allocator, so a generated xxx__free_unpacked(m, NULL) does the same.
 */
void *message_new(const ProtobufCMessageDescriptor *type);
/* NULL is fine. */
void message_free(ProtobufCMessage *message);
DEFINE_CLEANUP(ProtobufCMessage, message_free)

/*
 * For messages that carry secrets: whatever is freed through it is zeroed first. Give it to unpack
 * and to free_unpacked.
 */
ProtobufCAllocator *message_allocator(void);

/* What a peer may send. CSI's exact limits (128 bytes for a name) are up to the handlers; these
 * keep memory and time bounded, and hold for every message. */
struct message_limits {
    size_t total_bytes;  /* the packed message */
    size_t string_bytes; /* a string or bytes field outside of maps */
    size_t map_bytes;    /* all entries of one map field, packed */
    size_t elements;     /* of one repeated field */
    size_t fields;       /* in the whole message, unknown ones included */
    unsigned depth;      /* of nesting */
};

/* 4 MiB, 4 KiB, 256 KiB, 10 000, 500 000, 32. */
extern const struct message_limits MESSAGE_LIMITS_DEFAULT;

/*
 * Checks the packed bytes of a message of @type before they are unpacked: well-formed, within
 * @limits (NULL: the default ones), and each string valid UTF-8 without a NUL byte, which cannot be
 * seen any more after unpacking. What passes, unpacks.
 *
 * Fails with INVALID_ARGUMENT. The message names the field ("parameters[3].value: contains a NUL
 * byte"), or says that the bytes are not a message of that type at all.
 */
_must_check_ int message_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                               size_t length, const struct message_limits *limits,
                               struct error *err);

/*
 * Appends @message as compact JSON under its original field names, for logs and tools: maps as
 * objects, enums by name, 64-bit integers as numbers, wrapper types as their bare value, Timestamp
 * as RFC 3339 text, bytes only by their number. Fields at their default are left out.
 *
 * Fields named "secrets" and "mount_flags" print as "***stripped***", always.
 */
void message_print_json(const ProtobufCMessage *message, struct text *out);

/*
 * Builds a message of @type from the JSON that message_print_json() prints; integers may also be
 * strings, enums numbers, and null leaves a field at its default. Strict: an unknown field or a
 * value of the wrong kind is INVALID_ARGUMENT with its path. @json is not changed. Caller frees
 * with message_free().
 */
_must_check_ int message_parse_json(const ProtobufCMessageDescriptor *type, json_t *json,
                                    ProtobufCMessage **out, struct error *err);

/*
 * What the request is about, for the log: the first of name, volume_id, snapshot_id,
 * group_snapshot_id, source_volume_id that it has and that is not empty, else NULL. Borrowed.
 */
const char *message_subject(const ProtobufCMessage *message);
