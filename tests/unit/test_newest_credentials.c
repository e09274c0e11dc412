#include "common/config/newest_credentials.h"

#include <string.h>

#include "common/base/memory.h"
#include "tests/test.h"

static struct credentials make(const char *user, const char *key)
{
    struct credentials credentials = {.user = xstrdup(user)};

    secret_set(&credentials.key, key);
    return credentials;
}

static bool note(struct newest_credentials *newest, const char *cluster, const char *user,
                 const char *key)
{
    _cleanup_credentials_ struct credentials credentials = make(user, key);

    return newest_credentials_note(newest, cluster, &credentials);
}

static void assert_key(struct newest_credentials *newest, const char *cluster, const char *user,
                       const char *key)
{
    _cleanup_credentials_ struct credentials known = make(user, "own");
    _cleanup_credentials_ struct credentials found = {0};

    newest_credentials_get(newest, cluster, &known, &found);
    assert_string_equal(found.user, user);
    assert_string_equal(secret_reveal(&found.key), key);
}

TEST(newest_key_of_a_user_is_kept)
{
    struct newest_credentials *newest = newest_credentials_new();

    assert_key(newest, "c1", "csi", "own");
    assert_false(note(newest, "c1", "csi", "first"));
    assert_false(note(newest, "c1", "csi", "first"));
    assert_key(newest, "c1", "csi", "first");
    assert_true(note(newest, "c1", "csi", "second"));
    assert_key(newest, "c1", "csi", "second");
    newest_credentials_free(newest);
}

TEST(users_and_clusters_are_told_apart)
{
    struct newest_credentials *newest = newest_credentials_new();

    note(newest, "c1", "csi", "here");
    note(newest, "c2", "csi", "there");
    assert_key(newest, "c1", "csi", "here");
    assert_key(newest, "c2", "csi", "there");
    assert_key(newest, "c1", "other", "own");
    newest_credentials_free(newest);
}

TEST(first_of_too_many_users_is_forgotten)
{
    struct newest_credentials *newest = newest_credentials_new();

    for (int i = 0; i < 257; i++) {
        _cleanup_free_ char *user = xasprintf("user-%d", i);

        note(newest, "c1", user, "noted");
    }
    assert_key(newest, "c1", "user-0", "own");
    assert_key(newest, "c1", "user-1", "noted");
    assert_key(newest, "c1", "user-256", "noted");
    newest_credentials_free(newest);
}
