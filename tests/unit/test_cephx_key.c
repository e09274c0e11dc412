#include "common/ceph/cephx_key.h"
#include "common/ceph/library_version.h"
#include "tests/test.h"

/* As 'ceph-authtool --gen-print-key' of Ceph 16.2 and 20.2.4 prints them. */
#define KEY_AES "AQDm8i1pAAAAABAAnLGmNPFHYtm4lqXPDDSRdQ=="
#define KEY_AES256K "AgDm8i1pAAAAACAAMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define KEY_TOO_LONG "AQDm8i1pAAAAABAAnLGmNPFHYtm4lqXPDDSRdQ==AAAA"
#define KEY_TYPE_3 "AwDm8i1pAAAAABAAnLGmNPFHYtm4lqXPDDSRdQ=="

static void check_key(const char *text, const char *version, const char *expected)
{
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};

    secret_set(&key, text);
    int result = cephx_key_check(&key, version, &err);
    assert_int_equal(result, expected ? -1 : 0);
    if (!expected)
        return;
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
    if (!strstr(err.message, expected))
        fail_msg("'%s' does not say '%s'", err.message, expected);
    assert_true(text[0] == '\0' || !strstr(err.message, text));
}

TEST(keys_of_type_1_are_known_to_every_library)
{
    check_key(KEY_AES, "16.2.15", NULL);
    check_key(KEY_AES, "20.2.4", NULL);
    check_key(KEY_AES, "unknown", NULL);
}

TEST(keys_of_type_2_need_a_library_that_knows_them)
{
    check_key(KEY_AES256K, "20.2.4", NULL);
    check_key(KEY_AES256K, "19.2.6", NULL);
    check_key(KEY_AES256K, "16.2.15", "of this driver, version 16.2.15, do not know");
    check_key(KEY_AES256K, "unknown", "version unknown");
}

TEST(other_types_are_named)
{
    check_key(KEY_TYPE_3, "99.2.0", "a key of type 3; this driver knows types 1");
}

TEST(what_is_no_key_is_refused)
{
    static const char *const cases[] = {
        "",           "secret", "AQ==", "AQDm8i1pAAAAABAA", "AQDm8i1pAAAAABAAnLGmNPFHYtm4lqXPDDSR",
        KEY_TOO_LONG,
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check_key(cases[i], "20.2.4", "it is not a Ceph key");
}

TEST(releases_that_know_keys_of_type_2)
{
    static const char *const known[] = {"19.2.6", "19.3.0", "20.2.4", "20.3.0", "21.0.0"};
    static const char *const unknown[] = {"18.2.7", "19.2.5", "20.2.3", "20.1.9", "", "x"};

    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        assert_true(library_knows_aes256k(known[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(unknown); i++)
        assert_false(library_knows_aes256k(unknown[i]));
}

TEST(the_type_of_a_key_has_a_name)
{
    static const struct {
        const char *text;
        unsigned type;
        const char *name;
    } cases[] = {{KEY_AES, 1, "aes"},
                 {KEY_AES256K, 2, "aes256k"},
                 {KEY_TYPE_3, 3, "unknown"},
                 {"secret", 0, "unknown"}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_secret_ struct secret key = {0};

        secret_set(&key, cases[i].text);
        assert_int_equal(cephx_key_type(&key), cases[i].type);
        assert_string_equal(cephx_key_type_name(cephx_key_type(&key)), cases[i].name);
    }
}
