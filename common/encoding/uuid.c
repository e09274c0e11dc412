#include "common/encoding/uuid.h"

#include <ctype.h>
#include <string.h>
#include <uuid/uuid.h>

struct uuid_text uuid_text_generate(void)
{
    struct uuid_text text;
    uuid_t bytes;

    uuid_generate_random(bytes);
    uuid_unparse_lower(bytes, text.chars);
    return text;
}

bool uuid_text_is_valid(const char *text)
{
    for (size_t i = 0; i < UUID_LENGTH; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return text[UUID_LENGTH] == '\0';
}

bool uuid_text_at_end(const char *text, size_t length, struct uuid_text *uuid)
{
    if (length < UUID_LENGTH)
        return false;
    memcpy(uuid->chars, text + length - UUID_LENGTH, UUID_LENGTH);
    uuid->chars[UUID_LENGTH] = '\0';
    return uuid_text_is_valid(uuid->chars);
}
