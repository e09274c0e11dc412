#pragma once

#include <stdbool.h>
#include <stddef.h>

/* UUIDs in their text form of 8-4-4-4-12 hexadecimal digits. Pure, any thread. */
#define UUID_LENGTH 36

struct uuid_text {
    char chars[UUID_LENGTH + 1];
};

/* A new random (version 4) one, in lower case. */
struct uuid_text uuid_text_generate(void);

/* True if @text has exactly the form of a uuid, in either case, of any version. */
bool uuid_text_is_valid(const char *text);

/* Copies the uuid that the first @length bytes of @text end with; false if they do not. */
bool uuid_text_at_end(const char *text, size_t length, struct uuid_text *uuid);
