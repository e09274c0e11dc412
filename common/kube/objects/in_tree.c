#include "common/kube/objects/in_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

static const struct in_tree_plugin PLUGINS[] = {
    {"kubernetes.io/aws-ebs", "awsElasticBlockStore", "volumeID", "ebs.csi.aws.com",
     "topology.ebs.csi.aws.com/zone", true, false},
    {"kubernetes.io/gce-pd", "gcePersistentDisk", "pdName", "pd.csi.storage.gke.io",
     "topology.gke.io/zone", true, true},
    {"kubernetes.io/azure-disk", "azureDisk", "diskURI", "disk.csi.azure.com",
     "topology.disk.csi.azure.com/zone", true, false},
    {"kubernetes.io/cinder", "cinder", "volumeID", "cinder.csi.openstack.org",
     "topology.cinder.csi.openstack.org/zone", true, false},
    {"kubernetes.io/portworx-volume", "portworxVolume", "volumeID", "pxd.portworx.com", NULL, false,
     false},
};

#define GCE_DISK "projects/UNSPECIFIED/%s/%s/disks/%s"
#define AWS_SCHEME "aws://"

/* "aws://ZONE/ID" is ID; a disk of GCE that has no labels is in no zone. */
static char *plain_handle(const struct in_tree_plugin *plugin, const char *text)
{
    if (strncmp(text, AWS_SCHEME, strlen(AWS_SCHEME)) == 0)
        return xstrdup(strrchr(text, '/') + 1);
    return plugin->is_gce ? xasprintf(GCE_DISK, "zones", "UNSPECIFIED", text) : xstrdup(text);
}

const struct in_tree_plugin *in_tree_find_source(const json_t *volume, char **id)
{
    for (size_t i = 0; i < ARRAY_LENGTH(PLUGINS); i++) {
        const json_t *source = json_object_get(volume, PLUGINS[i].source);

        if (!json_is_object(source))
            continue;
        const char *text = json_string_value(json_object_get(source, PLUGINS[i].id));
        *id = plain_handle(&PLUGINS[i], text ? text : "");
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

/* As Go prints a set. */
static int refuse_regions(const struct strmap *regions, struct error *err)
{
    _cleanup_text_ struct text text = TEXT_INIT(65536);

    for (size_t i = 0; i < regions->count; i++)
        text_addf(&text, "%s%s:{}", i ? " " : "", regions->entries[i].key);
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "failed to get region from zones: multiple or no regions gotten from zones, "
                     "got: map[%s]",
                     text_chars(&text));
}

/* The region of "LOCALE-REGION-ZONE" and its like, joined by "__". */
static int region_of_zones(const char *zones, char **region, struct error *err)
{
    _cleanup_strmap_ struct strmap regions = {0};

    for (const char *zone = zones; zone;) {
        const char *end = strstr(zone, "__");
        size_t length = end ? (size_t)(end - zone) : strlen(zone);
        _cleanup_free_ char *text = xstrndup(zone, length);
        char *last = strrchr(text, '-');
        const char *first = strchr(text, '-');

        if (!first || !strchr(first + 1, '-') || strchr(strchr(first + 1, '-') + 1, '-'))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "failed to get region from zones: zone in unexpected format, "
                             "expected: {locale}-{region}-{zone}, got: %s",
                             text);
        *last = '\0';
        strmap_set(&regions, text, "");
        zone = end ? end + 2 : NULL;
    }
    if (regions.count != 1)
        return refuse_regions(&regions, err);
    *region = xstrdup(regions.entries[0].key);
    return 0;
}

/* The beta label decides, as long as it is not empty. */
static int gce_handle(const json_t *source, const json_t *labels, char **id, struct error *err)
{
    const char *disk = json_string_value(json_object_get(source, "pdName"));
    const char *zones = json_string_value(json_object_get(labels, BETA_ZONE));
    _cleanup_free_ char *region = NULL;

    if (kube_same(zones, ""))
        zones = json_string_value(json_object_get(labels, ZONE));
    if (kube_same(zones, ""))
        return 0;
    bool is_regional = strstr(zones, "__") != NULL;
    if (is_regional && region_of_zones(zones, &region, err) < 0)
        return -1;
    free(*id);
    *id = xasprintf(GCE_DISK, is_regional ? "regions" : "zones", is_regional ? region : zones,
                    kube_or_empty(disk));
    return 0;
}

int in_tree_handle(const struct in_tree_plugin *plugin, const json_t *pv, char **id,
                   struct error *err)
{
    const json_t *source = json_object_get(json_object_get(pv, "spec"), plugin->source);
    const json_t *labels = json_object_get(json_object_get(pv, "metadata"), "labels");
    const char *text = json_string_value(json_object_get(source, plugin->id));

    if (plugin->is_gce)
        return gce_handle(source, labels, id, err);
    /* "aws://ZONE/vol-1234" */
    if (!text || strncmp(text, AWS_SCHEME, strlen(AWS_SCHEME)) != 0)
        return 0;
    const char *path = strchr(text + strlen(AWS_SCHEME), '/');
    if (path && path == strrchr(path, '/') && strncmp(path + 1, "vol-", strlen("vol-")) == 0)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS "
                     "volume (%s)",
                     text);
}

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
