#include <string.h>

#include "common/base/memory.h"
#include "common/scheduling/binding_score.h"
#include "common/scheduling/library/check.h"
#include "common/scheduling/pod_placement.h"

_Static_assert(CZS_VOLUME_BINDING == (int)PLUGIN_VOLUME_BINDING &&
                   CZS_VOLUME_LIMITS == (int)PLUGIN_VOLUME_LIMITS &&
                   CZS_VOLUME_ZONE == (int)PLUGIN_VOLUME_ZONE &&
                   CZS_VOLUME_RESTRICTIONS == (int)PLUGIN_VOLUME_RESTRICTIONS &&
                   CZS_PLACEMENT == PLUGIN_PLACEMENT,
               "public and inner names are for the same bits");

/* --- making --- */

/* Of a pod that no node is asked for: the same everywhere. */
static void reject_unseen(const struct pod_survey *survey, struct check_row *row)
{
    row->rejection.plugin = survey->plugin;
    row->rejection.is_error = survey->is_error;
    string_list_add(&row->rejection.reasons, survey->reason);
}

static void check_row(struct czs_cluster *cluster, struct czs_check *check, size_t at)
{
    struct check_row *row = &check->rows[check->count++];
    const struct kube_node *node = cluster_at(&cluster->objects, KUBE_NODE, at);
    struct pod_survey *survey = &check->survey;

    *row = (struct check_row){.node = xstrdup(node->meta.name), .at = at, .score = -1};
    if (survey->plugin) {
        reject_unseen(survey, row);
        return;
    }
    row->fits =
        pod_survey_check_node(&cluster->objects, &cluster->options, survey, at, &row->rejection);
    if (!row->fits)
        return;
    check->fitting++;
    row->score = binding_score(&cluster->options, &survey->claims, &survey->decisions.nodes[at]);
    row->preference = pod_placement_preference(survey->pod, node);
}

static void summarize(struct czs_check *check, size_t nodes)
{
    if (check->fitting > 0)
        return;
    check->summary = check->survey.plugin
                         ? xasprintf("0/%zu nodes are available: %s", nodes, check->survey.reason)
                         : pod_survey_describe(&check->survey);
}

static struct czs_check *make_check(struct czs_cluster *cluster, const struct kube_pod *pod,
                                    const struct kube_node *node)
{
    struct czs_check *check = xcalloc(1, sizeof(*check));
    size_t count = cluster_count(&cluster->objects, KUBE_NODE);

    check->cluster = cluster;
    check->generation = cluster->generation;
    pod_survey_prepare(&cluster->objects, &cluster->options, pod, &check->survey);
    if (!check->survey.plugin)
        pod_survey_start(&cluster->objects, &check->survey);
    check->rows = xcalloc(node ? 1 : count, sizeof(*check->rows));
    for (size_t i = 0; i < count; i++)
        if (!node || cluster_at(&cluster->objects, KUBE_NODE, i) == node)
            check_row(cluster, check, i);
    if (!node)
        summarize(check, count);
    return check;
}

int czs_check_pod(struct czs_cluster *cluster, const char *name_space, const char *pod,
                  const char *node, struct czs_check **check, char **error)
{
    const struct kube_node *wanted_node = NULL;
    _cleanup_error_ struct error err = {0};

    if (!cluster || !name_space || !pod || !check)
        return library_refuse_null("a cluster, a namespace, a pod or a place for the check", error);
    const struct kube_pod *wanted = cluster_find(&cluster->objects, KUBE_POD, name_space, pod);
    if (node)
        wanted_node = cluster_find(&cluster->objects, KUBE_NODE, NULL, node);
    if (!wanted)
        error_set(&err, STATUS_NOT_FOUND, "there is no pod '%.253s' in namespace '%.253s'", pod,
                  name_space);
    else if (node && !wanted_node)
        error_set(&err, STATUS_NOT_FOUND, "there is no node '%.253s'", node);
    if (err.message)
        return library_fail(&err, error);
    library_settle(cluster);
    *check = make_check(cluster, wanted, wanted_node);
    return CZS_OK;
}

void czs_check_free(struct czs_check *check)
{
    if (!check)
        return;
    for (size_t i = 0; i < check->count; i++) {
        free(check->rows[i].node);
        node_rejection_done(&check->rows[i].rejection);
    }
    free(check->rows);
    free(check->summary);
    pod_survey_done(&check->survey);
    free(check);
}

/* --- reading --- */

static const struct check_row *find_row(const struct czs_check *check, size_t row)
{
    return check && row < check->count ? &check->rows[row] : NULL;
}

size_t czs_check_count(const struct czs_check *check)
{
    return check ? check->count : 0;
}

size_t czs_check_fitting(const struct czs_check *check)
{
    return check ? check->fitting : 0;
}

const char *czs_check_node(const struct czs_check *check, size_t row)
{
    const struct check_row *found = find_row(check, row);

    return found ? found->node : NULL;
}

int czs_check_fits(const struct czs_check *check, size_t row)
{
    const struct check_row *found = find_row(check, row);

    return found && found->fits;
}

int64_t czs_check_score(const struct czs_check *check, size_t row)
{
    const struct check_row *found = find_row(check, row);

    return found ? found->score : -1;
}

int64_t czs_check_preference(const struct czs_check *check, size_t row)
{
    const struct check_row *found = find_row(check, row);

    return found ? found->preference : 0;
}

unsigned czs_check_plugin(const struct czs_check *check, size_t row)
{
    const struct check_row *found = find_row(check, row);

    return found ? found->rejection.plugin : 0;
}

int czs_check_is_error(const struct czs_check *check, size_t row)
{
    const struct check_row *found = find_row(check, row);

    return found && found->rejection.is_error;
}

const char *czs_check_reason(const struct czs_check *check, size_t row, size_t number)
{
    const struct check_row *found = find_row(check, row);

    return found && number < found->rejection.reasons.count ? found->rejection.reasons.items[number]
                                                            : NULL;
}

unsigned czs_check_plugins(const struct czs_check *check)
{
    unsigned plugins = 0;

    for (size_t i = 0; check && i < check->count; i++)
        plugins |= check->rows[i].rejection.plugin;
    return plugins;
}

const char *czs_check_summary(const struct czs_check *check)
{
    return check ? check->summary : NULL;
}
