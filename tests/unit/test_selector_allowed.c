#include "tests/unit/fixtures/topology_tables.h"

#include "common/topology/selector.h"

#define EXPRESSION(key, values) "{'key': '" key "', 'values': [" values "]}"
#define TERM(expressions) "{'matchLabelExpressions': [" expressions "]}"
#define ZONE(values) TERM(EXPRESSION("zone", values))

static const struct {
    const char *rule;
    const char *allowed;
    const char *labels;
    bool matches;
} RULES[] = {
    {"null restricts nothing", "null", "zone=a", true},
    {"no terms restrict nothing", "[]", "zone=a", true},
    {"no terms match a node without labels", "[]", "", true},
    {"empty term matches nothing", "[{}]", "zone=a", false},
    {"null term matches nothing", "[null]", "zone=a", false},
    {"term without expressions matches nothing", "[" TERM("") "]", "zone=a", false},
    {"term with null expressions matches nothing", "[{'matchLabelExpressions': null}]", "zone=a",
     false},
    {"two empty terms match nothing", "[{}, {}]", "zone=a", false},
    {"empty term beside one that matches", "[{}, " ZONE("'a'") "]", "zone=a", true},
    {"value in the set", "[" ZONE("'a', 'b'") "]", "zone=b", true},
    {"value not in the set", "[" ZONE("'a', 'b'") "]", "zone=c", false},
    {"label missing", "[" ZONE("'a'") "]", "rack=a", false},
    {"node without labels", "[" ZONE("'a'") "]", "", false},
    {"empty value is a value", "[" ZONE("''") "]", "zone=", true},
    {"empty value is not a missing label", "[" ZONE("''") "]", "", false},
    {"case counts in values", "[" ZONE("'A'") "]", "zone=a", false},
    {"case counts in keys", "[" ZONE("'a'") "]", "ZONE=a", false},
    {"further labels do not matter", "[" ZONE("'a'") "]", "rack=1,zone=a", true},
    {"expressions are ANDed: both",
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("rack", "'1', '2'")) "]", "zone=a,rack=2",
     true},
    {"expressions are ANDed: one fails",
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("rack", "'1'")) "]", "zone=a,rack=2",
     false},
    {"expressions are ANDed: one label missing",
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("rack", "'1'")) "]", "zone=a", false},
    {"same key twice in a term is ANDed",
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("zone", "'b'")) "]", "zone=a", false},
    {"terms are ORed: first", "[" ZONE("'a'") ", " ZONE("'b'") "]", "zone=a", true},
    {"terms are ORed: second", "[" ZONE("'a'") ", " ZONE("'b'") "]", "zone=b", true},
    {"terms are ORed: none", "[" ZONE("'a'") ", " ZONE("'b'") "]", "zone=c", false},
    {"terms of different keys are ORed", "[" ZONE("'a'") ", " TERM(EXPRESSION("rack", "'1'")) "]",
     "zone=b,rack=1", true},
    {"expressions of different terms are not mixed",
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("rack", "'1'")) ", " TERM(
         EXPRESSION("zone", "'b'") ", " EXPRESSION("rack", "'2'")) "]",
     "zone=a,rack=2", false},
    {"malformed key: no match", "[" TERM(EXPRESSION("my zone", "'a'")) "]", "zone=a", false},
    {"key missing: no match", "[" TERM("{'values': ['a']}") "]", "zone=a", false},
    {"no values: no match", "[" ZONE("") "]", "zone=a", false},
    {"malformed value: no match, though another fits", "[" ZONE("'a', 'b c'") "]", "zone=a", false},
    {"fault of one expression spoils its term",
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("rack", "")) "]", "zone=a,rack=1", false},
    {"fault of one term leaves the others", "[" ZONE("") ", " ZONE("'a'") "]", "zone=a", true},
    {"faulty terms only match nothing", "[" ZONE("") "]", "", false},
    {"an operator is not looked at",
     "[" TERM("{'key': 'zone', 'operator': 'NotIn', 'values': ['a']}") "]", "zone=a", true},
    {"unknown keys are ignored", "[{'matchExpressions': [" EXPRESSION("zone", "'a'") "]}]",
     "zone=a", false},
    {"label with a prefix is compared whole",
     "[" TERM(EXPRESSION("topology.kubernetes.io/zone", "'a'")) "]", "zone=a", false},
    {"beta zone label is not translated",
     "[" TERM(EXPRESSION("failure-domain.beta.kubernetes.io/zone", "'a'")) "]",
     "topology.kubernetes.io/zone=a", false},
};

TEST(allowed_topologies_match_as_in_kubernetes)
{
    for (size_t i = 0; i < ARRAY_LENGTH(RULES); i++) {
        json_auto_t *json = make_json(RULES[i].allowed);
        _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
        _cleanup_strmap_ struct strmap labels = make_labels(RULES[i].labels);
        _cleanup_error_ struct error err = {0};

        if (allowed_topologies_decode(json, &allowed, &err) < 0)
            fail_msg("%s: %s", RULES[i].rule, err.message);
        if (allowed_topologies_match(&allowed, &labels) != RULES[i].matches)
            fail_msg("%s: it %s", RULES[i].rule, RULES[i].matches ? "does not match" : "matches");
    }
    report_cases("allowedTopologies", ARRAY_LENGTH(RULES));
}

TEST(absent_allowed_topologies_restrict_nothing)
{
    _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
    const struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(allowed_topologies_decode(NULL, &allowed, &err), 0);
    assert_true(allowed_topologies_match(&allowed, &labels));
}

TEST(fault_of_a_term_says_what_is_wrong)
{
    json_auto_t *json = make_json("[" ZONE("'a'") ", " ZONE("") "]");
    _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(allowed_topologies_decode(json, &allowed, &err), 0);
    assert_null(allowed.terms[0].fault);
    assert_string_equal(allowed.terms[1].fault,
                        "matchLabelExpressions[0]: key 'zone': In and NotIn need a value");
}

static const struct {
    const char *rule;
    const char *allowed;
    const char *path;
} WRONG_SHAPES[] = {
    {"object instead of a list", "{}", "expected an array"},
    {"text instead of a term", "['zone']", "[0]: expected an object"},
    {"object instead of expressions", "[{}, {'matchLabelExpressions': {}}]",
     "[1].matchLabelExpressions: expected an array"},
    {"text instead of values", "[" TERM("{'key': 'zone', 'values': 'a'}") "]",
     "[0].matchLabelExpressions[0].values: expected an array"},
    {"number instead of a value", "[" ZONE("1") "]", "values[0]: expected a string"},
};

TEST(wrong_shapes_are_refused_with_their_place)
{
    for (size_t i = 0; i < ARRAY_LENGTH(WRONG_SHAPES); i++) {
        json_auto_t *json = make_json(WRONG_SHAPES[i].allowed);
        _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
        _cleanup_error_ struct error err = {0};

        if (allowed_topologies_decode(json, &allowed, &err) == 0)
            fail_msg("%s: it was accepted", WRONG_SHAPES[i].rule);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_mentions(WRONG_SHAPES[i].rule, err.message, WRONG_SHAPES[i].path);
        assert_int_equal(allowed.count, 0);
    }
    report_cases("allowedTopologies shapes", ARRAY_LENGTH(WRONG_SHAPES));
}
