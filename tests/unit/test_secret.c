#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/secret.h"

static void unset_secret_is_an_empty_string(void **state)
{
    _cleanup_secret_ struct secret secret = {0};

    (void)state;
    assert_false(secret_is_set(&secret));
    assert_string_equal(secret_reveal(&secret), "");
}

static void text_is_kept(void **state)
{
    _cleanup_secret_ struct secret secret = {0};
    char source[] = "AQD==";

    (void)state;
    secret_set(&secret, source);
    source[0] = 'x';
    assert_true(secret_is_set(&secret));
    assert_int_equal(secret.length, 5);
    assert_string_equal(secret_reveal(&secret), "AQD==");
}

static void empty_text_counts_as_unset(void **state)
{
    _cleanup_secret_ struct secret secret = {0};

    (void)state;
    secret_set(&secret, "");
    assert_false(secret_is_set(&secret));
}

static void new_text_replaces_the_old(void **state)
{
    _cleanup_secret_ struct secret secret = {0};

    (void)state;
    secret_set(&secret, "first and longer");
    secret_set(&secret, "second");
    assert_string_equal(secret_reveal(&secret), "second");
    assert_int_equal(secret.length, 6);
}

static void secret_may_be_set_to_its_own_end(void **state)
{
    _cleanup_secret_ struct secret secret = {0};

    (void)state;
    secret_set(&secret, "user:key");
    secret_set(&secret, secret_reveal(&secret) + 5);
    assert_string_equal(secret_reveal(&secret), "key");
}

static void copy_is_independent(void **state)
{
    _cleanup_secret_ struct secret from = {0};
    _cleanup_secret_ struct secret to = {0};

    (void)state;
    secret_set(&from, "key");
    secret_copy(&to, &from);
    secret_done(&from);
    assert_string_equal(secret_reveal(&to), "key");
    secret_copy(&to, &from);
    assert_false(secret_is_set(&to));
}

static void equality_looks_at_all_bytes(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } cases[] = {{"key", "key", true}, {"key", "kex", false}, {"key", "xey", false},
                 {"key", "ke", false}, {"", "", true},        {"", "k", false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_secret_ struct secret a = {0};
        _cleanup_secret_ struct secret b = {0};

        secret_set(&a, cases[i].a);
        secret_set(&b, cases[i].b);
        assert_int_equal(secret_is_equal(&a, &b), cases[i].equal);
    }
}

static void unset_secrets_are_equal(void **state)
{
    const struct secret a = {0};
    _cleanup_secret_ struct secret b = {0};

    (void)state;
    assert_true(secret_is_equal(&a, &b));
    secret_set(&b, "");
    assert_true(secret_is_equal(&a, &b));
}

static void released_secret_is_unset(void **state)
{
    struct secret secret = {0};

    (void)state;
    secret_set(&secret, "key");
    secret_done(&secret);
    assert_null(secret.bytes);
    assert_int_equal(secret.length, 0);
    secret_done(&secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_secret_is_an_empty_string),
        cmocka_unit_test(text_is_kept),
        cmocka_unit_test(empty_text_counts_as_unset),
        cmocka_unit_test(new_text_replaces_the_old),
        cmocka_unit_test(secret_may_be_set_to_its_own_end),
        cmocka_unit_test(copy_is_independent),
        cmocka_unit_test(equality_looks_at_all_bytes),
        cmocka_unit_test(unset_secrets_are_equal),
        cmocka_unit_test(released_secret_is_unset),
    };

    return cmocka_run_group_tests_name("secret", tests, NULL, NULL);
}
