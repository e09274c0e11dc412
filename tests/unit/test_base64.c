#include "common/base/cleanup.h"
#include "common/encoding/base64.h"
#include "tests/test.h"

TEST(decodes_the_vectors_of_the_rfc)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        unsigned char bytes[16] = {0};
        size_t length = 99;

        assert_true(base64_decode(cases[i][0], bytes, sizeof(bytes), &length));
        assert_int_equal(length, strlen(cases[i][1]));
        assert_memory_equal(bytes, cases[i][1], length);
    }
}

TEST(refuses_what_is_not_base64)
{
    static const char *const cases[] = {"Z", "Zg", "Zg=", "Z===", "Zm 9", "Zm9-", "=Zm9", "Zm9v\n"};
    unsigned char bytes[16];
    size_t length = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_false(base64_decode(cases[i], bytes, sizeof(bytes), &length));
}

TEST(refuses_what_does_not_fit)
{
    unsigned char bytes[5];
    size_t length = 0;

    assert_false(base64_decode("Zm9vYmFy", bytes, sizeof(bytes), &length));
    assert_true(base64_decode("Zm9vYmE=", bytes, sizeof(bytes), &length));
}
