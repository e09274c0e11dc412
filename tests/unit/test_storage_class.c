#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/usage/cluster_usage.h"
#include "common/usage/storage_class.h"
#include "tests/test.h"

#define DATA "tests/data/capacity/"
#define DRIVER "rbd.csi.ceph.com"
#define FILE_LIMIT ((size_t)1 << 20)
#define GIB (UINT64_C(1) << 30)

#define CLASS(parameters)                                                                          \
    "{\"kind\":\"StorageClass\",\"metadata\":{\"name\":\"x\"},\"provisioner\":\"" DRIVER           \
    "\",\"parameters\":" parameters "}"
#define POOLS(text) CLASS("{\"clusterID\":\"c\",\"topologyConstrainedPools\":\"" text "\"}")

static int load(const char *json, struct storage_class_dump *dump, struct error *err)
{
    char path[] = "/tmp/cephzone-classes-XXXXXX";
    _cleanup_close_ int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), strlen(json));
    int result = storage_class_dump_load(path, DRIVER, dump, err);
    unlink(path);
    return result;
}

static char *read_file(const char *path)
{
    _cleanup_text_ struct text text = TEXT_INIT(FILE_LIMIT);
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char buffer[BUFSIZ];
    size_t length = 0;

    assert_non_null(file);
    while ((length = fread(buffer, 1, sizeof(buffer), file)) > 0)
        text_add_bytes(&text, buffer, length);
    return text_take(&text);
}

static void load_usage(struct cluster_usage *usage)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *df = read_file(DATA "df.json");
    _cleanup_free_ char *pools = read_file(DATA "pools.json");

    if (cluster_usage_parse(df, pools, usage, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_contains(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("wanted '%s', got '%s'", part, text ? text : "nothing");
}

static void assert_entry(const struct pool_entry *entry, const char *place, const char *pool,
                         const char *data_pool)
{
    _cleanup_free_ char *text = pool_entry_place(entry);

    assert_string_equal(text, place);
    assert_string_equal(entry->pool, pool);
    if (data_pool)
        assert_string_equal(entry->data_pool, data_pool);
    else
        assert_null(entry->data_pool);
}

/* --- classes --- */

TEST(classes_of_the_driver_are_taken_with_their_places)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_storage_class_dump_ struct storage_class_dump dump = {0};

    assert_int_equal(storage_class_dump_load(DATA "classes.json", DRIVER, &dump, &err), 0);
    assert_int_equal(dump.count, 3);
    assert_string_equal(dump.items[0].name, "plain");
    assert_string_equal(dump.items[0].pools.cluster_id, "c1");
    assert_false(class_pools_have_places(&dump.items[0].pools));
    assert_string_equal(dump.items[0].pools.pool, "common");
    assert_string_equal(dump.items[0].pools.data_pool, "zone-a");
    assert_null(dump.items[1].fault);
    const struct pool_entries *entries = &dump.items[1].pools.entries;
    assert_int_equal(entries->count, 3);
    assert_entry(&entries->items[0], "zone=zone-a", "zone-a", NULL);
    assert_entry(&entries->items[1], "region=east,zone=zone-b", "zone-b", "zone-c");
    assert_entry(&entries->items[2], "anywhere", "common", NULL);
    assert_string_equal(dump.items[2].name, "misspelt");
    assert_string_equal(dump.items[2].fault, "topologyConstrainedPools: [1].domainSegmnts: unknown "
                                             "key (did you mean 'domainSegments'?)");
}

TEST(single_class_and_empty_list_are_dumps_too)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_storage_class_dump_ struct storage_class_dump one = {0};
    _cleanup_storage_class_dump_ struct storage_class_dump none = {0};

    assert_int_equal(load(CLASS("{\"clusterID\":\"c\",\"pool\":\"p\"}"), &one, &err), 0);
    assert_int_equal(one.count, 1);
    assert_string_equal(one.items[0].pools.pool, "p");
    assert_int_equal(load("{\"kind\":\"List\",\"items\":[]}", &none, &err), 0);
    assert_int_equal(none.count, 0);
}

TEST(classes_may_be_written_in_yaml)
{
    static const char text[] = "# two classes and something else\n"
                               "apiVersion: storage.k8s.io/v1\n"
                               "kind: StorageClass\n"
                               "metadata: {name: one}\n"
                               "provisioner: " DRIVER "\n"
                               "parameters:\n"
                               "  clusterID: c\n"
                               "  topologyConstrainedPools: |\n"
                               "    [{\"poolName\": \"p\",\n"
                               "      \"domainSegments\": [\n"
                               "        {\"domainLabel\": \"zone\", \"value\": \"a\"}]}]\n"
                               "---\n"
                               "kind: Secret\n"
                               "metadata: {name: other}\n"
                               "---\n"
                               "kind: StorageClass\n"
                               "metadata: {name: two}\n"
                               "provisioner: " DRIVER "\n"
                               "parameters: {clusterID: c, pool: q}\n";
    _cleanup_error_ struct error err = {0};
    _cleanup_storage_class_dump_ struct storage_class_dump dump = {0};

    if (load(text, &dump, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(dump.count, 2);
    assert_entry(&dump.items[0].pools.entries.items[0], "zone=a", "p", NULL);
    assert_string_equal(dump.items[1].name, "two");
    assert_string_equal(dump.items[1].pools.pool, "q");
}

TEST(yaml_that_is_no_class_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"kind: Pod\n", "kind: expected 'StorageClass', found 'Pod'"},
        {"hello\n", "expected a Kubernetes object"},
        {"a: [\n", "line 2"},
        {"kind: StorageClass\nkind: StorageClass\n", "line 2"},
        {"kind: StorageClass\nmetadata: {name: x}\nprovisioner: " DRIVER "\nparameters: [1]\n---\n"
         "kind: StorageClass\n",
         "metadata.name is missing"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        struct storage_class_dump dump = {0};

        assert_int_equal(load(cases[i].text, &dump, &err), -1);
        assert_contains(err.message, cases[i].message);
        assert_null(dump.items);
    }
}

TEST(plain_pool_and_its_data_pool_stand_beside_constrained_ones)
{
    static const char json[] =
        CLASS("{\"clusterID\":\"c\",\"pool\":\"p\",\"dataPool\":\"d\",\"topologyConstrainedPools\":"
              "\"[{\\\"poolName\\\":\\\"q\\\",\\\"domainSegments\\\":[{\\\"domainLabel\\\":"
              "\\\"zone\\\",\\\"value\\\":\\\"a\\\"}]}]\"}");
    _cleanup_error_ struct error err = {0};
    _cleanup_storage_class_dump_ struct storage_class_dump dump = {0};

    assert_int_equal(load(json, &dump, &err), 0);
    struct pool_entry plain = class_pools_plain(&dump.items[0].pools, NULL);
    assert_entry(&plain, "anywhere", "p", "d");
    pool_entry_done(&plain);
    assert_int_equal(dump.items[0].pools.entries.count, 1);
    assert_entry(&dump.items[0].pools.entries.items[0], "zone=a", "q", NULL);
}

TEST(bad_parameters_are_the_fault_of_their_class)
{
    static const struct {
        const char *json;
        const char *fault;
    } cases[] = {
        {CLASS("null"), "clusterID is missing"},
        {CLASS("{\"pool\":\"p\"}"), "clusterID is missing"},
        {CLASS("{\"clusterID\":\"c\"}"), "neither pool nor topologyConstrainedPools"},
        {CLASS("7"), "parameters: expected an object, found a number"},
        {CLASS("{\"pool\":7}"), "parameters.pool: expected a string, found a number"},
        {POOLS("[]"), "topologyConstrainedPools: the list is empty"},
        {POOLS("{}"), "topologyConstrainedPools: expected an array, found an object"},
        {POOLS("[{]"), "topologyConstrainedPools: line 1, column 3"},
        {POOLS("[\\n {]"), "topologyConstrainedPools: line 2, column 3"},
        {POOLS("[null]"), "topologyConstrainedPools: [0]: poolName is missing"},
        {POOLS("[{\\\"poolName\\\":7}]"),
         "topologyConstrainedPools: [0].poolName: expected a string, found a number"},
        {POOLS("[{\\\"poolName\\\":\\\"p\\\"}]"),
         "topologyConstrainedPools: [0]: domainSegments is missing; [] stands for everywhere"},
        {POOLS("[{\\\"poolName\\\":\\\"p\\\",\\\"PoolName\\\":\\\"q\\\"}]"), "[0].PoolName: same"},
        {POOLS("[{\\\"poolName\\\":\\\"p\\\",\\\"domainSegments\\\":[{\\\"value\\\":\\\"a\\\"}]}]"),
         "[0]: domainSegments[0]: domainLabel is missing"},
        {POOLS("[{\\\"poolName\\\":\\\"p\\\",\\\"domainSegments\\\":[{\\\"domainLabel\\\":"
               "\\\"zone\\\"}]}]"),
         "[0]: domainSegments[0]: value is missing"},
        {POOLS("[{\\\"poolName\\\":\\\"p\\\",\\\"domainSegments\\\":[{\\\"domainLabel\\\":"
               "\\\"zone\\\",\\\"valeu\\\":\\\"a\\\"}]}]"),
         "[0].domainSegments[0].valeu: unknown key (did you mean 'value'?)"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_storage_class_dump_ struct storage_class_dump dump = {0};

        assert_int_equal(load(cases[i].json, &dump, &err), 0);
        assert_int_equal(dump.count, 1);
        assert_contains(dump.items[0].fault, cases[i].fault);
    }
}

TEST(what_is_no_dump_is_refused_with_its_place)
{
    static const struct {
        const char *json;
        const char *message;
    } cases[] = {
        {"{", "line 1"},
        {"[]", "expected a Kubernetes object"},
        {"{}", "kind: expected 'StorageClass'"},
        {"{\"items\":[{\"kind\":\"Pod\"}]}",
         "items[0]: kind: expected 'StorageClass', found 'Pod'"},
        {"{\"items\":[{\"kind\":\"StorageClass\"}]}",
         "items[0]: StorageClass '': metadata.name is missing"},
        {"{\"items\":[{\"kind\":\"StorageClass\",\"provisioner\":7}]}",
         "items[0]: StorageClass '': provisioner: expected a string"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        struct storage_class_dump dump = {0};

        assert_int_equal(load(cases[i].json, &dump, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_contains(err.message, cases[i].message);
        assert_int_equal(dump.count, 0);
    }
}

/* --- the monitors' answers --- */

TEST(answers_of_a_real_cluster_are_understood)
{
    _cleanup_cluster_usage_ struct cluster_usage usage = {0};

    load_usage(&usage);
    assert_int_equal(usage.count, 4);
    assert_non_null(cluster_usage_find(&usage, "common"));
    const struct pool_usage *common = &cluster_usage_find(&usage, "common")->usage;
    assert_true(common->has_figures);
    assert_int_equal(common->stored_bytes, 19);
    assert_true(common->max_avail_bytes > 100 * GIB);
    assert_int_equal(common->quota_bytes, 0);
    assert_int_equal(cluster_usage_find(&usage, "zone-a")->usage.quota_bytes, GIB);
    assert_null(cluster_usage_find(&usage, "zone"));
}

TEST(other_answers_are_refused_with_their_place)
{
    static const char good_df[] = "{\"pools\":[]}";
    static const struct {
        const char *df;
        const char *pools;
        const char *message;
    } cases[] = {
        {"", "{}", "df: line 1"},
        {"{}", "{}", "df: pools is missing"},
        {"{\"pools\":[{}]}", "{}", "df: pools[0].name is missing"},
        {"{\"pools\":[{\"name\":\"p\",\"stats\":{\"max_avail\":1}}]}", "{}",
         "df: pools[0].stats.stored is missing"},
        {"{\"pools\":[{\"name\":\"p\",\"stats\":{\"stored\":1}}]}", "{}",
         "df: pools[0].stats.max_avail is missing"},
        {"{\"pools\":[{\"name\":\"p\",\"stats\":{\"stored\":-1}}]}", "{}",
         "df: pools[0].stats.stored: must not be negative"},
        {good_df, "7", "osd pool ls: line 1"},
        {good_df, "{}", "osd pool ls: expected an array, found an object"},
        {good_df, "[{\"quota_max_bytes\":0}]", "osd pool ls: [0].pool_name is missing"},
        {good_df, "[{\"pool_name\":\"p\"}]", "osd pool ls: [0].quota_max_bytes is missing"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        struct cluster_usage usage = {0};

        assert_int_equal(cluster_usage_parse(cases[i].df, cases[i].pools, &usage, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_contains(err.message, cases[i].message);
        assert_null(usage.pools);
    }
}

/* --- arithmetic --- */

TEST(quota_bounds_the_room)
{
    static const struct {
        uint64_t stored, max_avail, quota, room;
    } cases[] = {
        {0, 0, 0, 0},        {10, 100, 0, 100},   {10, 100, 50, 40},
        {10, 100, 200, 100}, {10, 100, 110, 100}, {50, 100, 50, 0},
        {51, 100, 50, 0},    {10, 0, 50, 0},      {0, INT64_MAX, UINT64_MAX, INT64_MAX},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct pool_usage pool = {.stored_bytes = cases[i].stored,
                                        .max_avail_bytes = cases[i].max_avail,
                                        .quota_bytes = cases[i].quota,
                                        .has_figures = true};

        assert_int_equal(free_space_of_pool(&pool, NULL, 0).bytes, cases[i].room);
    }
}

TEST(full_and_brand_new_pools_are_remarked)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_cluster_usage_ struct cluster_usage usage = {0};

    assert_int_equal(
        cluster_usage_parse("{\"pools\":[{\"name\":\"full\",\"stats\":{\"stored\":5,\"max_avail\":0"
                            "}},{\"name\":\"gone\",\"stats\":{\"stored\":5,\"max_avail\":0}}]}",
                            "[{\"pool_name\":\"new\",\"quota_max_bytes\":0},"
                            "{\"pool_name\":\"full\",\"quota_max_bytes\":0}]",
                            &usage, &err),
        0);
    assert_string_equal(
        free_space_of_pool(&cluster_usage_find(&usage, "full")->usage, NULL, 0).remark, "full");
    assert_string_equal(
        free_space_of_pool(&cluster_usage_find(&usage, "new")->usage, NULL, 0).remark,
        "no figures yet");
    assert_null(cluster_usage_find(&usage, "gone"));
}

TEST(sizes_are_readable_and_never_too_large)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {(1 << 20) - 1, "1023.9 KiB"},
        {1 << 20, "1.0 MiB"},
        {GIB - 19, "1023.9 MiB"},
        {GIB, "1.0 GiB"},
        {195850141696, "182.3 GiB"},
        {UINT64_C(1) << 40, "1.0 TiB"},
        {UINT64_MAX, "15.9 EiB"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *text = text_size(cases[i].bytes);

        assert_string_equal(text, cases[i].text);
    }
}
