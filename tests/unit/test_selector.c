#include "tests/unit/fixtures/topology_tables.h"

#include "common/topology/selector.h"

/* --- the operators: one expression, one set of labels ------------------------------------------*/

#define EXPRESSION(key, op, values)                                                                \
    "{'key': '" key "', 'operator': '" op "', 'values': [" values "]}"
#define ONE_TERM(expression) "{'nodeSelectorTerms': [{'matchExpressions': [" expression "]}]}"
#define ZONE(op, values) ONE_TERM(EXPRESSION("zone", op, values))
#define FIELD(key, op, values)                                                                     \
    "{'nodeSelectorTerms': [{'matchFields': [" EXPRESSION(key, op, values) "]}]}"
#define NAME_IS(value) FIELD("metadata.name", "In", "'" value "'")

enum outcome { NO, YES, FAULT };

struct node_case {
    const char *rule;
    const char *selector;
    const char *labels;
    const char *name; /* of the node */
    enum outcome outcome;
    const char *message; /* of a FAULT */
};

static const struct node_case OPERATORS[] = {
    {"In: label missing", ZONE("In", "'a'"), "rack=a", "", NO, NULL},
    {"In: value in the set", ZONE("In", "'a', 'b'"), "zone=b", "", YES, NULL},
    {"In: value not in the set", ZONE("In", "'a', 'b'"), "zone=c", "", NO, NULL},
    {"In: case counts in values", ZONE("In", "'A'"), "zone=a", "", NO, NULL},
    {"In: case counts in keys", ZONE("In", "'a'"), "Zone=a", "", NO, NULL},
    {"In: part of a value is not it", ZONE("In", "'zone-a'"), "zone=zone-ab", "", NO, NULL},
    {"In: empty value in the set", ZONE("In", "''"), "zone=", "", YES, NULL},
    {"In: empty value is not a missing label", ZONE("In", "''"), "", "", NO, NULL},
    {"NotIn: label missing is true", ZONE("NotIn", "'a'"), "rack=a", "", YES, NULL},
    {"NotIn: value not in the set", ZONE("NotIn", "'a'"), "zone=b", "", YES, NULL},
    {"NotIn: value in the set", ZONE("NotIn", "'a', 'b'"), "zone=b", "", NO, NULL},
    {"NotIn: empty value in the set", ZONE("NotIn", "''"), "zone=", "", NO, NULL},
    {"NotIn: empty label is not in another set", ZONE("NotIn", "'a'"), "zone=", "", YES, NULL},
    {"Exists: label missing", ZONE("Exists", ""), "rack=a", "", NO, NULL},
    {"Exists: label present", ZONE("Exists", ""), "zone=a", "", YES, NULL},
    {"Exists: empty value is a value", ZONE("Exists", ""), "zone=", "", YES, NULL},
    {"DoesNotExist: label missing", ZONE("DoesNotExist", ""), "", "", YES, NULL},
    {"DoesNotExist: label present", ZONE("DoesNotExist", ""), "zone=a", "", NO, NULL},
    {"DoesNotExist: empty value is a value", ZONE("DoesNotExist", ""), "zone=", "", NO, NULL},
    {"Gt: label missing", ZONE("Gt", "'1'"), "", "", NO, NULL},
    {"Gt: greater", ZONE("Gt", "'1'"), "zone=2", "", YES, NULL},
    {"Gt: equal is not greater", ZONE("Gt", "'2'"), "zone=2", "", NO, NULL},
    {"Gt: less", ZONE("Gt", "'2'"), "zone=1", "", NO, NULL},
    {"Gt: numbers, not texts", ZONE("Gt", "'9'"), "zone=10", "", YES, NULL},
    {"Gt: leading zeros are fine", ZONE("Gt", "'007'"), "zone=0010", "", YES, NULL},
    {"Gt: label with a sign is a number", ZONE("Gt", "'1'"), "zone=+2", "", YES, NULL},
    {"Gt: empty label is no number", ZONE("Gt", "'0'"), "zone=", "", NO, NULL},
    {"Gt: label with letters is no number", ZONE("Gt", "'0'"), "zone=2a", "", NO, NULL},
    {"Gt: label with a space is no number", ZONE("Gt", "'0'"), "zone= 2", "", NO, NULL},
    {"Gt: underscore is no digit", ZONE("Gt", "'0'"), "zone=1_000", "", NO, NULL},
    {"Gt: hexadecimal is no number", ZONE("Gt", "'0'"), "zone=0x10", "", NO, NULL},
    {"Gt: fraction is no number", ZONE("Gt", "'0'"), "zone=1.5", "", NO, NULL},
    {"Gt: label beyond 64 bits", ZONE("Gt", "'0'"), "zone=9223372036854775808", "", NO, NULL},
    {"Gt: largest label", ZONE("Gt", "'9223372036854775806'"), "zone=9223372036854775807", "", YES,
     NULL},
    {"Lt: label missing", ZONE("Lt", "'1'"), "", "", NO, NULL},
    {"Lt: less", ZONE("Lt", "'2'"), "zone=1", "", YES, NULL},
    {"Lt: negative label", ZONE("Lt", "'0'"), "zone=-5", "", YES, NULL},
    {"Lt: equal is not less", ZONE("Lt", "'2'"), "zone=2", "", NO, NULL},
    {"Lt: greater", ZONE("Lt", "'1'"), "zone=2", "", NO, NULL},
    {"Lt: no number", ZONE("Lt", "'1'"), "zone=a", "", NO, NULL},
    {"Lt: label below 64 bits", ZONE("Lt", "'0'"), "zone=-9223372036854775809", "", NO, NULL},
};

static const struct node_case FAULTS[] = {
    {"In without a value", ZONE("In", ""), "zone=a", "", FAULT, "matchExpressions[0]|need a value"},
    {"NotIn without a value", ZONE("NotIn", ""), "zone=a", "", FAULT, "need a value"},
    {"Exists with a value", ZONE("Exists", "'a'"), "zone=a", "", FAULT, "take no value"},
    {"DoesNotExist with a value", ZONE("DoesNotExist", "'a'"), "", "", FAULT, "take no value"},
    {"Gt without a value", ZONE("Gt", ""), "zone=5", "", FAULT, "exactly one value, there are 0"},
    {"Gt with two values", ZONE("Gt", "'1', '2'"), "zone=5", "", FAULT, "there are 2"},
    {"Lt with two values", ZONE("Lt", "'1', '2'"), "zone=0", "", FAULT, "there are 2"},
    {"Gt of a text", ZONE("Gt", "'a'"), "zone=5", "", FAULT, "'a' is not a whole number"},
    {"Gt of nothing", ZONE("Gt", "''"), "zone=5", "", FAULT, "not a whole number"},
    {"Gt of a negative number is no label value", ZONE("Gt", "'-5'"), "zone=5", "", FAULT,
     "label value '-5'"},
    {"Lt of a number with a plus is no label value", ZONE("Lt", "'+5'"), "zone=1", "", FAULT,
     "label value '+5'"},
    {"Gt beyond 64 bits", ZONE("Gt", "'9223372036854775808'"), "zone=5", "", FAULT,
     "not a whole number"},
    {"unknown operator", ZONE("Is", "'a'"), "zone=a", "", FAULT, "operator 'Is'"},
    {"operator in lower case", ZONE("in", "'a'"), "zone=a", "", FAULT, "operator 'in'"},
    {"Equals is not for selectors", ZONE("=", "'a'"), "zone=a", "", FAULT, "operator '='"},
    {"no operator", ONE_TERM("{'key': 'zone', 'values': ['a']}"), "zone=a", "", FAULT,
     "operator ''"},
    {"malformed key", ONE_TERM(EXPRESSION("my zone", "Exists", "")), "zone=a", "", FAULT,
     "label key 'my zone'"},
    {"key with two slashes", ONE_TERM(EXPRESSION("a/b/c", "Exists", "")), "", "", FAULT,
     "more than one slash"},
    {"no key", ONE_TERM("{'operator': 'Exists'}"), "zone=a", "", FAULT, "label key ''"},
    {"malformed value of In", ZONE("In", "'a', 'b c'"), "zone=a", "", FAULT, "label value 'b c'"},
    {"malformed value of NotIn", ZONE("NotIn", "'-'"), "zone=a", "", FAULT, "label value '-'"},
    {"second expression is named",
     ONE_TERM(EXPRESSION("zone", "Exists", "") ", " EXPRESSION("rack", "In", "")), "zone=a", "",
     FAULT, "nodeSelectorTerms[0].matchExpressions[1]: key 'rack'"},
    {"field with Exists", FIELD("metadata.name", "Exists", ""), "", "n1", FAULT,
     "matchFields[0]|only In and NotIn"},
    {"field with Gt", FIELD("metadata.name", "Gt", "'1'"), "", "n1", FAULT, "only In and NotIn"},
    {"field with two values", FIELD("metadata.name", "In", "'a', 'b'"), "", "a", FAULT,
     "must have one element"},
    {"field without a value", FIELD("metadata.name", "NotIn", ""), "", "a", FAULT,
     "must have one element"},
    {"faulty field counts for a nameless node as well",
     "{'nodeSelectorTerms': [{'matchExpressions': [" EXPRESSION(
         "zone", "Exists", "") "], "
                               "'matchFields': [" EXPRESSION("metadata.name", "In", "") "]}]}",
     "zone=a", "", FAULT, "must have one element"},
};

#define TERM(expressions) "{'matchExpressions': [" expressions "]}"
#define TERMS(terms) "{'nodeSelectorTerms': [" terms "]}"
#define IN(key, values) EXPRESSION(key, "In", values)
#define BAD TERM(EXPRESSION("zone", "Is", "'a'"))

static const struct node_case TERM_RULES[] = {
    {"no terms match nothing", TERMS(""), "zone=a", "n1", NO, NULL},
    {"terms left out match nothing", "{}", "zone=a", "n1", NO, NULL},
    {"terms null match nothing", "{'nodeSelectorTerms': null}", "zone=a", "n1", NO, NULL},
    {"empty term matches nothing", TERMS("{}"), "zone=a", "n1", NO, NULL},
    {"null term matches nothing", TERMS("null"), "zone=a", "n1", NO, NULL},
    {"term with empty lists matches nothing", TERMS("{'matchExpressions': [], 'matchFields': []}"),
     "zone=a", "n1", NO, NULL},
    {"term with null lists matches nothing",
     TERMS("{'matchExpressions': null, 'matchFields': null}"), "zone=a", "n1", NO, NULL},
    {"empty terms only match nothing", TERMS("{}, {}"), "zone=a", "n1", NO, NULL},
    {"empty term beside one that matches", TERMS("{}, " TERM(IN("zone", "'a'"))), "zone=a", "n1",
     YES, NULL},
    {"terms are ORed: the second matches",
     TERMS(TERM(IN("zone", "'b'")) ", " TERM(IN("zone", "'a'"))), "zone=a", "n1", YES, NULL},
    {"terms are ORed: none matches", TERMS(TERM(IN("zone", "'b'")) ", " TERM(IN("zone", "'c'"))),
     "zone=a", "n1", NO, NULL},
    {"expressions are ANDed: both", TERMS(TERM(IN("zone", "'a'") ", " IN("rack", "'1'"))),
     "zone=a,rack=1", "n1", YES, NULL},
    {"expressions are ANDed: one fails", TERMS(TERM(IN("zone", "'a'") ", " IN("rack", "'1'"))),
     "zone=a,rack=2", "n1", NO, NULL},
    {"expressions are ANDed: same key twice", TERMS(TERM(IN("zone", "'a'") ", " IN("zone", "'b'"))),
     "zone=a", "n1", NO, NULL},
    {"expressions of different terms are not mixed",
     TERMS(TERM(IN("zone", "'a'") ", " IN("rack", "'1'")) ", " TERM(
         IN("zone", "'b'") ", " IN("rack", "'2'"))),
     "zone=a,rack=2", "n1", NO, NULL},
    {"faulty term is passed over when a later one matches", TERMS(BAD ", " TERM(IN("zone", "'a'"))),
     "zone=a", "n1", YES, NULL},
    {"faulty term is passed over when an earlier one matches",
     TERMS(TERM(IN("zone", "'a'")) ", " BAD), "zone=a", "n1", YES, NULL},
    {"faulty term counts when no other matches", TERMS(BAD ", " TERM(IN("zone", "'b'"))), "zone=a",
     "n1", FAULT, "nodeSelectorTerms[0]"},
    {"all faults are told", TERMS(BAD ", {}, " BAD), "zone=a", "n1", FAULT,
     "nodeSelectorTerms[0]|; nodeSelectorTerms[2]"},
    {"node without labels", TERMS(TERM(IN("zone", "'a'"))), "", "n1", NO, NULL},
    {"beta zone label is not translated",
     TERMS(TERM(IN("failure-domain.beta.kubernetes.io/zone", "'a'"))),
     "topology.kubernetes.io/zone=a", "n1", NO, NULL},
    {"unknown keys of a term are ignored", TERMS("{'matchSomething': [1]}"), "zone=a", "n1", NO,
     NULL},

    {"field In: name equal", NAME_IS("n1"), "", "n1", YES, NULL},
    {"field In: name differs", NAME_IS("n1"), "", "n2", NO, NULL},
    {"field NotIn: name equal", FIELD("metadata.name", "NotIn", "'n1'"), "", "n1", NO, NULL},
    {"field NotIn: name differs", FIELD("metadata.name", "NotIn", "'n1'"), "", "n2", YES, NULL},
    {"fields are ANDed: one fails",
     TERMS("{'matchFields': [" EXPRESSION("metadata.name", "NotIn", "'n2'") ", " IN("metadata.name",
                                                                                    "'n2'") "]}"),
     "", "n1", NO, NULL},
    {"unknown field reads as empty: NotIn", FIELD("metadata.namespace", "NotIn", "'x'"), "", "n1",
     YES, NULL},
    {"unknown field reads as empty: In", FIELD("metadata.namespace", "In", "'x'"), "", "n1", NO,
     NULL},
    {"unknown field reads as empty: In nothing", FIELD("metadata.namespace", "In", "''"), "", "n1",
     YES, NULL},
    {"field values need not be label values", NAME_IS("-n1-"), "", "-n1-", YES, NULL},
    {"node name in another case", NAME_IS("N1"), "", "n1", NO, NULL},
    {"expressions and fields are ANDed: both",
     TERMS("{'matchExpressions': [" IN("zone", "'a'") "], 'matchFields': [" IN("metadata.name",
                                                                               "'n1'") "]}"),
     "zone=a", "n1", YES, NULL},
    {"expressions and fields are ANDed: field fails",
     TERMS("{'matchExpressions': [" IN("zone", "'a'") "], 'matchFields': [" IN("metadata.name",
                                                                               "'n2'") "]}"),
     "zone=a", "n1", NO, NULL},
    {"expressions and fields are ANDed: expression fails",
     TERMS("{'matchExpressions': [" IN("zone", "'b'") "], 'matchFields': [" IN("metadata.name",
                                                                               "'n1'") "]}"),
     "zone=a", "n1", NO, NULL},
    {"nameless node: fields count as satisfied", NAME_IS("n1"), "zone=a", "", YES, NULL},
    {"nameless node: NotIn counts as satisfied", FIELD("metadata.name", "NotIn", "'n1'"), "zone=a",
     NULL, YES, NULL},
    {"nameless node: expressions still count",
     TERMS("{'matchExpressions': [" IN("zone", "'b'") "], 'matchFields': [" IN("metadata.name",
                                                                               "'n1'") "]}"),
     "zone=a", NULL, NO, NULL},
    {"volume pinned by plain segment", TERMS(TERM(IN("topology.rbd.csi.ceph.com/zone", "'a'"))),
     "topology.rbd.csi.ceph.com/zone=a", NULL, YES, NULL},
    {"volume pinned by membership: another zone takes it over",
     TERMS(TERM(IN("topology.rbd.csi.ceph.com/member.zone.a", "'true'"))),
     "topology.rbd.csi.ceph.com/zone=b,topology.rbd.csi.ceph.com/member.zone.a=true", NULL, YES,
     NULL},
};

static void check_node_case(const struct node_case *rule)
{
    json_auto_t *json = make_json(rule->selector);
    _cleanup_node_selector_ struct node_selector selector = {0};
    _cleanup_strmap_ struct strmap labels = make_labels(rule->labels);
    _cleanup_error_ struct error err = {0};
    bool matches = false;

    if (node_selector_decode(json, &selector, &err) < 0)
        fail_msg("%s: %s", rule->rule, err.message);
    int status = node_selector_match(&selector, &labels, rule->name, &matches, &err);
    if (rule->outcome == FAULT) {
        if (status == 0)
            fail_msg("%s: it was accepted", rule->rule);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_mentions(rule->rule, err.message, rule->message);
        return;
    }
    if (status < 0)
        fail_msg("%s: %s", rule->rule, err.message);
    if (matches != (rule->outcome == YES))
        fail_msg("%s: it %s", rule->rule, matches ? "matches" : "does not match");
}

static void check_node_cases(const char *table, const struct node_case *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_node_case(&rules[i]);
    report_cases(table, count);
}

TEST(operators_match_as_in_kubernetes)
{
    check_node_cases("selector operators", OPERATORS, ARRAY_LENGTH(OPERATORS));
}

TEST(faults_are_told_at_matching)
{
    check_node_cases("selector faults", FAULTS, ARRAY_LENGTH(FAULTS));
}

TEST(terms_of_a_node_selector_combine_as_in_kubernetes)
{
    check_node_cases("node selector terms", TERM_RULES, ARRAY_LENGTH(TERM_RULES));
}

/* What the strict way refuses at once, the lazy one tells only when nothing matches. */
TEST(strict_check_names_the_first_faulty_term)
{
    json_auto_t *json = make_json(TERMS(TERM(IN("zone", "'a'")) ", " BAD ", " BAD));
    _cleanup_node_selector_ struct node_selector selector = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_selector_decode(json, &selector, &err), 0);
    assert_int_equal(node_selector_check(&selector, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, "nodeSelectorTerms[1].matchExpressions[0]: key 'zone': "
                                     "operator 'Is' is not known here");
}

TEST(strict_check_lets_good_and_empty_terms_pass)
{
    json_auto_t *json = make_json(TERMS(TERM(IN("zone", "'a'")) ", {}"));
    _cleanup_node_selector_ struct node_selector selector = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_selector_decode(json, &selector, &err), 0);
    assert_int_equal(node_selector_check(&selector, &err), 0);
}

static const struct {
    const char *rule;
    const char *selector;
    const char *path;
} WRONG_SHAPES[] = {
    {"null instead of a selector", "null", "expected an object"},
    {"list instead of a selector", "[]", "expected an object"},
    {"object instead of terms", "{'nodeSelectorTerms': {}}",
     "nodeSelectorTerms: expected an array"},
    {"text instead of a term", TERMS("'zone'"), "nodeSelectorTerms[0]: expected an object"},
    {"text instead of expressions", TERMS("{}, {'matchExpressions': 'a'}"),
     "nodeSelectorTerms[1].matchExpressions: expected an array"},
    {"text instead of values", TERMS(TERM("{'key': 'a', 'operator': 'In', 'values': 'b'}")),
     "nodeSelectorTerms[0].matchExpressions[0].values: expected an array"},
    {"number instead of a value", TERMS(TERM("{'key': 'a', 'operator': 'In', 'values': ['b', 1]}")),
     "values[1]: expected a string"},
    {"number instead of a key", TERMS(TERM("{'key': 1, 'operator': 'In'}")),
     "key: expected a string"},
    {"list instead of fields", TERMS("{'matchFields': [[]]}"),
     "matchFields[0]: expected an object"},
};

TEST(wrong_shapes_are_refused_with_their_place)
{
    for (size_t i = 0; i < ARRAY_LENGTH(WRONG_SHAPES); i++) {
        json_auto_t *json = make_json(WRONG_SHAPES[i].selector);
        _cleanup_node_selector_ struct node_selector selector = {0};
        _cleanup_error_ struct error err = {0};

        if (node_selector_decode(json, &selector, &err) == 0)
            fail_msg("%s: it was accepted", WRONG_SHAPES[i].rule);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_mentions(WRONG_SHAPES[i].rule, err.message, WRONG_SHAPES[i].path);
        assert_null(selector.terms);
    }
    report_cases("selector shapes", ARRAY_LENGTH(WRONG_SHAPES));
}

TEST(a_selector_without_terms_allocates_none)
{
    json_auto_t *json = make_json("{'nodeSelectorTerms': []}");
    _cleanup_node_selector_ struct node_selector selector = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_selector_decode(json, &selector, &err), 0);
    assert_null(selector.terms);
    assert_int_equal(selector.count, 0);
}

TEST(selectors_are_empty_after_done)
{
    json_auto_t *node_json = make_json(ZONE("In", "'a'"));
    json_auto_t *label_json = make_json("{'matchLabels': {'zone': 'a'}}");
    struct node_selector node_selector = {0};
    struct label_selector label_selector = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_selector_decode(node_json, &node_selector, &err), 0);
    assert_int_equal(node_selector.count, 1);
    node_selector_done(&node_selector);
    assert_null(node_selector.terms);
    assert_int_equal(node_selector.count, 0);
    assert_int_equal(label_selector_decode(label_json, &label_selector, &err), 0);
    assert_true(label_selector.is_set);
    label_selector_done(&label_selector);
    assert_false(label_selector.is_set);
    assert_null(label_selector.requirements.items);
    assert_int_equal(label_selector.requirements.count, 0);
}

TEST(absent_node_selector_is_refused)
{
    _cleanup_node_selector_ struct node_selector selector = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_selector_decode(NULL, &selector, &err), -1);
    assert_string_equal(err.message, "expected an object, found nothing");
}

/* --- LabelSelector ----------------------------------------------------------------------------*/

#define LABELS(labels) "{'matchLabels': {" labels "}}"
#define EXPRESSIONS(expressions) "{'matchExpressions': [" expressions "]}"

static const struct {
    const char *rule;
    const char *selector;
    const char *labels;
    enum outcome outcome;
    const char *message;
} LABEL_RULES[] = {
    {"null selects nothing", "null", "zone=a", NO, NULL},
    {"null selects not even nothing", "null", "", NO, NULL},
    {"empty selects everything", "{}", "zone=a", YES, NULL},
    {"empty selects a node without labels", "{}", "", YES, NULL},
    {"empty members select everything", "{'matchLabels': {}, 'matchExpressions': []}", "", YES,
     NULL},
    {"null members select everything", "{'matchLabels': null, 'matchExpressions': null}", "", YES,
     NULL},
    {"matchLabels: equal", LABELS("'zone': 'a'"), "zone=a,rack=1", YES, NULL},
    {"matchLabels: differs", LABELS("'zone': 'a'"), "zone=b", NO, NULL},
    {"matchLabels: missing", LABELS("'zone': 'a'"), "rack=1", NO, NULL},
    {"matchLabels: empty value is a value", LABELS("'zone': ''"), "zone=", YES, NULL},
    {"matchLabels: empty value is not a missing label", LABELS("'zone': ''"), "", NO, NULL},
    {"matchLabels: all must be equal", LABELS("'zone': 'a', 'rack': '1'"), "zone=a,rack=1", YES,
     NULL},
    {"matchLabels: the other differs", LABELS("'zone': 'a', 'rack': '1'"), "zone=b,rack=1", NO,
     NULL},
    {"matchLabels: one differs", LABELS("'zone': 'a', 'rack': '1'"), "zone=a,rack=2", NO, NULL},
    {"matchExpressions: In", EXPRESSIONS(IN("zone", "'a', 'b'")), "zone=b", YES, NULL},
    {"matchExpressions: NotIn with the label missing",
     EXPRESSIONS(EXPRESSION("zone", "NotIn", "'a'")), "", YES, NULL},
    {"matchExpressions: Exists", EXPRESSIONS(EXPRESSION("zone", "Exists", "")), "zone=", YES, NULL},
    {"matchExpressions: DoesNotExist", EXPRESSIONS(EXPRESSION("zone", "DoesNotExist", "")),
     "zone=a", NO, NULL},
    {"matchExpressions are ANDed", EXPRESSIONS(IN("zone", "'a'") ", " IN("rack", "'1'")), "zone=a",
     NO, NULL},
    {"labels and expressions are ANDed",
     "{'matchLabels': {'zone': 'a'}, 'matchExpressions': [" IN("rack", "'1'") "]}", "zone=a,rack=1",
     YES, NULL},
    {"labels match, expressions do not",
     "{'matchLabels': {'zone': 'a'}, 'matchExpressions': [" IN("rack", "'1'") "]}", "zone=a,rack=2",
     NO, NULL},
    {"Gt is an error", EXPRESSIONS(EXPRESSION("cores", "Gt", "'1'")), "cores=2", FAULT,
     "operator 'Gt'"},
    {"Lt is an error", EXPRESSIONS(EXPRESSION("cores", "Lt", "'1'")), "cores=0", FAULT,
     "operator 'Lt'"},
    {"unknown operator is an error", EXPRESSIONS(EXPRESSION("zone", "Is", "'a'")), "zone=a", FAULT,
     "matchExpressions[0]|operator 'Is'"},
    {"In without a value is an error", EXPRESSIONS(IN("zone", "")), "", FAULT, "need a value"},
    {"Exists with a value is an error", EXPRESSIONS(EXPRESSION("zone", "Exists", "'a'")), "zone=a",
     FAULT, "take no value"},
    {"malformed key of a label is an error", LABELS("'my zone': 'a'"), "", FAULT,
     "matchLabels: label key 'my zone'"},
    {"malformed value of a label is an error", LABELS("'zone': 'a b'"), "", FAULT,
     "label value 'a b'"},
    {"fault counts although another part does not match",
     "{'matchLabels': {'zone': 'b'}, 'matchExpressions': [" IN("rack", "") "]}", "zone=a", FAULT,
     "need a value"},
};

TEST(label_selectors_match_as_in_kubernetes)
{
    for (size_t i = 0; i < ARRAY_LENGTH(LABEL_RULES); i++) {
        const char *rule = LABEL_RULES[i].rule;
        json_auto_t *json = make_json(LABEL_RULES[i].selector);
        _cleanup_label_selector_ struct label_selector selector = {0};
        _cleanup_strmap_ struct strmap labels = make_labels(LABEL_RULES[i].labels);
        _cleanup_error_ struct error err = {0};
        bool matches = false;

        if (label_selector_decode(json, &selector, &err) < 0)
            fail_msg("%s: %s", rule, err.message);
        int status = label_selector_match(&selector, &labels, &matches, &err);
        if ((status < 0) != (LABEL_RULES[i].outcome == FAULT))
            fail_msg("%s: %s", rule, status < 0 ? err.message : "it was accepted");
        if (status < 0)
            assert_mentions(rule, err.message, LABEL_RULES[i].message);
        else if (matches != (LABEL_RULES[i].outcome == YES))
            fail_msg("%s: it %s", rule, matches ? "matches" : "does not match");
    }
    report_cases("label selectors", ARRAY_LENGTH(LABEL_RULES));
}

TEST(absent_label_selector_selects_nothing)
{
    _cleanup_label_selector_ struct label_selector selector = {0};
    _cleanup_strmap_ struct strmap labels = make_labels("zone=a");
    _cleanup_error_ struct error err = {0};
    bool matches = true;

    assert_int_equal(label_selector_decode(NULL, &selector, &err), 0);
    assert_int_equal(label_selector_match(&selector, &labels, &matches, &err), 0);
    assert_false(matches);
}

TEST(label_selector_of_a_wrong_shape_is_refused)
{
    static const char *const shapes[] = {"[]", "'zone=a'", "{'matchLabels': ['zone']}",
                                         "{'matchLabels': {'zone': 1}}",
                                         "{'matchExpressions': {}}"};

    for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
        json_auto_t *json = make_json(shapes[i]);
        _cleanup_label_selector_ struct label_selector selector = {0};
        _cleanup_error_ struct error err = {0};

        assert_int_equal(label_selector_decode(json, &selector, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_false(selector.is_set);
    }
}
