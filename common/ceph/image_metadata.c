/*
 * An image's metadata, which are keys in the omap of its header object. They are read and written
 * there, in two or three round trips: opening the image takes about ten, and to change anything
 * librbd would first take the exclusive lock from whoever has the image mapped. It does so only
 * where it must: for settings, of which it notifies those who have the image open, for images with
 * a journal, which carries the change to a mirror, and for those that are being migrated.
 */
#include <endian.h>
#include <errno.h>
#include <rbd/librbd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/connections.h"
#include "common/ceph/images.h"
#include "common/ceph/on_disk.h"

#define NEEDS_LIBRBD (IMAGE_FEATURE_JOURNALING | IMAGE_FEATURE_MIGRATING)

static int find_header(struct ceph_pool *pool, struct call *call, const char *name, char **object,
                       struct error *err)
{
    _cleanup_free_ char *id = NULL;

    if (image_get_id(pool, call, name, &id, err) < 0)
        return -1;
    *object = xasprintf(RBD_HEADER_PREFIX "%s", id);
    return 0;
}

static int image_metadata_get(struct ceph_pool *pool, struct call *call, const char *name,
                              struct strmap *entries, struct error *err)
{
    _cleanup_free_ char *object = NULL;
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    if (find_header(pool, call, name, &object, err) < 0)
        return -1;
    while (more) {
        _cleanup_strmap_ struct strmap found = {0};

        if (object_list_keys(pool, call, object, after, RBD_HEADER_METADATA, &found, &more, err) <
            0)
            return error_wrap(err, "read the metadata of image '%s'", name);
        for (size_t i = 0; i < found.count; i++)
            strmap_set(entries, found.entries[i].key + strlen(RBD_HEADER_METADATA),
                       found.entries[i].value);
        if (found.count == 0)
            break;
        free(after);
        after = xstrdup(found.entries[found.count - 1].key);
    }
    return 0;
}

/* Input: the snapshot, here none, and whether for reading only. Output: the features, then those of
 * them that a client must know. */
static int read_features(struct ceph_pool *pool, struct call *call, const char *header,
                         uint64_t *features, struct error *err)
{
    const uint64_t no_snapshot = htole64((uint64_t)-2);
    char input[sizeof(no_snapshot) + 1] = {0};
    char output[64];
    size_t length = 0;

    memcpy(input, &no_snapshot, sizeof(no_snapshot));
    input[sizeof(no_snapshot)] = 1;
    if (object_exec(pool, call, header, "get_features", input, sizeof(input), output,
                    sizeof(output), &length, err) < 0)
        return -1;
    if (length < sizeof(*features))
        return error_set(err, STATUS_DATA_LOSS, "the features in '%s' in pool '%s' are broken",
                         header, pool->name);
    memcpy(features, output, sizeof(*features));
    *features = le64toh(*features);
    return 0;
}

static int image_get_features(struct ceph_pool *pool, struct call *call, const char *name,
                              uint64_t *features, struct error *err)
{
    _cleanup_free_ char *object = NULL;

    if (find_header(pool, call, name, &object, err) < 0)
        return -1;
    return read_features(pool, call, object, features, err);
}

static bool has_setting(const struct strmap *entries, const struct string_list *removed)
{
    for (size_t i = 0; i < entries->count; i++)
        if (text_has_prefix(entries->entries[i].key, METADATA_SETTING))
            return true;
    for (size_t i = 0; removed && i < removed->count; i++)
        if (text_has_prefix(removed->items[i], METADATA_SETTING))
            return true;
    return false;
}

static int change_with_librbd(struct ceph_pool *pool, struct call *call, const char *name,
                              const struct strmap *entries, const struct string_list *removed,
                              struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    int result = 0;

    if (image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    for (size_t i = 0; result == 0 && i < entries->count; i++)
        result = rbd_metadata_set(image.handle, entries->entries[i].key, entries->entries[i].value);
    for (size_t i = 0; result == 0 && removed && i < removed->count; i++) {
        result = rbd_metadata_remove(image.handle, removed->items[i]);
        if (result == -ENOENT)
            result = 0;
    }
    if (result < 0)
        return error_set_errno(err, result, "change the metadata of image '%s' in pool '%s'", name,
                               pool->name);
    return 0;
}

static int image_metadata_change(struct ceph_pool *pool, struct call *call, const char *name,
                                 const struct strmap *entries, const struct string_list *removed,
                                 struct error *err)
{
    _cleanup_free_ char *header = NULL;
    _cleanup_strmap_ struct strmap set = {0};
    _cleanup_string_list_ struct string_list gone = {0};
    uint64_t features = 0;

    if (has_setting(entries, removed))
        return change_with_librbd(pool, call, name, entries, removed, err);
    if (find_header(pool, call, name, &header, err) < 0 ||
        read_features(pool, call, header, &features, err) < 0)
        return -1;
    if (features & NEEDS_LIBRBD)
        return change_with_librbd(pool, call, name, entries, removed, err);
    for (size_t i = 0; i < entries->count; i++) {
        _cleanup_free_ char *key = xasprintf(RBD_HEADER_METADATA "%s", entries->entries[i].key);

        strmap_set(&set, key, entries->entries[i].value);
    }
    for (size_t i = 0; removed && i < removed->count; i++) {
        _cleanup_free_ char *key = xasprintf(RBD_HEADER_METADATA "%s", removed->items[i]);

        string_list_add(&gone, key);
    }
    if (object_change_keys(pool, call, header, &set, &gone, err) < 0)
        return error_wrap(err, "change the metadata of image '%s'", name);
    return 0;
}

void image_metadata_register(struct ceph_ops *ops)
{
    ops->image_get_features = image_get_features;
    ops->image_metadata_get = image_metadata_get;
    ops->image_metadata_change = image_metadata_change;
}
