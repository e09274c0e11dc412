#include "common/ceph/filesystem.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"

struct mdsmap {
    char *fs_name;
    int64_t metadata_pool;
    json_t *data_pools; /* ids */
};

struct dumped {
    int64_t id;
    struct mdsmap mdsmap;
};

struct fsmap {
    struct dumped *items;
    size_t count;
};

static const struct json_field MDSMAP_FIELDS[] = {
    JSON_FIELD_STRING("fs_name", struct mdsmap, fs_name),
    JSON_FIELD_INT("metadata_pool", struct mdsmap, metadata_pool),
    JSON_FIELD_VALUE("data_pools", struct mdsmap, data_pools),
};
static const struct json_table MDSMAP = JSON_TABLE(struct mdsmap, MDSMAP_FIELDS);

static const struct json_field DUMPED_FIELDS[] = {
    JSON_FIELD_INT("id", struct dumped, id),
    JSON_FIELD_OBJECT("mdsmap", struct dumped, mdsmap, &MDSMAP),
};
static const struct json_table DUMPED = JSON_TABLE(struct dumped, DUMPED_FIELDS);

static const struct json_field FSMAP_FIELDS[] = {
    JSON_FIELD_OBJECTS("filesystems", struct fsmap, items, count, &DUMPED),
};
static const struct json_table FSMAP = JSON_TABLE(struct fsmap, FSMAP_FIELDS);

static void take_data_pools(const json_t *ids, struct filesystem *filesystem)
{
    const json_t *id = NULL;
    size_t i = 0;

    filesystem->data_pool_ids =
        xcalloc(json_array_size(ids) + 1, sizeof(*filesystem->data_pool_ids));
    json_array_foreach(ids, i, id)
    {
        filesystem->data_pool_ids[filesystem->data_pool_count++] = json_integer_value(id);
    }
}

static void take_all(struct fsmap *map, struct filesystem_list *list)
{
    list->items = xcalloc(map->count, sizeof(*list->items));
    for (size_t i = 0; i < map->count; i++) {
        struct dumped *item = &map->items[i];
        struct filesystem *filesystem = &list->items[list->count];

        if (!item->mdsmap.fs_name)
            continue;
        *filesystem =
            (struct filesystem){.id = item->id, .metadata_pool_id = item->mdsmap.metadata_pool};
        filesystem->name = TAKE(item->mdsmap.fs_name);
        take_data_pools(item->mdsmap.data_pools, filesystem);
        list->count++;
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
    int result = json_load_text(reply, strlen(reply), "fs dump", &json, err);
    if (result == 0)
        result = json_decode(json, &FSMAP, &map, err);
    if (result == 0)
        take_all(&map, list);
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
