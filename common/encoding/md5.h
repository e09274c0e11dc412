#pragma once

#include <stddef.h>

/* MD5 (RFC 1321), for names that others have made with it, and for nothing else: it is broken as a
 * protection against whoever chooses the input. Any thread. */
struct md5_text {
    char chars[33]; /* 32 hexadecimal digits, lower case */
};

struct md5_text md5_of(const void *bytes, size_t length);
