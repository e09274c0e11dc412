#include "common/scheduling/pod_survey.h"

#include <stdlib.h>

#include "common/base/text.h"
#include "common/scheduling/pod_placement.h"

void node_rejection_done(struct node_rejection *rejection)
{
    string_list_done(&rejection->reasons);
    *rejection = (struct node_rejection){0};
}

static void reject_pod(struct pod_survey *survey, enum volume_plugin plugin, const char *reason,
                       bool is_error)
{
    if (survey->plugin)
        return;
    survey->plugin = plugin;
    survey->reason = reason;
    survey->is_error = is_error;
}

void pod_survey_prepare(const struct cluster_objects *cluster,
                        const struct binding_options *options, const struct kube_pod *pod,
                        struct pod_survey *survey)
{
    *survey = (struct pod_survey){.pod = pod};
    volume_restrictions_prepare(cluster, options, pod, &survey->restrictions);
    binding_prepare(cluster, options, pod, &survey->claims);
    volume_zone_prepare(cluster, pod, &survey->zones);
    volume_limits_prepare(cluster, pod, &survey->keys);
    if (survey->restrictions.verdict == BINDING_REJECTED)
        reject_pod(survey, PLUGIN_VOLUME_RESTRICTIONS, survey->restrictions.reason, false);
    if (survey->claims.verdict == BINDING_REJECTED || survey->claims.verdict == BINDING_FAILED)
        reject_pod(survey, PLUGIN_VOLUME_BINDING, survey->claims.reason,
                   survey->claims.verdict == BINDING_FAILED);
    if (survey->zones.verdict == BINDING_REJECTED)
        reject_pod(survey, PLUGIN_VOLUME_ZONE, survey->zones.reason, false);
}

void pod_survey_start(const struct cluster_objects *cluster, struct pod_survey *survey)
{
    pod_decisions_init(cluster, &survey->claims, &survey->decisions);
}

void pod_survey_done(struct pod_survey *survey)
{
    pod_decisions_done(&survey->decisions);
    pod_zones_done(&survey->zones);
    pod_restrictions_done(&survey->restrictions);
    pod_volume_keys_done(&survey->keys);
    pod_claims_done(&survey->claims);
    reason_counts_done(&survey->reasons);
    *survey = (struct pod_survey){0};
}

/* --- one node --- */

static bool reject_node(struct node_rejection *rejection, unsigned plugin, const char *reason,
                        bool is_error)
{
    rejection->plugin = plugin;
    rejection->is_error = is_error;
    string_list_add(&rejection->reasons, reason);
    return false;
}

static bool fits_limits(struct cluster_objects *cluster, const struct binding_options *options,
                        const struct pod_survey *survey, const struct kube_node *node,
                        struct node_rejection *rejection)
{
    struct limits_decision limits = {0};

    volume_limits_check(cluster, options, &survey->keys, node, &limits);
    _cleanup_free_ char *reason = limits.reason;
    return limits.verdict == LIMITS_FIT ||
           reject_node(rejection, PLUGIN_VOLUME_LIMITS, reason, limits.verdict == LIMITS_FAILED);
}

static bool fits_binding(const struct node_decision *decision, struct node_rejection *rejection)
{
    if (decision->verdict == BINDING_FAILED)
        return reject_node(rejection, PLUGIN_VOLUME_BINDING, decision->fault, true);
    for (unsigned i = 0; i < BINDING_REASONS; i++)
        if (decision->reasons & (1U << i))
            reject_node(rejection, PLUGIN_VOLUME_BINDING,
                        binding_reason_text((enum binding_reason)(1U << i)), false);
    return decision->verdict != BINDING_REJECTED;
}

/* All plugins, in the scheduler's order. */
static bool fits_node(struct cluster_objects *cluster, const struct binding_options *options,
                      struct pod_survey *survey, size_t at, struct node_rejection *rejection)
{
    const struct kube_node *node = cluster_at(cluster, KUBE_NODE, at);
    struct node_decision *decision = &survey->decisions.nodes[at];
    _cleanup_free_ char *placement = pod_placement_check(options, survey->pod, node);

    if (placement)
        return reject_node(rejection, PLUGIN_PLACEMENT, placement, false);
    const char *restriction = volume_restrictions_check(cluster, &survey->restrictions, node, NULL);
    if (restriction)
        return reject_node(rejection, PLUGIN_VOLUME_RESTRICTIONS, restriction, false);
    if (!fits_limits(cluster, options, survey, node, rejection))
        return false;
    binding_check_node(cluster, options, &survey->claims, node, decision);
    if (!fits_binding(decision, rejection))
        return false;
    return !volume_zone_check(&survey->zones, node) ||
           reject_node(rejection, PLUGIN_VOLUME_ZONE, VOLUME_ZONE_CONFLICT, false);
}

bool pod_survey_check_node(struct cluster_objects *cluster, const struct binding_options *options,
                           struct pod_survey *survey, size_t at, struct node_rejection *rejection)
{
    if (fits_node(cluster, options, survey, at, rejection))
        return true;
    for (size_t i = 0; i < rejection->reasons.count; i++)
        reason_counts_add(&survey->reasons, rejection->reasons.items[i]);
    return false;
}

char *pod_survey_describe(const struct pod_survey *survey)
{
    struct text text = TEXT_INIT(16384);

    text_addf(&text, "0/%zu nodes are available", survey->decisions.count);
    for (size_t i = 0; i < survey->reasons.reasons.count; i++)
        text_addf(&text, "%s%zu %s", i ? ", " : ": ", survey->reasons.counts[i],
                  survey->reasons.reasons.items[i]);
    return text_take(&text);
}
