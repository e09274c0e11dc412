#include "common/base/memory.h"
#include "common/scheduling/binding_options.h"
#include "common/scheduling/volume_zone.h"
#include "tests/fakes/cluster_script.h"
#include "tests/test.h"

#define BETA "failure-domain.beta.kubernetes.io/"
#define NEW "topology.kubernetes.io/"

TEST(sets_of_zones_are_parsed)
{
    static const struct {
        const char *text;
        const char *zones; /* joined by a comma; NULL: refused */
    } CASES[] = {
        {"a", "a"},     {"a__b", "a,b"},  {"a__b__c", "a,b,c"}, {" a __ b ", "a,b"},
        {"a__a", "a"},  {"a_b", "a_b"},   {"", NULL},           {"a__", NULL},
        {"__a", NULL},  {"a____b", NULL}, {"  ", NULL},         {"a__ __b", NULL},
        {"___a", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(CASES); i++) {
        _cleanup_string_list_ struct string_list zones = {0};
        _cleanup_error_ struct error err = {0};
        char joined[64] = "";

        int result = zone_set_parse(CASES[i].text, &zones, &err);
        assert_int_equal(result, CASES[i].zones ? 0 : -1);
        for (size_t j = 0; j < zones.count; j++) {
            strncat(joined, j ? "," : "", sizeof(joined) - strlen(joined) - 1);
            strncat(joined, zones.items[j], sizeof(joined) - strlen(joined) - 1);
        }
        if (CASES[i].zones)
            assert_string_equal(joined, CASES[i].zones);
    }
}

static const struct {
    const char *pv;
    bool new_keys;
    const char *expressions; /* of the only term, as JSON; NULL: no patch; "!": refused */
} CONVERSIONS[] = {
    {"pv v labels=" BETA "zone:z1," BETA "region:r1", false,
     "[{\"key\":\"" BETA "zone\",\"operator\":\"In\",\"values\":[\"z1\"]},"
     "{\"key\":\"" BETA "region\",\"operator\":\"In\",\"values\":[\"r1\"]}]"},
    {"pv v labels=" BETA "zone:z1__z2," BETA "region:r1", false,
     "[{\"key\":\"" BETA "zone\",\"operator\":\"In\",\"values\":[\"z1\",\"z2\"]},"
     "{\"key\":\"" BETA "region\",\"operator\":\"In\",\"values\":[\"r1\"]}]"},
    {"pv v labels=" BETA "zone:z1", true,
     "[{\"key\":\"" NEW "zone\",\"operator\":\"In\",\"values\":[\"z1\"]}]"},
    {"pv v labels=" BETA "zone:z1," NEW "zone:z1", true,
     "[{\"key\":\"" NEW "zone\",\"operator\":\"In\",\"values\":[\"z1\"]}]"},
    {"pv v labels=" NEW "zone:z1", false,
     "[{\"key\":\"" NEW "zone\",\"operator\":\"In\",\"values\":[\"z1\"]}]"},
    {"pv v", false, NULL},
    {"pv v labels=" NEW "zone:z1 affinity=" NEW "zone:z1", false, NULL},
    {"pv v labels=" NEW "zone:z1__", false, "!"},
    {"pv v labels=" NEW "zone:z1'x", false, "!"},
    {"pv v labels=" NEW "zone:z1 affinity=rack:r1", false,
     "[{\"key\":\"rack\",\"operator\":\"In\",\"values\":[\"r1\"]},"
     "{\"key\":\"" NEW "zone\",\"operator\":\"In\",\"values\":[\"z1\"]}]"},
    {"pv v labels=" NEW "zone:z1 affinity=rack~Near:r1", false, "!"},
    {"pv v affinity=" BETA "zone:z1+rack:r1", false, NULL},
    {"pv v affinity=" BETA "zone:z1+rack:r1", true,
     "[{\"key\":\"" NEW "zone\",\"operator\":\"In\",\"values\":[\"z1\"]},"
     "{\"key\":\"rack\",\"operator\":\"In\",\"values\":[\"r1\"]}]"},
    {"pv v labels=" BETA "zone:z1 affinity=" BETA "zone:z1", true,
     "[{\"key\":\"" NEW "zone\",\"operator\":\"In\",\"values\":[\"z1\"]}]"},
    {"pv v affinity=" NEW "zone:z1", true, NULL},
};

TEST(zone_labels_become_node_affinity)
{
    for (size_t i = 0; i < ARRAY_LENGTH(CONVERSIONS); i++) {
        enum kube_kind kind = KUBE_KINDS;
        void *pv = cluster_script_object(CONVERSIONS[i].pv, &kind);
        const char *wanted = CONVERSIONS[i].expressions;
        _cleanup_error_ struct error err = {0};
        json_auto_t *patch = NULL;
        _cleanup_free_ char *remark = NULL;

        int result = volume_zone_convert(pv, CONVERSIONS[i].new_keys, &patch, &remark, &err);
        kube_object_free(kind, pv);
        assert_int_equal(result, wanted && wanted[0] == '!' ? -1 : 0);
        if (!wanted || wanted[0] == '!') {
            assert_null(patch);
            continue;
        }
        json_t *terms = NULL;
        assert_int_equal(json_unpack(patch, "{s:{s:{s:{s:o}}}}", "spec", "nodeAffinity", "required",
                                     "nodeSelectorTerms", &terms),
                         0);
        assert_int_equal(json_array_size(terms), 1);
        _cleanup_free_ char *text =
            json_dumps(json_object_get(json_array_get(terms, 0), "matchExpressions"), JSON_COMPACT);
        assert_string_equal(text, wanted);
    }
}

TEST(versions_set_the_gates)
{
    static const struct {
        const char *text;
        int minor; /* -1: refused */
    } CASES[] = {
        {"", BINDING_NEWEST_MINOR},
        {"1.33", 33},
        {"v1.33", 33},
        {"v1.33.2", 33},
        {"1.31.0+k3s1", 31},
        {"1.29-eks", 29},
        {"1.99", 99},
        {"2.0", -1},
        {"1.", -1},
        {"1.x", -1},
        {"1.18", -1},
        {"33", -1},
        {"original", BINDING_NEWEST_MINOR},
        {"1.33x", -1},
        {"1.33333", -1},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(CASES); i++) {
        struct binding_options options = {0};
        _cleanup_error_ struct error err = {0};

        int result = binding_options_parse(CASES[i].text, &options, &err);
        assert_int_equal(result, CASES[i].minor < 0 ? -1 : 0);
        if (CASES[i].minor < 0)
            continue;
        assert_int_equal(options.minor, CASES[i].minor);
        assert_int_equal(options.attributes_class, CASES[i].minor >= 34);
        assert_int_equal(options.capacity_scoring, CASES[i].minor >= 37);
        assert_int_equal(options.limit_scaling, CASES[i].minor >= 37);
        assert_int_equal(options.rules == ASSUME_SAME_VERSION, CASES[i].minor >= 35);
        assert_int_equal(options.original_design, strcmp(CASES[i].text, "original") == 0);
    }
}
