#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/volume/cluster_mapping.h"
#include "tests/test.h"

#define UUID "b0285c97-a0ce-11eb-8c66-0242ac110002"

static char path[] = "/tmp/test_cluster_mapping.XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *content)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct volume_id make_id(const char *cluster_id, uint64_t pool_id)
{
    struct volume_id id = {.location_id = pool_id, .uuid = {UUID}};

    memcpy(id.cluster_id, cluster_id, strlen(cluster_id) + 1);
    return id;
}

/* The places as "CLUSTER/POOL CLUSTER/POOL", or "error: ..." */
static char *find(const char *cluster_id, uint64_t pool_id)
{
    struct volume_id id = make_id(cluster_id, pool_id);
    struct volume_id *places = NULL;
    size_t count = 0;
    _cleanup_error_ struct error err = {0};
    struct text text = TEXT_INIT(4096);

    text_add(&text, "");
    if (cluster_mapping_find(path, &id, &places, &count, &err) < 0) {
        assert_int_equal(err.status, STATUS_UNAVAILABLE);
        assert_null(places);
        return xasprintf("error: %s", err.message);
    }
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(places[i].uuid.chars, UUID);
        text_addf(&text, "%s%s/%llu", i ? " " : "", places[i].cluster_id,
                  (unsigned long long)places[i].location_id);
    }
    free(places);
    return text.chars ? text_take(&text) : xstrdup("");
}

static void assert_found(const char *cluster_id, uint64_t pool_id, const char *wanted)
{
    _cleanup_free_ char *found = find(cluster_id, pool_id);

    assert_string_equal(found, wanted);
}

TEST(pairs_are_read_in_both_directions)
{
    write_file("[{\"clusterIDMapping\": {\"east\": \"west\"},"
               "  \"RBDPoolIDMapping\": [{\"2\": \"5\"}, {\"3\": \"12\"}],"
               "  \"CephFSFscIDMapping\": [{\"1\": \"2\"}]}]");
    assert_found("east", 2, "west/5");
    assert_found("west", 5, "east/2");
    assert_found("west", 12, "east/3");
    assert_found("east", 12, "west/3"); /* Ceph-CSI does not tie the two directions together */
    assert_found("east", 4, "");
    assert_found("north", 2, "");
}

TEST(all_matching_mappings_are_given_in_order)
{
    write_file("[{\"clusterIDMapping\": {\"a\": \"b\"}, \"RBDPoolIDMapping\": [{\"1\": \"2\"}]},"
               " {\"clusterIDMapping\": {\"x\": \"y\"}, \"RBDPoolIDMapping\": [{\"1\": \"9\"}]},"
               " {\"clusterIDMapping\": {\"a\": \"c\"},"
               "  \"RBDPoolIDMapping\": [{\"1\": \"3\"}, {\"1\": \"4\"}]}]");
    assert_found("a", 1, "b/2 c/3 c/4");
}

/* The operator writes clusterIdMapping. */
TEST(case_of_keys_does_not_matter_and_unknown_ones_are_ignored)
{
    write_file("[{\"clusterIdMapping\": {\"a\": \"b\"}, \"rbdpoolidmapping\": [{\"1\": \"2\"}],"
               "  \"more\": 1}]");
    assert_found("a", 1, "b/2");
}

TEST(missing_or_empty_file_maps_nothing)
{
    write_file("[]");
    assert_found("a", 1, "");
    write_file("[{}]");
    assert_found("a", 1, "");
    write_file("[{\"clusterIDMapping\": {\"a\": \"b\"}}]");
    assert_found("a", 1, "");
    write_file("[{\"clusterIDMapping\": null, \"RBDPoolIDMapping\": null}]");
    assert_found("a", 1, "");
    path[strlen(path) - 1] ^= 1;
    assert_found("a", 1, "");
    path[strlen(path) - 1] ^= 1;
}

TEST(broken_files_are_never_taken_for_empty_ones)
{
    static const char *const broken[] = {
        "",
        "{}",
        "[",
        "[1]",
        "[{\"clusterIDMapping\": [\"a\"]}]",
        "[{\"clusterIDMapping\": {\"a\": 1}}]",
        "[{\"clusterIDMapping\": {\"a\": \"b\"}, \"RBDPoolIDMapping\": {\"1\": \"2\"}}]",
        "[{\"clusterIDMapping\": {\"a\": \"b\"}, \"RBDPoolIDMapping\": [\"1\"]}]",
        "[{\"clusterIDMapping\": {\"a\": \"b\"}, \"RBDPoolIDMapping\": [{\"1\": 2}]}]",
        "[{\"clusterIDMapping\": {\"a\": \"b\"}, \"RBDPoolIDMapping\": [{\"1\": \"two\"}]}]",
        "[{\"clusterIDMapping\": {\"a\": \"b\"}, \"RBDPoolIDMapping\": [{\"1\": \"-2\"}]}]",
        "[{\"clusterIDMapping\": {\"a\": \"\"}, \"RBDPoolIDMapping\": [{\"1\": \"2\"}]}]",
        "[{\"clusterIDMapping\": {\"a\": \"b/c\"}, \"RBDPoolIDMapping\": [{\"1\": \"2\"}]}]",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++) {
        write_file(broken[i]);
        _cleanup_free_ char *found = find("a", 1);
        if (!text_has_prefix(found, "error: "))
            fail_msg("%s was read as '%s'", broken[i], found);
        assert_non_null(strstr(found, path));
    }
}

TEST_GROUP(make_file, remove_file)
