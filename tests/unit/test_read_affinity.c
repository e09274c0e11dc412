#include "common/base/memory.h"
#include "node/read_affinity.h"
#include "tests/test.h"

#define HOSTNAME "kubernetes.io/hostname"
#define ZONE "topology.kubernetes.io/zone"
#define OPTIONS(location) "read_from_replica=localize,crush_location=" location

#define NODE_LABELS HOSTNAME "=node-1.example.com," ZONE "=zone-a,rack=r.7,empty=,other/zone=zone-x"

static struct node_labels_source node(void)
{
    struct node_labels_source source = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_labels_from_text(NODE_LABELS, &source, &err), 0);
    return source;
}

static void add_words(struct string_list *list, const char *words)
{
    _cleanup_free_ char *copy = xstrdup(words);
    char *rest = copy;
    const char *word = NULL;

    while (words[0] && (word = strsep(&rest, ";")))
        string_list_add(list, word);
}

TEST(labels_become_a_crush_location)
{
    static const struct {
        const char *wanted; /* with semicolons between */
        const char *options;
    } cases[] = {
        {HOSTNAME ";" ZONE, OPTIONS("host:node-1-example-com|zone:zone-a")},
        {ZONE ";" HOSTNAME, OPTIONS("zone:zone-a|host:node-1-example-com")},
        {"rack", OPTIONS("rack:r-7")},
        {" rack ;" ZONE " ", OPTIONS("rack:r-7|zone:zone-a")},
        {"missing;" ZONE, OPTIONS("zone:zone-a")},
        {"empty;" ZONE, OPTIONS("zone:zone-a")},
        {"other/zone;" ZONE, OPTIONS("zone:zone-x")}, /* one bucket of a type */
        {"missing;empty", NULL},
        {"zone", NULL}, /* it is the whole label that counts */
        {"", NULL},
    };
    struct node_labels_source source = node();
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_labels_get(&source, NULL, &labels, &err), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_string_list_ struct string_list wanted = {0};

        add_words(&wanted, cases[i].wanted);
        _cleanup_free_ char *options = read_affinity_format(&wanted, &labels);
        if (!options != !cases[i].options || (options && strcmp(options, cases[i].options) != 0))
            fail_msg("'%s': got '%s'", cases[i].wanted, options ? options : "none");
    }
    node_labels_done(&source);
}

/* Labels come checked; should one not be, it must not turn into another option. */
TEST(values_cannot_add_options)
{
    static const char *const values[] = {"a,ro", "a|b:c", "a:b"};

    for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
        _cleanup_strmap_ struct strmap labels = {0};
        _cleanup_string_list_ struct string_list wanted = {0};

        strmap_set(&labels, "zone", values[i]);
        string_list_add(&wanted, "zone");
        assert_null(read_affinity_format(&wanted, &labels));
    }
}

TEST(cluster_decides_and_flags_fill_in)
{
    static const struct {
        const char *flag_labels;
        const char *cluster_labels;
        const char *options;
        bool flag;
        bool cluster;
    } cases[] = {
        {ZONE, "", NULL, true, false},
        {ZONE, "rack", NULL, true, false},
        {ZONE, "", OPTIONS("zone:zone-a"), true, true},
        {ZONE ",rack", "", OPTIONS("zone:zone-a|rack:r-7"), true, true},
        {ZONE, "rack", OPTIONS("rack:r-7"), true, true},
        {ZONE, "rack", OPTIONS("rack:r-7"), false, true},
        {ZONE, "", NULL, false, true},
        {"", "", NULL, true, true},
        {ZONE, "missing", NULL, true, true},
    };
    struct node_labels_source source = node();

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct read_affinity affinity = {cases[i].flag, cases[i].flag_labels, &source};
        struct read_affinity_config cluster = {.enabled = cases[i].cluster};

        add_words(&cluster.crush_location_labels, cases[i].cluster_labels);
        _cleanup_free_ char *options = read_affinity_options(&affinity, &cluster, NULL);
        if (!options != !cases[i].options || (options && strcmp(options, cases[i].options) != 0))
            fail_msg("case %zu: got '%s'", i, options ? options : "none");
        string_list_done(&cluster.crush_location_labels);
    }
    node_labels_done(&source);
}

TEST(unknown_labels_are_no_reason_to_fail)
{
    struct node_labels_source source = {0};
    const struct read_affinity affinity = {true, ZONE, &source};
    const struct read_affinity_config cluster = {.enabled = true};

    node_labels_from_nowhere(&source);
    assert_null(read_affinity_options(&affinity, &cluster, NULL));
    node_labels_done(&source);
}
