#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/topology/takeover.h"

/*
 * config.json: the clusters that the driver may use, in Ceph-CSI's form (an array) or in version 2
 * form (an object with the array under "clusters"). Unknown keys are ignored and case does not
 * matter, as in Go. A file with a clusterID that no volume handle can carry is broken: empty or
 * missing, longer than 64 bytes, with a slash or a control character.
 *
 * The file is watched (watched_file.h): it is read again when it has changed, and while it is
 * broken the last good version stays in force. Any thread; each use costs one stat().
 */
struct secret_ref {
    char *name;
    char *namespace_name;
};

struct rbd_config {
    char *rados_namespace;
    int64_t mirror_daemon_count;
    char *net_namespace_path;
    struct secret_ref controller_secret;
    struct secret_ref node_secret; /* for NodePublishVolume and what follows it */
};

struct cephfs_config {
    char *subvolume_group;
    char *rados_namespace;
    char *net_namespace_path;
    char *kernel_mount_options;
    char *fuse_mount_options;
    struct secret_ref controller_secret;
};

struct read_affinity_config {
    bool enabled;
    struct string_list crush_location_labels;
};

struct cluster_config {
    char *cluster_id;
    struct string_list monitor_list;
    char *monitors; /* the list joined with commas */
    struct rbd_config rbd;
    struct cephfs_config cephfs;
    struct read_affinity_config read_affinity;
};

struct config_file;
struct config;
struct watched_version;

/* @path is copied; the file need not exist yet. */
struct config_file *config_file_new(const char *path);
void config_file_free(struct config_file *file);
DEFINE_CLEANUP(struct config_file, config_file_free)

/*
 * The newest good version; release it with config_unref(). UNAVAILABLE when there has never been
 * one: the file may be fixed before a retry, so the failure must not look final.
 */
_must_check_ int config_file_get(struct config_file *file, struct config **config,
                                 struct error *err);
void config_unref(struct config *config);
DEFINE_CLEANUP(struct config, config_unref)
#define _cleanup_config_ _cleanup_(config_unrefp)
/* One more reference, as one to a watched version; release it with watched_version_unref(). */
struct watched_version *config_hold(struct config *config);

/* For iterating over the clusters. Ids are borrowed. */
size_t config_cluster_count(const struct config *config);
const char *config_cluster_id(const struct config *config, size_t index);

/* The first cluster with that id. Borrowed from @config. INVALID_ARGUMENT, naming the ids that
 * there are, if none has it or if it lists no monitors. */
_must_check_ int config_find_cluster(const struct config *config, const char *cluster_id,
                                     const struct cluster_config **cluster, struct error *err);

#define CONFIG_TAKEOVER_KEY "topology-takeover"

/* The takeover map of the version 2 form, empty if there is none. Borrowed from @config. NULL, with
 * the reason in *@fault (borrowed as well), if it is broken; the clusters are good nevertheless. */
const struct takeover_map *config_takeover(const struct config *config, const char **fault);

/* For the health report: false, with the reason in @message (caller frees, "" if healthy), when the
 * file in its present state cannot be used. *@since is when that state began. */
bool config_file_is_healthy(struct config_file *file, char **message, time_t *since);
const char *config_file_path(const struct config_file *file);
