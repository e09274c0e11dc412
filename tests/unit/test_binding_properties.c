#include "common/base/memory.h"
#include "common/topology/binding_assume.h"
#include "tests/fakes/binding_reference.h"
#include "tests/fakes/random_cluster.h"
#include "tests/test.h"

#define CLUSTERS 2000

static struct binding_options options_of(unsigned seed)
{
    struct binding_options options = binding_options_default();

    options.original_design = seed % 5 == 0;
    options.attributes_class = seed % 7 != 0;
    return options;
}

static void compare_choice(const struct claim_choice *found, const struct reference_choice *wanted)
{
    assert_int_equal(found->kind, wanted->kind);
    if (wanted->pv)
        assert_string_equal(found->pv->meta.name, wanted->pv);
    if (wanted->kind == CHOICE_DYNAMIC)
        assert_string_equal(found->capacity ? found->capacity->meta.name : "-",
                            wanted->capacity ? wanted->capacity : "-");
}

static void compare_node(const struct pod_claims *claims, const struct node_decision *decision,
                         const struct reference_result *wanted)
{
    assert_int_equal(decision->verdict, wanted->verdict);
    if (claims->verdict != BINDING_FITS) {
        if (wanted->text[0])
            assert_non_null(strstr(claims->reason, wanted->text));
        return;
    }
    if (wanted->verdict == BINDING_FAILED)
        return;
    assert_int_equal(decision->reasons, wanted->reasons);
    assert_int_equal(claims->count, wanted->count);
    for (size_t i = 0; i < claims->count; i++)
        compare_choice(&decision->choices[i], &wanted->choices[i]);
}

/* Every pod on every node. Returns how many pairs were compared. */
static size_t compare_cluster(const struct cluster_objects *cluster,
                              const struct binding_options *options)
{
    size_t compared = 0;

    for (size_t i = 0; i < cluster_count(cluster, KUBE_POD); i++) {
        const struct kube_pod *pod = cluster_at(cluster, KUBE_POD, i);
        _cleanup_pod_claims_ struct pod_claims claims = {0};
        _cleanup_pod_decisions_ struct pod_decisions decisions = {0};

        binding_prepare(cluster, options, pod, &claims);
        binding_check(cluster, options, &claims, &decisions);
        for (size_t j = 0; j < decisions.count; j++) {
            struct reference_result wanted;

            binding_reference(cluster, options, pod, cluster_at(cluster, KUBE_NODE, j), &wanted);
            compare_node(&claims, &decisions.nodes[j], &wanted);
            compared++;
        }
    }
    return compared;
}

TEST(indexed_check_agrees_with_the_rules)
{
    size_t compared = 0;

    for (unsigned seed = 0; seed < CLUSTERS; seed++) {
        struct chance chance = {seed};
        const struct binding_options options = options_of(seed);
        _cleanup_cluster_ struct cluster_objects cluster = {0};

        random_cluster(&chance, &cluster);
        compared += compare_cluster(&cluster, &options);
    }
    print_message("  %zu pods on nodes compared\n", compared);
}

TEST(it_still_agrees_after_changes)
{
    for (unsigned seed = 0; seed < CLUSTERS / 4; seed++) {
        struct chance chance = {seed + 1000000};
        const struct binding_options options = options_of(seed);
        _cleanup_cluster_ struct cluster_objects cluster = {.rules = options.rules};

        random_cluster(&chance, &cluster);
        for (unsigned i = 0; i < 10; i++) {
            random_change(&chance, &cluster);
            compare_cluster(&cluster, &options);
        }
    }
}

/* Assumes the pod on the first node where it fits; false if it fits nowhere. */
static bool assume_somewhere(struct cluster_objects *cluster, const struct binding_options *options,
                             const struct kube_pod *pod, struct pod_binding *binding)
{
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    _cleanup_pod_decisions_ struct pod_decisions decisions = {0};
    _cleanup_error_ struct error err = {0};

    binding_prepare(cluster, options, pod, &claims);
    binding_check(cluster, options, &claims, &decisions);
    for (size_t i = 0; i < decisions.count; i++)
        if (claims.verdict == BINDING_FITS && decisions.nodes[i].verdict == BINDING_FITS) {
            assert_int_equal(binding_assume(cluster, &claims, cluster_at(cluster, KUBE_NODE, i),
                                            &decisions.nodes[i], binding, &err),
                             0);
            return true;
        }
    return false;
}

TEST(assume_and_revert_restore_the_caches)
{
    size_t assumed = 0;

    for (unsigned seed = 0; seed < CLUSTERS; seed++) {
        struct chance chance = {seed};
        const struct binding_options options = options_of(seed);
        _cleanup_cluster_ struct cluster_objects cluster = {.rules = options.rules};

        random_cluster(&chance, &cluster);
        _cleanup_free_ char *before = binding_reference_dump(&cluster);
        for (size_t i = 0; i < cluster_count(&cluster, KUBE_POD); i++) {
            _cleanup_pod_binding_ struct pod_binding binding = {0};

            if (!assume_somewhere(&cluster, &options, cluster_at(&cluster, KUBE_POD, i), &binding))
                continue;
            compare_cluster(&cluster, &options);
            binding_revert(&cluster, &binding);
            _cleanup_free_ char *after = binding_reference_dump(&cluster);
            assert_string_equal(after, before);
            assumed += binding.count > 0;
        }
    }
    print_message("  %zu pods assumed and given back\n", assumed);
    assert_true(assumed > 100);
}

/* Several pods at once: none gets the other's volume, and giving up in any order restores all. */
TEST(pods_assumed_together_share_no_volume)
{
    for (unsigned seed = 0; seed < CLUSTERS / 2; seed++) {
        struct chance chance = {seed + 5000000};
        const struct binding_options options = options_of(seed);
        _cleanup_cluster_ struct cluster_objects cluster = {.rules = options.rules};
        struct pod_binding bindings[3] = {0};

        random_cluster(&chance, &cluster);
        for (size_t i = 0; i < 3; i++)
            assume_somewhere(&cluster, &options, cluster_at(&cluster, KUBE_POD, i), &bindings[i]);
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < bindings[i].count; j++)
                for (size_t k = i + 1; k < 3; k++)
                    for (size_t l = 0; l < bindings[k].count; l++) {
                        const struct bound_item *a = &bindings[i].items[j];
                        const struct bound_item *b = &bindings[k].items[l];

                        if (a->kind == CHOICE_STATIC && b->kind == CHOICE_STATIC &&
                            strcmp(a->pv, b->pv) == 0)
                            assert_string_equal(a->claim, b->claim);
                    }
        for (size_t i = 3; i-- > 0;) {
            binding_revert(&cluster, &bindings[i]);
            pod_binding_done(&bindings[i]);
        }
        compare_cluster(&cluster, &options);
    }
}
