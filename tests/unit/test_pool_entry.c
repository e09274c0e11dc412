/* topologyConstrainedPools: what is taken, what is refused, and in which words. */

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/pool_entry.h"
#include "tests/test.h"

#define TEXT_LIMIT ((size_t)8 << 20)
#define ZONE_A "\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"}]"
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* --- mistakes --- */

static const struct {
    const char *name;
    const char *text;
    const char *message;
} MISTAKES[] = {
    {"nothing", "", "topologyConstrainedPools: line 1, column 0"},
    {"no JSON", "[{]", "topologyConstrainedPools: line 1, column 3"},
    {"the place of an error counts lines", "[\n{\n]", "topologyConstrainedPools: line 3, column 1"},
    {"something behind the list", "[] x", "topologyConstrainedPools: line 1, column 4"},
    {"an object instead of the list", "{}", "topologyConstrainedPools: expected an array"},
    {"empty list", "[]", "topologyConstrainedPools: the list is empty"},
    {"an entry that is no object", "[7]", "topologyConstrainedPools: [0]: expected an object"},
    {"an entry that is null", "[null]", "[0]"},
    {"empty entry", "[{}]", "[0]: poolName is missing"},
    {"empty entry behind a good one", "[{\"poolName\":\"p\"," ZONE_A "},{}]",
     "[1]: poolName is missing"},
    {"poolName missing", "[{" ZONE_A "}]", "[0]: poolName is missing"},
    {"poolName empty", "[{\"poolName\":\"\"," ZONE_A "}]", "[0]: poolName is missing"},
    {"poolName null", "[{\"poolName\":null," ZONE_A "}]", "[0]: poolName is missing"},
    {"poolName is no string", "[{\"poolName\":7," ZONE_A "}]", "[0].poolName: expected a string"},
    {"poolName misspelt", "[{\"pool_name\":\"p\"," ZONE_A "}]",
     "[0].pool_name: unknown key (did you mean 'poolName'?)"},
    {"poolName twice in two spellings", "[{\"poolName\":\"p\",\"poolname\":\"q\"," ZONE_A "}]",
     "[0].poolname"},
    {"a key twice", "[{\"poolName\":\"p\",\"poolName\":\"q\"," ZONE_A "}]",
     "topologyConstrainedPools: line 1, column"},
    {"domainSegments missing", "[{\"poolName\":\"p\"}]",
     "[0]: domainSegments is missing; [] stands for everywhere"},
    {"domainSegments null", "[{\"poolName\":\"p\",\"domainSegments\":null}]",
     "[0]: domainSegments is missing"},
    {"domainSegments misspelt", "[{\"poolName\":\"p\",\"domainSegment\":[]}]",
     "[0].domainSegment: unknown key (did you mean 'domainSegments'?)"},
    {"domainSegments is no list", "[{\"poolName\":\"p\",\"domainSegments\":{}}]",
     "[0].domainSegments: expected an array"},
    {"a segment that is no object", "[{\"poolName\":\"p\",\"domainSegments\":[\"zone\"]}]",
     "[0].domainSegments[0]: expected an object"},
    {"unknown key in an entry", "[{\"poolName\":\"p\",\"weight\":\"3\"," ZONE_A "}]",
     "[0].weight: unknown key"},
    {"unknown key in a segment",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"valeu\":\"a\"}]}]",
     "[0].domainSegments[0].valeu: unknown key (did you mean 'value'?)"},
    {"domainLabel misspelt",
     "[{\"poolName\":\"p\"," ZONE_A "},{\"poolName\":\"q\",\"domainSegments\":[{\"domainLabel\":"
     "\"region\",\"value\":\"r\"},{\"domainLable\":\"zone\",\"value\":\"a\"}]}]",
     "[1].domainSegments[1].domainLable: unknown key (did you mean 'domainLabel'?)"},
    {"domainLabel missing", "[{\"poolName\":\"p\",\"domainSegments\":[{\"value\":\"a\"}]}]",
     "[0]: domainSegments[0]: domainLabel is missing"},
    {"value missing", "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\"}]}]",
     "[0]: domainSegments[0]: value is missing"},
    {"value empty",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"\"}]}]",
     "[0]: domainSegments[0]: value is missing"},
    {"value is no string",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":1}]}]",
     "[0].domainSegments[0].value: expected a string"},
    {"a whole label as domainLabel",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"topology.kubernetes.io/zone\","
     "\"value\":\"a\"}]}]",
     "only what stands behind the slash counts: 'zone'"},
    {"a domainLabel that no label can have",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"-zone\",\"value\":\"a\"}]}]",
     "[0]: domainSegments[0]: domainLabel: "},
    {"a domainLabel that is too long",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"" X50 X50
     "\",\"value\":\"a\"}]}]",
     "[0]: domainSegments[0]: domainLabel: "},
    {"a value that no label can have",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a b\"}]}]",
     "[0]: domainSegments[0]: value: "},
    {"a value that is too long",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"" X50 X50
     "\"}]}]",
     "[0]: domainSegments[0]: value: "},
    {"one level twice in an entry",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"},"
     "{\"domainLabel\":\"zone\",\"value\":\"b\"}]}]",
     "[0]: domainSegments[1].domainLabel: 'zone' is there twice"},
    {"one level twice, in two spellings",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"},"
     "{\"domainLabel\":\"Zone\",\"value\":\"b\"}]}]",
     "[0]: domainSegments[1].domainLabel: 'Zone' is there twice"},
    {"the second level twice",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"region\",\"value\":\"r\"},"
     "{\"domainLabel\":\"zone\",\"value\":\"a\"},{\"domainLabel\":\"zone\",\"value\":\"b\"}]}]",
     "[0]: domainSegments[2].domainLabel: 'zone' is there twice"},
    {"the same pool and domains twice",
     "[{\"poolName\":\"p\"," ZONE_A "},{\"poolName\":\"q\"," ZONE_A "},{\"poolName\":\"p\"," ZONE_A
     "}]",
     "[2] is the same pool 'p' for the same domains as [0]"},
    {"the same domains in another order",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"},"
     "{\"domainLabel\":\"region\",\"value\":\"r\"}]},{\"poolName\":\"p\",\"domainSegments\":[{"
     "\"domainLabel\":\"region\",\"value\":\"r\"},{\"domainLabel\":\"zone\",\"value\":\"a\"}]}]",
     "[1] is the same pool 'p' for the same domains as [0]"},
    {"the same pool for everywhere twice",
     "[{\"poolName\":\"p\",\"domainSegments\":[]},{\"poolName\":\"p\",\"domainSegments\":[]}]",
     "[1] is the same pool 'p'"},
    {"an empty clusterID is none, so these are twins",
     "[{\"poolName\":\"p\",\"clusterID\":\"\"," ZONE_A "},{\"poolName\":\"p\"," ZONE_A "}]",
     "[1] is the same pool 'p'"},
};

TEST(every_mistake_is_refused_with_its_place)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MISTAKES); i++) {
        _cleanup_error_ struct error err = {0};
        struct pool_entries entries = {0};

        if (pool_entries_parse(MISTAKES[i].text, &entries, &err) == 0)
            fail_msg("%s: was taken", MISTAKES[i].name);
        if (err.status != STATUS_INVALID_ARGUMENT || !strstr(err.message, MISTAKES[i].message) ||
            !text_has_prefix(err.message, "topologyConstrainedPools"))
            fail_msg("%s: wanted '%s', got '%s'", MISTAKES[i].name, MISTAKES[i].message,
                     err.message);
        assert_null(entries.items);
    }
    printf("note: %zu mistakes in pool entries\n", ARRAY_LENGTH(MISTAKES));
}

/* --- what is taken --- */

static const struct {
    const char *name;
    const char *text;
    size_t count;
    const char *pool; /* of the last entry, as its place */
    const char *place;
} GOOD[] = {
    {"Ceph-CSI's own form", "[{\"poolName\":\"p\"," ZONE_A "}]", 1, "p", "zone=a"},
    {"case of keys does not matter",
     "[{\"POOLNAME\":\"p\",\"DomainSegments\":[{\"domainlabel\":\"zone\",\"VALUE\":\"a\"}]}]", 1,
     "p", "zone=a"},
    {"case of values does matter",
     "[{\"poolName\":\"P\",\"domainSegments\":[{\"domainLabel\":\"Zone\",\"value\":\"A\"}]}]", 1,
     "P", "Zone=A"},
    {"line breaks between tokens", "\n[\n{\"poolName\":\n\"p\",\n" ZONE_A "\n}\n]\n", 1, "p",
     "zone=a"},
    {"Windows' line breaks between tokens", "[\r\n{\"poolName\":\"p\",\r\n" ZONE_A "}]", 1, "p",
     "zone=a"},
    {"a line break in a string is a space", "[{\"poolName\":\"a\nb\",\"domainSegments\":[]}]", 1,
     "a b", "anywhere"},
    {"a quote behind a backslash does not end a string",
     "[{\"poolName\":\"a\\\"\nb\",\"domainSegments\":[]}]", 1, "a\" b", "anywhere"},
    {"an explicit empty list stands for everywhere", "[{\"poolName\":\"p\",\"domainSegments\":[]}]",
     1, "p", "anywhere"},
    {"several levels, in the order written",
     "[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"region\",\"value\":\"r\"},"
     "{\"domainLabel\":\"zone\",\"value\":\"a\"}]}]",
     1, "p", "region=r,zone=a"},
    {"one pool for two domains",
     "[{\"poolName\":\"p\"," ZONE_A "},{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":"
     "\"zone\",\"value\":\"b\"}]}]",
     2, "p", "zone=b"},
    {"two pools for one domain",
     "[{\"poolName\":\"p\"," ZONE_A "},{\"poolName\":\"q\"," ZONE_A "}]", 2, "q", "zone=a"},
    {"the same pool name in two clusters",
     "[{\"poolName\":\"p\"," ZONE_A "},{\"poolName\":\"p\",\"clusterID\":\"c2\"," ZONE_A "}]", 2,
     "p", "zone=a"},
    {"the same pool name in two file systems",
     "[{\"poolName\":\"p\",\"fsName\":\"f1\"," ZONE_A
     "},{\"poolName\":\"p\",\"fsName\":\"f2\"," ZONE_A "}]",
     2, "p", "zone=a"},
};

TEST(every_good_form_is_taken)
{
    for (size_t i = 0; i < ARRAY_LENGTH(GOOD); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_pool_entries_ struct pool_entries entries = {0};

        if (pool_entries_parse(GOOD[i].text, &entries, &err) < 0)
            fail_msg("%s: %s", GOOD[i].name, err.message);
        assert_int_equal(entries.count, GOOD[i].count);
        const struct pool_entry *last = &entries.items[entries.count - 1];
        _cleanup_free_ char *place = pool_entry_place(last);
        assert_string_equal(last->pool, GOOD[i].pool);
        assert_string_equal(place, GOOD[i].place);
        assert_string_equal(last->origin, "class");
    }
}

TEST(optional_fields_are_kept_and_empty_ones_dropped)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_pool_entries_ struct pool_entries entries = {0};

    assert_int_equal(pool_entries_parse("[{\"poolName\":\"p\",\"dataPool\":\"d\",\"clusterID\":"
                                        "\"c\",\"fsName\":\"f\",\"domainSegments\":[]},"
                                        "{\"poolName\":\"q\",\"dataPool\":\"\",\"clusterID\":\"\","
                                        "\"fsName\":\"\",\"domainSegments\":[]}]",
                                        &entries, &err),
                     0);
    assert_string_equal(entries.items[0].data_pool, "d");
    assert_string_equal(entries.items[0].cluster_id, "c");
    assert_string_equal(entries.items[0].fs_name, "f");
    assert_null(entries.items[1].data_pool);
    assert_null(entries.items[1].cluster_id);
    assert_null(entries.items[1].fs_name);
}

/* --- who is served --- */

TEST(entry_is_served_where_all_its_domains_are)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    static const struct {
        const char *region, *zone;
        bool is_served;
    } cases[] = {{"r", "a", true}, {"r", "b", false}, {"s", "a", false}, {"r", NULL, false}};

    assert_int_equal(
        pool_entries_parse("[{\"poolName\":\"p\",\"domainSegments\":[{\"domainLabel\":\"region\","
                           "\"value\":\"r\"},{\"domainLabel\":\"zone\",\"value\":\"a\"}]},"
                           "{\"poolName\":\"q\",\"domainSegments\":[]}]",
                           &entries, &err),
        0);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap term = {0};

        strmap_set(&term, "x/region", cases[i].region);
        if (cases[i].zone)
            strmap_set(&term, "x/zone", cases[i].zone);
        assert_int_equal(pool_entry_is_served(&entries.items[0], &term), cases[i].is_served);
        assert_true(pool_entry_is_served(&entries.items[1], &term)); /* everywhere */
    }
}

/* --- limits --- */

/* @entries entries of @segments levels each. */
static int parse_many(size_t count, size_t segments, struct error *err)
{
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    _cleanup_text_ struct text text = TEXT_INIT(TEXT_LIMIT);

    for (size_t i = 0; i < count; i++) {
        text_addf(&text, "%c{\"poolName\":\"p%zu\",\"domainSegments\":[", i ? ',' : '[', i);
        for (size_t j = 0; j < segments; j++)
            text_addf(&text, "%s{\"domainLabel\":\"level%zu\",\"value\":\"" X50 "\"}", j ? "," : "",
                      j);
        text_add(&text, "]}");
    }
    text_add(&text, "]");
    return pool_entries_parse(text_chars(&text), &entries, err);
}

TEST(limits_are_told)
{
    static const struct {
        size_t count, segments;
        const char *message; /* NULL: good */
    } cases[] = {
        {POOL_ENTRIES_MAX, 1, NULL},
        {POOL_ENTRIES_MAX + 1, 1, "4097 entries are more than 4096"},
        {1, 16, NULL},
        {1, 17, "[0]: domainSegments: 17 segments are more than 16"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        int result = parse_many(cases[i].count, cases[i].segments, &err);

        assert_int_equal(result, cases[i].message ? -1 : 0);
        if (cases[i].message && !strstr(err.message, cases[i].message))
            fail_msg("wanted '%s', got '%s'", cases[i].message, err.message);
    }
}

TEST(long_names_that_differ_at_their_end_are_no_twins)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    _cleanup_text_ struct text text = TEXT_INIT(TEXT_LIMIT);
    char name[10000];

    memset(name, 'p', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    text_addf(&text, "[{\"poolName\":\"%s1\"," ZONE_A "},{\"poolName\":\"%s2\"," ZONE_A "}]", name,
              name);
    if (pool_entries_parse(text_chars(&text), &entries, &err) < 0)
        fail_msg("%.200s", err.message);
}

TEST(list_that_is_freed_is_empty)
{
    _cleanup_error_ struct error err = {0};
    struct pool_entries entries = {0};

    assert_int_equal(pool_entries_parse("[{\"poolName\":\"p\"," ZONE_A "}]", &entries, &err), 0);
    pool_entries_done(&entries);
    assert_int_equal(entries.count, 0);
    assert_null(entries.items);
}
