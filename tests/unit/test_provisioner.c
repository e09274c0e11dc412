#include "tests/unit/fixtures/topology_tables.h"

#include "common/base/memory.h"
#include "common/scheduling/simulation/provisioner.h"

/* --- the hash ---------------------------------------------------------------------------------*/

static const struct {
    const char *rule;
    const char *claim;
    uint32_t hash;
    uint32_t index;
} SPREADS[] = {
    {"empty name is the hash's start", "", 2166136261u, 0},
    {"one letter", "a", 84696446u, 0},
    {"FNV-1, not FNV-1a", "foobar", 837857890u, 0},
    {"no number: the whole name", "testset", 1633848515u, 0},
    {"no number: a plain claim", "data", 1959470013u, 0},
    {"NAME-N", "web-2", 1181096325u, 2},
    {"CLAIM-SET-N: the set only", "data-web-2", 1181096325u, 2},
    {"another claim of the set", "logs-web-2", 1181096325u, 2},
    {"dashes in the claim", "my-own-data-web-7", 1181096325u, 7},
    {"dashes in the set: its last part only", "data-my-web-0", 1181096325u, 0},
    {"leading zeros in the number", "data-web-007", 1181096325u, 7},
    {"largest number", "web-4294967295", 1181096325u, 4294967295u},
    {"nothing before the number", "-5", 2166136261u, 5},
    {"nothing between two dashes", "data--5", 2166136261u, 5},
    {"digits alone are no number", "0", 84696367u, 0},
};

/* The whole name is hashed, and the index is 0. */
static const struct {
    const char *rule;
    const char *claim;
} UNNUMBERED[] = {
    {"number beyond 32 bits is none", "web-4294967296"},
    {"number beyond 64 bits is none", "web-99999999999999999999"},
    {"letters behind the dash", "data-web"},
    {"letters behind the number", "web-2a"},
    {"nothing behind the dash", "web-"},
    {"sign before the number", "web-+2"},
    {"underscore in the number", "web-1_0"},
    {"hexadecimal", "web-0x1"},
    {"space before the number", "web- 1"},
};

static uint32_t hash_by_hand(const char *chars)
{
    uint64_t hash = 2166136261u;

    for (; *chars != '\0'; chars++)
        hash = ((hash * 16777619u) % 4294967296u) ^ (unsigned char)*chars;
    return (uint32_t)hash;
}

static void check_spread(const char *rule, const char *claim, uint32_t hash, uint32_t index)
{
    uint32_t found_hash = 0;
    uint32_t found_index = 0;

    provisioner_spread(claim, &found_hash, &found_index);
    if (found_hash != hash || found_index != index)
        fail_msg("%s: '%s' is %u, %u", rule, claim, found_hash, found_index);
}

TEST(claims_are_spread_by_the_name_of_their_set)
{
    for (size_t i = 0; i < ARRAY_LENGTH(SPREADS); i++)
        check_spread(SPREADS[i].rule, SPREADS[i].claim, SPREADS[i].hash, SPREADS[i].index);
    for (size_t i = 0; i < ARRAY_LENGTH(UNNUMBERED); i++)
        check_spread(UNNUMBERED[i].rule, UNNUMBERED[i].claim, hash_by_hand(UNNUMBERED[i].claim), 0);
    report_cases("spreading hashes", ARRAY_LENGTH(SPREADS) + ARRAY_LENGTH(UNNUMBERED));
}

/* --- requirements -----------------------------------------------------------------------------*/

/*
 * Nodes are written "NAME LABELS KEYS; ...", keys with '+' between them; '-' for labels is a
 * missing Node, for keys a missing CSINode, and '0' for keys a driver that is not registered. '_'
 * are no labels. Terms are written "zone=a,rack=1; zone=b"; NULL: no requirement.
 */
#define NODES_MAX 8

struct cluster {
    struct provisioner_node nodes[NODES_MAX];
    struct strmap labels[NODES_MAX];
    struct string_list keys[NODES_MAX];
    size_t count;
    char *text;
};

static void cluster_done(struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->count; i++) {
        strmap_done(&cluster->labels[i]);
        string_list_done(&cluster->keys[i]);
    }
    free(cluster->text);
}

static void add_node(struct cluster *cluster, char *text)
{
    const char *name = strsep(&text, " ");
    const char *labels = strsep(&text, " ");
    char *keys = text;
    size_t i = cluster->count++;

    assert_true(i < NODES_MAX && keys);
    cluster->nodes[i] = (struct provisioner_node){.name = name};
    if (strcmp(labels, "-") != 0) {
        cluster->labels[i] = make_labels(strcmp(labels, "_") == 0 ? "" : labels);
        cluster->nodes[i].labels = &cluster->labels[i];
    }
    if (strcmp(keys, "-") == 0)
        return;
    cluster->nodes[i].keys = &cluster->keys[i];
    while (keys && strcmp(keys, "0") != 0)
        string_list_add(&cluster->keys[i], strsep(&keys, "+"));
}

/* @cluster is filled in place, for its nodes point into it. */
static void make_cluster(const char *text, struct cluster *cluster)
{
    cluster->text = xstrdup(text);
    for (char *rest = cluster->text; rest && rest[0] != '\0';) {
        char *node = strsep(&rest, ";");

        add_node(cluster, node + strspn(node, " "));
    }
}

static const struct provisioner_node *find_node(const struct cluster *cluster, const char *name)
{
    for (size_t i = 0; name && i < cluster->count; i++)
        if (strcmp(cluster->nodes[i].name, name) == 0)
            return &cluster->nodes[i];
    if (name)
        fail_msg("there is no node '%s'", name);
    return NULL;
}

static char *print_terms(const struct topology_terms *terms)
{
    struct text text = TEXT_INIT(4096);

    for (size_t i = 0; i < terms->count; i++)
        for (size_t k = 0; k < terms->items[i].count; k++)
            text_addf(&text, "%s%s=%s", k > 0 ? "," : (i > 0 ? "; " : ""),
                      terms->items[i].entries[k].key, terms->items[i].entries[k].value);
    return text.chars ? text_take(&text) : xstrdup("");
}

#define ZONES "n1 zone=a zone; n2 zone=b zone; n3 zone=c zone"
#define RACKS                                                                                      \
    "n1 zone=z1,rack=A zone+rack; n2 zone=z2,rack=B zone+rack; n3 zone=z3,rack=C zone+rack; "      \
    "n4 zone=z4,rack=D zone+rack"
#define EXPRESSION(key, values) "{'key': '" key "', 'values': [" values "]}"
#define TERM(expressions) "{'matchLabelExpressions': [" expressions "]}"
#define ALLOW(values) "[" TERM(EXPRESSION("zone", values)) "]"

#define STRICT 1
#define LATE 2 /* --immediate-topology=false */

struct requirement_case {
    const char *rule;
    const char *claim;
    const char *nodes;
    const char *selected;
    const char *allowed;
    unsigned flags;
    const char *requisite;
    const char *preferred;
};

static const struct requirement_case REQUIREMENTS[] = {
    /* a node is selected, strict */
    {"selected, strict: its term alone", "c", ZONES, "n2", NULL, STRICT, "zone=b", "zone=b"},
    {"selected, strict: immediate does not matter", "c", ZONES, "n2", NULL, STRICT | LATE, "zone=b",
     "zone=b"},
    {"selected, strict: all keys of the node", "c", RACKS, "n3", NULL, STRICT, "rack=C,zone=z3",
     "rack=C,zone=z3"},
    {"selected, strict, allowed: its term alone", "c", ZONES, "n2", ALLOW("'a', 'b'"), STRICT,
     "zone=b", "zone=b"},
    {"selected, strict, allowed by fewer keys: still all keys", "c", RACKS, "n3", ALLOW("'z3'"),
     STRICT, "rack=C,zone=z3", "rack=C,zone=z3"},
    {"selected, strict: terms of other nodes do not matter", "c", "n1 zone=a zone; n2 zone=b zone",
     "n1", NULL, STRICT, "zone=a", "zone=a"},
    {"selected, strict: empty label is a value", "c", "n1 zone= zone", "n1", NULL, STRICT,
     "zone=", "zone="},
    {"selected, strict: takeover's membership keys are in the term", "c",
     "n1 zone=b,member.zone.a=true,member.zone.b=true zone+member.zone.a+member.zone.b", "n1", NULL,
     STRICT, "member.zone.a=true,member.zone.b=true,zone=b",
     "member.zone.a=true,member.zone.b=true,zone=b"},

    /* a node is selected, not strict */
    {"selected: all terms, rotated to the node's", "c", ZONES, "n2", NULL, 0,
     "zone=a; zone=b; zone=c", "zone=b; zone=c; zone=a"},
    {"selected: first term needs no rotation", "c", ZONES, "n1", NULL, 0, "zone=a; zone=b; zone=c",
     "zone=a; zone=b; zone=c"},
    {"selected: last term", "c", ZONES, "n3", NULL, 0, "zone=a; zone=b; zone=c",
     "zone=c; zone=a; zone=b"},
    {"selected: immediate does not matter", "c", ZONES, "n2", NULL, LATE, "zone=a; zone=b; zone=c",
     "zone=b; zone=c; zone=a"},
    {"selected: the claim's name does not matter", "web-1", ZONES, "n2", NULL, 0,
     "zone=a; zone=b; zone=c", "zone=b; zone=c; zone=a"},
    {"selected: equal terms once", "c", "n1 zone=a zone; n2 zone=a zone; n3 zone=b zone", "n3",
     NULL, 0, "zone=a; zone=b", "zone=b; zone=a"},
    {"selected: terms are sorted, whatever the nodes' order", "c",
     "n9 zone=a zone; n5 zone=c zone; n1 zone=b zone", "n5", NULL, 0, "zone=a; zone=b; zone=c",
     "zone=c; zone=a; zone=b"},
    {"selected: sorted by the first key, then by the next", "c",
     "n1 zone=a,rack=2 zone+rack; n2 zone=b,rack=1 zone+rack; n3 zone=a,rack=1 zone+rack", "n1",
     NULL, 0, "rack=1,zone=a; rack=1,zone=b; rack=2,zone=a",
     "rack=2,zone=a; rack=1,zone=a; rack=1,zone=b"},
    {"selected: sorted by bytes, not as numbers", "c",
     "n1 zone=10 zone; n2 zone=9 zone; n3 zone=B zone; n4 zone=a zone", "n2", NULL, 0,
     "zone=10; zone=9; zone=B; zone=a", "zone=9; zone=B; zone=a; zone=10"},
    {"selected: node without one of the keys is left out", "c",
     "n1 zone=a,rack=1 zone+rack; n2 zone=b zone; n3 zone=c,rack=3 zone+rack", "n1", NULL, 0,
     "rack=1,zone=a; rack=3,zone=c", "rack=1,zone=a; rack=3,zone=c"},
    {"selected: keys across nodes need not be equal", "c",
     "n1 zone=a,rack=1 zone+rack; n2 zone=b zone; n3 zone=c,rack=3 zone+rack", "n2", NULL, 0,
     "zone=a; zone=b; zone=c", "zone=b; zone=c; zone=a"},
    {"selected: nodes without the driver count by their labels", "c",
     "n1 zone=a zone; n2 zone=b 0; n3 zone=c -", "n1", NULL, 0, "zone=a; zone=b; zone=c",
     "zone=a; zone=b; zone=c"},
    {"selected: CSINode without its Node is left out", "c", "n1 zone=a zone; n2 - zone", "n1", NULL,
     0, "zone=a", "zone=a"},
    {"selected: further labels are not sent", "c", "n1 zone=a,os=linux zone", "n1", NULL, 0,
     "zone=a", "zone=a"},

    /* a node is selected, allowedTopologies are set, not strict */
    {"selected, allowed: all allowed, rotated to the first that the node fulfils", "c", ZONES, "n2",
     ALLOW("'c', 'b'"), 0, "zone=b; zone=c", "zone=b; zone=c"},
    {"selected, allowed: rotated to the second", "c", ZONES, "n3", ALLOW("'c', 'b'"), 0,
     "zone=b; zone=c", "zone=c; zone=b"},
    {"selected, allowed: zones without nodes are sent as well", "c", ZONES, "n1", ALLOW("'a', 'x'"),
     0, "zone=a; zone=x", "zone=a; zone=x"},
    {"selected, allowed: a term of fewer keys than the node has", "c", RACKS, "n2",
     ALLOW("'z1', 'z2'"), 0, "zone=z1; zone=z2", "zone=z2; zone=z1"},
    {"selected, allowed: shorter terms come first", "c", RACKS, "n2",
     "[" TERM(EXPRESSION("zone", "'z2'") ", " EXPRESSION("rack", "'B'")) ", " TERM(
         EXPRESSION("zone", "'z2'")) "]",
     0, "zone=z2; rack=B,zone=z2", "zone=z2; rack=B,zone=z2"},
    {"selected, allowed: only empty terms send nothing", "c", ZONES, "n1", "[{}]", 0, NULL, NULL},

    /* no node is selected */
    {"immediate, allowed: rotated by the hash", "web-2", ZONES, NULL, ALLOW("'a', 'b', 'c'"), 0,
     "zone=a; zone=b; zone=c", "zone=c; zone=a; zone=b"},
    {"immediate, allowed: --immediate-topology=false changes nothing", "web-2", ZONES, NULL,
     ALLOW("'a', 'b', 'c'"), LATE, "zone=a; zone=b; zone=c", "zone=c; zone=a; zone=b"},
    {"immediate, allowed: strict changes nothing", "web-1", ZONES, NULL, ALLOW("'a', 'b', 'c'"),
     STRICT, "zone=a; zone=b; zone=c", "zone=b; zone=c; zone=a"},
    {"immediate, allowed: nodes do not matter", "web-0", "", NULL, ALLOW("'a', 'b', 'c'"), 0,
     "zone=a; zone=b; zone=c", "zone=a; zone=b; zone=c"},
    {"immediate, allowed: only empty terms send nothing", "web-0", ZONES, NULL, "[{}, {}]", 0, NULL,
     NULL},
    {"immediate, allowed: an empty list is none", "web-1", ZONES, NULL, "[]", 0,
     "zone=a; zone=b; zone=c", "zone=b; zone=c; zone=a"},
    {"immediate: all terms, rotated by the hash", "web-1", ZONES, NULL, NULL, 0,
     "zone=a; zone=b; zone=c", "zone=b; zone=c; zone=a"},
    {"immediate: index 0 of the set", "testpvcA-testset-1", RACKS, NULL, NULL, 0,
     "rack=A,zone=z1; rack=B,zone=z2; rack=C,zone=z3; rack=D,zone=z4",
     "rack=A,zone=z1; rack=B,zone=z2; rack=C,zone=z3; rack=D,zone=z4"},
    {"immediate: the claim's part of the name does not matter", "testpvcB-testset-1", RACKS, NULL,
     NULL, 0, "rack=A,zone=z1; rack=B,zone=z2; rack=C,zone=z3; rack=D,zone=z4",
     "rack=A,zone=z1; rack=B,zone=z2; rack=C,zone=z3; rack=D,zone=z4"},
    {"immediate: index 1 of the set", "testset-2", RACKS, NULL, NULL, 0,
     "rack=A,zone=z1; rack=B,zone=z2; rack=C,zone=z3; rack=D,zone=z4",
     "rack=B,zone=z2; rack=C,zone=z3; rack=D,zone=z4; rack=A,zone=z1"},
    {"immediate: hash and index wrap at 2^32", "web-4294967295", ZONES, NULL, NULL, 0,
     "zone=a; zone=b; zone=c", "zone=c; zone=a; zone=b"},
    {"immediate: rotation counts terms after equal ones are dropped", "data",
     "n1 zone=a zone; n2 zone=a zone; n3 zone=b zone", NULL, NULL, 0, "zone=a; zone=b",
     "zone=b; zone=a"},
    {"immediate, strict: as without", "web-1", ZONES, NULL, NULL, STRICT, "zone=a; zone=b; zone=c",
     "zone=b; zone=c; zone=a"},
    {"immediate: --immediate-topology=false sends nothing", "web-1", ZONES, NULL, NULL, LATE, NULL,
     NULL},
    {"immediate, late: not even an error without nodes", "web-1", "", NULL, NULL, LATE, NULL, NULL},
    {"immediate: keys of the first node by name", "web-0",
     "n2 zone=b,rack=2 zone; n1 zone=a,rack=1 rack; n3 zone=c,rack=3 zone", NULL, NULL, 0,
     "rack=1; rack=2; rack=3", "rack=1; rack=2; rack=3"},
    {"immediate: nodes without keys are passed over", "web-0",
     "n1 zone=a 0; n2 zone=b zone; n3 zone=c -", NULL, NULL, 0, "zone=a; zone=b; zone=c",
     "zone=a; zone=b; zone=c"},
    {"immediate: keys of a CSINode without its Node", "web-0", "n1 - zone; n2 zone=b 0", NULL, NULL,
     0, "zone=b", "zone=b"},

    /* multiplying allowedTopologies out */
    {"flatten: every combination of the values", "c", RACKS, "n1",
     "[" TERM(EXPRESSION("zone", "'z1', 'z2'") ", " EXPRESSION("rack", "'A', 'B'")) "]", 0,
     "rack=A,zone=z1; rack=A,zone=z2; rack=B,zone=z1; rack=B,zone=z2",
     "rack=A,zone=z1; rack=A,zone=z2; rack=B,zone=z1; rack=B,zone=z2"},
    {"flatten: three expressions", "c", "n1 a=1,b=1,c=2 a+b+c", "n1",
     "[" TERM(
         EXPRESSION("c", "'1', '2'") ", " EXPRESSION("a", "'1'") ", " EXPRESSION("b", "'1'")) "]",
     0, "a=1,b=1,c=1; a=1,b=1,c=2", "a=1,b=1,c=2; a=1,b=1,c=1"},
    {"flatten: terms are put together", "web-0", "", NULL,
     "[" TERM(EXPRESSION("zone", "'b'")) ", " TERM(EXPRESSION("zone", "'a', 'c'")) "]", 0,
     "zone=a; zone=b; zone=c", "zone=a; zone=b; zone=c"},
    {"flatten: empty term adds nothing", "web-0", "", NULL,
     "[{}, " TERM(EXPRESSION("zone", "'a'")) "]", 0, "zone=a", "zone=a"},
    {"flatten: equal terms once", "web-0", "", NULL,
     "[" TERM(EXPRESSION("zone", "'a'")) ", " TERM(EXPRESSION("zone", "'a'")) "]", 0, "zone=a",
     "zone=a"},
    {"flatten: equal terms from another order of keys", "web-0", "", NULL,
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("rack", "'1'")) ", " TERM(
         EXPRESSION("rack", "'1'") ", " EXPRESSION("zone", "'a'")) "]",
     0, "rack=1,zone=a", "rack=1,zone=a"},
    {"flatten: a subset of another term is kept", "web-0", "", NULL,
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("rack", "'1'")) ", " TERM(
         EXPRESSION("rack", "'1'")) ", " TERM(EXPRESSION("rack", "'2'")) "]",
     0, "rack=1; rack=2; rack=1,zone=a", "rack=1; rack=2; rack=1,zone=a"},
    {"flatten: an expression without values forgets those before it", "web-0", "", NULL,
     "[" TERM(
         EXPRESSION("zone", "'a'") ", " EXPRESSION("os", "") ", " EXPRESSION("rack", "'1'")) "]",
     0, "rack=1", "rack=1"},
    {"flatten: an expression without values at the end leaves nothing", "web-0", "", NULL,
     "[" TERM(EXPRESSION("zone", "'a'") ", " EXPRESSION("os", "")) "]", 0, NULL, NULL},
    {"flatten: values are not checked", "web-0", "", NULL, ALLOW("'not a label'"), 0,
     "zone=not a label", "zone=not a label"},
};

static void check_requirement(const struct requirement_case *rule)
{
    _cleanup_(cluster_done) struct cluster cluster = {0};
    json_auto_t *json = make_json(rule->allowed ? rule->allowed : "null");
    _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
    _cleanup_topology_requirement_ struct topology_requirement requirement = {0};
    _cleanup_error_ struct error err = {0};
    enum provisioner_state after = PROVISIONER_NO_CHANGE;

    make_cluster(rule->nodes, &cluster);
    assert_int_equal(allowed_topologies_decode(json, &allowed, &err), 0);
    const struct provisioner_request request = {
        .claim = rule->claim,
        .allowed = rule->allowed ? &allowed : NULL,
        .selected = find_node(&cluster, rule->selected),
        .nodes = cluster.nodes,
        .count = cluster.count,
        .strict = rule->flags & STRICT,
        .immediate = !(rule->flags & LATE),
    };
    if (provisioner_requirement(&request, &requirement, &after, &err) < 0)
        fail_msg("%s: %s", rule->rule, err.message);
    assert_int_equal(topology_requirement_is_empty(&requirement), !rule->requisite);
    _cleanup_free_ char *requisite = print_terms(&requirement.requisite);
    _cleanup_free_ char *preferred = print_terms(&requirement.preferred);
    if (strcmp(requisite, rule->requisite ? rule->requisite : "") != 0)
        fail_msg("%s: requisite '%s'", rule->rule, requisite);
    if (strcmp(preferred, rule->preferred ? rule->preferred : "") != 0)
        fail_msg("%s: preferred '%s'", rule->rule, preferred);
}

TEST(requirements_are_built_as_the_provisioner_does)
{
    for (size_t i = 0; i < ARRAY_LENGTH(REQUIREMENTS); i++)
        check_requirement(&REQUIREMENTS[i]);
    report_cases("requirements", ARRAY_LENGTH(REQUIREMENTS));
}

static const struct {
    const char *rule;
    const char *nodes;
    const char *selected;
    const char *allowed;
    unsigned flags;
    enum provisioner_state after;
    enum status status;
    const char *message;
} REFUSALS[] = {
    {"CSINode missing: the scheduler chooses again", "n1 zone=a -; n2 zone=b zone", "n1", NULL, 0,
     PROVISIONER_RESCHEDULE, STATUS_NOT_FOUND,
     "failed to get selected CSINode n1: csinode.storage.k8s.io \"n1\" not found"},
    {"CSINode and Node missing: the scheduler chooses again", "n1 - -", "n1", NULL, STRICT,
     PROVISIONER_RESCHEDULE, STATUS_NOT_FOUND, "failed to get selected CSINode n1"},
    {"driver not registered on the node", "n1 zone=a 0; n2 zone=b zone", "n1", NULL, 0,
     PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION, "no topology key found for node n1"},
    {"driver not registered, allowedTopologies set", "n1 zone=a 0", "n1", ALLOW("'a'"), 0,
     PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION, "no topology key found for node n1"},
    {"Node missing while its CSINode exists", "n1 - zone; n2 zone=b zone", "n1", NULL, 0,
     PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION,
     "topology labels from selected node map[] does not match topology keys from CSINode [zone]|"
     "there is no node 'n1'"},
    {"label of a key missing", "n1 zone=a zone+rack", "n1", NULL, 0, PROVISIONER_NO_CHANGE,
     STATUS_FAILED_PRECONDITION,
     "does not match topology keys from CSINode [zone rack]|node 'n1' has no label 'rack'"},
    {"label of a key missing, strict", "n1 zone=a zone+rack", "n1", NULL, STRICT,
     PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION, "does not match topology keys"},
    {"strict: node is not allowed", ZONES, "n1", ALLOW("'b', 'c'"), STRICT, PROVISIONER_NO_CHANGE,
     STATUS_FAILED_PRECONDITION,
     "selected node '\"n1\"' topology '[{zone a}]' is not in allowed topologies: "
     "[[{zone b}] [{zone c}]]"},
    {"strict: allowed by a key that the node does not report", RACKS, "n1",
     "[" TERM(EXPRESSION("zone", "'z1'") ", " EXPRESSION("row", "'1'")) "]", STRICT,
     PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION,
     "topology '[{rack A} {zone z1}]' is not in allowed topologies: [[{row 1} {zone z1}]]"},
    {"strict: only empty terms allow no node", ZONES, "n1", "[{}]", STRICT, PROVISIONER_NO_CHANGE,
     STATUS_FAILED_PRECONDITION, "is not in allowed topologies: []"},
    {"not strict: node is not allowed", ZONES, "n1", ALLOW("'b', 'c'"), 0, PROVISIONER_NO_CHANGE,
     STATUS_FAILED_PRECONDITION,
     "topology [{zone a}] from selected node \"n1\" is not in requisite: [[{zone b}] [{zone c}]]"},
    {"not strict: allowed by a key that the node does not report", ZONES, "n1",
     "[" TERM(EXPRESSION("rack", "'1'")) "]", 0, PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION,
     "is not in requisite: [[{rack 1}]]"},
    {"immediate: driver on no node", "n1 zone=a 0; n2 zone=b -", NULL, NULL, 0,
     PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION, "no available topology found"},
    {"immediate: no nodes", "", NULL, NULL, 0, PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION,
     "no available topology found"},
    {"immediate: keys on no node", "n1 os=linux zone+rack; n2 zone=b 0", NULL, NULL, 0,
     PROVISIONER_NO_CHANGE, STATUS_FAILED_PRECONDITION,
     "topologyKeys [zone rack] were not found on any nodes"},
    {"immediate: key that is none", "n1 my:zone=a my:zone", NULL, NULL, 0, PROVISIONER_NO_CHANGE,
     STATUS_FAILED_PRECONDITION, "error parsing topology keys selector|my:zone"},
};

TEST(refusals_have_the_text_of_the_provisioner)
{
    for (size_t i = 0; i < ARRAY_LENGTH(REFUSALS); i++) {
        const char *rule = REFUSALS[i].rule;
        _cleanup_(cluster_done) struct cluster cluster = {0};
        json_auto_t *json = make_json(REFUSALS[i].allowed ? REFUSALS[i].allowed : "null");
        _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
        _cleanup_topology_requirement_ struct topology_requirement requirement = {0};
        _cleanup_error_ struct error err = {0};
        enum provisioner_state after = PROVISIONER_NO_CHANGE;

        make_cluster(REFUSALS[i].nodes, &cluster);
        assert_int_equal(allowed_topologies_decode(json, &allowed, &err), 0);
        const struct provisioner_request request = {
            .claim = "claim",
            .allowed = &allowed,
            .selected = find_node(&cluster, REFUSALS[i].selected),
            .nodes = cluster.nodes,
            .count = cluster.count,
            .strict = REFUSALS[i].flags & STRICT,
            .immediate = true,
        };
        if (provisioner_requirement(&request, &requirement, &after, &err) == 0)
            fail_msg("%s: it was accepted", rule);
        assert_mentions(rule, err.message, REFUSALS[i].message);
        if (err.status != REFUSALS[i].status || after != REFUSALS[i].after)
            fail_msg("%s: status %d, state %d", rule, err.status, after);
        assert_true(topology_requirement_is_empty(&requirement));
    }
    report_cases("requirement refusals", ARRAY_LENGTH(REFUSALS));
}

/* The selected node may go between the scheduler's choice and the provisioner's look. */
TEST(selected_node_that_left_the_list_is_not_in_requisite)
{
    _cleanup_(cluster_done) struct cluster cluster = {0};
    _cleanup_topology_requirement_ struct topology_requirement requirement = {0};
    _cleanup_error_ struct error err = {0};
    enum provisioner_state after = PROVISIONER_RESCHEDULE;

    make_cluster("n1 zone=a zone; n2 zone=b zone", &cluster);
    const struct provisioner_request request = {
        .claim = "c", .selected = &cluster.nodes[0], .nodes = &cluster.nodes[1], .count = 1};
    assert_int_equal(provisioner_requirement(&request, &requirement, &after, &err), -1);
    assert_int_equal(after, PROVISIONER_NO_CHANGE);
    assert_string_equal(
        err.message,
        "topology [{zone a}] from selected node \"n1\" is not in requisite: [[{zone b}]]");
}

/* Upstream would try, and take the machine's memory. */
TEST(product_that_explodes_is_refused)
{
    static const char values[] = "'1', '2', '3', '4', '5', '6', '7', '8', '9', '10'";
    _cleanup_text_ struct text list = TEXT_INIT(8192);
    _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
    _cleanup_topology_requirement_ struct topology_requirement requirement = {0};
    _cleanup_error_ struct error err = {0};
    enum provisioner_state after = PROVISIONER_NO_CHANGE;

    for (int i = 0; i < 20; i++)
        text_addf(&list, "%s" EXPRESSION("key%d", "%s"), i > 0 ? ", " : "", i, values);
    _cleanup_free_ char *text = xasprintf("[" TERM("%s") "]", text_chars(&list));
    json_auto_t *json = make_json(text);
    assert_int_equal(allowed_topologies_decode(json, &allowed, &err), 0);
    const struct provisioner_request request = {
        .claim = "c", .allowed = &allowed, .immediate = true};
    assert_int_equal(provisioner_requirement(&request, &requirement, &after, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_mentions("explosion", err.message, "too many combinations");
}

TEST(terms_are_copied)
{
    struct topology_terms terms = {0};
    struct strmap term = make_labels("zone=a");

    topology_terms_add(&terms, &term);
    strmap_set(&term, "zone", "b");
    topology_terms_add(&terms, &term);
    strmap_done(&term);
    _cleanup_free_ char *text = print_terms(&terms);
    assert_string_equal(text, "zone=a; zone=b");
    topology_terms_done(&terms);
    assert_int_equal(terms.count, 0);
}

TEST(requirement_with_either_list_is_not_empty)
{
    _cleanup_topology_requirement_ struct topology_requirement requirement = {0};
    _cleanup_strmap_ struct strmap term = make_labels("zone=a");

    assert_true(topology_requirement_is_empty(&requirement));
    topology_terms_add(&requirement.preferred, &term);
    assert_false(topology_requirement_is_empty(&requirement));
    topology_requirement_done(&requirement);
    assert_true(topology_requirement_is_empty(&requirement));
    topology_terms_add(&requirement.requisite, &term);
    assert_false(topology_requirement_is_empty(&requirement));
}
