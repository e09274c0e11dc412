#include "common/volume/cluster_mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/watched_file.h"
#include "common/encoding/json.h"

/* One element of the file. */
struct mapping {
    struct strmap clusters;
    json_t *pools; /* array of objects, each a map from decimal id to decimal id */
};

static const struct json_field MAPPING_FIELDS[] = {
    JSON_FIELD_STRMAP("clusterIDMapping", struct mapping, clusters),
    JSON_FIELD_VALUE("RBDPoolIDMapping", struct mapping, pools),
};
static const struct json_table MAPPING = JSON_TABLE(struct mapping, MAPPING_FIELDS);

struct place_list {
    struct volume_id *items;
    size_t count;
};

/* The other side of a pair; NULL if @name is on neither. */
static const char *find_other_side(const char *key, const char *value, const char *name)
{
    if (strcmp(key, name) == 0)
        return value;
    return strcmp(value, name) == 0 ? key : NULL;
}

/* All places to which one map of pool ids leads. */
static int add_pools(const struct volume_id *id, const char *cluster_id, json_t *pools,
                     struct place_list *places, struct error *err)
{
    _cleanup_free_ char *pool_id = xasprintf("%llu", (unsigned long long)id->location_id);

    if (!json_is_object(pools))
        return error_set(err, STATUS_INVALID_ARGUMENT, "RBDPoolIDMapping: expected objects");
    for (void *i = json_object_iter(pools); i; i = json_object_iter_next(pools, i)) {
        const char *value = json_string_value(json_object_iter_value(i));
        struct volume_id place = {.uuid = id->uuid};

        if (!value)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "RBDPoolIDMapping: pool ids must be strings");
        const char *other = find_other_side(json_object_iter_key(i), value, pool_id);
        if (!other)
            continue;
        if (!volume_id_cluster_is_valid(cluster_id))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "clusterIDMapping: '%.80s' cannot be a clusterID", cluster_id);
        if (text_parse_u64(other, &place.location_id, err) < 0)
            return error_wrap(err, "RBDPoolIDMapping");
        memcpy(place.cluster_id, cluster_id, strlen(cluster_id) + 1);
        *array_add(places->items, places->count) = place;
    }
    return 0;
}

static int add_mapping(const struct volume_id *id, const struct mapping *mapping,
                       struct place_list *places, struct error *err)
{
    if (mapping->pools && !json_is_array(mapping->pools))
        return error_set(err, STATUS_INVALID_ARGUMENT, "RBDPoolIDMapping: expected an array");
    for (size_t i = 0; i < mapping->clusters.count; i++) {
        const struct strmap_entry *pair = &mapping->clusters.entries[i];
        const char *cluster_id = find_other_side(pair->key, pair->value, id->cluster_id);

        for (size_t k = 0; cluster_id && k < json_array_size(mapping->pools); k++)
            if (add_pools(id, cluster_id, json_array_get(mapping->pools, k), places, err) < 0)
                return -1;
    }
    return 0;
}

/* The file's elements, none if there is no file. Caller frees with json_free_array(). */
static int load_mappings(const char *path, void **items, size_t *count, struct error *err)
{
    json_auto_t *root = NULL;

    if (json_load_path(path, CONFIGMAP_BYTES_MAX, &root, err) < 0) {
        if (err->sys_errno != ENOENT)
            return error_recode(err, STATUS_UNAVAILABLE);
        error_clear(err); /* no mapping: the usual case */
        return 0;
    }
    if (!json_is_array(root))
        error_set(err, STATUS_INVALID_ARGUMENT, "expected an array of mappings");
    else if (json_decode_array(root, &MAPPING, items, count, err) == 0)
        return 0;
    error_recode(err, STATUS_UNAVAILABLE);
    return error_wrap(err, "%s", path);
}

int cluster_mapping_find(const char *path, const struct volume_id *id, struct volume_id **places,
                         size_t *count, struct error *err)
{
    struct place_list found = {0};
    void *items = NULL;
    size_t item_count = 0;
    int result = 0;

    if (load_mappings(path, &items, &item_count, err) < 0)
        return -1;
    const struct mapping *mappings = items;
    for (size_t i = 0; i < item_count && result == 0; i++)
        result = add_mapping(id, &mappings[i], &found, err);
    json_free_array(&MAPPING, items, item_count);
    if (result < 0) {
        free(found.items);
        error_recode(err, STATUS_UNAVAILABLE);
        return error_wrap(err, "%s", path);
    }
    *places = found.items;
    *count = found.count;
    return 0;
}

int cluster_mapping_find_clusters(const char *path, const char *cluster_id,
                                  struct string_list *clusters, struct error *err)
{
    void *items = NULL;
    size_t count = 0;

    if (load_mappings(path, &items, &count, err) < 0)
        return -1;
    const struct mapping *mappings = items;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < mappings[i].clusters.count; k++) {
            const struct strmap_entry *pair = &mappings[i].clusters.entries[k];
            const char *other = find_other_side(pair->key, pair->value, cluster_id);

            if (other && volume_id_cluster_is_valid(other) && !string_list_has(clusters, other))
                string_list_add(clusters, other);
        }
    }
    json_free_array(&MAPPING, items, count);
    return 0;
}
