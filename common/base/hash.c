#include "common/base/hash.h"

#include <string.h>

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    for (const unsigned char *byte = bytes; length > 0; byte++, length--)
        hash = (hash ^ *byte) * UINT64_C(1099511628211);
    return hash;
}

uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

uint64_t hash_field(uint64_t hash, const char *text)
{
    return hash_bytes(hash_text(hash, text), "\xff", 1);
}

uint64_t hash_mix(uint64_t hash)
{
    hash ^= hash >> 33;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    hash *= UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}
