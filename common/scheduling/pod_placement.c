#include "common/scheduling/pod_placement.h"

#include <string.h>

#include "common/base/memory.h"

static bool tolerates(const struct kube_toleration *toleration, const struct kube_taint *taint)
{
    bool is_exists = kube_same(toleration->op, "Exists");

    if (!kube_same(toleration->effect, "") && !kube_same(toleration->effect, taint->effect))
        return false;
    /* no key means every key, and is allowed with Exists only */
    if (kube_same(toleration->key, ""))
        return is_exists;
    return kube_same(toleration->key, taint->key) &&
           (is_exists || kube_same(toleration->value, taint->value));
}

static bool pod_tolerates(const struct kube_pod *pod, const struct kube_taint *taint)
{
    for (size_t i = 0; i < pod->toleration_count; i++)
        if (tolerates(&pod->tolerations[i], taint))
            return true;
    return false;
}

static bool is_marked_unschedulable(const struct kube_pod *pod, const struct kube_node *node)
{
    char key[] = "node.kubernetes.io/unschedulable";
    char effect[] = "NoSchedule";
    const struct kube_taint taint = {.key = key, .effect = effect};

    return node->is_unschedulable && !pod_tolerates(pod, &taint);
}

static const struct kube_taint *untolerated(const struct kube_pod *pod,
                                            const struct kube_node *node)
{
    for (size_t i = 0; i < node->taint_count; i++) {
        const struct kube_taint *taint = &node->taints[i];
        bool keeps_off =
            kube_same(taint->effect, "NoSchedule") || kube_same(taint->effect, "NoExecute");

        if (keeps_off && !pod_tolerates(pod, taint))
            return taint;
    }
    return NULL;
}

/* nodeSelector and required node affinity; a term that makes no sense does not match. */
static bool selects_node(const struct kube_pod *pod, const struct kube_node *node)
{
    for (size_t i = 0; i < pod->node_selector.count; i++) {
        const struct strmap_entry *entry = &pod->node_selector.entries[i];
        const char *value = strmap_get(&node->meta.labels, entry->key);

        if (!value || strcmp(value, entry->value) != 0)
            return false;
    }
    return !pod->has_required ||
           node_selector_has_match(&pod->required, &node->meta.labels, node->meta.name);
}

char *pod_placement_explain(const struct kube_pod *pod, const struct kube_node *node)
{
    const struct kube_taint *taint = untolerated(pod, node);

    if (is_marked_unschedulable(pod, node))
        return xstrdup("node(s) were unschedulable");
    if (taint)
        return xasprintf("node(s) had untolerated taint {%s: %s}", taint->key ? taint->key : "",
                         taint->value ? taint->value : "");
    if (!selects_node(pod, node))
        return xstrdup("node(s) didn't match Pod's node affinity/selector");
    return NULL;
}

char *pod_placement_check(const struct binding_options *options, const struct kube_pod *pod,
                          const struct kube_node *node)
{
    if (options->minor >= 34 && !is_marked_unschedulable(pod, node) && untolerated(pod, node))
        return xstrdup("node(s) had untolerated taint(s)");
    return pod_placement_explain(pod, node);
}

int64_t pod_placement_preference(const struct kube_pod *pod, const struct kube_node *node)
{
    int64_t sum = 0;

    for (size_t i = 0; i < pod->preference_count; i++)
        if (pod->preferences[i].weight > 0 &&
            node_selector_has_match(&pod->preferences[i].selector, &node->meta.labels,
                                    node->meta.name) &&
            __builtin_add_overflow(sum, pod->preferences[i].weight, &sum))
            return INT64_MAX;
    return sum;
}
