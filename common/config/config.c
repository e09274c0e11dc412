#include "common/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/config/watched_file.h"
#include "common/encoding/json.h"

static const struct json_field SECRET_REF_FIELDS[] = {
    JSON_FIELD_STRING("name", struct secret_ref, name),
    JSON_FIELD_STRING("namespace", struct secret_ref, namespace_name),
};
static const struct json_table SECRET_REF = JSON_TABLE(struct secret_ref, SECRET_REF_FIELDS);

static const struct json_field RBD_FIELDS[] = {
    JSON_FIELD_STRING("radosNamespace", struct rbd_config, rados_namespace),
    /* ceph-csi-operator's name for the next one */
    JSON_FIELD_INT("mirrorCount", struct rbd_config, mirror_daemon_count),
    JSON_FIELD_INT("mirrorDaemonCount", struct rbd_config, mirror_daemon_count),
    JSON_FIELD_STRING("netNamespaceFilePath", struct rbd_config, net_namespace_path),
    JSON_FIELD_OBJECT("controllerPublishSecretRef", struct rbd_config, controller_secret,
                      &SECRET_REF),
    JSON_FIELD_OBJECT("nodePublishSecretRef", struct rbd_config, node_secret, &SECRET_REF),
};
static const struct json_table RBD = JSON_TABLE(struct rbd_config, RBD_FIELDS);

static const struct json_field CEPHFS_FIELDS[] = {
    JSON_FIELD_STRING("subvolumeGroup", struct cephfs_config, subvolume_group),
    JSON_FIELD_STRING("radosNamespace", struct cephfs_config, rados_namespace),
    JSON_FIELD_STRING("netNamespaceFilePath", struct cephfs_config, net_namespace_path),
    JSON_FIELD_STRING("kernelMountOptions", struct cephfs_config, kernel_mount_options),
    JSON_FIELD_STRING("fuseMountOptions", struct cephfs_config, fuse_mount_options),
    JSON_FIELD_OBJECT("controllerPublishSecretRef", struct cephfs_config, controller_secret,
                      &SECRET_REF),
};
static const struct json_table CEPHFS = JSON_TABLE(struct cephfs_config, CEPHFS_FIELDS);

static const struct json_field READ_AFFINITY_FIELDS[] = {
    JSON_FIELD_BOOL("enabled", struct read_affinity_config, enabled),
    JSON_FIELD_STRINGS("crushLocationLabels", struct read_affinity_config, crush_location_labels),
};
static const struct json_table READ_AFFINITY =
    JSON_TABLE(struct read_affinity_config, READ_AFFINITY_FIELDS);

static const struct json_field CLUSTER_FIELDS[] = {
    JSON_FIELD_STRING("clusterID", struct cluster_config, cluster_id),
    JSON_FIELD_STRINGS("monitors", struct cluster_config, monitor_list),
    JSON_FIELD_OBJECT("rbd", struct cluster_config, rbd, &RBD),
    JSON_FIELD_OBJECT("cephFS", struct cluster_config, cephfs, &CEPHFS),
    JSON_FIELD_OBJECT("readAffinity", struct cluster_config, read_affinity, &READ_AFFINITY),
};
static const struct json_table CLUSTER = JSON_TABLE(struct cluster_config, CLUSTER_FIELDS);

struct config {
    struct watched_version base;
    struct cluster_config *clusters;
    size_t count;
    bool has_clusters;      /* version 2 form: the key is there */
    json_t *takeover_value; /* as written, NULL for none */
    struct takeover_map takeover;
    char *takeover_fault; /* NULL if the map is good */
};

static const struct json_field VERSION_2_FIELDS[] = {
    JSON_FIELD_OBJECTS("clusters", struct config, clusters, count, &CLUSTER),
    JSON_FIELD_PRESENT("clusters", struct config, has_clusters),
    JSON_FIELD_VALUE(CONFIG_TAKEOVER_KEY, struct config, takeover_value),
};
static const struct json_table VERSION_2 = JSON_TABLE(struct config, VERSION_2_FIELDS);

struct config_file {
    struct watched_file *file;
};

static void free_config(struct watched_version *version)
{
    struct config *config = (struct config *)version;

    for (size_t i = 0; i < config->count; i++)
        free(config->clusters[i].monitors);
    json_free_array(&CLUSTER, config->clusters, config->count);
    json_decref(config->takeover_value);
    takeover_map_done(&config->takeover);
    free(config->takeover_fault);
    free(config);
}

void config_unref(struct config *config)
{
    watched_version_unref(config ? &config->base : NULL);
}

struct watched_version *config_hold(struct config *config)
{
    return watched_version_ref(&config->base);
}

/* Either form. */
static int decode_clusters(const json_t *root, struct config *config, struct error *err)
{
    void *items = NULL;

    if (json_is_array(root)) {
        if (json_decode_array(root, &CLUSTER, &items, &config->count, err) < 0)
            return -1;
        config->clusters = items;
        return 0;
    }
    if (json_decode(root, &VERSION_2, config, err) < 0)
        return -1;
    if (!config->has_clusters)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "expected an array of clusters, or an object that has one under "
                         "'clusters'");
    return 0;
}

/* Ids that no volume handle can carry are refused here, where the administrator sees it, because
 * every listing and every new handle would trip over them. */
static int check_cluster_ids(const json_t *root, const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->count; i++)
        if (class_check_cluster(config_cluster_id(config, i), err) < 0)
            return error_wrap(err, "%s[%zu]", json_is_array(root) ? "" : "clusters", i);
    return 0;
}

static int load_config(const char *path, struct watched_version **out, struct error *err)
{
    _cleanup_config_ struct config *config = xcalloc(1, sizeof(*config));
    _cleanup_error_ struct error fault = {0};
    json_auto_t *root = NULL;

    watched_version_init(&config->base, free_config);
    if (json_load_path(path, CONFIGMAP_BYTES_MAX, &root, err) < 0)
        return -1;
    if (decode_clusters(root, config, err) < 0 || check_cluster_ids(root, config, err) < 0)
        return error_wrap(err, "%s", path);
    for (size_t i = 0; i < config->count; i++) {
        const struct string_list *monitors = &config->clusters[i].monitor_list;
        _cleanup_text_ struct text joined = TEXT_INIT(CONFIGMAP_BYTES_MAX);

        for (size_t k = 0; k < monitors->count; k++)
            text_addf(&joined, "%s%s", k ? "," : "", monitors->items[k]);
        config->clusters[i].monitors = text_take(&joined);
    }
    /* a broken map must not disable the clusters: the fault is kept for whoever needs the map */
    if (config->takeover_value &&
        takeover_map_decode(config->takeover_value, &config->takeover, &fault) < 0)
        config->takeover_fault = TAKE(fault.message);
    log_v(2, NULL, "read %zu cluster(s) from %s", config->count, path);
    *out = &TAKE(config)->base;
    return 0;
}

static const struct watched_kind CONFIG = {.what = "configuration", .load = load_config};

struct config_file *config_file_new(const char *path)
{
    struct config_file *file = xcalloc(1, sizeof(*file));

    file->file = watched_file_new(path, &CONFIG);
    return file;
}

void config_file_free(struct config_file *file)
{
    if (!file)
        return;
    watched_file_free(file->file);
    free(file);
}

const char *config_file_path(const struct config_file *file)
{
    return watched_file_path(file->file);
}

int config_file_get(struct config_file *file, struct config **config, struct error *err)
{
    struct watched_version *version = NULL;

    if (watched_file_get(file->file, &version, err) < 0)
        return error_wrap(err, "the driver has no cluster configuration");
    *config = (struct config *)version;
    return 0;
}

bool config_file_is_healthy(struct config_file *file, char **message, time_t *since)
{
    return watched_file_is_healthy(file->file, message, since);
}

const struct takeover_map *config_takeover(const struct config *config, const char **fault)
{
    if (!config->takeover_fault)
        return &config->takeover;
    *fault = config->takeover_fault;
    return NULL;
}

size_t config_cluster_count(const struct config *config)
{
    return config->count;
}

const char *config_cluster_id(const struct config *config, size_t index)
{
    const char *id = config->clusters[index].cluster_id;

    return id ? id : "";
}

int config_find_cluster(const struct config *config, const char *cluster_id,
                        const struct cluster_config **cluster, struct error *err)
{
    _cleanup_text_ struct text known = TEXT_INIT(1024);

    for (size_t i = 0; i < config->count; i++) {
        const struct cluster_config *candidate = &config->clusters[i];

        if (strcmp(candidate->cluster_id, cluster_id) != 0)
            continue;
        if (candidate->monitor_list.count == 0)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "cluster '%s' has no monitors in config.json", cluster_id);
        *cluster = candidate;
        return 0;
    }
    for (size_t i = 0; i < config->count; i++)
        text_addf(&known, "%s'%s'", i ? ", " : "", config_cluster_id(config, i));
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "clusterID '%s' is not configured; config.json has %s", cluster_id,
                     config->count ? text_chars(&known) : "no cluster at all");
}
