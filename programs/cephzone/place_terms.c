#include "programs/cephzone/place_terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/encoding/yaml.h"
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

struct node_metadata {
    char *name;
    struct strmap labels;
};

struct node_object {
    char *kind;
    struct node_metadata metadata;
};

static const struct json_field METADATA_FIELDS[] = {
    JSON_FIELD_STRING("name", struct node_metadata, name),
    JSON_FIELD_STRMAP("labels", struct node_metadata, labels),
};
static const struct json_table METADATA_TABLE = JSON_TABLE(struct node_metadata, METADATA_FIELDS);

static const struct json_field NODE_FIELDS[] = {
    JSON_FIELD_STRING("kind", struct node_object, kind),
    JSON_FIELD_OBJECT("metadata", struct node_object, metadata, &METADATA_TABLE),
};
static const struct json_table NODE_TABLE = JSON_TABLE(struct node_object, NODE_FIELDS);

static int add_node(const struct topology_levels *levels, const json_t *value,
                    struct topology_requirement *requirement, struct error *err)
{
    struct node_object node = {0};
    int result = json_decode(value, &NODE_TABLE, &node, err);

    if (result == 0 && (!node.kind || strcmp(node.kind, "Node") != 0))
        result = error_set(err, STATUS_INVALID_ARGUMENT, "kind: expected 'Node', found '%.40s'",
                           node.kind ? node.kind : "");
    if (result == 0)
        result = add_home(levels, &node.metadata.labels,
                          node.metadata.name ? node.metadata.name : "", requirement, err);
    json_free_fields(&NODE_TABLE, &node);
    return result;
}

static int add_document(const struct topology_levels *levels, const json_t *document,
                        struct topology_requirement *requirement, struct error *err)
{
    const json_t *items = json_object_get(document, "items");

    if (!items)
        return add_node(levels, document, requirement, err);
    for (size_t i = 0; i < json_array_size(items); i++)
        if (add_node(levels, json_array_get(items, i), requirement, err) < 0)
            return error_wrap(err, "items[%zu]", i);
    return 0;
}

int terms_add_nodes(const struct topology_levels *levels, const char *path,
                    struct topology_requirement *requirement, struct error *err)
{
    size_t before = requirement->preferred.count;
    json_auto_t *documents = NULL;

    if (documents_load_path(path, NODES_LIMIT, &documents, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(documents); i++)
        if (add_document(levels, json_array_get(documents, i), requirement, err) < 0)
            return error_wrap(err, "'%s' is no output of 'kubectl get node'", path);
    if (requirement->preferred.count == before)
        return error_set(err, STATUS_INVALID_ARGUMENT, "there is no node in '%s'", path);
    return 0;
}
