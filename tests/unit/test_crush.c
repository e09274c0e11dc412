/* The part of a CRUSH map that tells where pools are. */

#include "common/base/memory.h"
#include "common/usage/crush.h"
#include "tests/test.h"

#define TYPES                                                                                      \
    "\"types\":[{\"type_id\":0,\"name\":\"osd\"},{\"type_id\":1,\"name\":\"host\"},"               \
    "{\"type_id\":9,\"name\":\"zone\"},{\"type_id\":11,\"name\":\"root\"}]"

static const char MAP[] =
    "{\"buckets\":["
    "{\"id\":-1,\"name\":\"default\",\"type_id\":11,\"type_name\":\"root\",\"items\":[{\"id\":-3}]}"
    ","
    "{\"id\":-3,\"name\":\"zone-a\",\"type_id\":9,\"type_name\":\"zone\",\"items\":[{\"id\":-5}]},"
    "{\"id\":-4,\"name\":\"zone-a~ssd\",\"type_id\":9,\"type_name\":\"zone\",\"items\":[]},"
    "{\"id\":-5,\"name\":\"host-a\",\"type_id\":1,\"type_name\":\"host\",\"items\":[{\"id\":0}]}],"
    "\"rules\":["
    "{\"rule_id\":0,\"steps\":[{\"op\":\"take\",\"item\":-1,\"item_name\":\"default\"},"
    "{\"op\":\"chooseleaf_firstn\"},{\"op\":\"emit\"}]},"
    "{\"rule_id\":3,\"steps\":[{\"op\":\"set_chooseleaf_tries\"},{\"op\":\"take\",\"item_name\":"
    "\"zone-a~ssd\"},{\"op\":\"emit\"}]},"
    "{\"rule_id\":4,\"steps\":[{\"op\":\"take\",\"item_name\":\"zone-a\"},{\"op\":\"emit\"},"
    "{\"op\":\"take\",\"item_name\":\"default\"},{\"op\":\"emit\"}]},"
    "{\"rule_id\":5,\"steps\":[{\"op\":\"take\",\"item_name\":\"zone-a\"},{\"op\":\"emit\"},"
    "{\"op\":\"take\",\"item_name\":\"zone-a\"},{\"op\":\"emit\"}]},"
    "{\"rule_id\":6,\"steps\":[]},"
    /* as Ceph 20.2.4 prints a rule for several OSDs in a failure domain */
    "{\"rule_id\":8,\"type\":5,\"steps\":[{\"op\":\"take\",\"item\":-3,\"item_name\":\"zone-a\"},"
    "{\"op\":\"choosemsr\",\"num\":2,\"type\":\"host\"},{\"op\":\"choosemsr\",\"num\":2,"
    "\"type\":\"osd\"},{\"op\":\"emit\"}]},"
    "{\"rule_id\":9,\"steps\":[{\"op\":\"take\",\"item_name\":\"zone-a\"},{\"op\":\"leap\"},"
    "{\"op\":\"emit\"}]},"
    "{\"rule_id\":10,\"steps\":[{\"op\":\"take\",\"item_name\":\"zone-a\"},{\"opcode\":99}]}"
    "]," TYPES "}";

static void load(struct crush_map *map)
{
    _cleanup_error_ struct error err = {0};

    if (crush_map_parse(MAP, map, &err) < 0)
        fail_msg("%s", err.message);
}
#define _cleanup_crush_ _cleanup_(crush_map_done)

TEST(rules_take_what_they_name)
{
    static const struct {
        const char *name;
        int64_t rule;
        const char *takes; /* NULL: unknown */
    } cases[] = {
        {"a root", 0, "default"},
        {"a zone with a device class", 3, "zone-a~ssd"},
        {"several buckets have no place", 4, NULL},
        {"one bucket twice is one", 5, "zone-a"},
        {"no steps", 6, NULL},
        {"no such rule", 7, NULL},
        {"a negative rule", -1, NULL},
        {"several OSDs in a failure domain", 8, "zone-a"},
        {"a step that is not known", 9, NULL},
        {"a step without a name", 10, NULL},
    };
    _cleanup_crush_ struct crush_map map = {0};

    load(&map);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *takes = crush_rule_takes(&map, cases[i].rule);

        if (!takes != !cases[i].takes || (takes && strcmp(takes, cases[i].takes) != 0))
            fail_msg("%s: got '%s'", cases[i].name, takes ? takes : "nothing");
    }
}

TEST(a_step_that_is_not_known_is_named)
{
    _cleanup_crush_ struct crush_map map = {0};

    load(&map);
    assert_string_equal(crush_rule_strange_step(&map, 9), "leap");
    assert_string_equal(crush_rule_strange_step(&map, 10), "without a name");
    for (int64_t rule = -1; rule < 9; rule++)
        assert_null(crush_rule_strange_step(&map, rule));
}

TEST(buckets_are_found_whatever_the_device_class)
{
    static const struct {
        const char *name;
        int64_t id; /* 0: none */
        int64_t parent;
    } cases[] = {
        {"default", -1, 0},     {"zone-a", -3, -1}, {"zone-a~ssd", -3, -1},
        {"zone-a~hdd", -3, -1}, {"host-a", -5, -3}, {"zone", 0, 0},
        {"zone-ab", 0, 0},      {"", 0, 0},         {"~ssd", 0, 0},
    };
    _cleanup_crush_ struct crush_map map = {0};

    load(&map);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct crush_bucket *bucket = crush_find_bucket(&map, cases[i].name);
        const struct crush_bucket *parent = bucket ? crush_parent(&map, bucket) : NULL;

        assert_int_equal(bucket ? bucket->id : 0, cases[i].id);
        assert_int_equal(parent ? parent->id : 0, cases[i].parent);
    }
}

TEST(types_grow_outwards)
{
    _cleanup_crush_ struct crush_map map = {0};

    load(&map);
    assert_int_equal(crush_type_id(&map, "host"), 1);
    assert_int_equal(crush_type_id(&map, "zone"), 9);
    assert_int_equal(crush_type_id(&map, "rack"), -1);
    _cleanup_string_list_ struct string_list types = {0};
    crush_list_types(&map, &types);
    assert_int_equal(types.count, map.type_count);
    for (size_t i = 1; i < types.count; i++)
        assert_true(crush_type_id(&map, types.items[i - 1]) > crush_type_id(&map, types.items[i]));
}

TEST(odd_maps_are_survived)
{
    static const char *const maps[] = {
        "{\"buckets\":[],\"rules\":[]}",
        "{\"buckets\":[],\"rules\":[],\"types\":null}",
        /* two buckets that contain each other */
        ("{\"buckets\":[{\"id\":-1,\"name\":\"a\",\"type_name\":\"zone\",\"items\":[{\"id\":-2}]},"
         "{\"id\":-2,\"name\":\"b\",\"type_name\":\"zone\",\"items\":[{\"id\":-1}]}],\"rules\":[]"
         "}"),
        /* a take without a name, steps without an operation */
        "{\"buckets\":[],\"rules\":[{\"rule_id\":1,\"steps\":[{\"op\":\"take\"},{}]}]}",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(maps); i++) {
        _cleanup_crush_ struct crush_map map = {0};
        _cleanup_error_ struct error err = {0};

        if (crush_map_parse(maps[i], &map, &err) < 0)
            fail_msg("%s", err.message);
        assert_null(crush_rule_takes(&map, 1));
    }
}

TEST(what_is_no_map_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "osd crush dump: line 1"},
        {"[]", "osd crush dump: expected an object"},
        {"{}", "osd crush dump: buckets is missing"},
        {"{\"buckets\":[]}", "osd crush dump: rules is missing"},
        {"{\"buckets\":[{}],\"rules\":[]}", "buckets[0].name is missing"},
        {"{\"buckets\":[{\"name\":\"a\"}],\"rules\":[]}", "buckets[0].type_name is missing"},
        {"{\"buckets\":[],\"rules\":[],\"types\":[{}]}", "types[0].name is missing"},
        {"{\"buckets\":[],\"rules\":[{\"rule_id\":\"x\"}]}", "rules[0].rule_id: expected"},
        {"{\"buckets\":{},\"rules\":[]}", "buckets: expected an array"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct crush_map map = {0};
        _cleanup_error_ struct error err = {0};

        assert_int_equal(crush_map_parse(cases[i].text, &map, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("wanted '%s', got '%s'", cases[i].message, err.message);
        assert_null(map.buckets);
    }
}
