#include <errno.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

TEST(empty_text_is_an_empty_string)
{
    _cleanup_text_ struct text text = TEXT_INIT(10);

    assert_string_equal(text_chars(&text), "");
    assert_null(text.chars);
    _cleanup_free_ char *taken = text_take(&text);
    assert_string_equal(taken, "");
}

TEST(pieces_are_put_together)
{
    _cleanup_text_ struct text text = TEXT_INIT(1000);

    text_add(&text, "pool ");
    text_addf(&text, "'%s' has %d", "rbd", 7);
    text_add_bytes(&text, " GiB and more", 4);
    assert_string_equal(text_chars(&text), "pool 'rbd' has 7 GiB");
    assert_int_equal(text.length, 20);
    assert_false(text.truncated);
}

TEST(text_stops_growing_at_its_limit)
{
    _cleanup_text_ struct text text = TEXT_INIT(5);

    text_add(&text, "abc");
    text_add(&text, "defgh");
    assert_string_equal(text_chars(&text), "abcde");
    assert_true(text.truncated);
    text_addf(&text, "%d", 1);
    assert_int_equal(text.length, 5);
}

TEST(text_that_just_fits_is_not_truncated)
{
    _cleanup_text_ struct text text = TEXT_INIT(5);

    text_add(&text, "abcde");
    assert_false(text.truncated);
    text_add(&text, "");
    assert_false(text.truncated);
    text_add(&text, "f");
    assert_true(text.truncated);
}

TEST(long_text_grows_by_itself)
{
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

    for (int i = 0; i < 10000; i++)
        text_add(&text, "0123456789");
    assert_int_equal(text.length, 100000);
    assert_int_equal(strlen(text.chars), 100000);
}

TEST(zero_bytes_are_kept)
{
    _cleanup_text_ struct text text = TEXT_INIT(10);

    text_add_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 3);
    assert_memory_equal(text.chars, "a\0b", 4);
}

TEST(taken_text_is_empty_and_keeps_its_limit)
{
    _cleanup_text_ struct text text = TEXT_INIT(4);

    text_add(&text, "abcdef");
    _cleanup_free_ char *taken = text_take(&text);
    assert_string_equal(taken, "abcd");
    assert_false(text.truncated);
    text_add(&text, "xyz");
    assert_string_equal(text_chars(&text), "xyz");
    assert_int_equal(text.limit, 4);
}

TEST(prefix_and_suffix_are_found)
{
    assert_true(text_has_prefix("csi-vol-1", "csi-vol-"));
    assert_true(text_has_prefix("abc", ""));
    assert_false(text_has_prefix("ab", "abc"));
    assert_true(text_has_suffix("image.trash", ".trash"));
    assert_true(text_has_suffix("abc", ""));
    assert_false(text_has_suffix("h", ".trash"));
    assert_false(text_has_suffix("trashes", "trash"));
}

TEST(null_counts_as_empty)
{
    assert_true(text_is_empty(NULL));
    assert_true(text_is_empty(""));
    assert_false(text_is_empty(" "));
}

struct utf8_case {
    const char *bytes;
    size_t length;
    bool valid;
};

#define UTF8(literal, is_valid)                                                                    \
    {                                                                                              \
        .bytes = (literal), .length = sizeof(literal) - 1, .valid = (is_valid)                     \
    }

TEST(utf8_is_told_from_other_bytes)
{
    static const struct utf8_case cases[] = {
        UTF8("", true),
        UTF8("plain", true),
        UTF8("a\0b", true),
        UTF8("\x7f", true),
        UTF8("\xc2\x80", true),         /* U+0080, the first of two bytes */
        UTF8("\xdf\xbf", true),         /* U+07FF */
        UTF8("\xe0\xa0\x80", true),     /* U+0800 */
        UTF8("\xed\x9f\xbf", true),     /* U+D7FF, before the surrogates */
        UTF8("\xee\x80\x80", true),     /* U+E000, behind them */
        UTF8("\xef\xbf\xbf", true),     /* U+FFFF */
        UTF8("\xf0\x90\x80\x80", true), /* U+10000 */
        UTF8("\xf4\x8f\xbf\xbf", true), /* U+10FFFF, the last */
        UTF8("z\xc3\xbcrich", true),
        UTF8("\x80", false), /* continuation without start */
        UTF8("\xbf", false),
        UTF8("a\x80", false),
        UTF8("\xc0\x80", false),         /* overlong NUL */
        UTF8("\xc1\xbf", false),         /* overlong U+007F */
        UTF8("\xe0\x80\xaf", false),     /* overlong '/' */
        UTF8("\xe0\x9f\xbf", false),     /* overlong U+07FF */
        UTF8("\xf0\x80\x80\xaf", false), /* overlong '/' */
        UTF8("\xf0\x8f\xbf\xbf", false), /* overlong U+FFFF */
        UTF8("\xed\xa0\x80", false),     /* first surrogate */
        UTF8("\xed\xbf\xbf", false),     /* last surrogate */
        UTF8("\xf4\x90\x80\x80", false), /* U+110000 */
        UTF8("\xf5\x80\x80\x80", false),
        UTF8("\xf8\x88\x80\x80\x80", false), /* five bytes */
        UTF8("\xfe", false),
        UTF8("\xff", false),
        UTF8("\xc2", false), /* cut off */
        UTF8("\xe2\x82", false),
        UTF8("\xf0\x9f\x98", false),
        UTF8("ok\xe2\x82", false),
        UTF8("\xc2"
             "a",
             false), /* start without continuation */
        UTF8("\xe2\x82"
             "a",
             false),
        UTF8("\xe2"
             "a\xac",
             false),
        UTF8("\xf0\x9f\x98"
             "a",
             false),
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (text_is_utf8(cases[i].bytes, cases[i].length) != cases[i].valid)
            fail_msg("case %zu: expected %s", i, cases[i].valid ? "valid" : "invalid");
}

TEST(utf8_cut_by_the_length_is_invalid)
{
    assert_true(text_is_utf8("\xe2\x82\xac", 3));
    assert_false(text_is_utf8("\xe2\x82\xac", 2));
    assert_false(text_is_utf8("\xe2\x82\xac", 1));
}

TEST(booleans_are_those_of_go)
{
    static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
    static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};
    static const char *const neither[] = {"", "yes", "no", "on", "tRUE", " true", "true ", "2"};

    for (size_t i = 0; i < ARRAY_LENGTH(yes); i++) {
        _cleanup_error_ struct error err = {0};
        bool value = false;

        assert_int_equal(text_parse_bool(yes[i], &value, &err), 0);
        assert_true(value);
        assert_int_equal(text_parse_bool(no[i], &value, &err), 0);
        assert_false(value);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(neither); i++) {
        _cleanup_error_ struct error err = {0};
        bool value = true;

        assert_int_equal(text_parse_bool(neither[i], &value, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_true(value);
    }
}

TEST(unsigned_numbers_are_exact)
{
    _cleanup_error_ struct error err = {0};
    uint64_t value = 1;

    assert_int_equal(text_parse_u64("0", &value, &err), 0);
    assert_true(value == 0);
    assert_int_equal(text_parse_u64("9007199254740993", &value, &err), 0);
    assert_true(value == 9007199254740993ULL);
    assert_int_equal(text_parse_u64("18446744073709551615", &value, &err), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(text_parse_u64("007", &value, &err), 0);
    assert_true(value == 7);
}

TEST(malformed_unsigned_numbers_are_refused)
{
    static const char *const cases[] = {"",     " 1",  "1 ",  "-1",  "+1",
                                        "0x10", "1.0", "1e3", "abc", "18446744073709551616"};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        uint64_t value = 42;

        assert_int_equal(text_parse_u64(cases[i], &value, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_true(value == 42);
    }
}

TEST(signed_numbers_are_exact)
{
    _cleanup_error_ struct error err = {0};
    int64_t value = 0;

    assert_int_equal(text_parse_i64("-9223372036854775808", &value, &err), 0);
    assert_true(value == INT64_MIN);
    assert_int_equal(text_parse_i64("9223372036854775807", &value, &err), 0);
    assert_true(value == INT64_MAX);
    assert_int_equal(text_parse_i64("+5", &value, &err), 0);
    assert_true(value == 5);
}

TEST(malformed_signed_numbers_are_refused)
{
    static const char *const cases[] = {
        "", " 1", "1 ", "-", "+", "--1", "+-1", "1x", "9223372036854775808"};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        int64_t value = 42;

        assert_int_equal(text_parse_i64(cases[i], &value, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_true(value == 42);
    }
}

TEST(durations_are_those_of_go)
{
    static const struct {
        const char *chars;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"0s", 0},
        {"60s", 60000},
        {"500ms", 500},
        {"1h2m3s", 3723000},
        {"1.5s", 1500},
        {"2h", 7200000},
        {"3m", 180000},
        {"1500us", 2},
        {"1.001s", 1001},
        {".5s", 500},
        {"-5s", -5000},
        {"+5s", 5000},
        {"1000\u03bcs", 1},
        {"2000000ns", 2},
        {"1m30s500ms", 90500},
        {"1000\u00b5s", 1},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        int64_t ms = -1;

        assert_int_equal(text_parse_duration_ms(cases[i].chars, &ms, &err), 0);
        assert_int_equal(ms, cases[i].ms);
    }
}

TEST(malformed_durations_are_refused)
{
    static const char *const cases[] = {"",    "60", "s",   "1s2",   "1 s",  " 1s",
                                        "1s ", "5d", "abc", "1h-2m", "infs", "999999999999999999h"};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        int64_t ms = 42;

        assert_int_equal(text_parse_duration_ms(cases[i], &ms, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_int_equal(ms, 42);
    }
}

TEST(white_space_around_is_cut_off)
{
    static const struct {
        const char *chars;
        const char *trimmed;
    } cases[] = {{"", ""}, {" \t\r\n", ""}, {"a", "a"}, {"  a b\t", "a b"}, {"a ", "a"}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *chars = xstrdup(cases[i].chars);

        assert_string_equal(text_trim(chars), cases[i].trimmed);
    }
}

TEST(file_is_read_up_to_the_limit)
{
    _cleanup_text_ struct text whole = TEXT_INIT(1024 * 1024);
    _cleanup_text_ struct text cut = TEXT_INIT(4);
    _cleanup_text_ struct text none = TEXT_INIT(4);
    _cleanup_error_ struct error err = {0};

    text_add(&whole, "> ");
    assert_int_equal(text_read_path(&whole, "/proc/self/status", &err), 0);
    assert_true(text_has_prefix(text_chars(&whole), "> Name:"));
    assert_int_equal(text_read_path(&cut, "/proc/self/status", &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, "'/proc/self/status' is larger than 4 bytes");
    error_clear(&err);
    assert_int_equal(text_read_path(&none, "/nowhere", &err), -1);
    assert_int_equal(err.sys_errno, ENOENT);
}
