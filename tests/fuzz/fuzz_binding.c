#include <assert.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/scheduling/simulation/actors.h"
#include "tests/fakes/binding_reference.h"
#include "tests/fakes/cluster_script.h"
#include "tests/fakes/random_cluster.h"
#include "tests/fuzz/bytes.h"

/* The first bytes are the seed of a cluster, each further byte is something that happens: an event,
 * a pod that is assumed, bound or given up, an actor's turn. After each the check must agree with
 * the bare rules, and at the end giving up leaves no assumption behind. */

#define STEPS_MAX 64
#define PODS 3

struct run {
    struct chance chance;
    struct cluster_objects cluster;
    struct binding_options options;
    struct actors actors;
    struct pod_binding bindings[PODS];
};

static void compare_pod(const struct run *run, const struct kube_pod *pod)
{
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    _cleanup_pod_decisions_ struct pod_decisions decisions = {0};

    binding_prepare(&run->cluster, &run->options, pod, &claims);
    binding_check(&run->cluster, &run->options, &claims, &decisions);
    for (size_t i = 0; i < decisions.count; i++) {
        struct reference_result wanted;

        binding_reference(&run->cluster, &run->options, pod,
                          cluster_at(&run->cluster, KUBE_NODE, i), &wanted);
        assert(decisions.nodes[i].verdict == wanted.verdict);
        if (claims.verdict != BINDING_FITS || wanted.verdict == BINDING_FAILED)
            continue;
        assert(decisions.nodes[i].reasons == wanted.reasons);
        for (size_t j = 0; j < claims.count; j++) {
            const struct claim_choice *choice = &decisions.nodes[i].choices[j];

            assert(choice->kind == wanted.choices[j].kind);
            assert(choice->kind != CHOICE_STATIC ||
                   strcmp(choice->pv->meta.name, wanted.choices[j].pv) == 0);
        }
    }
}

static void assume(struct run *run, size_t number)
{
    const struct kube_pod *pod = cluster_at(&run->cluster, KUBE_POD, number);
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    _cleanup_pod_decisions_ struct pod_decisions decisions = {0};
    _cleanup_error_ struct error err = {0};

    binding_revert(&run->cluster, &run->bindings[number]);
    pod_binding_done(&run->bindings[number]);
    binding_prepare(&run->cluster, &run->options, pod, &claims);
    binding_check(&run->cluster, &run->options, &claims, &decisions);
    for (size_t i = 0; i < decisions.count; i++)
        if (claims.verdict == BINDING_FITS && decisions.nodes[i].verdict == BINDING_FITS) {
            int result =
                binding_assume(&run->cluster, &claims, cluster_at(&run->cluster, KUBE_NODE, i),
                               &decisions.nodes[i], &run->bindings[number], &err);

            assert(result == 0 || err.message);
            return;
        }
}

static void act(struct run *run, size_t number)
{
    if (cluster_count(&run->cluster, KUBE_PVC) == 0)
        return;
    struct kube_pvc *claim =
        cluster_at(&run->cluster, KUBE_PVC, number % cluster_count(&run->cluster, KUBE_PVC));
    _cleanup_free_ char *why = NULL;

    if (!pv_controller_sync(&run->actors, claim))
        provisioner_sync(&run->actors, claim, &why);
}

static void step(struct run *run, uint8_t what)
{
    size_t pod = what / 8 % PODS;
    const struct binding_api api = actors_api(&run->actors);
    _cleanup_error_ struct error err = {0};

    switch (what % 8) {
    case 0:
    case 1:
        random_change(&run->chance, &run->cluster);
        break;
    case 2:
    case 3:
        assume(run, pod);
        break;
    case 4:
        binding_revert(&run->cluster, &run->bindings[pod]);
        break;
    case 5:
        if (binding_bind(&run->cluster, &api, &run->bindings[pod], &err) < 0)
            assert(err.message);
        break;
    case 6:
        if (run->bindings[pod].node &&
            binding_poll(&run->cluster, &run->bindings[pod], &err) == BIND_FAILED)
            assert(err.message);
        break;
    default:
        act(run, what / 8);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct run run = {.options = newest_binding_options()};
    size_t seed = length < 4 ? length : 4;

    if (seed > 0)
        memcpy(&run.chance.state, bytes, seed);
    if (length > 0 && bytes[0] % 4 == 0)
        run.options.rules = ASSUME_NEWEST_VERSION;
    run.cluster.rules = run.options.rules;
    random_cluster(&run.chance, &run.cluster);
    actors_init(&run.actors, &run.cluster, &run.options);
    for (size_t i = seed; i < length && i < STEPS_MAX; i++) {
        step(&run, bytes[i]);
        for (size_t j = 0; j < PODS; j++)
            compare_pod(&run, cluster_at(&run.cluster, KUBE_POD, j));
    }
    for (size_t i = 0; i < PODS; i++) {
        binding_revert(&run.cluster, &run.bindings[i]);
        pod_binding_done(&run.bindings[i]);
    }
    cluster_done(&run.cluster);
    return 0;
}
