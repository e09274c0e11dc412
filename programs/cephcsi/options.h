#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/ceph/ceph_ops.h"

/*
 * The driver's command line. Names, kinds and defaults are those of Ceph-CSI, so that a deployment
 * made for it works unchanged; flags of other versions are accepted and ignored.
 */
#define OPTIONS_IGNORED_MAX 32

struct options {
    const char *type;
    const char *endpoint;
    const char *addons_endpoint;
    const char *driver_name;
    const char *driver_namespace;
    const char *node_id;
    const char *cluster_name;
    const char *instance_id;
    const char *config_path;
    const char *mapping_path;
    const char *cephfs_namespace;
    const char *keyring;
    const char *kubelet_dir;
    const char *run_dir;
    const char *mounter;
    const char *kernel_mount_options;
    const char *fuse_mount_options;
    const char *cephfs_path;
    const char *metrics_path;
    const char *log_file;
    const char *domain_labels;
    const char *orchestrator;
    bool enforce_topology;
    bool topology; /* without labels too, which a controller need not have */
    const char *node_labels;
    const char *node_labels_path;
    const char *kubeconfig;
    const char *registration_dir;
    const char *registration_path;
    const char *takeover_path;
    const char *takeover_via;
    const char *crush_location_labels;
    bool force_kernel_client;
    bool read_affinity;
    bool publish_capacity;
    bool controller_server;
    bool node_server;
    bool fencing;
    bool version;
    bool log_to_stderr;
    bool also_log_to_stderr;
    bool skip_headers;
    int64_t verbosity;
    int64_t metrics_port;
    int64_t generator_port;
    int64_t poll_ms;
    int64_t timeout_ms;
    int64_t slow_call_ms;
    int64_t drain_ms;
    int64_t ceph_timeout_ms;
    int64_t capacity_interval_ms;
    uint64_t hard_clone_depth;
    uint64_t soft_clone_depth;
    uint64_t max_snapshots;
    uint64_t min_snapshots;
    int64_t max_volumes_per_node;
    const char *ignored[OPTIONS_IGNORED_MAX]; /* values of flags that do nothing; NULL: not given */
};

/*
 * Reads and checks; prints usage, version or the fault by itself. Returns -1 to go on, else the
 * code to exit with: 0 after --help and --version, 1 for a bad setting, 2 for a bad flag.
 */
int options_read(struct options *options, int argc, char **argv);

/* What this driver does with a flag of a container that was written for Ceph-CSI. */
enum option_use { OPTION_USED, OPTION_IGNORED, OPTION_REFUSED };
/* @flag is "--name=value" as far as it is known, "" if the line as a whole is at fault. Borrowed.
 */
typedef void option_report_fn(void *context, enum option_use use, const char *flag,
                              const char *reason);

/*
 * Reads a command line as the driver would, and reports, where the driver would end or warn: flags
 * that it refuses, what is wrong with the whole, and flags without effect that have another value
 * than Ceph-CSI's default. @options is what is left, and points into @argv. Prints nothing.
 */
void options_judge(struct options *options, int argc, char **argv, option_report_fn *report,
                   void *context);

enum cephfs_path options_cephfs_path(const struct options *options);

/* One warning for each flag that was given, with another value than Ceph-CSI's default, and does
 * nothing. */
void options_warn_of_ignored(const struct options *options);
