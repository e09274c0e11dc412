#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/binding_assume.h"
#include "tests/fakes/binding_reference.h"
#include "tests/fakes/cluster_script.h"
#include "tests/fakes/random_cluster.h"
#include "tests/test.h"

#define CLUSTERS 2000

static struct binding_options options_of(unsigned seed)
{
    struct binding_options options = newest_binding_options();

    options.original_design = seed % 5 == 0;
    options.attributes_class = seed % 7 != 0;
    return options;
}

/* What was met while comparing. Clusters of chance show nothing of a rule that they never touch. */
struct tally {
    size_t pairs;         /* pods on nodes */
    size_t pod_texts;     /* whole pods turned away, with a reason */
    size_t verdicts[4];   /* of pairs, by enum binding_verdict */
    size_t reasons[4];    /* of pairs, by the bit of enum binding_reason */
    size_t choices[3];    /* of claims, by enum choice_kind */
    size_t with_capacity; /* of the dynamic ones */
};

static void tally_node(struct tally *tally, const struct reference_result *wanted)
{
    tally->pairs++;
    tally->pod_texts += wanted->text[0] != '\0';
    tally->verdicts[wanted->verdict]++;
    for (size_t i = 0; i < BINDING_REASONS; i++)
        tally->reasons[i] += wanted->reasons >> i & 1;
    for (size_t i = 0; i < wanted->count; i++) {
        tally->choices[wanted->choices[i].kind]++;
        tally->with_capacity += wanted->choices[i].capacity != NULL;
    }
}

/* Each kind of situation was met at least @times times, except that every pod has claims. */
static void assert_all_was_met(const struct tally *tally, size_t times)
{
    assert_true(tally->pairs >= 10 * times);
    assert_true(tally->pod_texts >= times);
    assert_true(tally->verdicts[BINDING_FITS] >= times);
    assert_true(tally->verdicts[BINDING_REJECTED] >= times);
    assert_true(tally->verdicts[BINDING_FAILED] >= times);
    assert_int_equal(tally->verdicts[BINDING_SKIPPED], 0);
    for (size_t i = 0; i < ARRAY_LENGTH(tally->reasons); i++)
        assert_true(tally->reasons[i] >= times);
    for (size_t i = 0; i < ARRAY_LENGTH(tally->choices); i++)
        assert_true(tally->choices[i] >= times);
    assert_true(tally->with_capacity >= times);
    assert_true(tally->choices[CHOICE_DYNAMIC] - tally->with_capacity >= times);
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

/* Every pod on every node. */
static void compare_cluster(const struct cluster_objects *cluster,
                            const struct binding_options *options, struct tally *tally)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_POD); i++) {
        const struct kube_pod *pod = cluster_at(cluster, KUBE_POD, i);
        _cleanup_pod_claims_ struct pod_claims claims = {0};
        _cleanup_pod_decisions_ struct pod_decisions decisions = {0};

        binding_prepare(cluster, options, pod, &claims);
        binding_check(cluster, options, &claims, &decisions);
        assert_int_equal(decisions.count, cluster_count(cluster, KUBE_NODE));
        for (size_t j = 0; j < decisions.count; j++) {
            struct reference_result wanted;

            binding_reference(cluster, options, pod, cluster_at(cluster, KUBE_NODE, j), &wanted);
            compare_node(&claims, &decisions.nodes[j], &wanted);
            tally_node(tally, &wanted);
        }
    }
}

TEST(indexed_check_agrees_with_the_rules)
{
    struct tally tally = {0};

    for (unsigned seed = 0; seed < CLUSTERS; seed++) {
        struct chance chance = {seed};
        const struct binding_options options = options_of(seed);
        _cleanup_cluster_ struct cluster_objects cluster = {0};

        random_cluster(&chance, &cluster);
        compare_cluster(&cluster, &options, &tally);
    }
    print_message("  %zu pods on nodes compared\n", tally.pairs);
    assert_all_was_met(&tally, 100);
}

TEST(it_still_agrees_after_changes)
{
    struct tally tally = {0};
    size_t changed = 0;

    for (unsigned seed = 0; seed < CLUSTERS / 4; seed++) {
        struct chance chance = {seed + 1000000};
        const struct binding_options options = options_of(seed);
        _cleanup_cluster_ struct cluster_objects cluster = {.rules = options.rules};

        random_cluster(&chance, &cluster);
        for (unsigned i = 0; i < 10; i++) {
            _cleanup_free_ char *before = binding_reference_dump(&cluster);

            random_change(&chance, &cluster);
            compare_cluster(&cluster, &options, &tally);
            _cleanup_free_ char *after = binding_reference_dump(&cluster);
            changed += strcmp(before, after) != 0;
        }
    }
    assert_all_was_met(&tally, 100);
    assert_true(changed >= CLUSTERS);
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

/* A claim gets a node, or a volume that did not name it: the caches must show that. */
static bool binding_changes_something(const struct pod_binding *binding)
{
    for (size_t i = 0; i < binding->count; i++)
        if (binding->items[i].kind == CHOICE_DYNAMIC || binding->items[i].adds_annotation)
            return true;
    return false;
}

TEST(assume_and_revert_restore_the_caches)
{
    struct tally tally = {0};
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
            compare_cluster(&cluster, &options, &tally);
            _cleanup_free_ char *during = binding_reference_dump(&cluster);
            binding_revert(&cluster, &binding);
            _cleanup_free_ char *after = binding_reference_dump(&cluster);
            assert_string_equal(after, before);
            if (binding_changes_something(&binding)) {
                assert_string_not_equal(during, before);
                assumed++;
            }
        }
    }
    print_message("  %zu pods assumed and given back\n", assumed);
    assert_all_was_met(&tally, 100);
    assert_true(assumed >= 500);
}

/* Returns how many pairs of volumes were looked at. */
static size_t compare_volumes(const struct pod_binding *one, const struct pod_binding *other)
{
    size_t compared = 0;

    for (size_t i = 0; i < one->count; i++)
        for (size_t j = 0; j < other->count; j++) {
            const struct bound_item *a = &one->items[i];
            const struct bound_item *b = &other->items[j];

            if (a->kind != CHOICE_STATIC || b->kind != CHOICE_STATIC)
                continue;
            if (strcmp(a->pv, b->pv) == 0)
                assert_string_equal(a->claim, b->claim);
            compared++;
        }
    return compared;
}

#define RIVALS 3

/* Pods that all want the same few volumes, which fit everywhere. */
static void put_rivals(struct chance *chance, struct cluster_objects *cluster)
{
    _cleanup_text_ struct text lines = TEXT_INIT(4096);

    for (unsigned i = 0; i < RIVALS; i++)
        text_addf(&lines, "pv w%u class=fast size=%uGi\n", i, 1 + chance_of(chance, 3));
    for (unsigned i = 0; i < RIVALS; i++)
        text_addf(&lines, "pvc d%u class=fast size=%uGi\npod q%u claims=d%u\n", i,
                  1 + chance_of(chance, 3), i, i);
    cluster_script(cluster, text_chars(&lines));
}

/* Several pods at once: none gets the other's volume, and giving up in any order restores all. */
TEST(pods_assumed_together_share_no_volume)
{
    struct tally tally = {0};
    size_t compared = 0;

    for (unsigned seed = 0; seed < CLUSTERS / 2; seed++) {
        struct chance chance = {seed + 5000000};
        const struct binding_options options = options_of(seed);
        _cleanup_cluster_ struct cluster_objects cluster = {.rules = options.rules};
        struct pod_binding bindings[3 + RIVALS] = {0};
        const size_t pods = ARRAY_LENGTH(bindings);

        random_cluster(&chance, &cluster);
        put_rivals(&chance, &cluster);
        assert_int_equal(cluster_count(&cluster, KUBE_POD), pods);
        _cleanup_free_ char *before = binding_reference_dump(&cluster);
        for (size_t i = 0; i < pods; i++)
            assume_somewhere(&cluster, &options, cluster_at(&cluster, KUBE_POD, i), &bindings[i]);
        for (size_t i = 0; i < pods; i++)
            for (size_t j = i + 1; j < pods; j++)
                compared += compare_volumes(&bindings[i], &bindings[j]);
        for (size_t i = 0; i < pods; i++) {
            size_t next = (seed + 5 * i) % pods;

            binding_revert(&cluster, &bindings[next]);
            pod_binding_done(&bindings[next]);
        }
        _cleanup_free_ char *after = binding_reference_dump(&cluster);
        assert_string_equal(after, before);
        compare_cluster(&cluster, &options, &tally);
    }
    print_message("  %zu pairs of volumes compared\n", compared);
    assert_true(compared >= CLUSTERS / 2);
    assert_all_was_met(&tally, 100);
}
