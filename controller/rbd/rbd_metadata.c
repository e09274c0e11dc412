#include "controller/rbd/rbd_metadata.h"

#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/rbd/qos.h"

/* Keys, or beginnings of keys, that speak of one image and not of its clones. Those with a dot
 * first, such as the addresses of clients, librbd does not copy; whoever does is corrected. */
static const char *const INHERITED[] = {
    METADATA_OF_ONE,
    METADATA_KUBERNETES,
    METADATA_CLUSTER_NAME,
};

static bool is_inherited(const char *key)
{
    for (size_t i = 0; i < ARRAY_LENGTH(INHERITED); i++)
        if (text_has_prefix(key, INHERITED[i]))
            return true;
    return qos_has_key(key);
}

static int find_inherited(struct ceph_pool *pool, struct call *call, const char *name,
                          const struct strmap *kept, struct string_list *removed, struct error *err)
{
    _cleanup_strmap_ struct strmap present = {0};

    if (pool->ops->image_metadata_get(pool, call, name, &present, err) < 0)
        return -1;
    for (size_t i = 0; i < present.count; i++)
        if (is_inherited(present.entries[i].key) && !strmap_has(kept, present.entries[i].key))
            string_list_add(removed, present.entries[i].key);
    return 0;
}

int metadata_apply(struct ceph_pool *pool, struct call *call, const char *name, bool is_clone,
                   const struct strmap *entries, struct error *err)
{
    _cleanup_string_list_ struct string_list removed = {0};

    if (is_clone && find_inherited(pool, call, name, entries, &removed, err) < 0)
        return -1;
    if (entries->count == 0 && removed.count == 0)
        return 0;
    return pool->ops->image_metadata_change(pool, call, name, entries, &removed, err);
}
