#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/topology/takeover.h"
#include "tests/test.h"

#define DRIVER "rbd.csi.ceph.com"
#define MEMBER "topology.rbd.csi.ceph.com/member."

static int try_decode(const char *text, struct takeover_map *map, struct error *err)
{
    json_auto_t *value = NULL;

    if (json_load_text(text, strlen(text), "map", &value, err) < 0)
        fail_msg("%s", err->message);
    return takeover_map_decode(value, map, err);
}

static void decode(const char *text, struct takeover_map *map)
{
    _cleanup_error_ struct error err = {0};

    if (try_decode(text, map, &err) < 0)
        fail_msg("%s", err.message);
}

/* --- reading --- */

TEST(both_forms_are_read)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};

    decode("{\"zone-a\": [\"zone-b\", \"zone-c\", \"zone-b\"], \"rack=r7\": [\"all\"],"
           " \"zone=zone-d\": {\"to\": [\"zone-b\"], \"fence\": \"none\"},"
           " \"zone-e\": {\"to\": [\"zone=zone-b\"], \"fence\": \"required\"}}",
           &map);
    assert_int_equal(map.count, 4);
    assert_null(map.entries[0].level);
    assert_string_equal(map.entries[0].value, "zone-a");
    assert_int_equal(map.entries[0].targets.count, 2);
    assert_string_equal(map.entries[0].targets.items[1], "zone-c");
    assert_false(map.entries[0].to_all);
    assert_int_equal(map.entries[0].fence, TAKEOVER_FENCE_REQUIRED);
    assert_string_equal(map.entries[1].level, "rack");
    assert_string_equal(map.entries[1].value, "r7");
    assert_true(map.entries[1].to_all);
    assert_int_equal(map.entries[1].targets.count, 0);
    assert_string_equal(map.entries[2].level, "zone");
    assert_int_equal(map.entries[2].fence, TAKEOVER_FENCE_NONE);
    assert_string_equal(map.entries[3].level, "zone"); /* the target said so */
    assert_int_equal(map.entries[3].fence, TAKEOVER_FENCE_REQUIRED);
}

TEST(empty_map_is_no_takeover)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};

    decode("{}", &map);
    assert_int_equal(map.count, 0);
    assert_null(takeover_find(&map, "zone", "zone-a"));
}

TEST(what_cannot_be_meant_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"[]", "expected an object"},
        {"{\"zone-a\": \"zone-b\"}", "'zone-a': expected a list of domains"},
        {"{\"zone-a\": null}", "'zone-a': expected a list of domains"},
        {"{\"zone-a\": []}", "'zone-a': nobody is named; to give the domain back"},
        {"{\"zone-a\": [\"zone-b\", 7]}", "'zone-a': [1]: expected the name of a domain"},
        {"{\"zone-a\": [\"\"]}", "'zone-a': [0]: the name of a domain is missing"},
        {"{\"zone-a\": [\"zone=\"]}", "'zone-a': [0]: the name of a domain is missing"},
        {"{\"zone-a\": [\"zone b\"]}", "'zone-a': [0]: "},
        {"{\"zone-a\": [\"=b\"]}", "'zone-a': [0]: level"},
        {"{\"\": [\"b\"]}", "'': the name of a domain is missing"},
        {"{\"zone=\": [\"b\"]}", "'zone=': the name of a domain is missing"},
        {"{\"zone=a=b\": [\"b\"]}", "'zone=a=b': "},
        {"{\"topology.kubernetes.io/zone=a\": [\"b\"]}", "behind the slash: 'zone=a'"},
        {"{\"all\": [\"b\"]}", "'all': 'all' stands for domains that take over"},
        {"{\"zone=all\": [\"b\"]}", "stands for domains that take over"},
        {"{\"a\": [\"a\"]}", "'a': [0]: 'a' cannot take itself over"},
        {"{\"zone=a\": [\"b\", \"a\"]}", "'zone=a': [1]: 'a' cannot take itself over"},
        {"{\"a\": [\"zone=a\"]}", "cannot take itself over"},
        {"{\"zone=a\": [\"rack=b\"]}", "'zone=a': [0]: 'b': is of level 'rack'"},
        {"{\"a\": [\"zone=b\", \"rack=c\"]}", "'a': [1]: 'c': is of level 'rack'"},
        {"{\"a\": [\"b\"], \"zone=a\": [\"c\"]}", "'zone=a': an entry before may mean the same"},
        {"{\"zone=a\": [\"b\"], \"a\": [\"zone=c\"]}", "'a': an entry before may mean the same"},
        {"{\"a\": {}}", "'a': 'to' is missing"},
        {"{\"a\": {\"to\": null}}", "'a': 'to' is missing"},
        {"{\"a\": {\"to\": []}}", "'a': to: nobody is named"},
        {"{\"a\": {\"to\": [\"a\"]}}", "'a': to: [0]: 'a' cannot take itself over"},
        {"{\"a\": {\"to\": [\"b\"], \"fence\": \"no\"}}", "fence: 'no' is neither"},
        {"{\"a\": {\"to\": [\"b\"], \"fence\": \"\"}}", "fence: '' is neither"},
        {"{\"a\": {\"to\": [\"b\"], \"fence\": false}}", "fence: expected a string"},
        {"{\"a\": {\"to\": [\"b\"], \"fnce\": \"none\"}}", "did you mean 'fence'?"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct takeover_map map = {0};
        _cleanup_error_ struct error err = {0};

        if (try_decode(cases[i].text, &map, &err) == 0)
            fail_msg("%s was taken", cases[i].text);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].reason))
            fail_msg("%s: wanted \"%s\", got \"%s\"", cases[i].text, cases[i].reason, err.message);
        assert_null(map.entries);
    }
}

TEST(map_is_bounded)
{
    _cleanup_text_ struct text text = TEXT_INIT(JSON_TEXT_LIMIT);
    struct takeover_map map = {0};
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i <= TAKEOVER_ENTRIES_MAX; i++)
        text_addf(&text, "%s\"d%d\": [\"x\"]", i ? "," : "{", i);
    text_add(&text, "}");
    assert_int_equal(try_decode(text_chars(&text), &map, &err), -1);
    assert_non_null(strstr(err.message, "more than 1024 entries"));
    error_clear(&err);
    text_done(&text);
    text = (struct text)TEXT_INIT(JSON_TEXT_LIMIT);
    for (int i = 0; i <= TAKEOVER_TARGETS_MAX; i++)
        text_addf(&text, "%s\"x%d\"", i ? "," : "{\"a\": [", i);
    text_add(&text, "]}");
    assert_int_equal(try_decode(text_chars(&text), &map, &err), -1);
    assert_non_null(strstr(err.message, "more than 1024 domains"));
}

TEST(as_many_targets_as_are_allowed_are_taken)
{
    _cleanup_text_ struct text text = TEXT_INIT(JSON_TEXT_LIMIT);
    _cleanup_takeover_map_ struct takeover_map map = {0};

    for (int i = 0; i < TAKEOVER_TARGETS_MAX; i++)
        text_addf(&text, "%s\"x%d\"", i ? "," : "{\"a\": [", i);
    text_add(&text, "]}");
    decode(text_chars(&text), &map);
    assert_int_equal(map.entries[0].targets.count, TAKEOVER_TARGETS_MAX);
}

TEST(domain_under_takeover_is_found)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};

    decode("{\"zone-a\": [\"zone-b\"], \"rack=r7\": [\"all\"], \"zone=r7\": [\"all\"]}", &map);
    assert_ptr_equal(takeover_find(&map, "zone", "zone-a"), &map.entries[0]);
    assert_ptr_equal(takeover_find(&map, "region", "zone-a"), &map.entries[0]);
    assert_ptr_equal(takeover_find(&map, NULL, "zone-a"), &map.entries[0]);
    assert_ptr_equal(takeover_find(&map, "rack", "r7"), &map.entries[1]);
    assert_ptr_equal(takeover_find(&map, "zone", "r7"), &map.entries[2]);
    assert_ptr_equal(takeover_find(&map, NULL, "r7"), &map.entries[1]);
    assert_null(takeover_find(&map, "region", "r7"));
    assert_null(takeover_find(&map, "zone", "zone-b"));
    assert_null(takeover_find(&map, "zone", "Zone-a"));
}

TEST(pool_is_under_takeover_with_any_of_its_domains)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};
    struct pool_segment segments[] = {{(char[]){"region"}, (char[]){"r"}},
                                      {(char[]){"zone"}, (char[]){"a"}},
                                      {(char[]){"rack"}, (char[]){"7"}}};
    struct pool_entry pool = {.segments = segments, .count = ARRAY_LENGTH(segments)};

    decode("{\"rack=7\": [\"8\"], \"zone=z\": [\"all\"]}", &map);
    assert_ptr_equal(takeover_find_pool(&map, &pool), &map.entries[0]);
    pool.count = 2; /* without the rack */
    assert_null(takeover_find_pool(&map, &pool));
}

/* --- who takes over --- */

struct node_case {
    const char *map;
    const char *region; /* the node's labels; NULL: none */
    const char *zone;
    const char *rack;
    const char *serves;  /* the membership names beyond its home, with spaces between */
    const char *skipped; /* part of the only reason; NULL: nothing was skipped */
};

static void set_label(struct strmap *labels, const char *label, const char *value)
{
    if (value)
        strmap_set(labels, label, value);
}

static void check_node(const struct node_case *test, const char *level_labels)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_strmap_ struct strmap home = {0};
    _cleanup_string_list_ struct string_list missing = {0};
    _cleanup_string_list_ struct string_list skipped = {0};
    _cleanup_text_ struct text serves = TEXT_INIT(1024);
    _cleanup_error_ struct error err = {0};

    decode(test->map, &map);
    assert_int_equal(topology_levels_parse(DRIVER, level_labels, &levels, &err), 0);
    set_label(&labels, "x/region", test->region);
    set_label(&labels, "x/zone", test->zone);
    set_label(&labels, "x/rack", test->rack);
    topology_home(&levels, &labels, &home, &missing);
    strmap_merge(&segments, &home);
    takeover_apply(&map, &levels, &labels, &segments, &skipped);
    for (size_t i = 0; i < home.count; i++)
        assert_true(strmap_has(&segments, home.entries[i].key));
    for (size_t i = 0; i < segments.count; i++) {
        const char *key = segments.entries[i].key;

        if (strmap_has(&home, key)) {
            assert_string_equal(segments.entries[i].value, strmap_get(&home, key));
            continue;
        }
        assert_true(text_has_prefix(key, MEMBER));
        assert_string_equal(segments.entries[i].value, "true");
        text_addf(&serves, "%s%s", serves.length ? " " : "", key + strlen(MEMBER));
    }
    if (strcmp(text_chars(&serves), test->serves) != 0)
        fail_msg("%s: serves '%s' instead of '%s'", test->map, text_chars(&serves), test->serves);
    assert_int_equal(skipped.count, test->skipped ? 1 : 0);
    if (test->skipped && !strstr(skipped.items[0], test->skipped))
        fail_msg("%s: %s", test->map, skipped.items[0]);
}

TEST(nodes_of_the_targets_serve_the_domain)
{
    static const struct node_case cases[] = {
        {"{\"zone-a\": [\"zone-b\"]}", "r1", "zone-b", "k1", "zone.zone-a", NULL},
        {"{\"zone-a\": [\"zone-b\"]}", "r1", "zone-c", "k1", "", NULL},
        {"{\"zone-a\": [\"zone-b\"]}", "r1", "zone-a", "k1", "", NULL},
        {"{\"zone-a\": [\"zone-b\"]}", "r1", NULL, "k1", "", NULL},
        {"{\"zone=zone-a\": [\"zone-b\"]}", "r1", "zone-b", "k1", "zone.zone-a", NULL},
        {"{\"zone-a\": [\"zone=zone-b\"]}", "r1", "zone-b", "k1", "zone.zone-a", NULL},
        {"{\"rack=zone-a\": [\"zone-b\"]}", "r1", "zone-b", "k1", "", NULL},
        {"{\"zone-a\": [\"zone-b\", \"zone-c\"]}", "r1", "zone-c", "k1", "zone.zone-a", NULL},
        {"{\"region=r7\": [\"r1\"]}", "r1", "zone-b", "k1", "region.r7", NULL},
        /* everybody else of the level, but not those at home */
        {"{\"zone=zone-a\": [\"all\"]}", "r1", "zone-b", NULL, "zone.zone-a", NULL},
        {"{\"zone=zone-a\": [\"all\"]}", "r1", "zone-a", NULL, "", NULL},
        {"{\"zone=zone-a\": [\"all\"]}", "r1", NULL, NULL, "", NULL},
        {"{\"zone-a\": [\"zone=all\"]}", "r1", "zone-b", NULL, "zone.zone-a", NULL},
        {"{\"zone-a\": [\"all\"]}", NULL, "zone-b", NULL, "zone.zone-a", NULL},
        /* two at once, on two levels; takeovers do not chain */
        {"{\"zone-a\": [\"zone-b\"], \"rack=k7\": [\"k1\"]}", "r1", "zone-b", "k1",
         "rack.k7 zone.zone-a", NULL},
        {"{\"zone-a\": [\"zone-b\"], \"zone-b\": [\"zone-c\"]}", "r1", "zone-c", "k1",
         "zone.zone-b", NULL},
        /* ambiguous names */
        {"{\"a\": [\"b\"]}", "b", "b", "k1", "", "'a' may be a region or a zone"},
        {"{\"a\": [\"b\"]}", "r1", "b", "b", "", "write 'zone=a' or 'rack=a'"},
        {"{\"a\": [\"all\"]}", "r1", "b", NULL, "", "'a' may be a region or a zone"},
        {"{\"zone=a\": [\"b\"]}", "b", "b", "b", "zone.a", NULL},
        {"{\"a\": [\"b\", \"c\"]}", "r1", "b", "c", "", "'a' may be a zone or a rack"},
        /* levels that are not there */
        {"{\"rak=k7\": [\"k1\"]}", "r1", "b", "k1", "",
         "no level is called 'rak'; did you mean 'r"},
        {"{\"regio=k7\": [\"k1\"]}", "r1", "b", "k1", "", "did you mean 'region'?"},
        {"{\"building=k7\": [\"k1\"]}", "r1", "b", "k1", "", "no level is called 'building'"},
        /* CSI's keys do not differ in case only */
        {"{\"ZONE-b\": [\"zone-b\"]}", "r1", "zone-b", NULL, "", "differ in case only"},
        {"{\"zone-a\": [\"zone-b\"], \"Zone-A\": [\"zone-b\"]}", "r1", "zone-b", NULL,
         "zone.zone-a", "differ in case only"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check_node(&cases[i], "x/region,x/zone,x/rack");
}

TEST(only_level_is_what_a_bare_name_means)
{
    static const struct node_case cases[] = {
        {"{\"a\": [\"all\"]}", "r1", "b", "k1", "zone.a", NULL},
        {"{\"a\": [\"b\"]}", "b", "b", "b", "zone.a", NULL},
        {"{\"a\": [\"b\"]}", "b", "c", "b", "", NULL},
        {"{\"a\": [\"b\"]}", "b", NULL, "b", "", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check_node(&cases[i], "x/zone");
}

TEST(without_levels_nothing_is_taken_over)
{
    static const struct node_case cases[] = {
        {"{\"a\": [\"b\"], \"c\": [\"all\"]}", "b", "b", "b", "", NULL},
        {"{\"zone=a\": [\"b\"]}", "b", "b", "b", "", "no level is called 'zone'"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check_node(&cases[i], "");
}

/* A node may carry such keys, but gets no more of them. */
TEST(taken_over_key_must_differ_from_ones_own_by_more_than_case)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_string_list_ struct string_list skipped = {0};
    _cleanup_error_ struct error err = {0};

    decode("{\"ZONE-B\": [\"zone-b\"]}", &map);
    assert_int_equal(topology_levels_parse(DRIVER, "x/zone", &levels, &err), 0);
    strmap_set(&labels, "x/zone", "zone-b");
    _cleanup_free_ char *own = membership_key(levels.prefix, "zone", "zone-b");
    strmap_set(&segments, own, "true");
    takeover_apply(&map, &levels, &labels, &segments, &skipped);
    assert_int_equal(segments.count, 1);
    assert_int_equal(skipped.count, 1);
}

TEST(own_keys_that_differ_in_case_only_are_left_alone)
{
    static const char *const own[] = {"a", "A", "b", "B"};
    _cleanup_takeover_map_ struct takeover_map map = {0};
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_string_list_ struct string_list skipped = {0};
    _cleanup_error_ struct error err = {0};

    decode("{\"zone-x\": [\"zone-b\"]}", &map);
    assert_int_equal(topology_levels_parse(DRIVER, "x/zone", &levels, &err), 0);
    strmap_set(&labels, "x/zone", "zone-b");
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        _cleanup_free_ char *key = membership_key(levels.prefix, "zone", own[i]);

        strmap_set(&segments, key, "true");
    }
    takeover_apply(&map, &levels, &labels, &segments, &skipped);
    assert_int_equal(segments.count, ARRAY_LENGTH(own) + 1);
    assert_int_equal(skipped.count, 0);
}
