#include <assert.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/usage/class_pools.h"
#include "tests/fuzz/bytes.h"

/*
 * What monitors answer: the first byte of the input says which of the three answers it is (df, list
 * of pools, CRUSH dump); the other two are good ones. Then the pools find their places.
 */
static const char GOOD_DF[] = "{\"stats\":{\"total_avail_bytes\":1},\"pools\":[{\"name\":\"p\","
                              "\"stats\":{\"stored\":1,\"objects\":1,\"max_avail\":1}}]}";
static const char GOOD_POOLS[] =
    "[{\"pool_id\":1,\"pool_name\":\"p\",\"type\":1,\"crush_rule\":1,"
    "\"quota_max_bytes\":0,\"application_metadata\":{\"rbd\":{\"cephzone.class\":\"k\"}}}]";
static const char GOOD_CRUSH[] =
    "{\"buckets\":[{\"id\":-1,\"name\":\"z\",\"type_name\":\"zone\",\"type_id\":9,\"items\":[]}],"
    "\"rules\":[{\"rule_id\":1,\"steps\":[{\"op\":\"take\",\"item_name\":\"z\"}]}],"
    "\"types\":[{\"type_id\":9,\"name\":\"zone\"}]}";

static const char *const WORDS[] = {"pools",
                                    "stats",
                                    "stored",
                                    "objects",
                                    "max_avail",
                                    "name",
                                    "pool_name",
                                    "pool_id",
                                    "type",
                                    "rbd",
                                    "crush_rule",
                                    "application_metadata",
                                    "flags_names",
                                    "full",
                                    "buckets",
                                    "rules",
                                    "types",
                                    "items",
                                    "steps",
                                    "op",
                                    "take",
                                    "item_name",
                                    "rule_id",
                                    "type_id",
                                    "type_name",
                                    "id",
                                    "zone",
                                    "host",
                                    "root",
                                    "cephzone.class",
                                    "cephzone.zone",
                                    "quota_max_bytes",
                                    "k",
                                    "p",
                                    "z~ssd",
                                    ""};
static const struct fuzz_words ALL_WORDS = {WORDS, ARRAY_LENGTH(WORDS)};

static char *make_text(struct fuzz_bytes *bytes)
{
    if (bytes->size > 0 && (bytes->data[0] == '{' || bytes->data[0] == '['))
        return xstrndup((const char *)bytes->data, bytes->size);
    json_auto_t *value = fuzz_json(bytes, &ALL_WORDS);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    return text ? text : xstrdup("");
}

static void walk(const struct cluster_usage *usage)
{
    const struct class_pools class = {.is_auto = true, .topology_class = "k", .cluster_id = "c"};
    _cleanup_pool_entries_ struct pool_entries entries = {0};

    class_pools_find(&class, usage, NULL, &entries);
    assert(entries.count <= usage->count);
    for (size_t i = 0; i < entries.count; i++)
        assert(cluster_usage_find(usage, entries.items[i].pool) && entries.items[i].origin);
    for (size_t i = 0; i < usage->count; i++) {
        struct free_space room = free_space_of_pool(&usage->pools[i].usage, NULL, 0);

        assert(room.remark && (room.bytes == 0 || room.is_known));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    size_t which = fuzz_below(&bytes, 3);
    _cleanup_free_ char *text = make_text(&bytes);
    _cleanup_cluster_usage_ struct cluster_usage usage = {0};
    _cleanup_error_ struct error err = {0};
    struct crush_map crush = {0};

    if (cluster_usage_parse(which == 0 ? text : GOOD_DF, which == 1 ? text : GOOD_POOLS, &usage,
                            &err) < 0 ||
        crush_map_parse(which == 2 ? text : GOOD_CRUSH, &crush, &err) < 0) {
        assert(err.status == STATUS_INVALID_ARGUMENT && err.message);
        return 0;
    }
    cluster_usage_set_crush(&usage, &crush);
    walk(&usage);
    return 0;
}
