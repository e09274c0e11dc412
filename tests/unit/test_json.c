#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "tests/test.h"

/* Shaped like config.json: an array of clusters with everything the decoder knows. */
struct rbd {
    char *rados_namespace;
    int64_t mirror_count;
};

struct subvolume {
    char *group;
    struct string_list pools;
};

struct cluster {
    char *id;
    bool read_only;
    bool has_monitors;
    int64_t priority;
    uint64_t size_bytes;
    struct string_list monitors;
    struct strmap labels;
    struct rbd rbd;
    struct subvolume *subvolumes;
    size_t subvolume_count;
    json_t *extra;
    char *peer;
};

static const struct json_field RBD_FIELDS[] = {
    JSON_FIELD_STRING("radosNamespace", struct rbd, rados_namespace),
    JSON_FIELD_INT("mirrorDaemonCount", struct rbd, mirror_count),
};
static const struct json_table RBD_TABLE = JSON_TABLE(struct rbd, RBD_FIELDS);

static const struct json_field SUBVOLUME_FIELDS[] = {
    JSON_FIELD_STRING("group", struct subvolume, group),
    JSON_FIELD_STRINGS("dataPools", struct subvolume, pools),
};
static const struct json_table SUBVOLUME_TABLE =
    JSON_STRICT_TABLE(struct subvolume, SUBVOLUME_FIELDS);

static const struct json_field CLUSTER_FIELDS[] = {
    JSON_FIELD_STRING("clusterID", struct cluster, id),
    JSON_FIELD_BOOL("readOnly", struct cluster, read_only),
    JSON_FIELD_INT("priority", struct cluster, priority),
    JSON_FIELD_UINT("sizeBytes", struct cluster, size_bytes),
    JSON_FIELD_STRINGS("monitors", struct cluster, monitors),
    JSON_FIELD_PRESENT("monitors", struct cluster, has_monitors),
    JSON_FIELD_STRMAP("labels", struct cluster, labels),
    JSON_FIELD_OBJECT("rbd", struct cluster, rbd, &RBD_TABLE),
    JSON_FIELD_OBJECTS("subvolumes", struct cluster, subvolumes, subvolume_count, &SUBVOLUME_TABLE),
    JSON_FIELD_VALUE("extra", struct cluster, extra),
    JSON_FIELD_STRING("mirror.peer.site", struct cluster, peer),
};
static const struct json_table CLUSTER_TABLE = JSON_TABLE(struct cluster, CLUSTER_FIELDS);

struct clusters {
    struct cluster *items;
    size_t count;
};

static const struct json_field CLUSTERS_FIELDS[] = {
    JSON_FIELD_OBJECTS("clusters", struct clusters, items, count, &CLUSTER_TABLE),
};
static const struct json_table CLUSTERS_TABLE = JSON_TABLE(struct clusters, CLUSTERS_FIELDS);

struct pool {
    char *name;
    struct strmap segments;
};

static const struct json_field POOL_FIELDS[] = {
    JSON_FIELD_STRING("poolName", struct pool, name),
    JSON_FIELD_STRMAP("domainSegments", struct pool, segments),
};
static const struct json_table POOL_TABLE = JSON_STRICT_TABLE(struct pool, POOL_FIELDS);

static void cluster_done(struct cluster *cluster)
{
    json_free_fields(&CLUSTER_TABLE, cluster);
}

static json_t *load(const char *text)
{
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    if (json_load_text(text, strlen(text), "test", &value, &err) < 0)
        fail_msg("%s", err.message);
    return value;
}

/* Decodes @text into *@cluster. */
static int decode(const char *text, struct cluster *cluster, struct error *err)
{
    json_auto_t *value = load(text);

    return json_decode(value, &CLUSTER_TABLE, cluster, err);
}

static void assert_refused(const char *text, const char *message)
{
    _cleanup_(cluster_done) struct cluster cluster = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(decode(text, &cluster, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, message);
}

static void assert_malformed(const char *text, size_t length, const char *message)
{
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    assert_int_equal(json_load_text(text, length, "config.json", &value, &err), -1);
    assert_null(value);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, message);
}

TEST(text_becomes_a_value)
{
    json_auto_t *value = load("[{\"a\": [1, 2]}, null]");
    assert_int_equal(json_array_size(value), 2);
}

TEST(mistake_is_told_with_its_place)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[\n  {\n    \"a\": tru }\n]", "config.json: line 3, column 12: invalid token"},
        {"{\"a\" 1}", "config.json: line 1, column 6: ':' expected"},
        {"[1, 2", "config.json: line 1, column 5: ']' expected near end of file"},
        {"", "config.json: line 1, column 0: '[' or '{' expected near end of file"},
        {"\"text\"", "config.json: line 1, column 6: '[' or '{' expected"},
        {"[1] x", "config.json: line 1, column 5: end of file expected"},
        {"[\"a\\u0000b\"]", "config.json: line 1, column 11: \\u0000 is not allowed without "
                            "JSON_ALLOW_NUL"},
        {"[9223372036854775808]", "config.json: line 1, column 20: too big integer"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_malformed(cases[i].text, strlen(cases[i].text), cases[i].message);
}

TEST(mistake_does_not_show_the_values)
{
    _cleanup_error_ struct error err = {0};
    const char *text = "{\"key\": \"AQDsecret\" \"next\"}";
    json_t *value = NULL;

    assert_int_equal(json_load_text(text, strlen(text), "secret", &value, &err), -1);
    assert_null(strstr(err.message, "AQD"));
    assert_null(strstr(err.message, "next"));
}

TEST(key_given_twice_is_refused)
{
    const char *text = "{\"pool\": 1,\n \"pool\": 2}";

    assert_malformed(text, strlen(text),
                     "config.json: line 2, column 7: duplicate object key near '\"pool\"'");
}

TEST(malformed_utf8_is_refused)
{
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    assert_int_equal(json_load_text("[\"\xc0\x80\"]", 6, "x", &value, &err), -1);
    assert_true(text_has_prefix(err.message, "x: line 1, column "));
}

TEST(depth_is_limited)
{
    char text[2 * (JSON_DEPTH_LIMIT + 1)];
    char *end = text + sizeof(text) - 2;

    memset(text, '[', JSON_DEPTH_LIMIT);
    memset(text + JSON_DEPTH_LIMIT, ']', JSON_DEPTH_LIMIT);
    *end = '\0';
    json_auto_t *deepest = load(text);
    assert_non_null(deepest);
    memset(text, '[', JSON_DEPTH_LIMIT + 1);
    memset(text + JSON_DEPTH_LIMIT + 1, ']', JSON_DEPTH_LIMIT + 1);
    assert_malformed(text, sizeof(text),
                     "config.json: line 1, column 65: nested more than 64 levels deep");
}

TEST(brackets_in_strings_are_not_depth)
{
    char text[1000] = "[\"\\\"";
    size_t start = strlen(text);

    memset(text + start, '{', 900);
    text[start + 900] = '"';
    text[start + 901] = ']';
    json_auto_t *value = load(text);
    assert_int_equal(json_string_length(json_array_get(value, 0)), 901);
}

TEST(siblings_are_not_depth)
{
    _cleanup_text_ struct text text = TEXT_INIT(10000);

    text_add(&text, "[[\"\xc3\xbc\"]");
    for (int i = 0; i < 200; i++)
        text_add(&text, ",{}");
    text_add(&text, "]");
    json_auto_t *value = load(text_chars(&text));
    assert_int_equal(json_array_size(value), 201);
}

TEST(place_of_depth_counts_lines_and_characters)
{
    _cleanup_text_ struct text text = TEXT_INIT(10000);

    text_add(&text, "[\n\"\xc3\xbc\",");
    for (int i = 0; i < JSON_DEPTH_LIMIT; i++)
        text_add(&text, "[");
    assert_malformed(text_chars(&text), text.length,
                     "config.json: line 2, column 68: nested more than 64 levels deep");
}

TEST(size_is_limited)
{
    _cleanup_free_ char *text = xcalloc(JSON_TEXT_LIMIT + 2, 1);
    json_t *value = NULL;
    _cleanup_error_ struct error err = {0};

    memset(text, ' ', JSON_TEXT_LIMIT + 1);
    text[0] = '[';
    text[JSON_TEXT_LIMIT - 1] = ']';
    assert_int_equal(json_load_text(text, JSON_TEXT_LIMIT, "x", &value, &err), 0);
    json_decref(value);
    assert_malformed(text, JSON_TEXT_LIMIT + 1, "config.json: larger than 4194304 bytes");
}

/* A file with @content; the caller unlinks and frees the path. */
static char *make_file(const char *content)
{
    char *path = xstrdup("/tmp/test_json.XXXXXX");
    _cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    return path;
}

TEST(file_is_read_up_to_its_limit)
{
    _cleanup_free_ char *path = make_file("[1,2,3]");
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    assert_int_equal(json_load_path(path, 7, &value, &err), 0);
    assert_int_equal(json_array_size(value), 3);
    json_decref(value);
    value = NULL;
    assert_int_equal(json_load_path(path, 6, &value, &err), -1);
    _cleanup_free_ char *expected = xasprintf("'%s' is larger than 6 bytes", path);
    assert_string_equal(err.message, expected);
    assert_null(value);
    unlink(path);
}

TEST(mistake_in_a_file_names_the_file)
{
    _cleanup_free_ char *path = make_file("[1,\n2,]");
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    assert_int_equal(json_load_path(path, 100, &value, &err), -1);
    _cleanup_free_ char *expected = xasprintf("%s: line 2, column 3: unexpected token", path);
    assert_string_equal(err.message, expected);
    unlink(path);
}

TEST(missing_file_is_not_found)
{
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    assert_int_equal(json_load_path("/nonexistent", 100, &value, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_string_equal(err.message, "open '/nonexistent': No such file or directory");
}

TEST(folder_is_no_file)
{
    _cleanup_error_ struct error err = {0};
    json_t *value = NULL;

    assert_int_equal(json_load_path("/tmp", 100, &value, &err), -1);
    assert_string_equal(err.message, "'/tmp': read: Is a directory");
}

TEST(every_kind_is_decoded)
{
    _cleanup_(cluster_done) struct cluster c = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        decode("{\"clusterID\": \"c1\", \"readOnly\": true, \"priority\": -9007199254740993,"
               " \"sizeBytes\": 9223372036854775807, \"monitors\": [\"a:6789\", \"b\"],"
               " \"labels\": {\"zone\": \"z1\", \"rack\": \"r1\"},"
               " \"rbd\": {\"radosNamespace\": \"ns\", \"mirrorDaemonCount\": 2},"
               " \"subvolumes\": [{\"group\": \"csi\"}, {\"dataPools\": [\"p\", \"q\"]}],"
               " \"extra\": [1], \"unknown\": {\"ignored\": true}}",
               &c, &err),
        0);
    assert_string_equal(c.id, "c1");
    assert_true(c.read_only);
    assert_true(c.priority == -9007199254740993);
    assert_true(c.size_bytes == INT64_MAX);
    assert_int_equal(c.monitors.count, 2);
    assert_string_equal(c.monitors.items[1], "b");
    assert_true(c.has_monitors);
    assert_string_equal(strmap_get(&c.labels, "rack"), "r1");
    assert_string_equal(c.rbd.rados_namespace, "ns");
    assert_int_equal(c.rbd.mirror_count, 2);
    assert_int_equal(c.subvolume_count, 2);
    assert_string_equal(c.subvolumes[0].group, "csi");
    assert_null(c.subvolumes[1].group);
    assert_string_equal(c.subvolumes[1].pools.items[1], "q");
    assert_int_equal(json_array_size(c.extra), 1);
}

TEST(missing_keys_leave_members_as_they_are)
{
    _cleanup_(cluster_done) struct cluster c = {.priority = 7, .id = xstrdup("default")};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(decode("{}", &c, &err), 0);
    assert_int_equal(c.priority, 7);
    assert_string_equal(c.id, "default");
    assert_false(c.has_monitors);
    assert_int_equal(decode("{\"clusterID\": \"c1\"}", &c, &err), 0);
    assert_string_equal(c.id, "c1");
}

TEST(null_is_the_zero_value)
{
    _cleanup_(cluster_done) struct cluster c = {.priority = 7, .id = xstrdup("default")};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(decode("{\"clusterID\": null, \"priority\": null, \"monitors\": null,"
                            " \"labels\": null, \"rbd\": null, \"subvolumes\": null,"
                            " \"extra\": null, \"readOnly\": null, \"sizeBytes\": null}",
                            &c, &err),
                     0);
    assert_null(c.id);
    assert_int_equal(c.priority, 0);
    assert_false(c.has_monitors);
    assert_null(c.extra);
}

TEST(null_inside_a_container_is_an_empty_element)
{
    _cleanup_(cluster_done) struct cluster c = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(decode("{\"monitors\": [null, \"b\"], \"labels\": {\"x\": null},"
                            " \"subvolumes\": [null, {\"group\": \"g\"}]}",
                            &c, &err),
                     0);
    assert_string_equal(c.monitors.items[0], "");
    assert_string_equal(strmap_get(&c.labels, "x"), "");
    assert_int_equal(c.subvolume_count, 2);
    assert_null(c.subvolumes[0].group);
}

TEST(empty_array_is_told_from_a_missing_one)
{
    _cleanup_(cluster_done) struct cluster c = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(decode("{\"monitors\": [], \"subvolumes\": []}", &c, &err), 0);
    assert_true(c.has_monitors);
    assert_int_equal(c.monitors.count, 0);
    assert_int_equal(c.subvolume_count, 0);
}

TEST(keys_are_matched_without_case)
{
    _cleanup_(cluster_done) struct cluster c = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        decode("{\"clusterid\": \"c1\", \"RBD\": {\"RadosNameSpace\": \"ns\"}}", &c, &err), 0);
    assert_string_equal(c.id, "c1");
    assert_string_equal(c.rbd.rados_namespace, "ns");
}

TEST(exact_spelling_wins_over_others)
{
    _cleanup_(cluster_done) struct cluster c = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        decode("{\"clusterid\": \"low\", \"clusterID\": \"exact\", \"CLUSTERID\": \"up\"}", &c,
               &err),
        0);
    assert_string_equal(c.id, "exact");
    assert_int_equal(decode("{\"clusterid\": \"low\", \"CLUSTERID\": \"up\"}", &c, &err), 0);
    assert_string_equal(c.id, "up");
}

TEST(decoding_again_replaces_everything_named)
{
    _cleanup_(cluster_done) struct cluster c = {0};
    _cleanup_error_ struct error err = {0};
    const char *text = "{\"clusterID\": \"c1\", \"monitors\": [\"a\"], \"labels\": {\"x\": \"y\"},"
                       " \"subvolumes\": [{\"group\": \"g\"}], \"extra\": {}}";

    assert_int_equal(decode(text, &c, &err), 0);
    assert_int_equal(decode(text, &c, &err), 0);
    assert_int_equal(c.monitors.count, 1);
    assert_int_equal(c.subvolume_count, 1);
    assert_int_equal(decode("{\"labels\": {\"z\": \"1\"}}", &c, &err), 0);
    assert_int_equal(c.labels.count, 1);
    assert_string_equal(c.id, "c1");
}

TEST(wrong_type_is_told_with_its_path)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{\"clusterID\": 5}", "clusterID: expected a string, found a number"},
        {"{\"clusterid\": 1.5}", "clusterID: expected a string, found a number with a fraction"},
        {"{\"readOnly\": \"true\"}", "readOnly: expected true or false, found a string"},
        {"{\"priority\": \"1\"}", "priority: expected a whole number, found a string"},
        {"{\"priority\": true}", "priority: expected a whole number, found a boolean"},
        {"{\"priority\": 1.0}",
         "priority: expected a whole number, found one with a fraction or an exponent"},
        {"{\"sizeBytes\": 1e3}",
         "sizeBytes: expected a whole number, found one with a fraction or an exponent"},
        {"{\"sizeBytes\": -1}", "sizeBytes: must not be negative"},
        {"{\"monitors\": \"a,b\"}", "monitors: expected an array, found a string"},
        {"{\"monitors\": [\"a\", 1]}", "monitors[1]: expected a string, found a number"},
        {"{\"labels\": [\"a\"]}", "labels: expected an object, found an array"},
        {"{\"labels\": {\"zone\": {}}}", "labels.zone: expected a string, found an object"},
        {"{\"rbd\": false}", "rbd: expected an object, found a boolean"},
        {"{\"rbd\": {\"radosNamespace\": 7}}",
         "rbd.radosNamespace: expected a string, found a number"},
        {"{\"subvolumes\": {}}", "subvolumes: expected an array, found an object"},
        {"{\"subvolumes\": [{}, 3]}", "subvolumes[1]: expected an object, found a number"},
        {"{\"subvolumes\": [{}, {\"dataPools\": [\"a\", \"b\", []]}]}",
         "subvolumes[1].dataPools[2]: expected a string, found an array"},
        {"[]", "expected an object, found an array"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_refused(cases[i].text, cases[i].message);
}

TEST(key_may_be_a_path)
{
    static const struct {
        const char *text;
        const char *peer;
    } cases[] = {
        {"{\"mirror\": {\"peer\": {\"site\": \"b\"}}}", "b"},
        {"{\"mirror\": {\"peer\": {\"SITE\": \"b\"}}}", "b"},
        {"{\"mirror\": {\"peer\": {}}}", NULL},
        {"{\"mirror\": {\"peer\": null}}", NULL},
        {"{\"mirror\": {\"Peer\": {\"site\": \"b\"}}}", NULL},
        {"{\"mirror.peer.site\": \"b\"}", NULL},
        {"{}", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_(cluster_done) struct cluster cluster = {0};
        _cleanup_error_ struct error err = {0};

        assert_int_equal(decode(cases[i].text, &cluster, &err), 0);
        if (cases[i].peer)
            assert_string_equal(cluster.peer, cases[i].peer);
        else
            assert_null(cluster.peer);
    }
    assert_refused("{\"mirror\": 7}", "mirror: expected an object, found a number");
    assert_refused("{\"mirror\": {\"peer\": []}}",
                   "mirror.peer: expected an object, found an array");
    assert_refused("{\"mirror\": {\"peer\": {\"site\": 7}}}",
                   "mirror.peer.site: expected a string, found a number");
}

TEST(path_leads_through_nested_arrays)
{
    json_auto_t *value = load("{\"clusters\": [{}, {}, {\"rbd\": {\"radosNamespace\": 1}}]}");
    _cleanup_error_ struct error err = {0};
    struct clusters clusters = {0};

    assert_int_equal(json_decode(value, &CLUSTERS_TABLE, &clusters, &err), -1);
    assert_string_equal(err.message,
                        "clusters[2].rbd.radosNamespace: expected a string, found a number");
    json_free_fields(&CLUSTERS_TABLE, &clusters);
}

TEST(unknown_keys_are_ignored_unless_strict)
{
    _cleanup_(cluster_done) struct cluster c = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(decode("{\"nonsense\": 1, \"clusterIDs\": 2}", &c, &err), 0);
    assert_refused("{\"subvolumes\": [{\"nonsense\": 1}]}", "subvolumes[0].nonsense: unknown key");
}

static int decode_pools(const char *text, struct pool **pools, size_t *count, struct error *err)
{
    json_auto_t *value = load(text);
    void *items = NULL;

    if (json_decode_array(value, &POOL_TABLE, &items, count, err) < 0)
        return -1;
    *pools = items;
    return 0;
}

TEST(array_at_the_root_is_decoded)
{
    _cleanup_error_ struct error err = {0};
    struct pool *pools = NULL;
    size_t count = 0;

    assert_int_equal(decode_pools("[{\"poolName\": \"a\"}, {\"poolname\": \"b\","
                                  " \"domainSegments\": {\"zone\": \"z\"}}]",
                                  &pools, &count, &err),
                     0);
    assert_int_equal(count, 2);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a failed assert does not return */
    assert_string_equal(pools[0].name, "a");
    assert_string_equal(pools[1].name, "b");
    assert_string_equal(strmap_get(&pools[1].segments, "zone"), "z");
    json_free_array(&POOL_TABLE, pools, count);
}

TEST(empty_array_at_the_root_is_no_items)
{
    _cleanup_error_ struct error err = {0};
    struct pool *pools = NULL;
    size_t count = 0;

    assert_int_equal(decode_pools("[]", &pools, &count, &err), 0);
    assert_null(pools);
    assert_int_equal(count, 0);
    json_free_array(&POOL_TABLE, pools, count);
}

TEST(mistakes_in_a_strict_array_are_refused)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[{\"poolName\": \"a\"}, {\"poolName\": \"b\", \"domainSegment\": {}}]",
         "[1].domainSegment: unknown key (did you mean 'domainSegments'?)"},
        {"[{\"nonsense\": 1}]", "[0].nonsense: unknown key"},
        {"[{\"poolName\": \"a\", \"poolname\": \"b\"}]", "[0].poolname: same key as 'poolName'"},
        {"[{\"poolName\": \"a\"}, {\"poolName\": 1}]",
         "[1].poolName: expected a string, found a number"},
        {"[7]", "[0]: expected an object, found a number"},
        {"{}", "expected an array, found an object"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        struct pool *pools = NULL;
        size_t count = 0;

        assert_int_equal(decode_pools(cases[i].text, &pools, &count, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_string_equal(err.message, cases[i].message);
        assert_null(pools);
        assert_int_equal(count, 0);
    }
}

TEST(overlong_key_makes_no_overlong_message)
{
    _cleanup_free_ char *text = xasprintf("[{\"%0100000d\": 1}]", 1);
    _cleanup_error_ struct error err = {0};
    struct pool *pools = NULL;
    size_t count = 0;

    assert_int_equal(decode_pools(text, &pools, &count, &err), -1);
    assert_true(strlen(err.message) < 2000);
    assert_true(text_has_suffix(err.message, ": unknown key"));
}

TEST(freeing_zeroes_and_may_be_repeated)
{
    struct cluster c = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(decode("{\"clusterID\": \"c1\", \"subvolumes\": [{}], \"extra\": 1,"
                            " \"priority\": 3, \"rbd\": {\"radosNamespace\": \"n\"}}",
                            &c, &err),
                     0);
    json_free_fields(&CLUSTER_TABLE, &c);
    assert_null(c.id);
    assert_null(c.subvolumes);
    assert_int_equal(c.subvolume_count, 0);
    assert_null(c.rbd.rados_namespace);
    json_free_fields(&CLUSTER_TABLE, &c);
}

TEST(lists_and_maps_become_json)
{
    _cleanup_string_list_ struct string_list list = {0};
    _cleanup_strmap_ struct strmap map = {0};

    string_list_add(&list, "b");
    string_list_add(&list, "a");
    strmap_set(&map, "zone", "z1");
    strmap_set(&map, "rack", "");
    json_auto_t *json =
        json_pack("{s:o, s:o}", "list", json_from_strings(&list), "map", json_from_strmap(&map));
    _cleanup_free_ char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"list\":[\"b\",\"a\"],\"map\":{\"rack\":\"\",\"zone\":\"z1\"}}");
}
