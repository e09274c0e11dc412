#include "controller/place.h"

#include "common/base/memory.h"
#include "controller/recorded_segments.h"
#include "tests/test.h"

/* What is known of a place without asking a cluster. */

#define PREFIX "topology.rbd.csi.ceph.com/"
#define SEGMENT(level, value) "{\"domainLabel\":\"" level "\",\"value\":\"" value "\"}"
#define ENTRY(pool, segments) "{\"poolName\":\"" pool "\",\"domainSegments\":[" segments "]}"

/* "zone=a,member.rack.r1=true|zone=b" */
static void add_terms(struct topology_terms *terms, const char *text)
{
    _cleanup_free_ char *copy = xstrdup(text);
    char *rest = NULL;

    for (char *part = strtok_r(copy, "|", &rest); part; part = strtok_r(NULL, "|", &rest)) {
        _cleanup_strmap_ struct strmap term = {0};
        char *left = NULL;

        for (char *segment = strtok_r(part, ",", &left); segment;
             segment = strtok_r(NULL, ",", &left)) {
            char *equals = strchr(segment, '=');
            _cleanup_free_ char *key = xasprintf(PREFIX "%.*s", (int)(equals - segment), segment);

            strmap_set(&term, key, equals + 1);
        }
        topology_terms_add(terms, &term);
    }
}

static void requirement_init(struct topology_requirement *requirement, const char *preferred,
                             const char *requisite)
{
    *requirement = (struct topology_requirement){0};
    add_terms(&requirement->preferred, preferred);
    add_terms(&requirement->requisite, requisite);
}

TEST(levels_are_those_of_all_terms)
{
    static const struct {
        const char *preferred;
        const char *requisite;
        const char *levels;
    } cases[] = {
        {"", "", ""},
        {"zone=a", "", "zone "},
        {"", "zone=a|zone=b|rack=r", "zone rack "},
        {"zone=a", "region=x", "zone region "},
        {"member.zone.a=true", "", "zone "},
        {"member.zone.a.b=true,member.rack.r=true", "", "rack zone "},
        {"member.zone.a=true,zone=a", "", "zone "},
        {"member..a=true", "", ""},
        {"z=a", "member.r.7=true", "z r "},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct topology_requirement requirement;
        _cleanup_string_list_ struct string_list levels = {0};
        _cleanup_text_ struct text out = TEXT_INIT(256);

        requirement_init(&requirement, cases[i].preferred, cases[i].requisite);
        place_levels(&requirement, &levels);
        for (size_t j = 0; j < levels.count; j++)
            text_addf(&out, "%s ", levels.items[j]);
        assert_string_equal(text_chars(&out), cases[i].levels);
        topology_requirement_done(&requirement);
    }
}

TEST(one_domain_of_the_map_is_enough)
{
    static const struct {
        const char *level;
        const char *value;
        bool is_taken;
    } cases[] = {
        {"region", "r", true}, {"zone", "a", true},  {"rack", "7", true},
        {NULL, "a", true},     {"zone", "r", false}, {"zone", "b", false},
    };
    struct pool_segment segments[] = {{(char[]){"region"}, (char[]){"r"}},
                                      {(char[]){"zone"}, (char[]){"a"}},
                                      {(char[]){"rack"}, (char[]){"7"}}};
    const struct pool_entry entry = {.segments = segments, .count = ARRAY_LENGTH(segments)};
    const struct pool_entry everywhere = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct takeover_entry taken = {.level = (char *)(uintptr_t)cases[i].level,
                                       .value = (char *)(uintptr_t)cases[i].value};
        const struct takeover_map map = {.entries = &taken, .count = 1};

        assert_int_equal(place_is_taken_over(&map, &entry), cases[i].is_taken);
        assert_false(place_is_taken_over(&map, &everywhere));
    }
}

/* --- volumes found by their name --- */

#define P_IN_D                                                                                     \
    "{\"poolName\":\"p\",\"clusterID\":\"d\",\"domainSegments\":[" SEGMENT("zone", "d") "]}"
#define LIST                                                                                       \
    "[" ENTRY("p", SEGMENT("zone", "a") "," SEGMENT("rack", "1")) "," ENTRY(                       \
        "p", SEGMENT("zone", "b")) "," ENTRY("q", SEGMENT("zone", "c")) "," P_IN_D "]"

struct recovery {
    const char *key; /* of the class; NULL: none */
    const char *value;
    const char *pool;
    const char *preferred;
    const char *requisite;
    const char *segments; /* of the place, without the prefix */
    const char *cluster;  /* where the name leads; NULL: the class's */
};

static void check_recovery(const struct recovery *recovery)
{
    const struct controller controller = {.driver_name = "rbd.csi.ceph.com"};
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_class_pools_ struct class_pools class = {0};
    _cleanup_place_ struct place place = {0};
    _cleanup_text_ struct text out = TEXT_INIT(1024);
    _cleanup_error_ struct error err = {0};
    struct topology_requirement requirement;

    strmap_set(&parameters, "clusterID", "c");
    strmap_set(&parameters, "topologyConstrainedPools", LIST);
    strmap_set(&parameters, "topologyPinning", "plain");
    if (recovery->key)
        strmap_set(&parameters, recovery->key, recovery->value);
    assert_int_equal(class_pools_parse_rbd(&parameters, &class, &err), 0);
    requirement_init(&requirement, recovery->preferred, recovery->requisite);
    const struct placing placing = {.controller = &controller,
                                    .class = &class,
                                    .requirement = &requirement,
                                    .only_cluster = recovery->cluster ?: "c"};
    assert_int_equal(place_recover(&placing, recovery->pool, &place, &err), 0);
    assert_string_equal(place.entry.pool, recovery->pool);
    for (size_t j = 0; j < place.segments.count; j++)
        text_addf(&out, "%s%s=%s", j ? "," : "", place.segments.entries[j].key + strlen(PREFIX),
                  place.segments.entries[j].value);
    assert_string_equal(text_chars(&out), recovery->segments);
    topology_requirement_done(&requirement);
}

TEST(place_of_a_pool_is_the_one_that_was_asked_for)
{
    static const struct recovery cases[] = {
        {NULL, NULL, "p", "", "zone=b", "zone=b", NULL},
        {NULL, NULL, "p", "", "zone=a,rack=1", "rack=1,zone=a", NULL},
        {NULL, NULL, "p", "", "zone=a,rack=2|zone=b", "zone=b", NULL},
        /* the first entry that any term serves */
        {NULL, NULL, "p", "zone=b", "zone=a,rack=1", "rack=1,zone=a", NULL},
        {NULL, NULL, "p", "", "zone=c|zone=b", "zone=b", NULL},
        {NULL, NULL, "q", "", "zone=b|zone=c", "zone=c", NULL},
        {NULL, NULL, "p", "", "zone=x", "rack=1,zone=a",
         NULL},                                       /* nobody asked for it: the first entry */
        {NULL, NULL, "p", "", "", "", NULL},          /* pinned to nothing */
        {NULL, NULL, "gone", "", "zone=a", "", NULL}, /* no longer of the class */
        {"immediateTopology", "spread", "q", "", "zone=c", "", NULL},
        {"immediateTopology", "pin", "q", "", "zone=c", "zone=c", NULL},
        {"immediateTopology", "pin", "q", "", "", "zone=c", NULL},
        {"immediateTopology", "first", "q", "", "", "", NULL},
        {"unservedDomains", "anywhere", "q", "", "zone=x", "", NULL},
        {"unservedDomains", "anywhere", "q", "", "zone=c", "zone=c", NULL},
        /* a pool of that name in another cluster */
        {NULL, NULL, "p", "", "zone=d", "rack=1,zone=a", NULL},
        {NULL, NULL, "p", "", "zone=d", "zone=d", "d"},
        {NULL, NULL, "p", "", "zone=b", "zone=d", "d"}, /* there since an earlier call */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check_recovery(&cases[i]);
}

/* --- in the journal --- */

TEST(segments_are_read_as_they_were_written)
{
    static const char *const texts[] = {"", "a=1", "a=1,b=2", "a=1,b=2,c=3"};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        _cleanup_strmap_ struct strmap extra = {0};
        _cleanup_strmap_ struct strmap written = {0};
        _cleanup_strmap_ struct strmap segments = {0};

        assert_false(segments_are_written(&extra));
        strmap_set(&extra, "cephzone.segments", texts[i]);
        segments_read(&extra, &segments);
        assert_int_equal(segments.count, i);
        segments_write(&segments, &written);
        assert_true(segments_are_written(&written));
        assert_true(strmap_is_equal(&written, &extra));
    }
}
