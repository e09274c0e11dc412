#include "controller/encrypted.h"

#include <string.h>

#include "common/base/text.h"
#include "common/ceph/on_disk.h"

static int refuse(const struct located *located, const char *sign, const char *value,
                  struct error *err)
{
    error_set(err, STATUS_FAILED_PRECONDITION,
              "'%s' was encrypted by Ceph-CSI (%s is '%.64s'), and this driver cannot give its key "
              "to a copy",
              located->entry.image_name, sign, value);
    return error_hint(err, "let a Ceph-CSI controller copy it");
}

int encrypted_check_entry(const struct located *located, struct error *err)
{
    const struct journal_entry *entry = &located->entry;

    if (!text_is_empty(entry->kms_id))
        return refuse(located, JOURNAL_KEY_KMS, entry->kms_id, err);
    if (!text_is_empty(entry->encryption_type))
        return refuse(located, JOURNAL_KEY_ENCRYPTION, entry->encryption_type, err);
    return 0;
}

int encrypted_check_image(const struct located *located, struct call *call, struct error *err)
{
    struct ceph_pool *pool = located->pool;
    _cleanup_strmap_ struct strmap metadata = {0};

    if (encrypted_check_entry(located, err) < 0 ||
        pool->ops->image_metadata_get(pool, call, located->entry.image_name, &metadata, err) < 0)
        return -1;
    for (size_t i = 0; i < metadata.count; i++) {
        const struct strmap_entry *item = &metadata.entries[i];
        const char *key = item->key + (item->key[0] == '.'); /* as old versions wrote it */

        if (strcmp(key, METADATA_RBD_ENCRYPTED) == 0 && item->value[0] != '\0')
            return refuse(located, METADATA_RBD_ENCRYPTED, item->value, err);
        if (strcmp(key, METADATA_RBD_DEK) == 0)
            return refuse(located, METADATA_RBD_DEK, "set", err);
    }
    return 0;
}
