#include "controller/names.h"

#include "common/base/memory.h"
#include "tests/test.h"

/* Names of requests: CSI allows 128 bytes of any Unicode text without control characters. */

TEST(names_are_checked)
{
    static const struct {
        const char *name;
        const char *message; /* NULL: good */
    } cases[] = {
        {"pvc-1", NULL},
        {" ", NULL},
        {"~", NULL},
        {"a\tb\nc\rd", NULL}, /* the three that the specification allows */
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         NULL},
        {"\xc2\xa0", NULL}, /* U+00A0 */
        {"\xc3\x80", NULL}, /* U+00C0: its second byte alone would be one */
        {"\xc3\x9f", NULL}, /* U+00DF */
        {"", "name is missing"},
        {"\x01", "control character at byte 0"},
        {"ab\x1f", "control character at byte 2"},
        {"a\x08", "control character at byte 1"},
        {"a\x0b", "control character at byte 1"},
        {"a\x0c", "control character at byte 1"},
        {"a\x0e", "control character at byte 1"},
        {"a\x7f", "control character at byte 1"},
        {"a\xc2\x80", "control character at byte 1"},
        {"a\xc2\x9f", "control character at byte 1"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        int result = request_name_check(cases[i].name, &err);

        if (result != (cases[i].message ? -1 : 0))
            fail_msg("case %zu: %s", i, result ? err.message : "was taken");
        if (!cases[i].message)
            continue;
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("case %zu: wanted '%s', got '%s'", i, cases[i].message, err.message);
    }
}

TEST(names_have_at_most_128_bytes)
{
    _cleanup_error_ struct error err = {0};
    char name[130];

    memset(name, 'n', sizeof(name));
    name[128] = '\0';
    assert_int_equal(request_name_check(name, &err), 0);
    name[128] = 'n';
    name[129] = '\0';
    assert_int_equal(request_name_check(name, &err), -1);
    assert_string_equal(err.message, "name has 129 bytes, more than 128");
}
