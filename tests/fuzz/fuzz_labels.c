#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/topology/labels.h"
#include "common/topology/quantity.h"
#include "tests/fuzz/bytes.h"

/* Labels and quantities: each line of the input is tried as a key, a value and an amount. */

static void try_label(const char *line)
{
    _cleanup_error_ struct error key_fault = {0};
    _cleanup_error_ struct error value_fault = {0};
    bool is_key = label_key_check(line, &key_fault) == 0;
    bool is_value = label_value_check(line, &value_fault) == 0;
    const char *tail = label_tail(line);

    assert(is_key == !key_fault.message && is_value == !value_fault.message);
    assert(tail >= line && tail <= line + strlen(line));
    if (is_key)
        assert(strlen(tail) <= LABEL_NAME_MAX && tail[0] != '\0' && !strchr(tail, '/'));
    /* a key without a prefix is a value, and a value that is not empty is such a key */
    if (tail == line)
        assert(is_key == (is_value && line[0] != '\0'));
}

/* The amount of the text with a '-' before it; 0 where that is none. */
static struct quantity negative_of(const char *line)
{
    _cleanup_free_ char *text = xasprintf("-%s", line);
    _cleanup_error_ struct error err = {0};
    struct quantity negative = {0};

    if (quantity_parse(text, &negative, &err) < 0)
        assert(line[0] == '-' || line[0] == '+');
    return negative;
}

static void try_quantity(const char *line)
{
    _cleanup_error_ struct error err = {0};
    struct quantity quantity = {0};

    if (quantity_parse(line, &quantity, &err) < 0) {
        assert(err.message && quantity.nano == 0);
        return;
    }
    struct quantity negative = negative_of(line);
    __int128 value = quantity_value(&quantity);
    assert(negative.nano == 0 || negative.nano == -quantity.nano);
    assert(quantity_compare(&quantity, &quantity) == 0);
    assert(quantity_compare(&quantity, &negative) == -quantity_compare(&negative, &quantity));
    /* rounded away from zero, by less than one, unless cut off */
    __int128 excess = value * 1000000000 - quantity.nano;
    bool is_cut_off = value == INT64_MAX || value == INT64_MIN;
    assert(is_cut_off || (quantity.nano >= 0 ? excess >= 0 : excess <= 0));
    assert(is_cut_off || (excess < 1000000000 && excess > -1000000000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};

    while (bytes.size > 0) {
        _cleanup_free_ char *line = fuzz_line(&bytes);

        try_label(line);
        try_quantity(line);
    }
    return 0;
}
