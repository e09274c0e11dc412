#include "common/encoding/base64.h"

#include <string.h>

static int digit_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;

    return found ? (int)(found - digits) : -1;
}

bool base64_decode(const char *text, unsigned char *bytes, size_t limit, size_t *length)
{
    size_t text_length = strlen(text);
    size_t padding = 0;
    size_t written = 0;
    unsigned bits = 0;

    while (padding < 2 && padding < text_length && text[text_length - 1 - padding] == '=')
        padding++;
    if (text_length % 4 != 0)
        return false;
    for (size_t i = 0; i < text_length - padding; i++) {
        int value = digit_value(text[i]);

        if (value < 0)
            return false;
        bits = bits << 6 | (unsigned)value;
        if (i % 4 == 0)
            continue;
        if (written == limit)
            return false;
        bytes[written++] = (unsigned char)(bits >> (6 - i % 4 * 2));
    }
    *length = written;
    return true;
}
