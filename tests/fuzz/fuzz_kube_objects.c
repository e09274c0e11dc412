#include <assert.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/encoding/yaml.h"
#include "common/scheduling/explain.h"
#include "common/scheduling/simulation/simulate.h"
#include "common/scheduling/volume_zone.h"
#include "tests/fakes/binding_reference.h"
#include "tests/fakes/cluster_script.h"
#include "tests/fuzz/bytes.h"

/* The input is a dump of Kubernetes objects, JSON if it begins with a bracket, else YAML. Whatever
 * can be read is explained, checked against the bare rules, converted and simulated. */

#define PODS_MAX 6
#define NODES_MAX 24

static int load(const uint8_t *bytes, size_t length, json_t **value)
{
    _cleanup_error_ struct error err = {0};
    const char *text = length > 0 ? (const char *)bytes : "";

    if (length > 0 && (text[0] == '{' || text[0] == '['))
        return json_load_text(text, length, "input", value, &err);
    return yaml_load_text(text, length, "input", value, &err);
}

static void compare(const struct cluster_objects *cluster, const struct binding_options *options,
                    const struct kube_pod *pod)
{
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    _cleanup_pod_decisions_ struct pod_decisions decisions = {0};

    binding_prepare(cluster, options, pod, &claims);
    binding_check(cluster, options, &claims, &decisions);
    for (size_t i = 0; i < decisions.count && i < NODES_MAX; i++) {
        struct reference_result wanted;

        if (claims.count > REFERENCE_CLAIMS_MAX || claims.verdict != BINDING_FITS)
            return;
        binding_reference(cluster, options, pod, cluster_at(cluster, KUBE_NODE, i), &wanted);
        assert(decisions.nodes[i].verdict == wanted.verdict);
        if (wanted.verdict == BINDING_FAILED)
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

static void explain_pods(struct cluster_objects *cluster, const struct binding_options *options)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_POD) && i < PODS_MAX; i++) {
        const struct kube_pod *pod = cluster_at(cluster, KUBE_POD, i);
        _cleanup_explanation_ struct explanation explanation = {0};
        _cleanup_error_ struct error err = {0};

        compare(cluster, options, pod);
        int result =
            explain_pod(cluster, options, pod->meta.ns, pod->meta.name, &explanation, &err);
        assert(result == 0 && explanation.headline[0] != '\0');
    }
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PVC) && i < PODS_MAX; i++) {
        const struct kube_meta *meta = cluster_at(cluster, KUBE_PVC, i);
        _cleanup_explanation_ struct explanation explanation = {0};
        _cleanup_error_ struct error err = {0};

        int result = explain_claim(cluster, options, meta->ns, meta->name, &explanation, &err);
        assert(result == 0);
    }
}

static void convert_volumes(const struct cluster_objects *cluster)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *remark = NULL;
        json_auto_t *patch = NULL;

        int result =
            volume_zone_convert(cluster_at(cluster, KUBE_PV, i), i % 2, &patch, &remark, &err);
        assert(result == 0 || (!patch && err.message));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const struct binding_options options = newest_binding_options();
    struct simulation_request request = {
        .fail = length % 2 ? "zone=zone-a" : "", .takeover = "", .class_name = ""};
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_simulation_ struct simulation simulation = {0};
    _cleanup_error_ struct error err = {0};
    json_auto_t *value = NULL;

    if (load(bytes, length, &value) < 0)
        return 0;
    int result = cluster_read(&cluster, value, &err);
    if (result < 0) {
        assert(err.message);
        for (int kind = 0; kind < KUBE_KINDS; kind++)
            assert(cluster_count(&cluster, (enum kube_kind)kind) == 0);
        return 0;
    }
    cluster_settle(&cluster);
    explain_pods(&cluster, &options);
    convert_volumes(&cluster);
    result = simulate(&cluster, &options, &request, &simulation, &err);
    assert(result == 0 || err.message);
    return 0;
}
