#include "common/config/credentials.h"
#include "tests/test.h"

#define KEY "AQDmykFTGsMDDBAAMB3zWwBG3sxJhWn0VgLRBg=="
#define OTHER_KEY "AQB2cEFTx5IHMRAAS9Vfh2UOxyh8/Zb1w7bZkQ=="

TEST(keys_of_a_secret_become_user_and_key)
{
    static const struct {
        const char *what;
        struct secret_entry secrets[4];
        size_t count;
        const char *user; /* NULL: unset */
        const char *key;  /* "": unset */
    } cases[] = {
        {"as the examples have it", {{"userID", "rbd"}, {"userKey", KEY}}, 2, "rbd", KEY},
        {"other order", {{"userKey", KEY}, {"userID", "rbd"}}, 2, "rbd", KEY},
        {"beside a passphrase",
         {{"encryptionPassphrase", "x"}, {"userID", "rbd"}, {"userKey", KEY}},
         3,
         "rbd",
         KEY},
        {"nothing", {{0}}, 0, NULL, ""},
        {"other keys only", {{"encryptionPassphrase", "x"}, {"monitors", "a"}}, 2, NULL, ""},
        {"no key", {{"userID", "rbd"}}, 1, "rbd", ""},
        {"no user", {{"userKey", KEY}}, 1, NULL, KEY},
        {"empty user", {{"userID", ""}, {"userKey", KEY}}, 2, NULL, KEY},
        {"empty key", {{"userID", "rbd"}, {"userKey", ""}}, 2, "rbd", ""},
        {"case matters", {{"userid", "rbd"}, {"UserKey", KEY}}, 2, NULL, ""},
        /* CephFS before Ceph-CSI 3.14 */
        {"admin's pair", {{"adminID", "admin"}, {"adminKey", KEY}}, 2, "admin", KEY},
        {"half of the admin's pair", {{"adminID", "admin"}, {"userKey", KEY}}, 2, NULL, KEY},
        {"the user's pair comes first",
         {{"adminID", "admin"}, {"adminKey", OTHER_KEY}, {"userID", "fs"}, {"userKey", KEY}},
         4,
         "fs",
         KEY},
        {"a pair that is complete comes first",
         {{"adminID", "admin"}, {"adminKey", KEY}, {"userID", "fs"}},
         3,
         "admin",
         KEY},
        /* volumes that were migrated from the in-tree driver */
        {"migrated", {{"key", KEY}, {"adminId", "kube"}}, 2, "kube", KEY},
        {"migrated, default user", {{"key", KEY}}, 1, "admin", KEY},
        {"migrated, empty user", {{"key", KEY}, {"adminId", ""}}, 2, "admin", KEY},
        {"migrated, with the user of the other form",
         {{"key", KEY}, {"userID", "rbd"}},
         2,
         "admin",
         KEY},
        {"migrated wins",
         {{"userID", "rbd"}, {"userKey", OTHER_KEY}, {"key", KEY}, {"adminId", "kube"}},
         4,
         "kube",
         KEY},
        {"empty migration key is none",
         {{"userID", "rbd"}, {"userKey", KEY}, {"key", ""}, {"adminId", "kube"}},
         4,
         "rbd",
         KEY},
        {"user of migration without its key",
         {{"userID", "rbd"}, {"userKey", KEY}, {"adminId", "kube"}},
         3,
         "rbd",
         KEY},
        {"in-tree spelling is not CephFS's", {{"key", KEY}, {"adminID", "kube"}}, 2, "admin", KEY},
        /* protobuf: the last of equal keys counts */
        {"user given twice",
         {{"userID", "first"}, {"userID", "rbd"}, {"userKey", KEY}},
         3,
         "rbd",
         KEY},
        {"key given twice",
         {{"userID", "rbd"}, {"userKey", OTHER_KEY}, {"userKey", KEY}},
         3,
         "rbd",
         KEY},
        {"taken back", {{"userID", "rbd"}, {"userKey", KEY}, {"userKey", ""}}, 3, "rbd", ""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_credentials_ struct credentials credentials = {0};

        credentials_from_secrets(cases[i].secrets, cases[i].count, &credentials);
        if (!cases[i].user != !credentials.user ||
            (cases[i].user && strcmp(credentials.user, cases[i].user) != 0))
            fail_msg("%s: user '%s'", cases[i].what, credentials.user ? credentials.user : "");
        if (strcmp(secret_reveal(&credentials.key), cases[i].key) != 0)
            fail_msg("%s: wrong key", cases[i].what);
        assert_int_equal(secret_is_set(&credentials.key), cases[i].key[0] != '\0');
    }
}

TEST(credentials_are_copies)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    char user[] = "rbd";
    char key[] = KEY;
    const struct secret_entry secrets[] = {{"userID", user}, {"userKey", key}};

    credentials_from_secrets(secrets, ARRAY_LENGTH(secrets), &credentials);
    user[0] = 'x';
    memset(key, 'x', strlen(key));
    assert_string_equal(credentials.user, "rbd");
    assert_string_equal(secret_reveal(&credentials.key), KEY);
}

TEST(complete_credentials_pass)
{
    static const struct secret_entry secrets[] = {{"userID", "rbd"}, {"userKey", KEY}};
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    credentials_from_secrets(secrets, ARRAY_LENGTH(secrets), &credentials);
    assert_int_equal(credentials_check(&credentials, &err), 0);
    assert_null(err.message);
}

static void assert_missing(const struct secret_entry *secrets, size_t count, const char *message)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    credentials_from_secrets(secrets, count, &credentials);
    assert_int_equal(credentials_check(&credentials, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, message);
}

TEST(missing_part_is_named)
{
    static const struct secret_entry user[] = {{"userID", "rbd"}};
    static const struct secret_entry key[] = {{"userKey", KEY}};
    static const struct secret_entry empty[] = {{"userID", ""}, {"userKey", ""}};
    static const char no_user[] = "secrets: userID is missing; the Secret that the StorageClass "
                                  "names must have userID and userKey";
    static const char no_key[] = "secrets: userKey is missing; the Secret that the StorageClass "
                                 "names must have userID and userKey";

    assert_missing(NULL, 0, no_user);
    assert_missing(empty, 2, no_user);
    assert_missing(key, 1, no_user);
    assert_missing(user, 1, no_key);
}

TEST(refusal_does_not_show_the_values)
{
    static const struct secret_entry secrets[] = {
        {"userKey", KEY}, {"adminKey", OTHER_KEY}, {"encryptionPassphrase", "correct horse"}};
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    credentials_from_secrets(secrets, ARRAY_LENGTH(secrets), &credentials);
    assert_int_equal(credentials_check(&credentials, &err), -1);
    assert_null(strstr(err.message, "AQ"));
    assert_null(strstr(err.message, "horse"));
}

TEST(released_credentials_are_unset)
{
    static const struct secret_entry secrets[] = {{"userID", "rbd"}, {"userKey", KEY}};
    struct credentials credentials = {0};

    credentials_from_secrets(secrets, ARRAY_LENGTH(secrets), &credentials);
    credentials_done(&credentials);
    assert_null(credentials.user);
    assert_false(secret_is_set(&credentials.key));
    credentials_done(&credentials);
    credentials_from_secrets(secrets, ARRAY_LENGTH(secrets), &credentials);
    assert_string_equal(credentials.user, "rbd");
    credentials_done(&credentials);
}

/* --- secrets with two pairs --- */

static void check_hint(const struct secret_entry *secrets, size_t count, enum status status,
                       bool expected)
{
    _cleanup_credentials_ struct credentials given = {0};
    _cleanup_credentials_ struct credentials copy = {0};
    _cleanup_error_ struct error err = {0};

    credentials_from_secrets(secrets, count, &given);
    credentials_copy(&copy, &given);
    error_set(&err, status, "create volume 'pvc-1'");
    assert_int_equal(credentials_explain(&copy, &err), -1);
    assert_int_equal(err.status, status);
    assert_int_equal(strstr(err.message, "adminID 'boss'") && strstr(err.message, "userID 'fs'"),
                     expected);
    assert_null(strstr(err.message, OTHER_KEY));
}

TEST(refused_user_is_told_of_the_admin_that_was_passed_over)
{
    static const struct secret_entry both[] = {
        {"userID", "fs"}, {"userKey", KEY}, {"adminID", "boss"}, {"adminKey", OTHER_KEY}};
    static const struct secret_entry same[] = {
        {"userID", "fs"}, {"userKey", KEY}, {"adminID", "fs"}, {"adminKey", KEY}};
    static const struct secret_entry half[] = {
        {"userID", "fs"}, {"adminID", "boss"}, {"adminKey", OTHER_KEY}};

    check_hint(both, 4, STATUS_PERMISSION_DENIED, true);
    check_hint(both, 4, STATUS_UNAUTHENTICATED, true);
    check_hint(both, 4, STATUS_NOT_FOUND, false);
    check_hint(both, 2, STATUS_PERMISSION_DENIED, false);
    check_hint(same, 4, STATUS_PERMISSION_DENIED, false);
    check_hint(half, 3, STATUS_PERMISSION_DENIED, false); /* boss was refused */
}
