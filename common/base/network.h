#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* An IP network, or one address, which is a network with all its bits. Pure, any thread. */
struct network {
    bool is_v6;
    unsigned char bytes[16]; /* the first four for IPv4; host bits are zero */
    unsigned bits;
};

#define NETWORK_TEXT_MAX 64 /* bytes that hold any of the texts below */

/*
 * Reads "192.0.2.0/24", "fd00::/64", or an address without a length. Strict: no blanks, no leading
 * zeros, no zones, a length that the family has. *@has_host_bits (may be NULL, then such a text is
 * refused) says that the address was not the network's first ("192.0.2.77/24"). INVALID_ARGUMENT
 * naming the text.
 */
_must_check_ int network_parse(const char *text, struct network *network, bool *has_host_bits,
                               struct error *err);

/* "192.0.2.0/24"; and without the length. @text holds NETWORK_TEXT_MAX bytes. */
void network_print(const struct network *network, char *text);
void network_print_address(const struct network *network, char *text);

bool network_is_equal(const struct network *a, const struct network *b);
/* Whether all of @inner is in @outer. */
bool network_contains(const struct network *outer, const struct network *inner);

/* The @index-th address of an IPv4 network or of an IPv6 network of less than 2^32 addresses. */
void network_address_at(const struct network *network, size_t index, struct network *address);
