#include "common/volume/image_clients.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/volume/client_keys.h"

/* What cannot be read may be anybody's. */
static bool record_names(const struct strmap_entry *record, const char *address)
{
    _cleanup_error_ struct error ignored = {0};
    _cleanup_free_ char *node = NULL;

    if (!text_has_prefix(record->key, METADATA_RBD_CLIENT) &&
        !text_has_prefix(record->key, CLIENT_RECORD_RBD))
        return false;
    return client_address_parse(record->value, &node, &ignored) < 0 || strcmp(node, address) == 0;
}

/* Whether a client watches at an address that a node has recorded. */
static bool is_of_a_node(const char *watcher, const struct strmap *metadata)
{
    _cleanup_free_ char *address = NULL;
    _cleanup_error_ struct error err = {0};
    bool is_named = client_address_parse(watcher, &address, &err) < 0;

    for (size_t i = 0; i < metadata->count && !is_named; i++)
        is_named = record_names(&metadata->entries[i], address);
    return is_named;
}

int image_clients(struct ceph_pool *pool, struct call *call, const char *name,
                  const struct image_mirroring *mirroring, struct string_list *users,
                  struct error *err)
{
    const size_t daemons = pool->cluster->mirror_daemons ? pool->cluster->mirror_daemons : 1;
    _cleanup_strmap_ struct strmap metadata = {0};
    bool has_node = false;

    if (pool->ops->image_watchers(pool, call, name, users, err) < 0)
        return -1;
    if (!mirroring->is_primary || users->count == 0 || users->count > daemons)
        return 0;
    if (pool->ops->image_metadata_get(pool, call, name, &metadata, err) < 0)
        return -1;
    for (size_t i = 0; i < users->count; i++)
        has_node |= is_of_a_node(users->items[i], &metadata);
    if (!has_node)
        string_list_done(users);
    return 0;
}
