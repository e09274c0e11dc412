#include "common/base/secret.h"
#include "tests/test.h"

TEST(unset_secret_is_an_empty_string)
{
    _cleanup_secret_ struct secret secret = {0};

    assert_false(secret_is_set(&secret));
    assert_string_equal(secret_reveal(&secret), "");
}

TEST(text_is_kept)
{
    _cleanup_secret_ struct secret secret = {0};
    char source[] = "AQD==";

    secret_set(&secret, source);
    source[0] = 'x';
    assert_true(secret_is_set(&secret));
    assert_int_equal(secret.length, 5);
    assert_string_equal(secret_reveal(&secret), "AQD==");
}

TEST(empty_text_counts_as_unset)
{
    _cleanup_secret_ struct secret secret = {0};

    secret_set(&secret, "");
    assert_false(secret_is_set(&secret));
}

TEST(new_text_replaces_the_old)
{
    _cleanup_secret_ struct secret secret = {0};

    secret_set(&secret, "first and longer");
    secret_set(&secret, "second");
    assert_string_equal(secret_reveal(&secret), "second");
    assert_int_equal(secret.length, 6);
}

TEST(secret_may_be_set_to_its_own_end)
{
    _cleanup_secret_ struct secret secret = {0};

    secret_set(&secret, "user:key");
    secret_set(&secret, secret_reveal(&secret) + 5);
    assert_string_equal(secret_reveal(&secret), "key");
}

TEST(copy_is_independent)
{
    _cleanup_secret_ struct secret from = {0};
    _cleanup_secret_ struct secret to = {0};

    secret_set(&from, "key");
    secret_copy(&to, &from);
    secret_done(&from);
    assert_string_equal(secret_reveal(&to), "key");
    secret_copy(&to, &from);
    assert_false(secret_is_set(&to));
}

TEST(equality_looks_at_all_bytes)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } cases[] = {{"key", "key", true}, {"key", "kex", false}, {"key", "xey", false},
                 {"key", "ke", false}, {"", "", true},        {"", "k", false}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_secret_ struct secret a = {0};
        _cleanup_secret_ struct secret b = {0};

        secret_set(&a, cases[i].a);
        secret_set(&b, cases[i].b);
        assert_int_equal(secret_is_equal(&a, &b), cases[i].equal);
    }
}

TEST(unset_secrets_are_equal)
{
    const struct secret a = {0};
    _cleanup_secret_ struct secret b = {0};

    assert_true(secret_is_equal(&a, &b));
    secret_set(&b, "");
    assert_true(secret_is_equal(&a, &b));
}

TEST(released_secret_is_unset)
{
    struct secret secret = {0};

    secret_set(&secret, "key");
    secret_done(&secret);
    assert_null(secret.bytes);
    assert_int_equal(secret.length, 0);
    secret_done(&secret);
}
