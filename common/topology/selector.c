#include "common/topology/selector.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/topology/labels.h"

/*
 * Decoding has two steps: tables take the JSON as it is, then each requirement is checked by the
 * rules of its place. The first fault of a term is kept as a text; such a term never matches.
 * Matching allocates nothing, unless Gt or Lt meet a label that is no number.
 */
#define FAULTS_LIMIT 2048 /* of a message that names several */

/* --- one requirement --------------------------------------------------------------------------*/

static const char *const OPERATORS[] = {
    [SELECTOR_IN] = "In",         [SELECTOR_NOT_IN] = "NotIn",
    [SELECTOR_EXISTS] = "Exists", [SELECTOR_DOES_NOT_EXIST] = "DoesNotExist",
    [SELECTOR_GT] = "Gt",         [SELECTOR_LT] = "Lt",
    [SELECTOR_UNKNOWN] = "",
};

const char *selector_operator_name(enum selector_operator op)
{
    return OPERATORS[op];
}

static enum selector_operator operator_of(const char *name)
{
    enum selector_operator op = SELECTOR_IN;

    while (op < SELECTOR_UNKNOWN && (!name || strcmp(name, OPERATORS[op]) != 0))
        op++;
    return op;
}

/* As the API writes it. allowedTopologies have no operator. */
struct raw_requirement {
    char *key;
    char *op;
    struct string_list values;
};

static const struct json_field REQUIREMENT_FIELDS[] = {
    JSON_FIELD_STRING("key", struct raw_requirement, key),
    JSON_FIELD_STRING("operator", struct raw_requirement, op),
    JSON_FIELD_STRINGS("values", struct raw_requirement, values),
};
static const struct json_table REQUIREMENT = JSON_TABLE(struct raw_requirement, REQUIREMENT_FIELDS);

static int check_operator(struct selector_requirement *requirement, const char *name,
                          struct error *err)
{
    size_t count = requirement->values.count;

    switch (requirement->op) {
    case SELECTOR_IN:
    case SELECTOR_NOT_IN:
        if (count == 0)
            return error_set(err, STATUS_INVALID_ARGUMENT, "In and NotIn need a value");
        return 0;
    case SELECTOR_EXISTS:
    case SELECTOR_DOES_NOT_EXIST:
        if (count > 0)
            return error_set(err, STATUS_INVALID_ARGUMENT, "Exists and DoesNotExist take no value");
        return 0;
    case SELECTOR_GT:
    case SELECTOR_LT:
        if (count != 1)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "Gt and Lt take exactly one value, there are %zu", count);
        return text_parse_i64(requirement->values.items[0], &requirement->operand, err);
    case SELECTOR_UNKNOWN:
        break;
    }
    return error_set(err, STATUS_INVALID_ARGUMENT, "operator '%.32s' is not known here",
                     name ? name : "");
}

/* A requirement on labels. */
static int check_label(struct selector_requirement *requirement, const char *name,
                       struct error *err)
{
    if (label_key_check(requirement->key, err) < 0)
        return -1;
    int result = check_operator(requirement, name, err);
    /* every value counts, that of Gt and Lt as well: "-5" is a number but no label value */
    for (size_t i = 0; result == 0 && i < requirement->values.count; i++)
        result = label_value_check(requirement->values.items[i], err);
    return result < 0 ? error_wrap(err, "key '%s'", requirement->key) : 0;
}

/* As check_label(), without Gt and Lt, which only nodes are selected by. */
static int check_set_based(struct selector_requirement *requirement, const char *name,
                           struct error *err)
{
    if (requirement->op == SELECTOR_GT || requirement->op == SELECTOR_LT)
        requirement->op = SELECTOR_UNKNOWN;
    return check_label(requirement, name, err);
}

/* Keys of fields are no label keys, and an unknown field is no fault: it reads as "". */
static int check_field(struct selector_requirement *requirement, const char *name,
                       struct error *err)
{
    if (requirement->op != SELECTOR_IN && requirement->op != SELECTOR_NOT_IN)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "field '%.128s': operator '%.32s' is not known here, only In and NotIn",
                         requirement->key, name ? name : "");
    if (requirement->values.count != 1)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "field '%.128s': must have one element, there are %zu", requirement->key,
                         requirement->values.count);
    return 0;
}

bool selector_requirement_match(const struct selector_requirement *requirement,
                                const struct strmap *labels)
{
    const char *value = strmap_get(labels, requirement->key);
    _cleanup_error_ struct error not_a_number = {0};
    int64_t number = 0;

    switch (requirement->op) {
    case SELECTOR_IN:
        return value && string_list_has(&requirement->values, value);
    case SELECTOR_NOT_IN:
        return !value || !string_list_has(&requirement->values, value);
    case SELECTOR_EXISTS:
        return value;
    case SELECTOR_DOES_NOT_EXIST:
        return !value;
    case SELECTOR_GT:
        return value && text_parse_i64(value, &number, &not_a_number) == 0 &&
               number > requirement->operand;
    case SELECTOR_LT:
        return value && text_parse_i64(value, &number, &not_a_number) == 0 &&
               number < requirement->operand;
    case SELECTOR_UNKNOWN:
        break;
    }
    return false;
}

/* --- several ----------------------------------------------------------------------------------*/

static void requirements_done(struct selector_requirements *requirements)
{
    for (size_t i = 0; i < requirements->count; i++) {
        free(requirements->items[i].key);
        string_list_done(&requirements->items[i].values);
    }
    free(requirements->items);
    *requirements = (struct selector_requirements){0};
}

bool selector_requirements_match(const struct selector_requirements *requirements,
                                 const struct strmap *labels)
{
    for (size_t i = 0; i < requirements->count; i++)
        if (!selector_requirement_match(&requirements->items[i], labels))
            return false;
    return true;
}

typedef int (*requirement_check)(struct selector_requirement *requirement, const char *name,
                                 struct error *err);

struct raw_requirements {
    const char *path; /* for the fault: "matchExpressions" */
    struct raw_requirement *items;
    size_t count;
};

/* Moves what was decoded to @requirements and checks it; the first fault goes to *@fault if that
 * has none yet. */
static void take_requirements(const struct raw_requirements *raw, requirement_check check,
                              struct selector_requirements *requirements, char **fault)
{
    requirements->items = raw->count ? xcalloc(raw->count, sizeof(*requirements->items)) : NULL;
    requirements->count = raw->count;
    for (size_t i = 0; i < raw->count; i++) {
        struct selector_requirement *to = &requirements->items[i];
        struct raw_requirement *from = &raw->items[i];
        _cleanup_error_ struct error err = {0};

        to->key = from->key ? TAKE(from->key) : xstrdup("");
        to->op = operator_of(from->op);
        to->values = from->values;
        from->values = (struct string_list){0};
        if (check(to, from->op, &err) < 0 && !*fault) {
            error_wrap(&err, "%s[%zu]", raw->path, i);
            *fault = TAKE(err.message);
        }
    }
}

/* --- NodeSelector -----------------------------------------------------------------------------*/

struct raw_node_term {
    struct raw_requirement *expressions;
    size_t expression_count;
    struct raw_requirement *fields;
    size_t field_count;
};

static const struct json_field NODE_TERM_FIELDS[] = {
    JSON_FIELD_OBJECTS("matchExpressions", struct raw_node_term, expressions, expression_count,
                       &REQUIREMENT),
    JSON_FIELD_OBJECTS("matchFields", struct raw_node_term, fields, field_count, &REQUIREMENT),
};
static const struct json_table NODE_TERM = JSON_TABLE(struct raw_node_term, NODE_TERM_FIELDS);

struct raw_node_selector {
    struct raw_node_term *terms;
    size_t count;
};

static const struct json_field NODE_SELECTOR_FIELDS[] = {
    JSON_FIELD_OBJECTS("nodeSelectorTerms", struct raw_node_selector, terms, count, &NODE_TERM),
};
static const struct json_table NODE_SELECTOR =
    JSON_TABLE(struct raw_node_selector, NODE_SELECTOR_FIELDS);

int node_selector_decode(const json_t *value, struct node_selector *selector, struct error *err)
{
    struct raw_node_selector raw = {0};
    int status = json_decode(value, &NODE_SELECTOR, &raw, err);

    if (status == 0 && raw.count > 0) {
        selector->terms = xcalloc(raw.count, sizeof(*selector->terms));
        selector->count = raw.count;
        for (size_t i = 0; i < raw.count; i++) {
            const struct raw_node_term *from = &raw.terms[i];
            struct node_selector_term *to = &selector->terms[i];
            const struct raw_requirements expressions = {"matchExpressions", from->expressions,
                                                         from->expression_count};
            const struct raw_requirements fields = {"matchFields", from->fields, from->field_count};

            take_requirements(&expressions, check_label, &to->expressions, &to->fault);
            take_requirements(&fields, check_field, &to->fields, &to->fault);
        }
    }
    json_free_fields(&NODE_SELECTOR, &raw);
    return status;
}

int node_selector_check(const struct node_selector *selector, struct error *err)
{
    for (size_t i = 0; i < selector->count; i++)
        if (selector->terms[i].fault)
            return error_set(err, STATUS_INVALID_ARGUMENT, "nodeSelectorTerms[%zu].%s", i,
                             selector->terms[i].fault);
    return 0;
}

/* The name is the only field that there is. */
static bool field_matches(const struct selector_requirement *requirement, const char *name)
{
    bool is_name = strcmp(requirement->key, "metadata.name") == 0;
    bool is_equal = strcmp(requirement->values.items[0], is_name ? name : "") == 0;

    return is_equal == (requirement->op == SELECTOR_IN);
}

static bool term_matches(const struct node_selector_term *term, const struct strmap *labels,
                         const char *name)
{
    if (term->fault || term->expressions.count + term->fields.count == 0)
        return false;
    if (!selector_requirements_match(&term->expressions, labels))
        return false;
    if (text_is_empty(name))
        return true; /* no fields to look at: Kubernetes takes them for satisfied */
    for (size_t i = 0; i < term->fields.count; i++)
        if (!field_matches(&term->fields.items[i], name))
            return false;
    return true;
}

bool node_selector_has_match(const struct node_selector *selector, const struct strmap *labels,
                             const char *name)
{
    for (size_t i = 0; i < selector->count; i++)
        if (term_matches(&selector->terms[i], labels, name))
            return true;
    return false;
}

int node_selector_match(const struct node_selector *selector, const struct strmap *labels,
                        const char *name, bool *matches, struct error *err)
{
    bool is_match = node_selector_has_match(selector, labels, name);
    _cleanup_text_ struct text faults = TEXT_INIT(FAULTS_LIMIT);

    for (size_t i = 0; !is_match && i < selector->count && !faults.truncated; i++)
        if (selector->terms[i].fault)
            text_addf(&faults, "%snodeSelectorTerms[%zu].%s", faults.length > 0 ? "; " : "", i,
                      selector->terms[i].fault);
    if (faults.length > 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s", text_chars(&faults));
    *matches = is_match;
    return 0;
}

void node_selector_done(struct node_selector *selector)
{
    for (size_t i = 0; i < selector->count; i++) {
        requirements_done(&selector->terms[i].expressions);
        requirements_done(&selector->terms[i].fields);
        free(selector->terms[i].fault);
    }
    free(selector->terms);
    *selector = (struct node_selector){0};
}

/* --- LabelSelector ----------------------------------------------------------------------------*/

struct raw_label_selector {
    struct strmap labels;
    struct raw_requirement *expressions;
    size_t count;
};

static const struct json_field LABEL_SELECTOR_FIELDS[] = {
    JSON_FIELD_STRMAP("matchLabels", struct raw_label_selector, labels),
    JSON_FIELD_OBJECTS("matchExpressions", struct raw_label_selector, expressions, count,
                       &REQUIREMENT),
};
static const struct json_table LABEL_SELECTOR =
    JSON_TABLE(struct raw_label_selector, LABEL_SELECTOR_FIELDS);

/* Adds matchLabels behind the expressions. */
static void add_labels(const struct strmap *labels, struct label_selector *selector)
{
    struct selector_requirements *all = &selector->requirements;

    if (labels->count == 0)
        return;
    all->items = xreallocarray(all->items, all->count + labels->count, sizeof(*all->items));
    for (size_t i = 0; i < labels->count; i++) {
        struct selector_requirement *item = &all->items[all->count++];
        _cleanup_error_ struct error err = {0};

        *item = (struct selector_requirement){.key = xstrdup(labels->entries[i].key),
                                              .op = SELECTOR_IN};
        string_list_add(&item->values, labels->entries[i].value);
        if (check_label(item, "In", &err) < 0 && !selector->fault) {
            error_wrap(&err, "matchLabels");
            selector->fault = TAKE(err.message);
        }
    }
}

int label_selector_decode(const json_t *value, struct label_selector *selector, struct error *err)
{
    struct raw_label_selector raw = {0};
    int status = 0;

    if (!value || json_is_null(value))
        return 0;
    status = json_decode(value, &LABEL_SELECTOR, &raw, err);
    if (status == 0) {
        const struct raw_requirements expressions = {"matchExpressions", raw.expressions,
                                                     raw.count};

        selector->is_set = true;
        take_requirements(&expressions, check_set_based, &selector->requirements, &selector->fault);
        add_labels(&raw.labels, selector);
    }
    json_free_fields(&LABEL_SELECTOR, &raw);
    return status;
}

int label_selector_match(const struct label_selector *selector, const struct strmap *labels,
                         bool *matches, struct error *err)
{
    if (selector->fault)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s", selector->fault);
    *matches = selector->is_set && selector_requirements_match(&selector->requirements, labels);
    return 0;
}

void label_selector_done(struct label_selector *selector)
{
    requirements_done(&selector->requirements);
    free(selector->fault);
    *selector = (struct label_selector){0};
}

/* --- allowedTopologies ------------------------------------------------------------------------*/

struct raw_allowed_term {
    struct raw_requirement *expressions;
    size_t count;
};

static const struct json_field ALLOWED_TERM_FIELDS[] = {
    JSON_FIELD_OBJECTS("matchLabelExpressions", struct raw_allowed_term, expressions, count,
                       &REQUIREMENT),
};
static const struct json_table ALLOWED_TERM =
    JSON_TABLE(struct raw_allowed_term, ALLOWED_TERM_FIELDS);

/* There is no operator: always In. */
static int check_allowed(struct selector_requirement *requirement, const char *name,
                         struct error *err)
{
    (void)name;
    requirement->op = SELECTOR_IN;
    return check_label(requirement, "In", err);
}

int allowed_topologies_decode(const json_t *value, struct allowed_topologies *allowed,
                              struct error *err)
{
    void *items = NULL;
    size_t count = 0;

    if (!value || json_is_null(value))
        return 0;
    if (json_decode_array(value, &ALLOWED_TERM, &items, &count, err) < 0)
        return -1;
    struct raw_allowed_term *raw = items;
    allowed->terms = count ? xcalloc(count, sizeof(*allowed->terms)) : NULL;
    allowed->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct raw_requirements all = {"matchLabelExpressions", raw[i].expressions,
                                             raw[i].count};

        take_requirements(&all, check_allowed, &allowed->terms[i].requirements,
                          &allowed->terms[i].fault);
    }
    json_free_array(&ALLOWED_TERM, items, count);
    return 0;
}

bool allowed_topologies_match(const struct allowed_topologies *allowed, const struct strmap *labels)
{
    for (size_t i = 0; i < allowed->count; i++) {
        const struct allowed_term *term = &allowed->terms[i];

        if (!term->fault && term->requirements.count > 0 &&
            selector_requirements_match(&term->requirements, labels))
            return true;
    }
    return allowed->count == 0;
}

void allowed_topologies_done(struct allowed_topologies *allowed)
{
    for (size_t i = 0; i < allowed->count; i++) {
        requirements_done(&allowed->terms[i].requirements);
        free(allowed->terms[i].fault);
    }
    free(allowed->terms);
    *allowed = (struct allowed_topologies){0};
}
