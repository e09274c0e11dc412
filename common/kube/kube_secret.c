#include "common/kube/kube_secret.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/base64.h"
#include "common/kube/kube.h"

static int decode_entry(struct kube_secret *secret, const char *key, const char *encoded,
                        struct error *err)
{
    size_t limit = strlen(encoded) / 4 * 3 + 3;
    char *value = xcalloc(1, limit + 1);
    size_t length = 0;
    bool valid = base64_decode(encoded, (unsigned char *)value, limit, &length);

    if (valid && strlen(value) == length) {
        struct kube_secret_entry *entry = array_add(secret->entries, secret->count);

        entry->key = xstrdup(key);
        secret_set(&entry->value, value);
    }
    explicit_bzero(value, limit);
    free(value);
    return valid ? 0 : error_set(err, STATUS_INVALID_ARGUMENT, "entry '%s' is not base64", key);
}

/* jansson frees without wiping; nobody else has a reference to these values. */
static void wipe_data(json_t *data)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(data, key, value)
    {
        if (json_is_string(value))
            explicit_bzero((char *)(uintptr_t)json_string_value(value), json_string_length(value));
    }
}

static int decode_data(json_t *data, struct kube_secret *secret, struct error *err)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(data, key, value)
    {
        if (json_is_string(value) && decode_entry(secret, key, json_string_value(value), err) < 0)
            return -1;
    }
    return 0;
}

int kube_secret_decode(json_t *item, struct kube_secret *secret, struct error *err)
{
    _cleanup_kube_secret_ struct kube_secret decoded = {0};
    json_t *data = json_object_get(item, "data");
    int result = decode_data(data, &decoded, err);

    wipe_data(data);
    if (result < 0)
        return -1;
    *secret = decoded;
    decoded = (struct kube_secret){0};
    return 0;
}

int kube_secret_read(struct kube *kube, struct call *call, const char *name_space, const char *name,
                     struct kube_secret *secret, struct error *err)
{
    const struct kube_location location = {
        .api = "v1", .resource = "secrets", .name_space = name_space, .name = name};
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;

    if (kube_path(&location, &path, err) < 0)
        return error_wrap(err, "secret");
    if (kube->ops->get(kube, call, path, &item, err) < 0 ||
        kube_secret_decode(item, secret, err) < 0)
        return error_wrap(err, "secret '%s/%s'", name_space, name);
    return 0;
}

const struct secret *kube_secret_get(const struct kube_secret *secret, const char *key)
{
    for (size_t i = 0; i < secret->count; i++)
        if (strcmp(secret->entries[i].key, key) == 0)
            return &secret->entries[i].value;
    return NULL;
}

void kube_secret_done(struct kube_secret *secret)
{
    for (size_t i = 0; i < secret->count; i++) {
        free(secret->entries[i].key);
        secret_done(&secret->entries[i].value);
    }
    free(secret->entries);
    *secret = (struct kube_secret){0};
}
