/* What a class says about its pools, and the pools that say it themselves. */

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/usage/class_pools.h"
#include "tests/test.h"

#define LIST "[{\"poolName\":\"p\",\"domainSegments\":[]}]"

/* --- parameters --- */

/* "key=value|key=value" */
static void fill(struct strmap *parameters, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "|");
        size_t key_length = strcspn(text, "=");
        _cleanup_free_ char *key = xstrndup(text, key_length);
        _cleanup_free_ char *value = xstrndup(text + key_length + 1, length - key_length - 1);

        strmap_set(parameters, key, value);
        text += length + (text[length] == '|');
    }
}

TEST(mistakes_in_parameters_are_refused)
{
    static const struct {
        const char *name;
        const char *parameters;
        const char *message;
    } cases[] = {
        {"topologyPools knows auto only", "pool=p|topologyPools=yes",
         "topologyPools: 'yes' is unknown; there is only 'auto'"},
        {"auto and a list", "pool=p|topologyPools=auto|topologyConstrainedPools=" LIST,
         "exclude each other"},
        {"auto without pool", "topologyPools=auto", "needs the parameter pool"},
        {"unknown policy", "pool=p|poolSelection=random", "poolSelection: 'random'"},
        {"unknown pinning", "pool=p|topologyPinning=hard", "topologyPinning: 'hard'"},
        {"unknown way of Immediate", "pool=p|immediateTopology=random",
         "immediateTopology: 'random' is none of first, spread and pin"},
        {"unserved domains", "pool=p|unservedDomains=ignore",
         "unservedDomains: 'ignore' is neither 'refuse' nor 'anywhere'"},
        {"overcommit is no number", "pool=p|overcommit=much", "overcommit: 'much'"},
        {"crossPoolRestore", "pool=p|crossPoolRestore=yes",
         "crossPoolRestore: 'yes' is neither 'copy' nor 'none'"},
        {"a bad list", "pool=p|topologyConstrainedPools=[{\"pool\":\"p\"}]",
         "topologyConstrainedPools: [0].pool: unknown key"},
        {"an empty list", "pool=p|topologyConstrainedPools=[]", "the list is empty"},
        {"an empty text is no list",
         "pool=p|topologyConstrainedPools=", "topologyConstrainedPools: line 1"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = {0};
        _cleanup_error_ struct error err = {0};
        struct class_pools pools = {0};

        fill(&parameters, cases[i].parameters);
        if (class_pools_parse_rbd(&parameters, &pools, &err) == 0)
            fail_msg("%s: was taken", cases[i].name);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: wanted '%s', got '%s'", cases[i].name, cases[i].message, err.message);
    }
}

TEST(parameters_are_taken)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_class_pools_ struct class_pools pools = {0};
    _cleanup_error_ struct error err = {0};

    fill(&parameters, "clusterID=c|pool=p|dataPool=d|topologyPools=auto|topologyClass=fast|"
                      "poolSelection=spread|topologyPinning=plain|overcommit=1.5|"
                      "crossPoolRestore=copy|immediateTopology=pin|unservedDomains=anywhere");
    assert_int_equal(class_pools_parse_rbd(&parameters, &pools, &err), 0);
    assert_string_equal(pools.cluster_id, "c");
    assert_string_equal(pools.pool, "p");
    assert_string_equal(pools.data_pool, "d");
    assert_true(pools.is_auto && pools.has_policy && pools.may_cross_pools);
    assert_string_equal(pools.topology_class, "fast");
    assert_int_equal(pools.policy, PLACEMENT_SPREAD);
    assert_int_equal(pools.pinning, PINNING_PLAIN);
    assert_int_equal(pools.overcommit, 1500);
    assert_int_equal(pools.immediate, IMMEDIATE_PIN);
    assert_true(pools.may_be_anywhere);
    assert_true(class_pools_have_places(&pools));
}

TEST(volumes_are_counted_only_where_it_matters)
{
    static const struct {
        const char *parameters;
        bool is_needed;
    } cases[] = {
        {"poolSelection=free-space", false},
        {"poolSelection=first", false},
        {"poolSelection=spread", true},
        {"overcommit=0.001", true},
        {"overcommit=2", true},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = {0};
        _cleanup_class_pools_ struct class_pools pools = {0};
        _cleanup_error_ struct error err = {0};

        fill(&parameters, "clusterID=c|pool=p");
        fill(&parameters, cases[i].parameters);
        assert_int_equal(class_pools_parse_rbd(&parameters, &pools, &err), 0);
        assert_int_equal(class_pools_need_volumes(&pools), cases[i].is_needed);
    }
}

TEST(defaults_are_those_of_a_plain_class)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_class_pools_ struct class_pools pools = {0};
    _cleanup_error_ struct error err = {0};

    fill(&parameters, "clusterID=c|pool=p|dataPool=|poolSelection=|overcommit=|immediateTopology=|"
                      "unservedDomains=");
    assert_int_equal(class_pools_parse_rbd(&parameters, &pools, &err), 0);
    assert_null(pools.data_pool);
    assert_false(pools.is_auto || pools.has_policy || pools.may_cross_pools);
    assert_int_equal(pools.policy, PLACEMENT_FREE_SPACE);
    assert_int_equal(pools.pinning, PINNING_AUTO);
    assert_int_equal(pools.overcommit, 0);
    assert_int_equal(pools.immediate, IMMEDIATE_FIRST);
    assert_false(pools.may_be_anywhere);
    assert_false(class_pools_have_places(&pools));
    struct pool_entry plain = class_pools_plain(&pools, NULL);
    assert_string_equal(plain.pool, "p");
    assert_int_equal(plain.count, 0);
    pool_entry_done(&plain);
}

TEST(the_class_of_auto_pools_is_named_after_the_pool)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_class_pools_ struct class_pools pools = {0};
    _cleanup_error_ struct error err = {0};

    fill(&parameters, "pool=p|topologyPools=auto");
    assert_int_equal(class_pools_parse_rbd(&parameters, &pools, &err), 0);
    assert_string_equal(pools.topology_class, "p");
}

/* Ceph-CSI uses the class's pool, and so do classes that were written for it. */
TEST(without_requirement_the_pool_is_used_unless_the_class_says_otherwise)
{
    static const struct {
        const char *parameters;
        bool wants_place;
    } cases[] = {
        {"pool=p|topologyConstrainedPools=" LIST, false},
        {"pool=p|immediateTopology=first|topologyConstrainedPools=" LIST, false},
        {"pool=p|unservedDomains=anywhere|topologyConstrainedPools=" LIST, false},
        {"pool=p|immediateTopology=spread|topologyConstrainedPools=" LIST, true},
        {"pool=p|immediateTopology=pin|topologyConstrainedPools=" LIST, true},
        {"pool=p|poolSelection=first|topologyConstrainedPools=" LIST, true},
        {"topologyConstrainedPools=" LIST, true},
        {"pool=p|immediateTopology=spread", false},
    };
    const struct topology_requirement nowhere = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = {0};
        _cleanup_class_pools_ struct class_pools pools = {0};
        _cleanup_error_ struct error err = {0};

        fill(&parameters, cases[i].parameters);
        assert_int_equal(class_pools_parse_rbd(&parameters, &pools, &err), 0);
        assert_int_equal(class_pools_want_place(&pools, &nowhere), cases[i].wants_place);
    }
}

/* --- pools that carry their place --- */

#define BUCKET(id, name, type, number, items)                                                      \
    "{\"id\":" #id ",\"name\":\"" name "\",\"type_name\":\"" type "\",\"type_id\":" #number        \
    ",\"items\":[" items "]}"
#define RULE(id, takes)                                                                            \
    "{\"rule_id\":" #id ",\"steps\":[{\"op\":\"take\",\"item_name\":\"" takes "\"}]}"

static const char CRUSH[] =
    "{\"buckets\":[" BUCKET(-1, "default", "root", 11, "{\"id\":-2}") "," BUCKET(-2, "r1", "region", 10, "{\"id\":-3}") "," BUCKET(
        -3, "z1", "zone", 9,
        "{\"id\":-4}") "," BUCKET(-4, "k1", "rack", 3,
                                  "{\"id\":-5}") "," BUCKET(-5, "h1", "host", 1,
                                                            "") "," BUCKET(-13, "z1~ssd", "zone", 9,
                                                                           "") "],\"rules\":"
                                                                               "[" RULE(
                                                                                   0,
                                                                                   "defaul"
                                                                                   "t") "," RULE(1,
                                                                                                 "z"
                                                                                                 "1") "," RULE(2,
                                                                                                               "z1~ssd") "," RULE(3,
                                                                                                                                  "k1") "," RULE(4,
                                                                                                                                                 "h1") ","
                                                                                                                                                       "{\"rule_id\":5,\"steps\":[{\"op\":\"take\",\"item_name\":\"z1\"},{\"op\":\"take\","
                                                                                                                                                       "\"item_name\":\"k1\"}]},{\"rule_id\":6,\"steps\":[{\"op\":\"take\",\"item_name\":\"z1\"},{\"op\":\"leap\"}]}],\"types\":[{\"type_id\":0,\"name\":\"osd\"},{\"type_id\":1,\"name\":"
                                                                                                                                                       "\"host\"},{\"type_id\":3,\"name\":\"rack\"},{\"type_id\":9,\"name\":\"zone\"},{\"type_id\":10,"
                                                                                                                                                       "\"name\":\"region\"},{\"type_id\":11,\"name\":\"root\"}]}";

#define CLASS_K "\"cephzone.class\":\"k\""

struct found_case {
    const char *name;
    const char *type; /* 1: replicated, 3: erasure coded */
    const char *rule;
    const char *applications;
    const char *levels; /* "zone,rack"; NULL: all */
    const char *place;  /* "place (origin)"; NULL: takes no part */
};

static const struct found_case FOUND[] = {
    {"no application", "1", "1", "{}", NULL, NULL},
    {"another application", "1", "1", "{\"cephfs\":{" CLASS_K "}}", NULL, NULL},
    {"nobody's pool", "1", "1", "{\"rbd\":{}}", NULL, NULL},
    {"another class's pool", "1", "1", "{\"rbd\":{\"cephzone.class\":\"other\"}}", NULL, NULL},
    {"a class whose name begins alike", "1", "1", "{\"rbd\":{\"cephzone.class\":\"kk\"}}", NULL,
     NULL},
    {"an erasure coded pool", "3", "1", "{\"rbd\":{" CLASS_K "}}", NULL, NULL},
    {"a place without a class is not enough", "1", "1", "{\"rbd\":{\"cephzone.zone\":\"a\"}}", NULL,
     NULL},
    {"a list of classes names none", "1", "1", "{\"rbd\":{\"cephzone.class\":\"a,k\"}}", "zone",
     NULL},
    {"metadata", "1", "0", "{\"rbd\":{" CLASS_K ",\"cephzone.zone\":\"a\"}}", NULL,
     "zone=a (metadata)"},
    {"metadata wins over CRUSH", "1", "1", "{\"rbd\":{" CLASS_K ",\"cephzone.zone\":\"a\"}}", NULL,
     "zone=a (metadata)"},
    {"several levels of metadata, outermost first", "1", "0",
     "{\"rbd\":{" CLASS_K
     ",\"cephzone.rack\":\"7\",\"cephzone.region\":\"r\",\"cephzone.zone\":\"a\"}}",
     NULL, "region=r,zone=a,rack=7 (metadata)"},
    {"metadata of a level that CRUSH does not know comes last", "1", "0",
     "{\"rbd\":{" CLASS_K ",\"cephzone.cage\":\"7\",\"cephzone.zone\":\"a\"}}", NULL,
     "zone=a,cage=7 (metadata)"},
    {"other people's metadata does not matter", "1", "0",
     "{\"rbd\":{" CLASS_K ",\"owner\":\"me\",\"cephzone.zone\":\"a\"}}", NULL, "zone=a (metadata)"},
    {"CRUSH: the bucket and what is above it", "1", "1", "{\"rbd\":{" CLASS_K "}}", NULL,
     "region=r1,zone=z1 (crush)"},
    {"CRUSH: a device class does not matter", "1", "2", "{\"rbd\":{" CLASS_K "}}", NULL,
     "region=r1,zone=z1 (crush)"},
    {"CRUSH: three levels", "1", "3", "{\"rbd\":{" CLASS_K "}}", NULL,
     "region=r1,zone=z1,rack=k1 (crush)"},
    {"CRUSH: only levels that are asked for", "1", "3", "{\"rbd\":{" CLASS_K "}}", "zone",
     "zone=z1 (crush)"},
    {"CRUSH: two levels that are asked for", "1", "3", "{\"rbd\":{" CLASS_K "}}", "rack,region",
     "region=r1,rack=k1 (crush)"},
    {"CRUSH: none of the levels: left out", "1", "1", "{\"rbd\":{" CLASS_K "}}", "rack", NULL},
    {"CRUSH: a rule for a root is everywhere", "1", "0", "{\"rbd\":{" CLASS_K "}}", NULL,
     "anywhere (crush)"},
    {"CRUSH: a rule for a root is everywhere on any level", "1", "0", "{\"rbd\":{" CLASS_K "}}",
     "zone", "anywhere (crush)"},
    {"CRUSH: a rule that takes several buckets is everywhere", "1", "5", "{\"rbd\":{" CLASS_K "}}",
     NULL, "anywhere (crush)"},
    {"CRUSH: a rule that is not known is everywhere", "1", "77", "{\"rbd\":{" CLASS_K "}}", NULL,
     "anywhere (crush)"},
    {"CRUSH: a rule with a step that is not known: left out", "1", "6", "{\"rbd\":{" CLASS_K "}}",
     NULL, NULL},
    {"metadata helps where a step is not known", "1", "6",
     "{\"rbd\":{" CLASS_K ",\"cephzone.zone\":\"a\"}}", NULL, "zone=a (metadata)"},
    {"CRUSH: a host is no place of volumes, what is above it is", "1", "4",
     "{\"rbd\":{" CLASS_K "}}", NULL, "region=r1,zone=z1,rack=k1 (crush)"},
};

static void load_usage(const struct found_case *found, struct cluster_usage *usage)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *listed =
        xasprintf("[{\"pool_id\":1,\"pool_name\":\"p\",\"type\":%s,\"crush_rule\":%s,"
                  "\"quota_max_bytes\":0,\"application_metadata\":%s}]",
                  found->type, found->rule, found->applications);
    struct crush_map crush = {0};

    if (cluster_usage_parse("{\"pools\":[]}", listed, usage, &err) < 0 ||
        crush_map_parse(CRUSH, &crush, &err) < 0)
        fail_msg("%s: %s", found->name, err.message);
    cluster_usage_set_crush(usage, &crush);
}

static void check_found(const struct found_case *found)
{
    const struct class_pools pools = {.is_auto = true, .topology_class = "k"};
    _cleanup_cluster_usage_ struct cluster_usage usage = {0};
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    _cleanup_string_list_ struct string_list levels = {0};
    _cleanup_free_ char *text = NULL;

    load_usage(found, &usage);
    for (const char *next = found->levels; next && *next; next += *next == ',') {
        _cleanup_free_ char *level = xstrndup(next, strcspn(next, ","));

        string_list_add(&levels, level);
        next += strlen(level);
    }
    class_pools_find(&pools, &usage, found->levels ? &levels : NULL, &entries);
    if (entries.count) {
        _cleanup_free_ char *place = pool_entry_place(&entries.items[0]);

        text = xasprintf("%s (%s)", place, entries.items[0].origin);
    }
    if (!text != !found->place || (text && strcmp(text, found->place) != 0))
        fail_msg("%s: wanted '%s', got '%s'", found->name, found->place ? found->place : "nothing",
                 text ? text : "nothing");
}

#define IN(zone, pool, data_pool)                                                                  \
    "{\"poolName\":\"" pool "\",\"dataPool\":\"" data_pool                                         \
    "\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"" zone "\"}]}"

TEST(room_of_an_rbd_entry_is_that_of_its_data_pool)
{
    static const char listed[] = "[{\"pool_id\":1,\"pool_name\":\"p\",\"quota_max_bytes\":0},"
                                 "{\"pool_id\":2,\"pool_name\":\"d\",\"quota_max_bytes\":0}]";
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_class_pools_ struct class_pools pools = {0};
    _cleanup_cluster_usage_ struct cluster_usage usage = {0};
    _cleanup_error_ struct error err = {0};
    const struct cluster_pool *pool = NULL;

    fill(&parameters, "clusterID=c|topologyConstrainedPools="
                      "[{\"poolName\":\"p\",\"domainSegments\":[]}," IN("a", "p", "d") "," IN(
                          "b", "p", "x") "," IN("c", "x", "d") "]");
    assert_int_equal(cluster_usage_parse("{\"pools\":[]}", listed, &usage, &err), 0);
    assert_int_equal(class_pools_parse_rbd(&parameters, &pools, &err), 0);
    assert_int_equal(pools.entries.count, 4);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            class_pools_look_up(&pools, &pools.entries.items[i], i, &usage, &pool, &err), 0);
        assert_int_equal(pool->id, i + 1);
    }
    for (size_t i = 2; i < 4; i++) {
        _cleanup_free_ char *key =
            xasprintf("topologyConstrainedPools[%zu].%s", i, i == 2 ? "dataPool" : "poolName");

        assert_int_equal(
            class_pools_look_up(&pools, &pools.entries.items[i], i, &usage, &pool, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, key));
        error_clear(&err);
    }
}

/* --- CephFS --- */

/* One file system, whose data pools are those with ids 1 and 9. */
static void add_filesystem(struct cluster_usage *usage)
{
    struct filesystem fs = {.id = 2, .name = xstrdup("fs"), .data_pool_count = 2};

    fs.data_pool_ids = xcalloc(2, sizeof(*fs.data_pool_ids));
    fs.data_pool_ids[0] = 9;
    fs.data_pool_ids[1] = 1;
    usage->filesystems.items = xcalloc(1, sizeof(fs));
    usage->filesystems.items[0] = fs;
    usage->filesystems.count = 1;
}

TEST(data_pools_of_any_type_take_part)
{
    static const struct found_case cases[] = {
        {"an erasure coded data pool", "3", "1", "{\"cephfs\":{\"data\":\"fs\"," CLASS_K "}}", NULL,
         "region=r1,zone=z1 (crush)"},
        {"metadata", "1", "0", "{\"cephfs\":{" CLASS_K ",\"cephzone.zone\":\"a\"}}", NULL,
         "zone=a (metadata)"},
        {"a pool of RBD", "1", "1", "{\"rbd\":{" CLASS_K "}}", NULL, NULL},
    };
    const struct class_pools pools = {
        .is_cephfs = true, .is_auto = true, .topology_class = "k", .home = "fs"};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_cluster_usage_ struct cluster_usage usage = {0};
        _cleanup_pool_entries_ struct pool_entries entries = {0};

        load_usage(&cases[i], &usage);
        class_pools_find(&pools, &usage, NULL, &entries);
        assert_int_equal(entries.count, 0); /* no file system has it */
        add_filesystem(&usage);
        class_pools_find(&pools, &usage, NULL, &entries);
        assert_int_equal(entries.count, cases[i].place != NULL);
        if (!cases[i].place)
            continue;
        _cleanup_free_ char *place = pool_entry_place(&entries.items[0]);
        _cleanup_free_ char *text = xasprintf("%s (%s)", place, entries.items[0].origin);
        assert_string_equal(text, cases[i].place);
        assert_string_equal(entries.items[0].fs_name, "fs");
    }
}

TEST(default_pool_of_an_unknown_cluster_is_described)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_class_pools_ struct class_pools pools = {0};
    _cleanup_error_ struct error err = {0};

    fill(&parameters, "clusterID=c|fsName=fs");
    assert_int_equal(class_pools_parse_cephfs(&parameters, &pools, &err), 0);
    struct pool_entry plain = class_pools_plain(&pools, NULL);
    assert_string_equal(plain.pool, "first of 'fs'");
    pool_entry_done(&plain);
}

TEST(file_system_stands_where_rbd_has_the_pool)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_class_pools_ struct class_pools pools = {0};
    _cleanup_error_ struct error err = {0};

    fill(&parameters, "clusterID=c|fsName=fs|pool=data|topologyPools=auto");
    assert_int_equal(class_pools_parse_cephfs(&parameters, &pools, &err), 0);
    assert_string_equal(pools.home, "fs");
    assert_string_equal(pools.topology_class, "fs");
    assert_true(pools.may_cross_pools);
    strmap_set(&parameters, "crossPoolRestore", "none");
    assert_int_equal(class_pools_parse_cephfs(&parameters, &pools, &err), 0);
    assert_false(pools.may_cross_pools);
    strmap_remove(&parameters, "fsName");
    assert_int_equal(class_pools_parse_cephfs(&parameters, &pools, &err), -1);
    assert_non_null(strstr(err.message, "needs the parameter fsName"));
}

TEST(pools_take_part_with_their_places)
{
    for (size_t i = 0; i < ARRAY_LENGTH(FOUND); i++)
        check_found(&FOUND[i]);
    printf("note: %zu rules of pools that carry their place\n", ARRAY_LENGTH(FOUND));
}
