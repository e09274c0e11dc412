#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "tests/test.h"

#define DRIVER "rbd.csi.ceph.com"
#define PREFIX "topology.rbd.csi.ceph.com"
#define REGION "topology.kubernetes.io/region"
#define ZONE "topology.kubernetes.io/zone"
#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

static void parse(const char *labels, struct topology_levels *levels)
{
    _cleanup_error_ struct error err = {0};

    if (topology_levels_parse(DRIVER, labels, levels, &err) < 0)
        fail_msg("%s", err.message);
}

/* --- levels --- */

TEST(levels_are_called_by_what_is_behind_the_first_slash)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};

    parse("failure-domain/region," ZONE ",rack", &levels);
    assert_string_equal(levels.prefix, PREFIX);
    assert_int_equal(levels.count, 3);
    assert_string_equal(levels.items[0].label, "failure-domain/region");
    assert_string_equal(levels.items[0].name, "region");
    assert_string_equal(levels.items[1].name, "zone");
    assert_string_equal(levels.items[2].name, "rack");
    assert_int_equal(topology_level_find(&levels, "region"), 0);
    assert_int_equal(topology_level_find(&levels, "zone"), 1);
    assert_int_equal(topology_level_find(&levels, "rack"), 2);
    assert_int_equal(topology_level_find(&levels, "Zone"), -1);
    assert_int_equal(topology_level_find(&levels, ZONE), -1);
}

TEST(no_labels_are_no_levels)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};

    parse("", &levels);
    assert_int_equal(levels.count, 0);
    assert_string_equal(levels.prefix, PREFIX);
}

TEST(prefix_is_lower_case)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(topology_levels_parse("Rook-Ceph.RBD.csi.ceph.com", ZONE, &levels, &err), 0);
    assert_string_equal(levels.prefix, "topology.rook-ceph.rbd.csi.ceph.com");
}

TEST(prefix_has_at_most_63_bytes)
{
    _cleanup_topology_levels_ struct topology_levels fits = {0};
    struct topology_levels levels = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(topology_levels_parse(FIFTY "0123", ZONE, &fits, &err), 0);
    assert_int_equal(strlen(fits.prefix), 63);
    assert_int_equal(topology_levels_parse(FIFTY "01234", ZONE, &levels, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "shorter driver name"));
    assert_null(levels.prefix);
    /* nobody sees the prefix of a driver without levels */
    error_clear(&err);
    assert_int_equal(topology_levels_parse(FIFTY "01234", "", &levels, &err), 0);
    topology_levels_done(&levels);
}

TEST(semicolons_separate_as_commas_do)
{
    static const char *const texts[] = {"a/region;b/zone;rack", "a/region,b/zone;rack",
                                        "a/region;b/zone,rack"};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        _cleanup_topology_levels_ struct topology_levels levels = {0};

        parse(texts[i], &levels);
        assert_int_equal(levels.count, 3);
        assert_string_equal(levels.items[0].name, "region");
        assert_string_equal(levels.items[1].label, "b/zone");
        assert_string_equal(levels.items[2].name, "rack");
    }
}

TEST(labels_that_cannot_be_levels_are_refused)
{
    static const struct {
        const char *labels;
        const char *reason;
    } cases[] = {
        {ZONE "," ZONE, "would both be called 'zone'"},
        {ZONE ",failure-domain.beta.kubernetes.io/zone", "would both be called 'zone'"},
        {"a/rack,a/zone,b/zone", "would both be called 'zone'"},
        {"a/zone,b/Zone", "would both be called 'Zone'"},
        {"a/zone,a/zone.x", "same membership key"},
        {"a/ZONE.x,a/zone", "same membership key"},
        {"a/member.zone", "kept for membership keys"},
        {"Member.x", "kept for membership keys"},
        {ZONE ",", "missing behind the ','"},
        {ZONE ";", "missing behind the ';'"},
        {";", ""},
        {ZONE ",;b", ""},
        {",", ""},
        {"a/", ""},
        {"a b", ""},
        {"a/-x", ""},
        {"x/" FIFTY TEN "0123", ""},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "more than 16"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct topology_levels levels = {0};
        _cleanup_error_ struct error err = {0};

        if (topology_levels_parse(DRIVER, cases[i].labels, &levels, &err) == 0)
            fail_msg("'%s' was taken", cases[i].labels);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].reason))
            fail_msg("'%s': wanted '%s', got '%s'", cases[i].labels, cases[i].reason, err.message);
        assert_null(levels.items);
    }
}

TEST(names_that_only_look_alike_may_be_levels_together)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};

    parse("zone,zone2,zone-x,x.zone,member,members", &levels);
    assert_int_equal(levels.count, 6);
}

/* --- keys --- */

/*
 * These are written into PersistentVolumes: they may never change. The hashes were computed apart
 * from the code (64-bit FNV-1a over "member.LEVEL.VALUE").
 */
TEST(membership_keys_are_for_ever)
{
    static const struct {
        const char *level;
        const char *value;
        const char *name;
    } cases[] = {
        {"zone", "zone-a", "member.zone.zone-a"},
        {"region", "eu.west_1", "member.region.eu.west_1"},
        {"zone", "Zone-A", "member.zone.Zone-A"},
        {"zone", "a", "member.zone.a"},
        /* 63 bytes: the longest that stays as it is */
        {"zone", FIFTY "1", "member.zone." FIFTY "1"},
        /* 64 bytes: 46 of them and the hash */
        {"zone", FIFTY "12", "member.zone.0123456789012345678901234567890123-e527b435fe5b588d"},
        {"zone", FIFTY "13", "member.zone.0123456789012345678901234567890123-e527b335fe5b56da"},
        {"zone", FIFTY TEN "abc",
         "member.zone.0123456789012345678901234567890123-f3c9d780c764df97"},
        {FIFTY TEN "abc", "x", "member.012345678901234567890123456789012345678-bd4368ff8c0010df"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *key = membership_key(PREFIX, cases[i].level, cases[i].value);
        _cleanup_free_ char *wanted = xasprintf(PREFIX "/%s", cases[i].name);

        assert_string_equal(key, wanted);
        assert_true(strlen(cases[i].name) <= 63);
    }
}

TEST(segment_key_is_that_of_ceph_csi)
{
    _cleanup_free_ char *key = segment_key(PREFIX, "zone");

    assert_string_equal(key, "topology.rbd.csi.ceph.com/zone");
}

TEST(keys_that_differ_in_case_only_are_refused)
{
    _cleanup_strmap_ struct strmap seen = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(membership_key_claim(&seen, PREFIX "/member.zone.zone-a", &err), 0);
    assert_int_equal(membership_key_claim(&seen, PREFIX "/member.zone.zone-a", &err), 0);
    assert_int_equal(membership_key_claim(&seen, PREFIX "/member.zone.zone-b", &err), 0);
    assert_int_equal(membership_key_claim(&seen, PREFIX "/member.zone.Zone-A", &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "differ in case only"));
    error_clear(&err);
    /* and the first one stays */
    assert_int_equal(membership_key_claim(&seen, PREFIX "/member.zone.zone-a", &err), 0);
}

/* --- home --- */

TEST(home_has_segment_and_membership_of_each_level)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_string_list_ struct string_list missing = {0};

    parse(REGION "," ZONE, &levels);
    strmap_set(&labels, REGION, "r1");
    strmap_set(&labels, ZONE, "zone-b");
    strmap_set(&labels, "kubernetes.io/hostname", "node-1");
    topology_home(&levels, &labels, &segments, &missing);
    assert_int_equal(missing.count, 0);
    assert_int_equal(segments.count, 4);
    assert_string_equal(strmap_get(&segments, PREFIX "/region"), "r1");
    assert_string_equal(strmap_get(&segments, PREFIX "/zone"), "zone-b");
    assert_string_equal(strmap_get(&segments, PREFIX "/member.region.r1"), "true");
    assert_string_equal(strmap_get(&segments, PREFIX "/member.zone.zone-b"), "true");
}

TEST(labels_without_a_usable_value_are_missing)
{
    static const char *const values[] = {NULL, "", "a b", "-a", "z/a", FIFTY TEN "0123"};

    for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
        _cleanup_topology_levels_ struct topology_levels levels = {0};
        _cleanup_strmap_ struct strmap labels = {0};
        _cleanup_strmap_ struct strmap segments = {0};
        _cleanup_string_list_ struct string_list missing = {0};

        parse(REGION "," ZONE, &levels);
        if (values[i])
            strmap_set(&labels, REGION, values[i]);
        strmap_set(&labels, ZONE, "zone-b");
        topology_home(&levels, &labels, &segments, &missing);
        assert_int_equal(missing.count, 1);
        assert_string_equal(missing.items[0], REGION);
        assert_null(topology_home_value(&levels.items[0], &labels));
        assert_int_equal(segments.count, 2);
        assert_string_equal(strmap_get(&segments, PREFIX "/zone"), "zone-b");
    }
}

/* --- terms --- */

struct term_case {
    const char *key;
    const char *value;
    const char *second_key;
    const char *second_value;
    const char *domain;
    bool serves;
};

TEST(term_serves_by_segment_else_by_membership)
{
    static const struct term_case cases[] = {
        {PREFIX "/zone", "a", NULL, NULL, "a", true},
        {PREFIX "/zone", "a", NULL, NULL, "b", false},
        {PREFIX "/zone", "a", NULL, NULL, "A", false},
        {PREFIX "/member.zone.a", "true", NULL, NULL, "a", true},
        {PREFIX "/member.zone.a", "false", NULL, NULL, "a", false},
        {PREFIX "/member.zone.a", "true", NULL, NULL, "b", false},
        /* a node of b that took a over: the home decides, in whichever order they stand */
        {PREFIX "/zone", "b", PREFIX "/member.zone.a", "true", "a", false},
        {PREFIX "/zone", "b", PREFIX "/member.zone.a", "true", "b", true},
        {PREFIX "/member.zone.a", "true", PREFIX "/member.zone.b", "true", "a", true},
        {PREFIX "/member.zone.a", "true", PREFIX "/member.zone.b", "true", "b", true},
        /* another level says nothing */
        {PREFIX "/region", "a", NULL, NULL, "a", false},
        {PREFIX "/region", "b", PREFIX "/member.zone.a", "true", "a", true},
        /* keys count by their tail */
        {"topology.kubernetes.io/zone", "a", NULL, NULL, "a", true},
        {"zone", "a", NULL, NULL, "a", true},
        {"x/y/zone", "a", NULL, NULL, "a", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap term = {0};

        strmap_set(&term, cases[i].key, cases[i].value);
        if (cases[i].second_key)
            strmap_set(&term, cases[i].second_key, cases[i].second_value);
        if (topology_term_serves(&term, "zone", cases[i].domain) != cases[i].serves)
            fail_msg("case %zu", i);
    }
}

TEST(long_domain_is_served_by_its_short_key)
{
    _cleanup_strmap_ struct strmap term = {0};
    _cleanup_free_ char *key = membership_key(PREFIX, "zone", FIFTY "12");

    strmap_set(&term, key, "true");
    assert_true(topology_term_serves(&term, "zone", FIFTY "12"));
    assert_false(topology_term_serves(&term, "zone", FIFTY "13"));
}
