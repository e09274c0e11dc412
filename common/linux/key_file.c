#include "common/linux/key_file.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"

#define REMOVE_TRIES 3

bool key_is_plain(const struct secret *key)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789+/=";

    return key->length > 0 && strspn(secret_reveal(key), digits) == key->length;
}

int key_refuse(const char *user, struct error *err)
{
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "the key of user 'client.%s' has characters that a key of Ceph has not; "
                     "userKey in the Secret must be what 'ceph auth get-key client.%s' prints",
                     user, user);
}

void key_file_remove(struct host *host, struct call *call, const char *path)
{
    _cleanup_error_ struct error err = {0};

    for (int tries = 0; tries < REMOVE_TRIES; tries++) {
        error_clear(&err);
        if (host->ops->remove(host, path, &err) == 0)
            return;
    }
    log_warn(call, "a key file stays behind until the next start: %s", err.message);
}

int key_files_clear(struct host *host, const char *run_dir, struct error *err)
{
    _cleanup_free_ char *folder = xasprintf("%s/" KEY_FOLDER, run_dir);
    _cleanup_string_list_ struct string_list names = {0};

    if (host->ops->list(host, folder, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        _cleanup_free_ char *path = xasprintf("%s/%s", folder, names.items[i]);

        if (host->ops->remove(host, path, err) < 0)
            return -1;
    }
    return 0;
}
