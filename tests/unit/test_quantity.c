#include "tests/unit/fixtures/topology_tables.h"

#include "common/topology/quantity.h"

/* What a text is worth: whole units rounded up, and the exact rest below the next one in nano. */
static const struct {
    const char *rule;
    const char *text;
    int64_t value;
    int64_t nano; /* of the exact amount, modulo 10^9 */
} AMOUNTS[] = {
    {"zero", "0", 0, 0},
    {"digits alone", "42", 42, 0},
    {"leading zeros", "00042", 42, 0},
    {"plus sign", "+42", 42, 0},
    {"minus sign", "-42", -42, 0},
    {"minus zero", "-0", 0, 0},
    {"k is 1000", "1k", 1000, 0},
    {"M is 1000^2", "1M", 1000000, 0},
    {"G is 1000^3", "1G", 1000000000, 0},
    {"T is 1000^4", "1T", 1000000000000, 0},
    {"P is 1000^5", "1P", 1000000000000000, 0},
    {"E is 1000^6", "1E", 1000000000000000000, 0},
    {"Ki is 1024", "1Ki", 1024, 0},
    {"Mi is 1024^2", "1Mi", 1048576, 0},
    {"Gi is 1024^3", "1Gi", 1073741824, 0},
    {"Ti is 1024^4", "1Ti", 1099511627776, 0},
    {"Pi is 1024^5", "1Pi", 1125899906842624, 0},
    {"Ei is 1024^6", "1Ei", 1152921504606846976, 0},
    {"n is a thousand-millionth, rounded up to 1", "1n", 1, 1},
    {"u is a millionth, rounded up to 1", "1u", 1, 1000},
    {"m is a thousandth, rounded up to 1", "1m", 1, 1000000},
    {"1000m are 1", "1000m", 1, 0},
    {"1001m round up to 2", "1001m", 2, 1000000},
    {"negative rounds away from zero", "-1001m", -2, -1000000},
    {"small negative is -1", "-1n", -1, -1},
    {"fraction", "1.5", 2, 500000000},
    {"fraction of a binary unit is whole", "1.5Gi", 1610612736, 0},
    {"fraction of a decimal unit is whole", "1.5G", 1500000000, 0},
    {"tenth of a binary unit rounds up", "0.1Ki", 103, 400000000},
    {"point without digits behind it", "5.", 5, 0},
    {"point without digits before it", ".5", 1, 500000000},
    {"point and suffix", "1.Gi", 1073741824, 0},
    {"finer than nano rounds up", "0.0000000001", 1, 1},
    {"finer than nano rounds away from zero", "-0.0000000001", -1, -1},
    {"nine places are exact", "0.123456789", 1, 123456789},
    {"tenth place rounds up", "0.1234567891", 1, 123456790},
    {"tenth of a nano is a nano", "0.1n", 1, 1},
    {"zeros behind the ninth place change nothing", "0.1234567890000000000000000000000", 1,
     123456789},
    {"digit far behind counts", "1.00000000000000000000000000000000000000000000000001", 2, 1},
    {"long zero is zero", "0.00000000000000000000000000000000000000000000000000", 0, 0},
    {"exponent", "12e6", 12000000, 0},
    {"capital exponent is no exa", "1E3", 1000, 0},
    {"exponent with a plus", "1e+3", 1000, 0},
    {"negative exponent", "1500e-3", 2, 500000000},
    {"exponent beyond the digits", "1e-9", 1, 1},
    {"zeros before the first digit", "12e-4", 1, 1200000},
    {"exponent finer than nano rounds up", "1e-10", 1, 1},
    {"exponent far below rounds up", "1e-400", 1, 1},
    {"exponent moves a fraction", "1.25e1", 13, 500000000},
    {"exponent zero", "7e0", 7, 0},
    {"zero with a huge exponent is zero", "0e999999999", 0, 0},
    {"zero with a huge negative exponent is zero", "0e-999999999", 0, 0},
    {"largest", "9223372036854775807", INT64_MAX, 0},
    {"one below the largest is exact", "9223372036854775806", INT64_MAX - 1, 0},
    {"beyond 2^53 is exact", "9007199254740993", 9007199254740993, 0},
    {"binary suffix is capped at 2^63-1", "8Ei", INT64_MAX, 0},
    {"largest binary below the cap", "7Ei", 8070450532247928832, 0},
    {"binary cap for many digits", "99999999999999999999999999999999999999999999999999Ki",
     INT64_MAX, 0},
    {"negative cap", "-8Ei", -INT64_MAX, 0},
    {"many digits with a decimal suffix", "99999999999999999999999999999999999999999999999999E",
     INT64_MAX, 0},
    {"huge exponent", "1e400", INT64_MAX, 0},
    {"huge negative number", "-1e400", INT64_MIN, 0},
};

static const struct {
    const char *rule;
    const char *text;
} MALFORMED[] = {
    {"empty", ""},
    {"space before", " 1"},
    {"space behind", "1 "},
    {"space between number and suffix", "1 Gi"},
    {"no number", "Gi"},
    {"sign alone", "-"},
    {"two signs", "--1"},
    {"point alone", "."},
    {"two points", "1.1.1"},
    {"comma", "1,5"},
    {"unknown suffix", "1X"},
    {"lower-case mega is none", "1mi"},
    {"lower-case kibi", "1ki"},
    {"capital K alone", "1K"},
    {"lower-case giga", "1g"},
    {"i alone", "1i"},
    {"fraction with i alone", ".5i"},
    {"byte unit", "1GiB"},
    {"exponent without a number", "1e"},
    {"exponent with a sign only", "1e-"},
    {"exponent with a fraction", "1e1.5"},
    {"exponent beyond 64 bits", "1e9223372036854775808"},
    {"exponent and suffix", "1e3Ki"},
    {"two suffixes", "1kM"},
    {"digits behind a suffix", "1k5"},
    {"hexadecimal", "0x10"},
    {"underscore", "1_000"},
    {"text", "lots"},
    {"infinity", "inf"},
};

static const struct {
    const char *rule;
    const char *a;
    const char *b;
    int order;
} ORDERS[] = {
    {"1Gi is more than 1G", "1Gi", "1G", 1},
    {"1G and 1000M are the same", "1G", "1000M", 0},
    {"1Gi and 1024Mi are the same", "1Gi", "1024Mi", 0},
    {"1 and 1000m are the same", "1", "1000m", 0},
    {"1500m and 1.5 are the same", "1500m", "1.5", 0},
    {"compared exactly, not by rounded values", "1100m", "1200m", -1},
    {"a nano decides", "1000000000n", "1000000001n", -1},
    {"negative is less", "-1", "1n", -1},
    {"more negative is less", "-2", "-1", -1},
    {"exponent and suffix are the same", "12e6", "12M", 0},
    {"decimals beyond 2^63 differ", "10E", "11E", -1},
    {"binaries beyond the cap are the same", "8Ei", "9Ei", 0},
    {"capped binary is less than a decimal beyond", "8Ei", "10E", -1},
};

static struct quantity parse(const char *rule, const char *text)
{
    _cleanup_error_ struct error err = {0};
    struct quantity quantity = {0};

    if (quantity_parse(text, &quantity, &err) < 0)
        fail_msg("%s: %s", rule, err.message);
    return quantity;
}

TEST(amounts_are_exact)
{
    for (size_t i = 0; i < ARRAY_LENGTH(AMOUNTS); i++) {
        struct quantity quantity = parse(AMOUNTS[i].rule, AMOUNTS[i].text);
        int64_t nano = (int64_t)(quantity.nano % 1000000000);

        if (quantity_value(&quantity) != AMOUNTS[i].value || nano != AMOUNTS[i].nano)
            fail_msg("%s: '%s' is %lld and %lld nano", AMOUNTS[i].rule, AMOUNTS[i].text,
                     (long long)quantity_value(&quantity), (long long)nano);
    }
    report_cases("quantities", ARRAY_LENGTH(AMOUNTS));
}

TEST(malformed_quantities_are_refused)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MALFORMED); i++) {
        _cleanup_error_ struct error err = {0};
        struct quantity quantity = {.nano = 7};

        if (quantity_parse(MALFORMED[i].text, &quantity, &err) == 0)
            fail_msg("%s: '%s' was accepted", MALFORMED[i].rule, MALFORMED[i].text);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_mentions(MALFORMED[i].rule, err.message, "quantity '");
        assert_true(quantity.nano == 7);
    }
    report_cases("malformed quantities", ARRAY_LENGTH(MALFORMED));
}

TEST(comparisons_are_exact)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ORDERS); i++) {
        struct quantity a = parse(ORDERS[i].rule, ORDERS[i].a);
        struct quantity b = parse(ORDERS[i].rule, ORDERS[i].b);

        if (quantity_compare(&a, &b) != ORDERS[i].order ||
            quantity_compare(&b, &a) != -ORDERS[i].order)
            fail_msg("%s: %d", ORDERS[i].rule, quantity_compare(&a, &b));
    }
    report_cases("quantity comparisons", ARRAY_LENGTH(ORDERS));
}
