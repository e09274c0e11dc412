#include "common/base/network.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

static unsigned width_bits(const struct network *network)
{
    return network->is_v6 ? 128 : 32;
}

static int address_family(const struct network *network)
{
    return network->is_v6 ? AF_INET6 : AF_INET;
}

/* One to three digits, none of them a leading zero. */
static bool parse_bits(const char *text, unsigned limit, unsigned *bits)
{
    size_t length = strlen(text);

    if (length < 1 || length > 3 || strspn(text, "0123456789") != length ||
        (length > 1 && text[0] == '0'))
        return false;
    *bits = 0;
    for (size_t i = 0; i < length; i++)
        *bits = *bits * 10 + (unsigned)(text[i] - '0');
    return *bits <= limit;
}

/* Zeroes what is behind the first @bits; true if something was there. */
static bool clear_host_bits(unsigned char *bytes, unsigned bits)
{
    bool had = false;

    for (unsigned i = 0; i < 16; i++) {
        unsigned kept = bits >= (i + 1) * 8 ? 8 : bits > i * 8 ? bits - i * 8 : 0;
        unsigned char mask = (unsigned char)(0xff00U >> kept);

        had = had || (bytes[i] & (unsigned char)~mask);
        bytes[i] &= mask;
    }
    return had;
}

int network_parse(const char *text, struct network *network, bool *has_host_bits, struct error *err)
{
    struct network parsed = {0};
    char address[NETWORK_TEXT_MAX];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);

    if (length >= sizeof(address))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.64s...' is no IP address", text);
    memcpy(address, text, length);
    address[length] = '\0';
    parsed.is_v6 = strchr(address, ':') != NULL;
    if (inet_pton(address_family(&parsed), address, parsed.bytes) != 1)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no IP address", address);
    parsed.bits = width_bits(&parsed);
    if (slash && !parse_bits(slash + 1, width_bits(&parsed), &parsed.bits))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'%.80s': the length of the network must be 0 to %u", text, parsed.bits);
    bool had = clear_host_bits(parsed.bytes, parsed.bits);
    if (had && !has_host_bits) {
        char whole[NETWORK_TEXT_MAX];

        network_print(&parsed, whole);
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'%.80s' is an address inside of a network: say '%s' for all of it or "
                         "'%s/%u' for this address",
                         text, whole, address, width_bits(&parsed));
    }
    if (has_host_bits)
        *has_host_bits = had;
    *network = parsed;
    return 0;
}

void network_print_address(const struct network *network, char *text)
{
    inet_ntop(address_family(network), network->bytes, text, NETWORK_TEXT_MAX);
}

void network_print(const struct network *network, char *text)
{
    network_print_address(network, text);
    size_t length = strlen(text);
    snprintf(text + length, NETWORK_TEXT_MAX - length, "/%u", network->bits);
}

bool network_is_equal(const struct network *a, const struct network *b)
{
    return a->is_v6 == b->is_v6 && a->bits == b->bits &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool network_contains(const struct network *outer, const struct network *inner)
{
    struct network masked = *inner;

    if (outer->is_v6 != inner->is_v6 || outer->bits > inner->bits)
        return false;
    clear_host_bits(masked.bytes, outer->bits);
    return memcmp(masked.bytes, outer->bytes, sizeof(masked.bytes)) == 0;
}

void network_address_at(const struct network *network, size_t index, struct network *address)
{
    unsigned last = width_bits(network) / 8 - 1;

    *address = *network;
    address->bits = width_bits(network);
    for (unsigned i = 0; i < 4; i++)
        address->bytes[last - i] |= (unsigned char)(index >> (8 * i));
}
