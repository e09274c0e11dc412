#include "common/volume/config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"

#define CONFIG_BYTES_MAX (1024UL * 1024) /* a ConfigMap cannot be larger */

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
    atomic_int refs;
    struct cluster_config *clusters;
    size_t count;
    bool has_clusters; /* version 2 form: the key is there */
};

static const struct json_field VERSION_2_FIELDS[] = {
    JSON_FIELD_OBJECTS("clusters", struct config, clusters, count, &CLUSTER),
    JSON_FIELD_PRESENT("clusters", struct config, has_clusters),
};
static const struct json_table VERSION_2 = JSON_TABLE(struct config, VERSION_2_FIELDS);

/* What tells one version of the file from the next; follows the ConfigMap's symbolic links. */
struct file_version {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
};

struct config_file {
    char *path;
    pthread_mutex_t lock; /* over the rest; held over stat() and the read of a local file */
    struct config *current;
    struct file_version version;
    bool version_known;
    char *fault;  /* why the newest version cannot be used; NULL if it can */
    time_t since; /* of the fault, or of there being none */
};

struct config_file *config_file_new(const char *path)
{
    struct config_file *file = xcalloc(1, sizeof(*file));

    file->path = xstrdup(path);
    pthread_mutex_init(&file->lock, NULL);
    return file;
}

void config_unref(struct config *config)
{
    if (!config || atomic_fetch_sub(&config->refs, 1) != 1)
        return;
    for (size_t i = 0; i < config->count; i++)
        free(config->clusters[i].monitors);
    json_free_array(&CLUSTER, config->clusters, config->count);
    free(config);
}

void config_file_free(struct config_file *file)
{
    if (!file)
        return;
    config_unref(file->current);
    pthread_mutex_destroy(&file->lock);
    free(file->fault);
    free(file->path);
    free(file);
}

const char *config_file_path(const struct config_file *file)
{
    return file->path;
}

static void join_monitors(struct cluster_config *cluster)
{
    _cleanup_text_ struct text joined = TEXT_INIT(CONFIG_BYTES_MAX);

    for (size_t i = 0; i < cluster->monitor_list.count; i++)
        text_addf(&joined, "%s%s", i ? "," : "", cluster->monitor_list.items[i]);
    cluster->monitors = text_take(&joined);
}

/* Either form. */
static int decode(const json_t *root, struct config *config, struct error *err)
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

static int load(const char *path, struct config **out, struct error *err)
{
    _cleanup_config_ struct config *config = xcalloc(1, sizeof(*config));
    json_auto_t *root = NULL;

    atomic_init(&config->refs, 1);
    if (json_load_path(path, CONFIG_BYTES_MAX, &root, err) < 0)
        return -1;
    if (decode(root, config, err) < 0)
        return error_wrap(err, "%s", path);
    for (size_t i = 0; i < config->count; i++)
        join_monitors(&config->clusters[i]);
    log_v(2, NULL, "read %zu cluster(s) from %s", config->count, path);
    *out = TAKE(config);
    return 0;
}

static struct file_version version_of(const struct stat *status)
{
    return (struct file_version){status->st_dev, status->st_ino, status->st_size, status->st_mtim};
}

static bool version_is_equal(const struct file_version *a, const struct file_version *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

static void note_fault(struct config_file *file, const char *fault)
{
    if (fault && (!file->fault || strcmp(file->fault, fault) != 0))
        log_warn(NULL, "%s: %s",
                 file->current ? "keeping the last good configuration" : "no configuration", fault);
    if (!fault && file->fault)
        log_info(NULL, "%s is good again", file->path);
    if (file->since == 0 || !fault != !file->fault)
        file->since = time(NULL); /* one bad version after another is one outage */
    free(file->fault);
    file->fault = fault ? xstrdup(fault) : NULL;
}

/* Brings @file up to date with the disk. Lock held. */
static void refresh(struct config_file *file)
{
    _cleanup_error_ struct error err = {0};
    struct config *config = NULL;
    struct stat status;

    if (stat(file->path, &status) < 0) {
        _cleanup_free_ char *fault = xasprintf("cannot read '%s': %m", file->path);

        file->version_known = false;
        note_fault(file, fault);
        return;
    }
    struct file_version version = version_of(&status);
    if (file->version_known && version_is_equal(&version, &file->version))
        return;
    file->version = version;
    file->version_known = true;
    if (load(file->path, &config, &err) < 0) {
        if (err.sys_errno != 0) /* unread, perhaps for want of descriptors: try again */
            file->version_known = false;
        note_fault(file, err.message);
        return;
    }
    config_unref(file->current);
    file->current = config;
    note_fault(file, NULL);
}

int config_file_get(struct config_file *file, struct config **config, struct error *err)
{
    int result = 0;

    pthread_mutex_lock(&file->lock);
    refresh(file);
    if (file->current) {
        atomic_fetch_add(&file->current->refs, 1);
        *config = file->current;
    } else {
        result = error_set(err, STATUS_UNAVAILABLE, "the driver has no cluster configuration: %s",
                           file->fault);
    }
    pthread_mutex_unlock(&file->lock);
    return result;
}

bool config_file_is_healthy(struct config_file *file, char **message, time_t *since)
{
    pthread_mutex_lock(&file->lock);
    refresh(file);
    bool healthy = !file->fault;
    *message = xstrdup(healthy ? "" : file->fault);
    *since = file->since;
    pthread_mutex_unlock(&file->lock);
    return healthy;
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

static int unknown_cluster(const struct config *config, const char *cluster_id, struct error *err)
{
    _cleanup_text_ struct text known = TEXT_INIT(1024);

    for (size_t i = 0; i < config->count; i++)
        text_addf(&known, "%s'%s'", i ? ", " : "", config_cluster_id(config, i));
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "clusterID '%s' is not configured; config.json has %s", cluster_id,
                     config->count ? text_chars(&known) : "no cluster at all");
}

int config_find_cluster(const struct config *config, const char *cluster_id,
                        const struct cluster_config **cluster, struct error *err)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct cluster_config *candidate = &config->clusters[i];

        if (!candidate->cluster_id || strcmp(candidate->cluster_id, cluster_id) != 0)
            continue;
        if (candidate->monitor_list.count == 0)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "cluster '%s' has no monitors in config.json", cluster_id);
        *cluster = candidate;
        return 0;
    }
    return unknown_cluster(config, cluster_id, err);
}
