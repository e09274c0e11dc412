#include "common/kube/objects/in_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

static const struct in_tree_plugin PLUGINS[] = {
    {"kubernetes.io/aws-ebs", "awsElasticBlockStore", "volumeID", "ebs.csi.aws.com",
     "topology.ebs.csi.aws.com/zone", true},
    {"kubernetes.io/gce-pd", "gcePersistentDisk", "pdName", "pd.csi.storage.gke.io",
     "topology.gke.io/zone", true},
    {"kubernetes.io/azure-disk", "azureDisk", "diskURI", "disk.csi.azure.com",
     "topology.disk.csi.azure.com/zone", true},
    {"kubernetes.io/cinder", "cinder", "volumeID", "cinder.csi.openstack.org",
     "topology.cinder.csi.openstack.org/zone", true},
    {"kubernetes.io/portworx-volume", "portworxVolume", "volumeID", "pxd.portworx.com", NULL,
     false},
};

const struct in_tree_plugin *in_tree_find_source(const json_t *volume, char **id)
{
    for (size_t i = 0; i < ARRAY_LENGTH(PLUGINS); i++) {
        const json_t *source = json_object_get(volume, PLUGINS[i].source);

        if (!json_is_object(source))
            continue;
        const char *text = json_string_value(json_object_get(source, PLUGINS[i].id));
        /* "aws://ZONE/ID" is ID */
        const char *slash = text ? strrchr(text, '/') : NULL;
        bool has_scheme = text && strncmp(text, "aws://", strlen("aws://")) == 0;
        *id = xstrdup(has_scheme ? slash + 1 : text ? text : "");
        return &PLUGINS[i];
    }
    return NULL;
}

const struct in_tree_plugin *in_tree_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(PLUGINS); i++)
        if (kube_same(PLUGINS[i].name, name))
            return &PLUGINS[i];
    return NULL;
}

bool in_tree_is_migrated(const struct in_tree_plugin *plugin, const struct kube_csi_node *csi_node)
{
    const char *names =
        csi_node ? strmap_get(&csi_node->meta.annotations, KUBE_MIGRATED_PLUGINS) : NULL;
    size_t length = strlen(plugin->name);

    while (names && names[0] != '\0') {
        size_t here = strcspn(names, ",");

        if (here == length && strncmp(names, plugin->name, length) == 0)
            return true;
        names += here;
        names += names[0] == ',';
    }
    return false;
}

bool in_tree_is_counted(const struct in_tree_plugin *plugin, const struct kube_csi_node *csi_node)
{
    return csi_node && (plugin->counts_by_itself || in_tree_is_migrated(plugin, csi_node));
}

/* --- translation --- */

static json_t *terms_of(const json_t *required)
{
    return json_object_get(required, "nodeSelectorTerms");
}

static json_t *expressions_of(const json_t *required, size_t term)
{
    return json_object_get(json_array_get(terms_of(required), term), "matchExpressions");
}

/* Whether an expression has the key; *@has_values: one of them has values too. */
static bool has_key(const json_t *required, const char *key, bool *has_values)
{
    bool found = false;

    *has_values = false;
    for (size_t i = 0; i < json_array_size(terms_of(required)); i++)
        for (size_t j = 0; j < json_array_size(expressions_of(required, i)); j++) {
            const json_t *expression = json_array_get(expressions_of(required, i), j);

            if (!kube_same(json_string_value(json_object_get(expression, "key")), key))
                continue;
            found = true;
            if (json_array_size(json_object_get(expression, "values")) > 0)
                *has_values = true;
        }
    return found;
}

static void rename_key(const json_t *required, const char *from, const char *to)
{
    for (size_t i = 0; i < json_array_size(terms_of(required)); i++)
        for (size_t j = 0; j < json_array_size(expressions_of(required, i)); j++) {
            json_t *expression = json_array_get(expressions_of(required, i), j);

            if (kube_same(json_string_value(json_object_get(expression, "key")), from))
                json_object_set_new(expression, "key", json_string(to));
        }
}

/* The zones of a label, "a__b", without spaces around them; NULL if there are none. */
static json_t *zones_json(const char *label)
{
    json_t *zones = json_array();

    while (label) {
        const char *end = strstr(label, "__");
        size_t length = end ? (size_t)(end - label) : strlen(label);

        for (; length > 0 && label[0] == ' '; length--)
            label++;
        while (length > 0 && label[length - 1] == ' ')
            length--;
        if (length > 0)
            json_array_append_new(zones, json_stringn(label, length));
        label = end ? end + 2 : NULL;
    }
    if (json_array_size(zones) > 0)
        return zones;
    json_decref(zones);
    return NULL;
}

static void add_zones(json_t **required, const char *key, const char *label)
{
    json_auto_t *zones = zones_json(label);

    if (!zones)
        return;
    if (!json_is_object(*required)) {
        json_decref(*required);
        *required = json_object();
    }
    if (json_array_size(terms_of(*required)) == 0)
        json_object_set_new(*required, "nodeSelectorTerms", json_pack("[{}]"));
    for (size_t i = 0; i < json_array_size(terms_of(*required)); i++) {
        json_t *term = json_array_get(terms_of(*required), i);

        if (!json_is_array(json_object_get(term, "matchExpressions")))
            json_object_set_new(term, "matchExpressions", json_array());
        json_array_append_new(
            json_object_get(term, "matchExpressions"),
            json_pack("{s:s, s:s, s:O}", "key", key, "operator", "In", "values", zones));
    }
}

/* Whether the volume names zones by the beta keys: the affinity decides, then the labels. */
static bool uses_beta(const json_t *required, const json_t *labels)
{
    bool ignored = false;

    if (has_key(required, ZONE, &ignored))
        return false;
    if (has_key(required, BETA_ZONE, &ignored))
        return true;
    return !json_object_get(labels, ZONE) && json_object_get(labels, BETA_ZONE);
}

json_t *in_tree_translate(const struct in_tree_plugin *plugin, const json_t *pv)
{
    const json_t *spec = json_object_get(pv, "spec");
    const json_t *labels = json_object_get(json_object_get(pv, "metadata"), "labels");
    json_t *required =
        json_deep_copy(json_object_get(json_object_get(spec, "nodeAffinity"), "required"));
    bool is_beta = uses_beta(required, labels);
    const char *zone = is_beta ? BETA_ZONE : ZONE;
    bool has_values = false;

    if (!plugin->zone_key)
        return required;
    has_key(required, zone, &has_values);
    if (has_values)
        rename_key(required, zone, plugin->zone_key);
    else
        add_zones(&required, plugin->zone_key, json_string_value(json_object_get(labels, zone)));
    has_key(required, BETA_REGION, &has_values);
    if (is_beta && has_values)
        rename_key(required, BETA_REGION, REGION);
    return required;
}
