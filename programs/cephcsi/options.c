#include "programs/cephcsi/options.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/library_version.h"

static const struct options DEFAULTS = {
    .endpoint = "unix:///tmp/csi.sock",
    .driver_namespace = "default",
    .instance_id = "default",
    .config_path = "/etc/ceph-csi-config/config.json",
    .mapping_path = "/etc/ceph-csi-config/cluster-mapping.json",
    .keyring = "/etc/ceph/keyring",
    .run_dir = "/run/cephzone",
    .metrics_path = "/metrics",
    .takeover_via = "labels",
    .cephfs_path = "manager",
    .log_to_stderr = true,
    .enforce_topology = true,
    .metrics_port = 8080,
    .generator_port = -1,
    .poll_ms = 60000,
    .timeout_ms = 3000,
    .slow_call_ms = 30000,
    .drain_ms = 20000,
    .ceph_timeout_ms = 30000,
    .capacity_interval_ms = 30000,
    .hard_clone_depth = 8,
    .soft_clone_depth = 4,
    .max_snapshots = 450,
    .min_snapshots = 250,
};

#define LEGACY_BOOL(name, reason)                                                                  \
    {                                                                                              \
        (name), FLAG_IGNORED_BOOL, "false", (reason)                                               \
    }
#define LEGACY_VALUE(name, fallback, reason)                                                       \
    {                                                                                              \
        (name), FLAG_IGNORED_VALUE, (fallback), (reason)                                           \
    }

/* Flags that do nothing here, of this or other versions of Ceph-CSI, with their default there and
 * the reason. */
static const struct legacy_flag {
    const char *name;
    enum flag_kind kind;
    const char *fallback;
    const char *reason;
} LEGACY[] = {
    LEGACY_BOOL("enableprofiling", "there is no Go profiler"),
    LEGACY_BOOL("enablegrpcmetrics", "figures of calls are always among the metrics"),
    LEGACY_BOOL("skipforceflatten", "clones are always kept shallow"),
    LEGACY_BOOL("automaxprocs", "there is no Go scheduler"),
    LEGACY_BOOL("add_dir_header", "the log names files without folders"),
    LEGACY_BOOL("one_output", "there is one log, not one for each severity"),
    LEGACY_BOOL("skip_log_headers", "log files have no heading"),
    {"setmetadata", FLAG_IGNORED_BOOL, "true", "names are always written to images and subvolumes"},
    LEGACY_VALUE("feature-gates", "SlowGRPCRestart=true",
                 "there are none; a stuck call is logged, the process stays"),
    LEGACY_VALUE("histogramoption", "0.5,2,6", "buckets of the metrics are fixed"),
    LEGACY_VALUE("log_backtrace_at", ":0", "there are no backtraces"),
    LEGACY_VALUE("log_dir", "", "--log_file names the file"),
    LEGACY_VALUE("log_file_max_size", "1800", "logrotate keeps files small"),
    LEGACY_VALUE("metadatastorage", "", "volumes are described in Ceph alone"),
    LEGACY_VALUE("mountcachedir", "", "mounts are read from the kernel"),
    LEGACY_VALUE("pidlimit", "0",
                 "threads are few and bounded; the limit of the pod stays as it is"),
    LEGACY_VALUE("pluginpath", "/var/lib/kubelet/plugins", "the orchestrator names every path"),
    LEGACY_VALUE("stagingpath", "/var/lib/kubelet/plugins/kubernetes.io/csi/",
                 "the orchestrator names every path"),
    LEGACY_VALUE("stderrthreshold", "2", "there is one log, not one for each severity"),
    LEGACY_VALUE("vmodule", "", "--v counts for all files"),
};
_Static_assert(ARRAY_LENGTH(LEGACY) <= OPTIONS_IGNORED_MAX, "struct options has a value for each");

#define FLAGS_MAX 96

/* All flags of the program; the targets are members of one struct options. */
struct flag_table {
    struct flag flags[FLAGS_MAX];
    size_t count;
};

static void add_flags(struct flag_table *table, const struct flag *flags, size_t count)
{
    assert(table->count + count <= FLAGS_MAX);
    memcpy(&table->flags[table->count], flags, count * sizeof(*flags));
    table->count += count;
}

/* What is served, and where it finds its surroundings. */
static void add_service_flags(struct options *o, struct flag_table *table)
{
    const struct flag flags[] = {
        {"type", FLAG_STRING, &o->type, "TYPE", "what to run: rbd, cephfs, liveness or controller"},
        {"endpoint", FLAG_STRING, &o->endpoint, "URL", "CSI socket, unix:///path"},
        {"csi-addons-endpoint", FLAG_STRING, &o->addons_endpoint, NULL,
         "socket for the sidecar of csi-addons, which fences; none if empty"},
        {"drivername", FLAG_STRING, &o->driver_name, NULL, "name of the driver"},
        {"drivernamespace", FLAG_STRING, &o->driver_namespace, NULL,
         "controller: namespace of the Lease that elects one of several"},
        {"nodeid", FLAG_STRING, &o->node_id, NULL, "name of this node"},
        {"controllerserver", FLAG_BOOL, &o->controller_server, NULL, "serve the controller"},
        {"nodeserver", FLAG_BOOL, &o->node_server, NULL, "serve the node"},
        {"instanceid", FLAG_STRING, &o->instance_id, NULL,
         "suffix of the journal's directories, to keep several drivers in one pool apart"},
        {"clustername", FLAG_STRING, &o->cluster_name, NULL,
         "name of the Kubernetes cluster, written to images and subvolumes"},
        {"enable-fencing", FLAG_BOOL, &o->fencing, NULL,
         "fence a node with the taint out-of-service when volumes are detached from it"},
        {"configpath", FLAG_STRING, &o->config_path, "FILE", "config.json"},
        {"clustermapping", FLAG_STRING, &o->mapping_path, "FILE",
         "cluster-mapping.json: where volumes are after a failover; need not exist"},
        {"radosnamespacecephfs", FLAG_STRING, &o->cephfs_namespace, NULL,
         "RADOS namespace of CephFS' journal where config.json names none; csi if empty"},
        {"keyring", FLAG_STRING, &o->keyring, "FILE",
         "Ceph keyring for calls that carry no secrets, such as ListVolumes"},
        {"topology", FLAG_BOOL, &o->topology, NULL,
         "cephfs: volumes have places; implied by --domainlabels, rbd's always have them"},
        {"domainlabels", FLAG_STRING, &o->domain_labels, "LABELS",
         "labels of the node that define its place, outermost first: LABEL,LABEL"},
        {"domain-labels", FLAG_STRING, &o->domain_labels, "LABELS",
         "the same flag, as the design of Ceph-CSI's topology spells it: LABEL;LABEL"},
        {"orchestrator", FLAG_STRING, &o->orchestrator, NULL,
         "kubernetes: who knows the labels of this node, unless they are given by hand"},
        {"enforce-topology", FLAG_BOOL, &o->enforce_topology, NULL,
         "node: refuse to stage volumes that are pinned to places which this node does not serve"},
        {"node-labels", FLAG_STRING, &o->node_labels, "LABELS",
         "the labels of this node, given by hand: LABEL=VALUE,LABEL=VALUE"},
        {"node-labels-file", FLAG_STRING, &o->node_labels_path, "FILE",
         "file with the labels of this node: lines LABEL=VALUE or a JSON object"},
        {"kubeconfig", FLAG_STRING, &o->kubeconfig, "FILE",
         "how to reach the Kubernetes API; in a pod its service account is used"},
        {"registration-dir", FLAG_STRING, &o->registration_dir, "DIR",
         "kubelet's plugins_registry, to register there without node-driver-registrar"},
        {"kubelet-registration-path", FLAG_STRING, &o->registration_path, "PATH",
         "the CSI socket as the host sees it, for --registration-dir; else that of --endpoint"},
        {"max-volumes-per-node", FLAG_INT, &o->max_volumes_per_node, "COUNT",
         "how many volumes a node accepts; 0: the orchestrator decides"},
        {"takeover-file", FLAG_STRING, &o->takeover_path, "FILE",
         "map of failed domains to those that take over; need not exist"},
        {"takeover-via", FLAG_STRING, &o->takeover_via, "labels|nodeinfo",
         "who reports that a node takes over: the controller by labels, or NodeGetInfo"},
        {"enable-read-affinity", FLAG_BOOL, &o->read_affinity, NULL,
         "read from the nearest replica, for clusters that have readAffinity enabled"},
        {"crush-location-labels", FLAG_STRING, &o->crush_location_labels, "LABELS",
         "labels of the node that are its CRUSH location: LABEL,LABEL"},
    };

    add_flags(table, flags, ARRAY_LENGTH(flags));
}

/* How volumes are handled; liveness; the log. */
static void add_volume_flags(struct options *o, struct flag_table *table)
{
    const struct flag flags[] = {
        {"kubeletdir", FLAG_STRING, &o->kubelet_dir, "DIR",
         "kubelet's folder, if links lead to it; below it no link is followed"},
        {"rundir", FLAG_STRING, &o->run_dir, "DIR",
         "folder for exports of the fuse mapper and for keys of programs"},
        {"mounter", FLAG_STRING, &o->mounter, "NAME",
         "for classes that name none: rbd (the default), rbd-nbd or another mapper of images; for "
         "CephFS kernel or fuse, by default what is available"},
        {"forcecephkernelclient", FLAG_BOOL, &o->force_kernel_client, NULL,
         "CephFS: mount with the kernel's client even if it is too old to enforce quotas"},
        {"kernelmountoptions", FLAG_STRING, &o->kernel_mount_options, "OPTIONS",
         "CephFS: options for the kernel's client, for clusters that name none in config.json"},
        {"fusemountoptions", FLAG_STRING, &o->fuse_mount_options, "OPTIONS",
         "CephFS: options for ceph-fuse, for clusters that name none in config.json"},
        {"cephfs-path", FLAG_STRING, &o->cephfs_path, "auto|direct|manager",
         "CephFS: who works on subvolumes: libcephfs (direct), Ceph's manager, or libcephfs as far "
         "as the user's rights reach (auto)"},
        {"rbdhardmaxclonedepth", FLAG_UINT, &o->hard_clone_depth, NULL,
         "length of a chain of clones that must be flattened before it may grow"},
        {"rbdsoftmaxclonedepth", FLAG_UINT, &o->soft_clone_depth, NULL,
         "length of a chain of clones from which on images are flattened in the background"},
        {"maxsnapshotsonimage", FLAG_UINT, &o->max_snapshots, NULL,
         "how many snapshots an image may have"},
        {"minsnapshotsonimage", FLAG_UINT, &o->min_snapshots, NULL,
         "number of snapshots of an image from which on the oldest are detached in the background"},
        {"cephtimeout", FLAG_DURATION, &o->ceph_timeout_ms, NULL,
         "how long one operation may wait for Ceph before the call fails and can be repeated"},
        {"capacity-interval", FLAG_DURATION, &o->capacity_interval_ms, NULL,
         "how old the free-space figures may be that choose pools and are reported as capacity"},
        {"publish-capacity", FLAG_BOOL, &o->publish_capacity, NULL,
         "maintain CSIStorageCapacity objects, where csi-provisioner does not"},
        {"draintimeout", FLAG_DURATION, &o->drain_ms, NULL,
         "how long running calls may take after SIGTERM"},
        {"logslowopinterval", FLAG_DURATION, &o->slow_call_ms, NULL,
         "how often to log a slow call; 0 for never"},
        {"metricsport", FLAG_INT, &o->metrics_port, "PORT", "liveness: HTTP port"},
        {"generator-metricsport", FLAG_INT, &o->generator_port, "PORT",
         "controller: HTTP port of its metrics and /readyz; -1: none, 0: any"},
        {"metricspath", FLAG_STRING, &o->metrics_path, "PATH", "liveness: path of the metrics"},
        {"polltime", FLAG_DURATION, &o->poll_ms, NULL, "liveness: time between two probes"},
        {"timeout", FLAG_DURATION, &o->timeout_ms, NULL, "liveness: time for one probe"},
        {"v", FLAG_INT, &o->verbosity, "LEVEL",
         "verbosity: 1 default, 2 useful, 3 calls, 4 debug, 5 requests and answers"},
        {"logtostderr", FLAG_BOOL, &o->log_to_stderr, NULL, "log to stderr"},
        {"alsologtostderr", FLAG_BOOL, &o->also_log_to_stderr, NULL,
         "log to stderr as well as to --log_file"},
        {"log_file", FLAG_STRING, &o->log_file, "FILE", "log to this file"},
        {"skip_headers", FLAG_BOOL, &o->skip_headers, NULL,
         "leave time and source line out of the log"},
        {"version", FLAG_BOOL, &o->version, NULL, "print the version and exit"},
    };

    add_flags(table, flags, ARRAY_LENGTH(flags));
}

static void add_legacy_flags(struct options *o, struct flag_table *table)
{
    for (size_t i = 0; i < ARRAY_LENGTH(LEGACY); i++) {
        const struct flag flag = {LEGACY[i].name, LEGACY[i].kind, &o->ignored[i], NULL,
                                  LEGACY[i].reason};

        add_flags(table, &flag, 1);
    }
}

static void fill_table(struct options *o, struct flag_table *table)
{
    add_service_flags(o, table);
    add_volume_flags(o, table);
    add_legacy_flags(o, table);
}

static int parse_flags(struct options *o, int argc, char **argv)
{
    struct flag_table table = {0};
    _cleanup_error_ struct error err = {0};
    int next = 0;

    fill_table(o, &table);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        printf("Usage: %s --type=TYPE [flags]\n", argv[0]);
        flags_print_usage(stdout, table.flags, table.count);
        return 0;
    }
    if (flags_parse(table.flags, table.count, argc, argv, &next, &err) < 0) {
        struct options defaults = DEFAULTS;

        fprintf(stderr, "%s\nUsage of %s:\n", err.message, argv[0]);
        *o = defaults; /* the table points into @o: show defaults, not what was read so far */
        flags_print_usage(stderr, table.flags, table.count);
        return 2;
    }
    return -1;
}

static void print_version(void)
{
    struct utsname machine;

    uname(&machine);
    /* Rook up to 1.14 looks for the first vN.N.N */
    printf("Cephcsi Version: v%s\nGit Commit: %s\nGo Version: none\nCompiler: %s\n"
           "Platform: linux/%s\nKernel: %s\nCeph libraries: %s\n",
           CEPHZONE_VERSION, CEPHZONE_COMMIT, __VERSION__, machine.machine, machine.release,
           ceph_library_version());
}

/* A DNS-1123 subdomain of at most 63 characters, after lower-casing. */
static bool driver_name_is_valid(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++) {
        bool inner = (name[i] == '-' || name[i] == '.') && i > 0 && i + 1 < length;

        if (!isalnum((unsigned char)name[i]) && !inner)
            return false;
    }
    return length > 0 && length <= 63;
}

enum cephfs_path options_cephfs_path(const struct options *options)
{
    if (strcmp(options->cephfs_path, "auto") == 0)
        return CEPHFS_AUTO;
    return strcmp(options->cephfs_path, "direct") == 0 ? CEPHFS_DIRECT : CEPHFS_BY_MANAGER;
}

static const char *check_limits(const struct options *o)
{
    if (options_cephfs_path(o) == CEPHFS_BY_MANAGER && strcmp(o->cephfs_path, "manager") != 0)
        return "--cephfs-path must be auto, direct or manager";
    if (o->hard_clone_depth < 1 || o->hard_clone_depth > 14)
        return "--rbdhardmaxclonedepth must be 1 to 14";
    if (o->soft_clone_depth > o->hard_clone_depth)
        return "--rbdsoftmaxclonedepth must not be above --rbdhardmaxclonedepth";
    if (o->max_snapshots < 1 || o->max_snapshots > 500)
        return "--maxsnapshotsonimage must be 1 to 500";
    if (o->min_snapshots > o->max_snapshots)
        return "--minsnapshotsonimage must not be above --maxsnapshotsonimage";
    return NULL;
}

static const char *check_node(const struct options *o)
{
    if (o->node_labels[0] != '\0' && o->node_labels_path[0] != '\0')
        return "--node-labels and --node-labels-file exclude each other";
    if (o->orchestrator[0] != '\0' && strcmp(o->orchestrator, "kubernetes") != 0)
        return "--orchestrator: only kubernetes can be asked for the labels of a node; elsewhere "
               "give them by --node-labels or --node-labels-file";
    if (strcmp(o->takeover_via, "labels") != 0 && strcmp(o->takeover_via, "nodeinfo") != 0)
        return "--takeover-via must be labels or nodeinfo";
    if (o->registration_dir[0] != '\0' && o->registration_dir[0] != '/')
        return "--registration-dir must be an absolute path";
    if (o->registration_path[0] != '\0' && o->registration_path[0] != '/')
        return "--kubelet-registration-path must be an absolute path";
    if (o->max_volumes_per_node < 0)
        return "--max-volumes-per-node must not be negative";
    return NULL;
}

/* What may run, the name of a driver that was given none, and why it cannot run here. */
static const struct type {
    const char *name;
    const char *driver_name;
    const char *refusal;
} TYPES[] = {
    {"rbd", "rbd.csi.ceph.com", NULL},
    {"cephfs", "cephfs.csi.ceph.com", NULL},
    {"liveness", "liveness.csi.ceph.com", NULL},
    {"controller", "controller.csi.ceph.com", NULL},
    {"nfs", NULL,
     "--type=nfs: NFS exports are not served by this driver; leave the deployment of the "
     "nfs driver with Ceph-CSI's image, or disable it"},
    {"nvmeof", NULL,
     "--type=nvmeof: NVMe-oF is not served by this driver; leave the deployment of the nvmeof "
     "driver with Ceph-CSI's image, or disable it"},
};

static const char *check_type(struct options *o)
{
    if (o->type[0] == '\0')
        return "--type is missing: rbd, cephfs, liveness or controller";
    for (size_t i = 0; i < ARRAY_LENGTH(TYPES); i++) {
        if (strcmp(o->type, TYPES[i].name) != 0)
            continue;
        if (o->driver_name[0] == '\0' && TYPES[i].driver_name)
            o->driver_name = TYPES[i].driver_name;
        return TYPES[i].refusal;
    }
    return "--type: only rbd, cephfs, liveness and controller are known";
}

static const char *check_options(struct options *o)
{
    const char *type_fault = check_type(o);

    if (type_fault)
        return type_fault;
    bool is_cephfs = strcmp(o->type, "cephfs") == 0;
    if (is_cephfs && !o->controller_server && !o->node_server) /* as Ceph-CSI: both */
        o->controller_server = o->node_server = true;
    if (!driver_name_is_valid(o->driver_name))
        return "--drivername must be a DNS name of at most 63 characters";
    if ((is_cephfs || strcmp(o->type, "rbd") == 0) && o->node_id[0] == '\0')
        return "--nodeid is missing";
    if (o->instance_id[0] == '\0')
        return "--instanceid is empty";
    if (o->metrics_port < 0 || o->metrics_port > 65535)
        return "--metricsport is not a port";
    if (o->generator_port < -1 || o->generator_port > 65535)
        return "--generator-metricsport is not a port";
    if (o->poll_ms <= 0 || o->timeout_ms <= 0)
        return "--polltime and --timeout must be positive";
    if (o->capacity_interval_ms <= 0)
        return "--capacity-interval must be positive";
    const char *fault = check_node(o);
    return fault ? fault : check_limits(o);
}

int options_read(struct options *options, int argc, char **argv)
{
    *options = DEFAULTS;
    int code = parse_flags(options, argc, argv);

    if (code >= 0)
        return code;
    if (options->version) {
        print_version();
        return 0;
    }
    const char *fault = check_options(options);
    if (fault) {
        fprintf(stderr, "%s: %s\n", argv[0], fault);
        return 1;
    }
    return -1;
}

/* An empty value asks for nothing. */
static bool is_default(const struct legacy_flag *flag, const char *value)
{
    _cleanup_error_ struct error err = {0};
    bool is_set = false;

    if (flag->kind == FLAG_IGNORED_BOOL && text_parse_bool(value, &is_set, &err) == 0)
        return is_set == (strcmp(flag->fallback, "true") == 0);
    return value[0] == '\0' || strcmp(value, flag->fallback) == 0;
}

static void report_ignored(const struct options *options, option_report_fn *report, void *context)
{
    for (size_t i = 0; i < ARRAY_LENGTH(LEGACY); i++) {
        const char *value = options->ignored[i];

        if (value && !is_default(&LEGACY[i], value)) {
            _cleanup_free_ char *flag = xasprintf("--%s=%s", LEGACY[i].name, value);

            report(context, OPTION_IGNORED, flag, LEGACY[i].reason);
        }
    }
}

static void warn_of_option(void *context, enum option_use use, const char *flag, const char *reason)
{
    (void)context;
    (void)use;
    log_warn(NULL, "flag %s has no effect: %s", flag, reason);
}

void options_warn_of_ignored(const struct options *options)
{
    report_ignored(options, warn_of_option, NULL);
}

/* Reads the flag at argv[1], with the next word if it needs one as its value; returns how many
 * words that are. */
static int read_one(const struct flag_table *table, int argc, char **argv, struct error *err)
{
    int next = 0;

    if (flags_parse(table->flags, table->count, 2, argv, &next, err) == 0)
        return 1;
    if (argc < 3 || strchr(argv[1], '='))
        return 1;
    _cleanup_error_ struct error alone = {0};
    error_move(&alone, err);
    if (flags_parse(table->flags, table->count, 3, argv, &next, err) == 0)
        return 2;
    error_clear(err);
    error_move(err, &alone);
    return argv[2][0] == '-' ? 1 : 2;
}

/* Each flag by itself, so that one that is refused does not hide the others. */
static void read_one_by_one(const struct flag_table *table, int argc, char **argv,
                            option_report_fn *report, void *context)
{
    int at = 1;

    while (at < argc) {
        _cleanup_error_ struct error err = {0};
        const char *flag = argv[at];

        if (flag[0] != '-')
            error_set(&err, STATUS_INVALID_ARGUMENT, "it is no flag; what follows is not read");
        else
            at += read_one(table, argc - at + 1, &argv[at - 1], &err) - 1;
        if (err.message)
            report(context, OPTION_REFUSED, flag, err.message);
        at++;
    }
}

void options_judge(struct options *options, int argc, char **argv, option_report_fn *report,
                   void *context)
{
    struct flag_table table = {0};
    _cleanup_error_ struct error err = {0};
    int next = 0;

    *options = DEFAULTS;
    fill_table(options, &table);
    /* no flag yet: "" where there is no default */
    if (flags_parse(table.flags, table.count, 1, argv, &next, &err) < 0)
        return;
    read_one_by_one(&table, argc, argv, report, context);
    const char *fault = check_options(options);
    if (fault)
        report(context, OPTION_REFUSED, "", fault);
    report_ignored(options, report, context);
}
