#include <assert.h>
#include <string.h>

#include "common/topology/selector.h"
#include "tests/fuzz/bytes.h"

/* The input is one JSON value, tried as each kind of selector against labels that are made from
 * what it asks for. */

static const char *const WORDS[] = {"nodeSelectorTerms",
                                    "matchExpressions",
                                    "matchFields",
                                    "matchLabels",
                                    "matchLabelExpressions",
                                    "key",
                                    "operator",
                                    "values",
                                    "In",
                                    "NotIn",
                                    "Exists",
                                    "DoesNotExist",
                                    "Gt",
                                    "Lt",
                                    "zone",
                                    "topology.kubernetes.io/zone",
                                    "metadata.name",
                                    "a",
                                    "",
                                    "5",
                                    "-5",
                                    "9223372036854775807",
                                    "not a label",
                                    "nodeselectorterms"};
static const struct fuzz_words ALL_WORDS = {WORDS, ARRAY_LENGTH(WORDS)};

/* Some of the requirements are fulfilled, some not, some lack their label. */
static void derive_labels(const struct selector_requirements *requirements, struct strmap *labels)
{
    for (size_t i = 0; i < requirements->count; i++) {
        const struct selector_requirement *item = &requirements->items[i];

        if (i % 4 == 3)
            strmap_set(labels, item->key, "something-else");
        else if (i % 4 != 2)
            strmap_set(labels, item->key,
                       item->values.count ? item->values.items[i % item->values.count] : "6");
    }
}

/* Operators that are each other's opposite. */
static void try_requirements(const struct selector_requirements *requirements,
                             const struct strmap *labels)
{
    static const enum selector_operator pairs[][2] = {{SELECTOR_IN, SELECTOR_NOT_IN},
                                                      {SELECTOR_EXISTS, SELECTOR_DOES_NOT_EXIST}};

    for (size_t i = 0; i < requirements->count; i++) {
        struct selector_requirement item = requirements->items[i];

        for (size_t k = 0; k < ARRAY_LENGTH(pairs); k++) {
            item.op = pairs[k][0];
            bool matches = selector_requirement_match(&item, labels);
            item.op = pairs[k][1];
            assert(matches != selector_requirement_match(&item, labels));
        }
        item.op = SELECTOR_GT;
        bool is_greater = selector_requirement_match(&item, labels);
        item.op = SELECTOR_LT;
        assert(!is_greater || !selector_requirement_match(&item, labels));
    }
}

static void try_node_name(const struct node_selector *selector, const struct strmap *labels,
                          const char *name)
{
    _cleanup_error_ struct error fault = {0};
    _cleanup_error_ struct error err = {0};
    bool is_strict = node_selector_check(selector, &fault) == 0;
    bool has_match = node_selector_has_match(selector, labels, name);
    bool matches = false;

    int status = node_selector_match(selector, labels, name, &matches, &err);
    assert(status == 0 || (!is_strict && !has_match && err.message));
    assert(status < 0 || matches == has_match);
}

static void try_node_selector(const json_t *value)
{
    _cleanup_node_selector_ struct node_selector selector = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    if (node_selector_decode(value, &selector, &err) < 0) {
        assert(!selector.terms && err.message);
        return;
    }
    for (size_t i = 0; i < selector.count; i++) {
        derive_labels(&selector.terms[i].expressions, &labels);
        try_requirements(&selector.terms[i].expressions, &labels);
        try_node_name(&selector, &labels, i % 2 ? "a" : NULL);
    }
    try_node_name(&selector, &labels, "");
}

static void try_label_selector(const json_t *value)
{
    _cleanup_label_selector_ struct label_selector selector = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};
    bool matches = false;

    if (label_selector_decode(value, &selector, &err) < 0) {
        assert(!selector.is_set && err.message);
        return;
    }
    derive_labels(&selector.requirements, &labels);
    try_requirements(&selector.requirements, &labels);
    int status = label_selector_match(&selector, &labels, &matches, &err);
    assert((status < 0) == (selector.fault != NULL));
    assert(selector.is_set || !matches);
}

static void try_allowed(const json_t *value)
{
    _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    const struct strmap nothing = {0};
    _cleanup_error_ struct error err = {0};

    if (allowed_topologies_decode(value, &allowed, &err) < 0) {
        assert(!allowed.terms && err.message);
        return;
    }
    for (size_t i = 0; i < allowed.count; i++) {
        derive_labels(&allowed.terms[i].requirements, &labels);
        try_requirements(&allowed.terms[i].requirements, &labels);
        (void)allowed_topologies_match(&allowed, &labels);
    }
    /* each term asks for some label */
    assert(allowed_topologies_match(&allowed, &nothing) == (allowed.count == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    json_auto_t *value = fuzz_json(&bytes, &ALL_WORDS);

    if (!value)
        return 0;
    try_node_selector(value);
    try_label_selector(value);
    try_allowed(value);
    return 0;
}
