#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"

/*
 * The three kinds of selectors of the Kubernetes API and how they match labels, as Kubernetes does
 * it. Pure; any thread. Decoding takes JSON as the API server gives it: only a wrong shape (a
 * string where a list must be) is an error there. An operator, key or value that makes no sense is
 * kept as the fault of its term, because that is when Kubernetes notices it: at matching. What is
 * decoded into is zeroed before, stays as it is on failure and is freed with its _done().
 *
 * Cost: one binary search and a comparison per requirement and value.
 */
enum selector_operator {
    SELECTOR_IN,
    SELECTOR_NOT_IN,
    SELECTOR_EXISTS,
    SELECTOR_DOES_NOT_EXIST,
    SELECTOR_GT,
    SELECTOR_LT,
    SELECTOR_UNKNOWN, /* its term has a fault */
};

/* As the API writes it; "" for one that is not known. */
const char *selector_operator_name(enum selector_operator op);

struct selector_requirement {
    char *key;
    enum selector_operator op;
    struct string_list values;
    int64_t operand; /* of GT and LT */
};

struct selector_requirements {
    struct selector_requirement *items;
    size_t count;
};

/* --- NodeSelector: terms ORed, what is in a term ANDed --- */

struct node_selector_term {
    struct selector_requirements expressions;
    struct selector_requirements fields;
    char *fault; /* NULL if there is none */
};

struct node_selector {
    struct node_selector_term *terms;
    size_t count;
};

/* Null is a wrong shape: an absent selector means "any" in some places and "none" in others. */
_must_check_ int node_selector_decode(const json_t *value, struct node_selector *selector,
                                      struct error *err);
/* The strict way: INVALID_ARGUMENT naming the first term with a fault. */
_must_check_ int node_selector_check(const struct node_selector *selector, struct error *err);
/*
 * A term without requirements matches nothing. @name may be NULL or "": matchFields are then not
 * looked at, which is how Kubernetes checks PersistentVolumes. Faults make it fail with
 * INVALID_ARGUMENT only when no other term matches.
 */
_must_check_ int node_selector_match(const struct node_selector *selector,
                                     const struct strmap *labels, const char *name, bool *matches,
                                     struct error *err);
/* Whether a term without a fault matches, whatever the faults of others. */
bool node_selector_has_match(const struct node_selector *selector, const struct strmap *labels,
                             const char *name);
void node_selector_done(struct node_selector *selector);
#define _cleanup_node_selector_ _cleanup_(node_selector_done)

/* --- LabelSelector: all of it ANDed --- */

struct label_selector {
    bool is_set; /* unset (null) matches nothing, set but empty everything */
    struct selector_requirements requirements; /* matchLabels are IN with one value */
    char *fault;
};

/* NULL and null are an unset selector. */
_must_check_ int label_selector_decode(const json_t *value, struct label_selector *selector,
                                       struct error *err);
_must_check_ int label_selector_match(const struct label_selector *selector,
                                      const struct strmap *labels, bool *matches,
                                      struct error *err);
void label_selector_done(struct label_selector *selector);
#define _cleanup_label_selector_ _cleanup_(label_selector_done)

/* --- allowedTopologies: terms ORed, what is in a term ANDed; no terms at all: everything --- */

struct allowed_term {
    struct selector_requirements requirements; /* all IN */
    char *fault;                               /* such a term matches nothing */
};

struct allowed_topologies {
    struct allowed_term *terms;
    size_t count;
};

/* NULL and null are no terms. */
_must_check_ int allowed_topologies_decode(const json_t *value, struct allowed_topologies *allowed,
                                           struct error *err);
bool allowed_topologies_match(const struct allowed_topologies *allowed,
                              const struct strmap *labels);
void allowed_topologies_done(struct allowed_topologies *allowed);
#define _cleanup_allowed_topologies_ _cleanup_(allowed_topologies_done)

/* For callers that report which part of a selector it was. */
bool selector_requirement_match(const struct selector_requirement *requirement,
                                const struct strmap *labels);
/* Whether all of them match. */
bool selector_requirements_match(const struct selector_requirements *requirements,
                                 const struct strmap *labels);
