#include "common/scheduling/volume_zone.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/affinity_update.h"
#include "common/topology/labels.h"

/* In Kubernetes' order. */
static const char *const ZONE_KEYS[] = {
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
};

/* --- sets of zones --- */

int zone_set_parse(const char *text, struct string_list *zones, struct error *err)
{
    _cleanup_string_list_ struct string_list found = {0};
    const char *end = NULL;

    do {
        end = strstr(text, "__");
        _cleanup_free_ char *piece = xstrndup(text, end ? (size_t)(end - text) : strlen(text));
        const char *zone = text_trim(piece);
        if (zone[0] == '\0')
            return error_set(err, STATUS_INVALID_ARGUMENT, "an empty zone in a set of zones");
        if (!string_list_has(&found, zone))
            string_list_add(&found, zone);
        text = end ? end + 2 : text;
    } while (end);
    *zones = found;
    found = (struct string_list){0};
    return 0;
}

/* --- VolumeZone --- */

_printf_(2, 3) static int reject_pod(struct pod_zones *zones, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    zones->verdict = BINDING_REJECTED;
    zones->reason = xvasprintf(fmt, args);
    va_end(args);
    return -1;
}

static void collect_constraints(struct pod_zones *zones, const struct kube_pv *pv)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ZONE_KEYS); i++) {
        const char *value = strmap_get(&pv->meta.labels, ZONE_KEYS[i]);
        _cleanup_error_ struct error ignored = {0};
        struct string_list set = {0};

        /* Kubernetes ignores a label that is no set of zones */
        if (!value || zone_set_parse(value, &set, &ignored) < 0)
            continue;
        *array_add(zones->items, zones->count) = (struct zone_constraint){ZONE_KEYS[i], pv, set};
    }
}

/* A claim without a volume: is it one that may wait? */
static int check_unbound(const struct cluster_objects *cluster, const struct kube_pvc *claim,
                         struct pod_zones *zones)
{
    const char *name = kube_pvc_class(claim);
    const struct kube_class *class = cluster_find_class(cluster, name);

    if (name[0] == '\0')
        return reject_pod(zones, "PersistentVolumeClaim had no pv name and storageClass name");
    if (!class)
        return reject_pod(zones, "storageclass.storage.k8s.io \"%s\" not found", name);
    if (class->mode == KUBE_BINDING_UNSET)
        return reject_pod(zones, "VolumeBindingMode not set for StorageClass \"%s\"", name);
    if (class->mode == KUBE_BINDING_IMMEDIATE)
        return reject_pod(zones, "PersistentVolume had no name");
    return 0;
}

static int check_claim(const struct cluster_objects *cluster, const struct kube_pod *pod,
                       const char *name, struct pod_zones *zones)
{
    if (name[0] == '\0')
        return reject_pod(zones, "PersistentVolumeClaim had no name");
    const struct kube_pvc *claim = cluster_find_pvc(cluster, pod->meta.ns, name);
    if (!claim)
        return reject_pod(zones, "persistentvolumeclaim \"%s\" not found", name);
    if (kube_same(claim->volume_name, ""))
        return check_unbound(cluster, claim, zones);
    const struct kube_pv *pv = cluster_find_pv(cluster, claim->volume_name);
    if (!pv)
        return reject_pod(zones, "persistentvolume \"%s\" not found", claim->volume_name);
    collect_constraints(zones, pv);
    return 0;
}

void volume_zone_prepare(const struct cluster_objects *cluster, const struct kube_pod *pod,
                         struct pod_zones *zones)
{
    *zones = (struct pod_zones){.verdict = BINDING_FITS};
    for (size_t i = 0; i < pod->volume_count; i++) {
        const struct kube_pod_volume *volume = &pod->volumes[i];

        if (volume->kind == KUBE_VOLUME_CLAIM &&
            check_claim(cluster, pod, volume->claim_name ? volume->claim_name : "", zones) < 0)
            return;
    }
    if (zones->count == 0)
        zones->verdict = BINDING_SKIPPED;
}

void pod_zones_done(struct pod_zones *zones)
{
    for (size_t i = 0; i < zones->count; i++)
        string_list_done(&zones->items[i].zones);
    free(zones->items);
    free(zones->reason);
    *zones = (struct pod_zones){0};
}

bool volume_zone_is_same(const struct kube_meta *a, const struct kube_meta *b)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ZONE_KEYS); i++)
        if (!kube_same(strmap_get(&a->labels, ZONE_KEYS[i]), strmap_get(&b->labels, ZONE_KEYS[i])))
            return false;
    return true;
}

const struct zone_constraint *volume_zone_check(const struct pod_zones *zones,
                                                const struct kube_node *node)
{
    const struct strmap *labels = &node->meta.labels;
    bool has_label = false;

    for (size_t i = 0; i < ARRAY_LENGTH(ZONE_KEYS); i++)
        has_label = has_label || strmap_has(labels, ZONE_KEYS[i]);
    if (zones->verdict != BINDING_FITS || !has_label)
        return NULL;
    for (size_t i = 0; i < zones->count; i++) {
        const struct zone_constraint *constraint = &zones->items[i];
        const char *value = strmap_get(labels, constraint->key);

        if (!value)
            value = strmap_get(labels, affinity_current_key(constraint->key));
        if (!value || !string_list_has(&constraint->zones, value))
            return constraint;
    }
    return NULL;
}

/* --- conversion --- */

static json_t *expression_json(const char *key, const struct string_list *values)
{
    json_t *list = json_array();

    for (size_t i = 0; i < values->count; i++)
        json_array_append_new(list, json_string(values->items[i]));
    return json_pack("{s:s, s:s, s:o}", "key", key, "operator", "In", "values", list);
}

static bool has_key(const json_t *expressions, const char *key)
{
    for (size_t i = 0; i < json_array_size(expressions); i++)
        if (kube_same(json_string_value(json_object_get(json_array_get(expressions, i), "key")),
                      key))
            return true;
    return false;
}

/* What the labels mean. With both an old and a new label of one kind and @new_keys, the old one
 * counts: it comes first. */
static int label_expressions(const struct kube_pv *pv, bool new_keys, json_t *expressions,
                             struct error *err)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ZONE_KEYS); i++) {
        const char *value = strmap_get(&pv->meta.labels, ZONE_KEYS[i]);
        const char *key = new_keys ? affinity_current_key(ZONE_KEYS[i]) : ZONE_KEYS[i];
        _cleanup_string_list_ struct string_list zones = {0};

        if (!value || has_key(expressions, key))
            continue;
        int result = zone_set_parse(value, &zones, err);
        /* zones become values of a selector, which are label values */
        for (size_t j = 0; result == 0 && j < zones.count; j++)
            result = label_value_check(zones.items[j], err);
        if (result < 0)
            return error_wrap(err, "label '%s' is '%.80s'", ZONE_KEYS[i], value);
        json_array_append_new(expressions, expression_json(key, &zones));
    }
    return 0;
}

static json_t *requirements_json(const struct selector_requirements *requirements, bool new_keys)
{
    json_t *list = json_array();

    for (size_t i = 0; i < requirements->count; i++) {
        const struct selector_requirement *item = &requirements->items[i];
        const char *key = new_keys ? affinity_current_key(item->key) : item->key;
        json_t *expression = expression_json(key, &item->values);

        json_object_set_new(expression, "operator", json_string(selector_operator_name(item->op)));
        if (item->values.count == 0)
            json_object_del(expression, "values");
        json_array_append_new(list, expression);
    }
    return list;
}

/* Each term that the volume has, with the zones added; one of the zones alone if it has none. */
static json_t *terms_json(const struct kube_pv *pv, json_t *zones, bool new_keys)
{
    json_t *terms = json_array();

    for (size_t i = 0; pv->has_required && i < pv->required.count; i++) {
        const struct node_selector_term *term = &pv->required.terms[i];
        json_t *expressions = requirements_json(&term->expressions, new_keys);

        json_array_extend(expressions, zones);
        json_t *both = json_pack("{s:o}", "matchExpressions", expressions);
        if (term->fields.count > 0)
            json_object_set_new(both, "matchFields", requirements_json(&term->fields, false));
        json_array_append_new(terms, both);
    }
    if (json_array_size(terms) == 0)
        json_array_append_new(terms, json_pack("{s:O}", "matchExpressions", zones));
    return terms;
}

/* What the keys of the volume's node affinity are: those of zones, and of old ones. */
static void look_at_keys(const struct kube_pv *pv, bool *has_zones, bool *has_old)
{
    for (size_t i = 0; pv->has_required && i < pv->required.count; i++)
        for (size_t j = 0; j < pv->required.terms[i].expressions.count; j++) {
            const char *key = pv->required.terms[i].expressions.items[j].key;

            for (size_t k = 0; k < ARRAY_LENGTH(ZONE_KEYS); k++)
                *has_zones = *has_zones || kube_same(key, ZONE_KEYS[k]);
            *has_old = *has_old || !kube_same(affinity_current_key(key), key);
        }
}

/* Makes the patch, and remarks when the API server would refuse it as things are. */
static int make_patch(const struct kube_pv *pv, json_t *terms, json_t **patch, char **remark,
                      struct error *err)
{
    json_auto_t *required = json_pack("{s:o}", "nodeSelectorTerms", terms);
    struct kube_pv changed = {.has_affinity = true, .has_required = true};
    _cleanup_error_ struct error refusal = {0};

    if (node_selector_decode(required, &changed.required, err) < 0)
        return -1;
    int result = affinity_update_check(pv, &changed, false, &refusal);
    node_selector_done(&changed.required);
    *remark = xstrdup(result == 0 ? ""
                                  : "has node affinity on other labels: the API server takes the "
                                    "change only with the feature gate MutablePVNodeAffinity");
    *patch = json_pack("{s:{s:{s:O}}}", "spec", "nodeAffinity", "required", required);
    return 0;
}

int volume_zone_convert(const struct kube_pv *pv, bool new_keys, json_t **patch, char **remark,
                        struct error *err)
{
    json_auto_t *zones = json_array();
    bool has_zone_affinity = false;
    bool has_old_keys = false;

    if (label_expressions(pv, new_keys, zones, err) < 0)
        return -1;
    if (pv->has_required && node_selector_check(&pv->required, err) < 0)
        return error_wrap(err, "its node affinity cannot be kept");
    look_at_keys(pv, &has_zone_affinity, &has_old_keys);
    bool renames = new_keys && has_old_keys;
    *patch = NULL;
    if (json_array_size(zones) == 0 && !renames) {
        *remark = xstrdup("has no zone or region labels");
        return 0;
    }
    if (has_zone_affinity && !renames) {
        *remark = xstrdup("has node affinity on zones or regions already");
        return 0;
    }
    /* renaming alone is what the API server takes */
    if (has_zone_affinity)
        json_array_clear(zones);
    return make_patch(pv, terms_json(pv, zones, new_keys), patch, remark, err);
}
