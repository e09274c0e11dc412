#include "common/scheduling/simulation/provisioner.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/labels.h"

#define MESSAGE_LIMIT 4096 /* for lists in messages; there may be thousands of terms */

static const struct string_list NO_KEYS = {0};

/* --- messages: lists as Go prints them --- */

static void print_term(struct text *text, const struct strmap *term)
{
    text_add(text, "[");
    for (size_t i = 0; i < term->count; i++)
        text_addf(text, "%s{%s %s}", i > 0 ? " " : "", term->entries[i].key,
                  term->entries[i].value);
    text_add(text, "]");
}

static void print_terms(struct text *text, const struct topology_terms *terms)
{
    text_add(text, "[");
    for (size_t i = 0; i < terms->count && !text->truncated; i++) {
        text_add(text, i > 0 ? " " : "");
        print_term(text, &terms->items[i]);
    }
    text_add(text, "]");
}

static void print_keys(struct text *text, const struct string_list *keys)
{
    text_add(text, "[");
    for (size_t i = 0; i < keys->count; i++)
        text_addf(text, "%s%s", i > 0 ? " " : "", keys->items[i]);
    text_add(text, "]");
}

static int refuse_with(struct error *err, const struct text *message)
{
    return error_set(err, STATUS_FAILED_PRECONDITION, "%s", text_chars(message));
}

/* --- terms --- */

/* Shorter ones first, then by keys and values. */
static int compare_terms(const void *one, const void *other)
{
    const struct strmap *a = one;
    const struct strmap *b = other;

    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (size_t i = 0; i < a->count; i++) {
        int order = strcmp(a->entries[i].key, b->entries[i].key);

        if (order == 0)
            order = strcmp(a->entries[i].value, b->entries[i].value);
        if (order != 0)
            return order;
    }
    return 0;
}

static void sort_terms(struct topology_terms *terms)
{
    size_t kept = 0;

    if (terms->count > 0)
        qsort(terms->items, terms->count, sizeof(*terms->items), compare_terms);
    for (size_t i = 0; i < terms->count; i++) {
        if (kept > 0 && strmap_is_equal(&terms->items[kept - 1], &terms->items[i]))
            strmap_done(&terms->items[i]);
        else
            terms->items[kept++] = terms->items[i];
    }
    terms->count = kept;
}

/* Index of the first term that @selected fulfils; the number of terms if none. */
static size_t find_subset(const struct topology_terms *terms, const struct strmap *selected)
{
    for (size_t i = 0; i < terms->count; i++) {
        const struct strmap *term = &terms->items[i];
        bool is_subset = true;

        for (size_t j = 0; is_subset && j < term->count; j++) {
            const char *value = strmap_get(selected, term->entries[j].key);

            is_subset = value && strcmp(value, term->entries[j].value) == 0;
        }
        if (is_subset)
            return i;
    }
    return terms->count;
}

/* The values of all keys, or false if one is missing; *@missing then names it. */
static bool term_of_labels(const struct strmap *labels, const struct string_list *keys,
                           struct strmap *term, const char **missing)
{
    for (size_t i = 0; i < keys->count; i++) {
        const char *value = labels ? strmap_get(labels, keys->items[i]) : NULL;

        if (!value) {
            *missing = keys->items[i];
            return false;
        }
        strmap_set(term, keys->items[i], value);
    }
    return true;
}

/* --- allowedTopologies: the product of the values of each term --- */

/*
 * Multiplies @terms by the values of one expression, value by value. Without terms each value
 * starts one; so an expression without values, which the API server does not let pass, forgets
 * what was before it, as upstream does.
 */
static void multiply_terms(struct topology_terms *terms,
                           const struct selector_requirement *expression)
{
    static const struct strmap nothing = {0};
    struct topology_terms product = {0};

    for (size_t i = 0; i < expression->values.count; i++)
        for (size_t k = 0; k < terms->count || k == 0; k++) {
            topology_terms_add(&product, terms->count ? &terms->items[k] : &nothing);
            strmap_set(&product.items[product.count - 1], expression->key,
                       expression->values.items[i]);
        }
    topology_terms_done(terms);
    *terms = product;
}

static int flatten_allowed(const struct allowed_topologies *allowed, struct topology_terms *terms,
                           struct error *err)
{
    size_t budget = PROVISIONER_SEGMENTS_MAX;

    for (size_t i = 0; i < allowed->count; i++) {
        const struct selector_requirements *expressions = &allowed->terms[i].requirements;
        _cleanup_(topology_terms_done) struct topology_terms product = {0};

        for (size_t k = 0; k < expressions->count; k++) {
            size_t made = expressions->items[k].values.count * (product.count ? product.count : 1);

            if (made > budget / (k + 1))
                return error_set(err, STATUS_INVALID_ARGUMENT,
                                 "allowedTopologies stand for too many combinations: more than %d "
                                 "segments",
                                 PROVISIONER_SEGMENTS_MAX);
            budget -= made * (k + 1);
            multiply_terms(&product, &expressions->items[k]);
        }
        for (size_t k = 0; k < product.count; k++)
            topology_terms_add(terms, &product.items[k]);
    }
    return 0;
}

/* --- the nodes' terms --- */

static const struct string_list *keys_of_first(const struct provisioner_request *request)
{
    const struct provisioner_node *first = NULL;

    for (size_t i = 0; i < request->count; i++) {
        const struct provisioner_node *node = &request->nodes[i];

        if (node->keys && node->keys->count > 0 && (!first || strcmp(node->name, first->name) < 0))
            first = node;
    }
    return first ? first->keys : &NO_KEYS;
}

/* Labels are enough: a node that is dead, or has no driver, counts as well. */
static int collect_terms(const struct provisioner_request *request, struct topology_terms *terms,
                         struct error *err)
{
    const struct string_list *keys =
        request->selected ? request->selected->keys : keys_of_first(request);

    if (keys->count == 0) {
        error_set(err, STATUS_FAILED_PRECONDITION, "no available topology found");
        return error_hint(err, "the driver is registered with topology keys on no node");
    }
    for (size_t i = 0; i < keys->count; i++)
        if (label_key_check(keys->items[i], err) < 0) {
            error_recode(err, STATUS_FAILED_PRECONDITION);
            return error_wrap(err, "error parsing topology keys selector");
        }
    for (size_t i = 0; i < request->count; i++) {
        _cleanup_strmap_ struct strmap term = {0};
        const char *missing = NULL;

        if (term_of_labels(request->nodes[i].labels, keys, &term, &missing))
            topology_terms_add(terms, &term);
    }
    if (terms->count == 0) {
        _cleanup_text_ struct text message = TEXT_INIT(MESSAGE_LIMIT);

        text_add(&message, "topologyKeys ");
        print_keys(&message, keys);
        text_add(&message, " were not found on any nodes");
        return refuse_with(err, &message);
    }
    return 0;
}

/* --- the selected node --- */

static int term_of_node(const struct provisioner_node *node, struct strmap *term,
                        enum provisioner_state *state, struct error *err)
{
    _cleanup_text_ struct text message = TEXT_INIT(MESSAGE_LIMIT);
    const char *missing = NULL;

    if (!node->keys) {
        *state = PROVISIONER_RESCHEDULE;
        return error_set(err, STATUS_NOT_FOUND,
                         "failed to get selected CSINode %s: csinode.storage.k8s.io \"%s\" not "
                         "found",
                         node->name, node->name);
    }
    if (node->keys->count == 0) {
        error_set(err, STATUS_FAILED_PRECONDITION, "no topology key found for node %s", node->name);
        return error_hint(err, "the driver is not registered there, or reports no domains");
    }
    if (term_of_labels(node->labels, node->keys, term, &missing))
        return 0;
    text_add(&message, "topology labels from selected node map[] does not match topology keys "
                       "from CSINode ");
    print_keys(&message, node->keys);
    refuse_with(err, &message);
    return node->labels ? error_hint(err, "node '%s' has no label '%s'", node->name, missing)
                        : error_hint(err, "there is no node '%s'", node->name);
}

static int check_allowed(const struct provisioner_request *request, const struct strmap *selected,
                         struct error *err)
{
    _cleanup_(topology_terms_done) struct topology_terms terms = {0};
    _cleanup_text_ struct text message = TEXT_INIT(MESSAGE_LIMIT);

    if (!request->allowed || request->allowed->count == 0)
        return 0;
    if (flatten_allowed(request->allowed, &terms, err) < 0)
        return -1;
    if (find_subset(&terms, selected) < terms.count)
        return 0;
    text_addf(&message, "selected node '\"%s\"' topology '", request->selected->name);
    print_term(&message, selected);
    text_add(&message, "' is not in allowed topologies: ");
    print_terms(&message, &terms);
    return refuse_with(err, &message);
}

/* --- the whole --- */

/* Where the volume may be; no terms: anywhere, and nothing is sent. */
static int find_requisite(const struct provisioner_request *request, const struct strmap *selected,
                          struct topology_terms *terms, struct error *err)
{
    if (request->selected && request->strict) {
        if (check_allowed(request, selected, err) < 0)
            return -1;
        topology_terms_add(terms, selected);
        return 0;
    }
    if (request->allowed && request->allowed->count > 0)
        return flatten_allowed(request->allowed, terms, err);
    if (!request->selected && !request->immediate)
        return 0;
    return collect_terms(request, terms, err);
}

static int find_first(const struct provisioner_request *request, const struct strmap *selected,
                      const struct topology_terms *terms, size_t *first, struct error *err)
{
    _cleanup_text_ struct text message = TEXT_INIT(MESSAGE_LIMIT);
    uint32_t hash = 0;
    uint32_t index = 0;

    if (!request->selected) {
        provisioner_spread(request->claim, &hash, &index);
        *first = (uint32_t)(hash + index) % (uint32_t)terms->count;
        return 0;
    }
    *first = find_subset(terms, selected);
    if (*first < terms->count)
        return 0;
    text_add(&message, "topology ");
    print_term(&message, selected);
    text_addf(&message,
              " from selected node \"%s\" is not in requisite: ", request->selected->name);
    print_terms(&message, terms);
    return refuse_with(err, &message);
}

int provisioner_requirement(const struct provisioner_request *request,
                            struct topology_requirement *requirement, enum provisioner_state *state,
                            struct error *err)
{
    _cleanup_(topology_terms_done) struct topology_terms terms = {0};
    _cleanup_strmap_ struct strmap selected = {0};
    size_t first = 0;

    *state = PROVISIONER_NO_CHANGE;
    if (request->selected && term_of_node(request->selected, &selected, state, err) < 0)
        return -1;
    if (find_requisite(request, &selected, &terms, err) < 0)
        return -1;
    if (terms.count == 0)
        return 0;
    sort_terms(&terms);
    if (find_first(request, &selected, &terms, &first, err) < 0)
        return -1;
    for (size_t i = 0; i < terms.count; i++)
        topology_terms_add(&requirement->preferred, &terms.items[(first + i) % terms.count]);
    requirement->requisite = terms;
    terms = (struct topology_terms){0};
    return 0;
}

static uint32_t fnv1(const char *chars, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = hash * 16777619u ^ (unsigned char)chars[i];
    return hash;
}

void provisioner_spread(const char *claim, uint32_t *hash, uint32_t *index)
{
    const char *dash = strrchr(claim, '-');
    _cleanup_error_ struct error no_number = {0};
    uint64_t number = 0;

    if (!dash || text_parse_u64(dash + 1, &number, &no_number) < 0 || number > UINT32_MAX) {
        *index = 0;
        *hash = fnv1(claim, strlen(claim));
        return;
    }
    const char *before = memrchr(claim, '-', (size_t)(dash - claim));
    const char *set = before ? before + 1 : claim;
    *index = (uint32_t)number;
    *hash = fnv1(set, (size_t)(dash - set));
}
