#include <assert.h>
#include <string.h>

#include "common/scheduling/simulation/provisioner.h"
#include "tests/fuzz/bytes.h"

/*
 * The input makes a small cluster, a class and a claim: flags, selected node, nodes, allowed terms,
 * and what is left is the claim's name.
 */
#define NODES_MAX 12

static const char *const KEYS[] = {"zone", "rack", "topology.rbd.csi.ceph.com/zone", "not a key"};
static const char *const VALUES[] = {"a", "b", "c", "", "zone-1", "not a value"};
static const struct fuzz_words ALL_KEYS = {KEYS, ARRAY_LENGTH(KEYS)};
static const struct fuzz_words ALL_VALUES = {VALUES, ARRAY_LENGTH(VALUES)};

struct cluster {
    struct provisioner_node nodes[NODES_MAX];
    struct strmap labels[NODES_MAX];
    struct string_list keys[NODES_MAX];
    size_t count;
};

static void cluster_done(struct cluster *cluster)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        strmap_done(&cluster->labels[i]);
        string_list_done(&cluster->keys[i]);
    }
}

static void add_node(struct cluster *cluster, struct fuzz_bytes *bytes)
{
    static const char *const names[NODES_MAX] = {"n5", "n1", "n3", "n2", "n0", "n4",
                                                 "n9", "n8", "n7", "n6", "nb", "na"};
    size_t i = cluster->count++;
    size_t labels = fuzz_below(bytes, 5);
    size_t keys = fuzz_below(bytes, 4);

    cluster->nodes[i] = (struct provisioner_node){.name = names[i]};
    if (labels < 4)
        cluster->nodes[i].labels = &cluster->labels[i];
    for (size_t k = 0; k < labels; k++) {
        const char *key = fuzz_word(bytes, &ALL_KEYS);

        strmap_set(&cluster->labels[i], key, fuzz_word(bytes, &ALL_VALUES));
    }
    if (keys < 3)
        cluster->nodes[i].keys = &cluster->keys[i];
    for (size_t k = 0; k < keys; k++)
        string_list_add(&cluster->keys[i], fuzz_word(bytes, &ALL_KEYS));
}

static json_t *make_term(struct fuzz_bytes *bytes)
{
    json_t *expressions = json_array();

    for (size_t i = fuzz_below(bytes, 5); i > 0; i--) {
        const char *key = fuzz_word(bytes, &ALL_KEYS);
        json_t *values = json_array();

        for (size_t k = fuzz_below(bytes, 4); k > 0; k--)
            json_array_append_new(values, json_string(fuzz_word(bytes, &ALL_VALUES)));
        json_array_append_new(expressions, json_pack("{s:s, s:o}", "key", key, "values", values));
    }
    return json_pack("{s:o}", "matchLabelExpressions", expressions);
}

static void make_allowed(struct fuzz_bytes *bytes, struct allowed_topologies *allowed)
{
    json_auto_t *terms = json_array();
    _cleanup_error_ struct error err = {0};

    for (size_t i = fuzz_below(bytes, 4); i > 0; i--)
        json_array_append_new(terms, make_term(bytes));
    int status = allowed_topologies_decode(terms, allowed, &err);
    assert(status == 0);
}

/* Preferred is requisite, rotated; requisite is in order and has no term twice. */
static void check_requirement(const struct provisioner_request *request,
                              const struct topology_requirement *requirement)
{
    const struct topology_terms *requisite = &requirement->requisite;
    const struct topology_terms *preferred = &requirement->preferred;
    size_t first = 0;

    assert(preferred->count == requisite->count);
    while (first < requisite->count &&
           !strmap_is_equal(&requisite->items[first], &preferred->items[0]))
        first++;
    assert(requisite->count == 0 || first < requisite->count);
    for (size_t i = 0; i < requisite->count; i++) {
        assert(requisite->items[i].count > 0);
        assert(strmap_is_equal(&requisite->items[(first + i) % requisite->count],
                               &preferred->items[i]));
        if (i > 0)
            assert(requisite->items[i - 1].count <= requisite->items[i].count &&
                   !strmap_is_equal(&requisite->items[i - 1], &requisite->items[i]));
    }
    if (request->selected && request->strict)
        assert(requisite->count == 1);
    if (!request->selected && !request->immediate && request->allowed->count == 0)
        assert(requisite->count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    _cleanup_(cluster_done) struct cluster cluster = {0};
    _cleanup_allowed_topologies_ struct allowed_topologies allowed = {0};
    _cleanup_topology_requirement_ struct topology_requirement requirement = {0};
    _cleanup_error_ struct error err = {0};
    enum provisioner_state state = PROVISIONER_RESCHEDULE;
    unsigned flags = fuzz_byte(&bytes);
    size_t selected = fuzz_below(&bytes, NODES_MAX);

    for (size_t i = fuzz_below(&bytes, NODES_MAX + 1); i > 0; i--)
        add_node(&cluster, &bytes);
    make_allowed(&bytes, &allowed);
    _cleanup_free_ char *claim = fuzz_line(&bytes);
    const struct provisioner_request request = {
        .claim = claim,
        .allowed = &allowed,
        .selected = (flags & 4) && selected < cluster.count ? &cluster.nodes[selected] : NULL,
        .nodes = cluster.nodes,
        .count = cluster.count,
        .strict = flags & 1,
        .immediate = flags & 2,
    };
    if (provisioner_requirement(&request, &requirement, &state, &err) == 0) {
        assert(!err.message);
        check_requirement(&request, &requirement);
        return 0;
    }
    assert(err.message && topology_requirement_is_empty(&requirement));
    assert((state == PROVISIONER_RESCHEDULE) == (err.status == STATUS_NOT_FOUND));
    return 0;
}
