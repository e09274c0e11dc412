#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * FNV-1a: for tables, and for names and fingerprints that are kept, hence its values never change.
 * Not for input that somebody may choose so that it collides. Any thread.
 */
#define HASH_START UINT64_C(14695981039346656037)

/* The hash of what @hash stands for, followed by @bytes. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length);
uint64_t hash_text(uint64_t hash, const char *text);
/* The same with an end mark that occurs in no UTF-8 text: "a", "bc" is not "ab", "c". */
uint64_t hash_field(uint64_t hash, const char *text);
/* Spreads the bits of a hash, so that its lowest ones are as good as any. */
uint64_t hash_mix(uint64_t hash);
