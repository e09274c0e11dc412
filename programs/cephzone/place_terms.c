#include "programs/cephzone/place_terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/yaml.h"
#include "common/kube/objects/kube_dump.h"
#include "common/kube/objects/kube_objects.h"
#include "common/topology/labels.h"

#define NODES_LIMIT ((size_t)64 * 1024 * 1024)

static void add_term(const struct strmap *term, struct topology_requirement *requirement)
{
    topology_terms_add(&requirement->preferred, term);
    topology_terms_add(&requirement->requisite, term);
}

/* One "key=value" of @pair. */
static int add_pair(const char *pair, struct strmap *pairs, struct error *err)
{
    const char *equals = strchr(pair, '=');
    _cleanup_free_ char *key = xstrndup(pair, equals ? (size_t)(equals - pair) : strlen(pair));

    if (!equals || equals[1] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.100s' is not of the form KEY=VALUE",
                         pair);
    if (label_key_check(key, err) < 0 || label_value_check(equals + 1, err) < 0)
        return error_wrap(err, "'%.100s'", pair);
    if (strmap_has(pairs, key))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%.100s' is there twice", key);
    strmap_set(pairs, key, equals + 1);
    return 0;
}

static int parse_pairs(const char *text, struct strmap *pairs, struct error *err)
{
    for (const char *next = text;; next++) {
        size_t length = strcspn(next, ",");
        _cleanup_free_ char *pair = xstrndup(next, length);

        if (add_pair(pair, pairs, err) < 0)
            return -1;
        next += length;
        if (*next == '\0')
            return 0;
    }
}

int terms_add_text(const struct topology_levels *levels, const char *text,
                   struct topology_requirement *requirement, struct error *err)
{
    _cleanup_strmap_ struct strmap pairs = {0};
    _cleanup_strmap_ struct strmap term = {0};

    if (parse_pairs(text, &pairs, err) < 0)
        return error_wrap(err, "--topology");
    for (size_t i = 0; i < pairs.count; i++) {
        const char *key = pairs.entries[i].key;
        _cleanup_free_ char *whole =
            strchr(key, '/') ? xstrdup(key) : segment_key(levels->prefix, key);

        strmap_set(&term, whole, pairs.entries[i].value);
    }
    add_term(&term, requirement);
    return 0;
}

/* The term that a node with these labels gives. */
static int add_home(const struct topology_levels *levels, const struct strmap *labels,
                    const char *name, struct topology_requirement *requirement, struct error *err)
{
    _cleanup_strmap_ struct strmap term = {0};
    _cleanup_string_list_ struct string_list missing = {0};

    topology_home(levels, labels, &term, &missing);
    for (size_t i = 0; i < missing.count; i++)
        fprintf(stderr, "cephzone place: node '%s' has no label '%s'\n", name, missing.items[i]);
    if (term.count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "node '%s' has none of the labels of --domainlabels", name);
    add_term(&term, requirement);
    return 0;
}

int terms_add_labels(const struct topology_levels *levels, const char *text,
                     struct topology_requirement *requirement, struct error *err)
{
    _cleanup_strmap_ struct strmap labels = {0};

    if (parse_pairs(text, &labels, err) < 0)
        return error_wrap(err, "--node-labels");
    return add_home(levels, &labels, "of --node-labels", requirement, err);
}

/* --- nodes in a file --- */

struct node_terms {
    const struct topology_levels *levels;
    struct topology_requirement *requirement;
};

static int add_node(void *context, const char *kind, const json_t *value, struct error *err)
{
    const struct node_terms *terms = context;
    void *object = NULL;

    if (kube_kind_check(KUBE_NODE, kind, err) < 0 ||
        kube_object_decode(KUBE_NODE, value, &object, err) < 0)
        return -1;
    const struct kube_meta *meta = kube_meta(object);
    int result = add_home(terms->levels, &meta->labels, meta->name, terms->requirement, err);
    kube_object_free(KUBE_NODE, object);
    return result;
}

int terms_add_nodes(const struct topology_levels *levels, const char *path,
                    struct topology_requirement *requirement, struct error *err)
{
    size_t before = requirement->preferred.count;
    struct node_terms terms = {levels, requirement};
    json_auto_t *documents = NULL;

    if (documents_load_path(path, NODES_LIMIT, &documents, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(documents); i++)
        if (kube_dump_each(json_array_get(documents, i), add_node, &terms, err) < 0)
            return error_wrap(err, "'%s' is no output of 'kubectl get node'", path);
    if (requirement->preferred.count == before)
        return error_set(err, STATUS_INVALID_ARGUMENT, "there is no node in '%s'", path);
    return 0;
}
