#include "common/config/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

static const char *find_secret(const struct secret_entry *secrets, size_t count, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < count; i++)
        if (strcmp(secrets[i].name, name) == 0)
            value = secrets[i].value; /* protobuf maps: the last one wins */
    return text_is_empty(value) ? NULL : value;
}

void credentials_from_secrets(const struct secret_entry *secrets, size_t count,
                              struct credentials *credentials)
{
    const char *user = find_secret(secrets, count, "userID");
    const char *key = find_secret(secrets, count, "userKey");
    const char *admin = find_secret(secrets, count, "adminID");
    const char *admin_key = find_secret(secrets, count, "adminKey");
    const char *migrated_key = find_secret(secrets, count, "key");

    const bool has_both = user && key && admin && admin_key && strcmp(user, admin) != 0;

    if (!(user && key) && admin && admin_key) {
        user = admin;
        key = admin_key;
    }
    if (migrated_key) {
        user = find_secret(secrets, count, "adminId");
        user = user ? user : "admin";
        key = migrated_key;
    }
    if (user)
        credentials->user = xstrdup(user);
    if (key)
        secret_set(&credentials->key, key);
    if (has_both && !migrated_key)
        credentials->passed_over = xstrdup(admin);
}

int credentials_explain(const struct credentials *credentials, struct error *err)
{
    if (credentials->passed_over &&
        (err->status == STATUS_PERMISSION_DENIED || err->status == STATUS_UNAUTHENTICATED))
        return error_hint(err,
                          "the Secret has adminID '%s' too, which Ceph-CSI used before 3.14: give "
                          "userID '%s' the rights that it lacks, or remove userID and userKey",
                          credentials->passed_over, credentials->user);
    return -1;
}

int credentials_check(const struct credentials *credentials, struct error *err)
{
    const char *missing = !credentials->user                  ? "userID"
                          : !secret_is_set(&credentials->key) ? "userKey"
                                                              : NULL;

    if (missing)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "secrets: %s is missing; the Secret that the StorageClass names must have "
                         "userID and userKey",
                         missing);
    return 0;
}

void credentials_copy(struct credentials *to, const struct credentials *from)
{
    to->user = from->user ? xstrdup(from->user) : NULL;
    secret_copy(&to->key, &from->key);
    to->passed_over = from->passed_over ? xstrdup(from->passed_over) : NULL;
}

void credentials_done(struct credentials *credentials)
{
    free(credentials->user);
    credentials->user = NULL;
    free(credentials->passed_over);
    credentials->passed_over = NULL;
    secret_done(&credentials->key);
}
