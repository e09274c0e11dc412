#include "common/topology/quantity.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/text.h"

/*
 * A quantity is digits with a point somewhere, times a unit. The part before the point is summed
 * up and multiplied; the part behind it is multiplied by the unit digit by digit from its end, as
 * on paper: what is carried over the point is whole, and any digit left behind it rounds up. So
 * numbers of any length are exact, and 128 bits are enough.
 */
typedef unsigned __int128 nanos;

#define NANO ((nanos)1000000000)
#define BINARY_MAX ((nanos)INT64_MAX * NANO)
#define DECIMAL_MAX (NANO * NANO * NANO * NANO * 100) /* 10^38 */
/* An exponent beyond this makes any number too large or too small. */
#define EXPONENT_MAX 1000000
#define DIGITS "0123456789"

struct unit {
    const char *suffix;
    unsigned base; /* 1000 or 1024 */
    int power;
};

static const struct unit UNITS[] = {
    {"n", 1000, -3}, {"u", 1000, -2}, {"m", 1000, -1}, {"", 1000, 0},
    {"k", 1000, 1},  {"M", 1000, 2},  {"G", 1000, 3},  {"T", 1000, 4},
    {"P", 1000, 5},  {"E", 1000, 6},  {"Ki", 1024, 1}, {"Mi", 1024, 2},
    {"Gi", 1024, 3}, {"Ti", 1024, 4}, {"Pi", 1024, 5}, {"Ei", 1024, 6},
};

struct number {
    const char *digits;
    size_t count;  /* of digits, without the point */
    size_t dot;    /* how many of them are written before the point */
    int64_t point; /* the same after the exponent, which may move it out of the number */
    nanos unit;
    nanos limit;
};

/* Takes digits and point off *@text. */
static int scan_digits(const char **text, struct number *number, struct error *err)
{
    size_t before = strspn(*text, DIGITS);
    bool has_dot = (*text)[before] == '.';
    size_t behind = has_dot ? strspn(*text + before + 1, DIGITS) : 0;

    if (before + behind == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "there are no digits");
    number->digits = *text;
    number->count = before + behind;
    number->dot = before;
    number->point = (int64_t)before;
    *text += number->count + (has_dot ? 1 : 0);
    return 0;
}

static const struct unit *find_unit(const char *suffix)
{
    for (size_t i = 0; i < ARRAY_LENGTH(UNITS); i++)
        if (strcmp(suffix, UNITS[i].suffix) == 0)
            return &UNITS[i];
    return NULL;
}

/* 'E' alone is a unit, with a number behind it an exponent. */
static int scan_suffix(const char *suffix, struct number *number, struct error *err)
{
    const struct unit *unit = find_unit(suffix);
    _cleanup_error_ struct error malformed = {0};
    int64_t exponent = 0;

    if (!unit) {
        if ((suffix[0] != 'e' && suffix[0] != 'E') ||
            text_parse_i64(suffix + 1, &exponent, &malformed) < 0)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "unknown suffix '%.16s' (there are n u m k M G T P E, Ki Mi Gi Ti Pi "
                             "Ei and exponents such as e6)",
                             suffix);
        unit = find_unit("");
        if (exponent > EXPONENT_MAX || exponent < -EXPONENT_MAX)
            exponent = exponent > 0 ? EXPONENT_MAX : -EXPONENT_MAX;
        number->point += exponent;
    }
    number->unit = NANO;
    for (int i = 0; i < unit->power; i++)
        number->unit *= unit->base;
    for (int i = 0; i > unit->power; i--)
        number->unit /= unit->base;
    number->limit = unit->base == 1024 ? BINARY_MAX : DECIMAL_MAX;
    return 0;
}

static unsigned digit_at(const struct number *number, size_t index)
{
    return (unsigned)(number->digits[index + (index >= number->dot ? 1 : 0)] - '0');
}

/* All digits before the point in units; stops at the limit. */
static nanos whole_part(const struct number *number)
{
    nanos sum = 0;

    for (int64_t i = 0; i < number->point && sum < number->limit; i++) {
        bool is_written = (size_t)i < number->count;

        if (!is_written && sum == 0)
            break;
        sum = sum * 10 + (is_written ? digit_at(number, (size_t)i) : 0);
    }
    return sum;
}

/* What is behind the point, in nano, rounded up. */
static nanos broken_part(const struct number *number)
{
    size_t first = number->point > 0 ? (size_t)number->point : 0;
    bool has_rest = false;
    nanos carry = 0;

    for (size_t i = number->count; i > first; i--) {
        carry += digit_at(number, i - 1) * number->unit;
        has_rest = has_rest || carry % 10 != 0;
        carry /= 10;
    }
    for (int64_t i = number->point; i < 0 && carry > 0; i++) { /* zeros before the first digit */
        has_rest = has_rest || carry % 10 != 0;
        carry /= 10;
    }
    return carry + (has_rest ? 1 : 0);
}

int quantity_parse(const char *text, struct quantity *quantity, struct error *err)
{
    bool is_negative = text[0] == '-';
    const char *rest = text + (is_negative || text[0] == '+' ? 1 : 0);
    struct number number = {0};
    nanos sum = 0;

    if (scan_digits(&rest, &number, err) < 0 || scan_suffix(rest, &number, err) < 0)
        return error_wrap(err, "quantity '%.64s'", text);
    if (__builtin_mul_overflow(whole_part(&number), number.unit, &sum) ||
        __builtin_add_overflow(sum, broken_part(&number), &sum) || sum > number.limit)
        sum = number.limit;
    quantity->nano = is_negative ? -(__int128)sum : (__int128)sum;
    return 0;
}

int quantity_compare(const struct quantity *a, const struct quantity *b)
{
    return (a->nano > b->nano) - (a->nano < b->nano);
}

int64_t quantity_value(const struct quantity *quantity)
{
    bool is_negative = quantity->nano < 0;
    nanos size = (nanos)(is_negative ? -quantity->nano : quantity->nano);
    nanos value = size / NANO + (size % NANO ? 1 : 0);

    if (value > INT64_MAX)
        return is_negative ? INT64_MIN : INT64_MAX;
    return is_negative ? -(int64_t)value : (int64_t)value;
}
