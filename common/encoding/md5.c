#include "common/encoding/md5.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64
#define LENGTH_FIELD 8 /* at the end of the last block: the input's length in bits */

static uint32_t rotate_left(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

/* The mix of round @step / 16, and which word of the block it takes. */
static uint32_t mix_words(unsigned step, uint32_t b, uint32_t c, uint32_t d, unsigned *word)
{
    switch (step / 16) {
    case 0:
        *word = step;
        return (b & c) | (~b & d);
    case 1:
        *word = (5 * step + 1) % 16;
        return (b & d) | (c & ~d);
    case 2:
        *word = (3 * step + 5) % 16;
        return b ^ c ^ d;
    default:
        *word = 7 * step % 16;
        return c ^ (b | ~d);
    }
}

static void digest_block(uint32_t state[4], const unsigned char *block)
{
    static const unsigned char shifts[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];

    for (unsigned step = 0; step < 64; step++) {
        unsigned word = 0;
        const uint32_t mixed = mix_words(step, b, c, d, &word);
        const unsigned char *p = block + (size_t)word * 4;
        const uint32_t input =
            p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        const uint32_t constant = (uint32_t)(fabs(sin(step + 1)) * 4294967296.0);
        const uint32_t sum = a + mixed + constant + input;

        a = d;
        d = c;
        c = b;
        b += rotate_left(sum, shifts[step / 16][step % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/* What is left of the input, one bit, zeros, and the length: one block or two. */
static void digest_rest(uint32_t state[4], const unsigned char *rest, size_t length,
                        uint64_t all_bytes)
{
    unsigned char blocks[2 * BLOCK] = {0};
    const size_t size = length + 1 + LENGTH_FIELD <= BLOCK ? BLOCK : sizeof(blocks);

    if (length > 0)
        memcpy(blocks, rest, length);
    blocks[length] = 0x80;
    for (unsigned i = 0; i < LENGTH_FIELD; i++)
        blocks[size - LENGTH_FIELD + i] = (unsigned char)(all_bytes * 8 >> 8 * i);
    for (size_t at = 0; at < size; at += BLOCK)
        digest_block(state, blocks + at);
}

struct md5_text md5_of(const void *bytes, size_t length)
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const unsigned char *next = bytes;
    struct md5_text text;
    size_t left = length;

    for (; left >= BLOCK; left -= BLOCK, next += BLOCK)
        digest_block(state, next);
    digest_rest(state, next, left, length);
    for (unsigned i = 0; i < 16; i++)
        snprintf(text.chars + (size_t)2 * i, 3, "%02x", state[i / 4] >> 8 * (i % 4) & 0xff);
    return text;
}
