#include "common/ceph/filesystem.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"

struct dumped_filesystem {
    int64_t id;
    char *name;
    int64_t metadata_pool;
    json_t *data_pools; /* ids */
};

struct fsmap {
    struct dumped_filesystem *items;
    size_t count;
};

static const struct json_field FILESYSTEM_FIELDS[] = {
    JSON_FIELD_INT("id", struct dumped_filesystem, id),
    JSON_FIELD_STRING("mdsmap.fs_name", struct dumped_filesystem, name),
    JSON_FIELD_INT("mdsmap.metadata_pool", struct dumped_filesystem, metadata_pool),
    JSON_FIELD_VALUE("mdsmap.data_pools", struct dumped_filesystem, data_pools),
};
static const struct json_table FILESYSTEM = JSON_TABLE(struct dumped_filesystem, FILESYSTEM_FIELDS);

static const struct json_field FSMAP_FIELDS[] = {
    JSON_FIELD_OBJECTS("filesystems", struct fsmap, items, count, &FILESYSTEM),
};
static const struct json_table FSMAP = JSON_TABLE(struct fsmap, FSMAP_FIELDS);

static void take_filesystems(struct fsmap *map, struct filesystem_list *list)
{
    list->items = xcalloc(map->count, sizeof(*list->items));
    for (size_t i = 0; i < map->count; i++) {
        struct dumped_filesystem *from = &map->items[i];
        const size_t pools = json_array_size(from->data_pools);

        if (!from->name)
            continue;
        struct filesystem *filesystem = &list->items[list->count++];
        *filesystem = (struct filesystem){
            .id = from->id,
            .metadata_pool_id = from->metadata_pool,
            .data_pool_ids = xcalloc(pools + 1, sizeof(*filesystem->data_pool_ids)),
            .data_pool_count = pools,
        };
        filesystem->name = TAKE(from->name);
        for (size_t p = 0; p < pools; p++)
            filesystem->data_pool_ids[p] = json_integer_value(json_array_get(from->data_pools, p));
    }
}

int filesystem_list_read(struct ceph_cluster *cluster, struct call *call,
                         struct filesystem_list *list, struct error *err)
{
    _cleanup_free_ char *reply = NULL;
    json_auto_t *json = NULL;
    struct fsmap map = {0};

    if (cluster->ops->mon_command(cluster, call, "{\"prefix\":\"fs dump\",\"format\":\"json\"}",
                                  &reply, err) < 0)
        return -1;
    int result = json_load_large(reply, strlen(reply), "fs dump", &json, err);
    if (result == 0)
        result = json_decode(json, &FSMAP, &map, err);
    if (result == 0)
        take_filesystems(&map, list);
    else
        error_recode(err, STATUS_INTERNAL); /* not the caller's fault */
    json_free_fields(&FSMAP, &map);
    return result;
}

static int not_found(const struct ceph_cluster *cluster, const char *what,
                     const struct filesystem_list *list, struct error *err)
{
    _cleanup_text_ struct text known = TEXT_INIT(1024);

    for (size_t i = 0; i < list->count; i++)
        text_addf(&known, "%s'%s'", i ? ", " : "", list->items[i].name);
    return error_set(err, STATUS_NOT_FOUND, "cluster '%s' has no file system %s; it has %s",
                     cluster->cluster_id, what, list->count ? text_chars(&known) : "none at all");
}

const struct filesystem *filesystem_list_find(const struct filesystem_list *list,
                                              const struct ceph_cluster *cluster, const char *name,
                                              struct error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    _cleanup_free_ char *what = xasprintf("'%s'", name);
    not_found(cluster, what, list, err);
    return NULL;
}

int filesystem_find_id(struct ceph_cluster *cluster, struct call *call, int64_t id,
                       struct filesystem *out, struct error *err)
{
    _cleanup_filesystem_list_ struct filesystem_list list = {0};

    if (filesystem_list_read(cluster, call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].id == id) {
            filesystem_copy(&list.items[i], out);
            return 0;
        }
    _cleanup_free_ char *what = xasprintf("with id %lld", (long long)id);
    return not_found(cluster, what, &list, err);
}

bool filesystem_has_data_pool(const struct filesystem *filesystem, int64_t pool_id)
{
    for (size_t i = 0; i < filesystem->data_pool_count; i++)
        if (filesystem->data_pool_ids[i] == pool_id)
            return true;
    return false;
}

void filesystem_copy(const struct filesystem *from, struct filesystem *to)
{
    *to = *from;
    to->name = from->name ? xstrdup(from->name) : NULL;
    to->data_pool_ids = xcalloc(from->data_pool_count + 1, sizeof(*to->data_pool_ids));
    for (size_t i = 0; i < from->data_pool_count; i++)
        to->data_pool_ids[i] = from->data_pool_ids[i];
}

void filesystem_done(struct filesystem *filesystem)
{
    free(filesystem->name);
    free(filesystem->data_pool_ids);
    *filesystem = (struct filesystem){0};
}

void filesystem_list_done(struct filesystem_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        filesystem_done(&list->items[i]);
    free(list->items);
    *list = (struct filesystem_list){0};
}
