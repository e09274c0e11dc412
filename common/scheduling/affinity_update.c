#include "common/scheduling/affinity_update.h"

#include <string.h>

#include "common/base/memory.h"

const char *affinity_current_key(const char *key)
{
    static const struct {
        const char *beta;
        const char *current;
    } KEYS[] = {
        {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
        {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
        {"beta.kubernetes.io/os", "kubernetes.io/os"},
        {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
        {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(KEYS); i++)
        if (kube_same(KEYS[i].beta, key))
            return KEYS[i].current;
    return key;
}

bool affinity_same_requirements(const struct selector_requirements *old,
                                const struct selector_requirements *new, bool may_rename)
{
    if (old->count != new->count)
        return false;
    for (size_t i = 0; i < old->count; i++) {
        const struct selector_requirement *a = &old->items[i];
        const struct selector_requirement *b = &new->items[i];

        if (a->op != b->op || !string_list_is_equal(&a->values, &b->values))
            return false;
        if (!kube_same(a->key, b->key) &&
            !(may_rename && kube_same(affinity_current_key(a->key), b->key)))
            return false;
    }
    return true;
}

static bool same_affinity(const struct kube_pv *old, const struct kube_pv *new)
{
    if (old->has_affinity != new->has_affinity || old->has_required != new->has_required ||
        old->required.count != new->required.count)
        return false;
    for (size_t i = 0; i < old->required.count; i++)
        if (!affinity_same_requirements(&old->required.terms[i].expressions,
                                        &new->required.terms[i].expressions, true) ||
            !affinity_same_requirements(&old->required.terms[i].fields,
                                        &new->required.terms[i].fields, true))
            return false;
    return true;
}

static int check_affinity(const struct kube_pv *pv, struct error *err)
{
    if (!pv->has_affinity)
        return 0;
    if (!pv->has_required)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "spec.nodeAffinity.required: must specify required node constraints");
    if (pv->required.count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "spec.nodeAffinity.required.nodeSelectorTerms: must have at least one "
                         "node selector term");
    return node_selector_check(&pv->required, err) < 0
               ? error_wrap(err, "spec.nodeAffinity.required")
               : 0;
}

int affinity_update_check(const struct kube_pv *old, const struct kube_pv *new, bool is_mutable,
                          struct error *err)
{
    if (check_affinity(new, err) < 0)
        return -1;
    if (is_mutable || !old->has_affinity || same_affinity(old, new))
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "spec.nodeAffinity: field is immutable, except for updating from beta label "
                     "to GA");
}
