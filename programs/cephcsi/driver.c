#include "programs/cephcsi/driver.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/metrics.h"
#include "common/base/tasks.h"
#include "common/config/config.h"
#include "common/config/keyring.h"
#include "common/linux/host.h"
#include "common/linux/key_file.h"
#include "common/rpc/endpoint.h"
#include "common/rpc/server.h"
#include "common/usage/usage_cache.h"
#include "common/volume/identity.h"
#include "common/volume/operations.h"
#include "controller/attach/node_fencing.h"
#include "controller/backend.h"
#include "controller/rbd/purge.h"
#include "controller/service.h"
#include "node/backend.h"
#include "node/pod_limits.h"
#include "node/staged_users.h"
#include "node/volumes.h"
#include "programs/cephcsi/driver_addons.h"
#include "programs/cephcsi/driver_controller.h"
#include "programs/cephcsi/driver_kube.h"
#include "programs/cephcsi/driver_node.h"
#include "programs/cephcsi/driver_server.h"

/* More than the pools' own limits together, so that one slow pool leaves workers for others. */
#define WORKERS 128
/* Background work: enough to keep up, few enough to leave the cluster to the calls. */
#define TASK_THREADS 4
#define TASKS_STOP_MS 5000
#define PURGE_QUIET_MS 200
#define LISTING_AGE_MS 300000
/* A little more than the 30 s after which Ceph forgets a client that died. */
#define WATCHER_WAIT_MS 40000
#define DEVICE_WAIT_MS 10000
#define RECOVERY_MS 60000
#define REVIVAL_MS 600000
#define REVIVAL_PAUSE_MS 1000
#define REVIVAL_PAUSE_MAX_MS 30000
#define REFRESH_MS 600000
#define REFRESH_PAUSE_MS 60000
#define FUSE_WAIT_MS 30000
#define MOUNT_INFO_FOLDER "mountinfo"

struct driver {
    struct metrics *metrics;
    struct config_file *config;
    struct driver_kube kube;
    struct ceph *ceph;
    char *instance; /* for the metadata servers */
    struct operations *operations;
    struct tasks *tasks;
    struct purger *purger;
    atomic_uint clone_waiters;
    struct usage_cache *usage;
    struct subvolume_source subvolumes;
    struct standing_credentials *standing;
    struct controller controller;
    struct node_fencing fencing;
    struct own_fence own_fence;
    struct driver_node place;
    struct driver_controller own; /* what the controller role does by itself */
    struct host *host;
    char *mount_info_dir;
    struct node_volumes volumes;
    struct identity identity;
    struct driver_addons addons;
    struct rpc_server *server;
};

static void report_cluster(void *object, const char *cluster_id, bool healthy, const char *message,
                           time_t since)
{
    _cleanup_free_ char *subject = xasprintf("cluster %s", cluster_id);

    health_add(object, subject, healthy, message, since);
}

static void report_health(void *object, struct health_sink *sink)
{
    struct driver *driver = object;
    _cleanup_free_ char *message = NULL;
    _cleanup_free_ char *subject = xasprintf("file %s", config_file_path(driver->config));
    time_t since = 0;
    bool healthy = config_file_is_healthy(driver->config, &message, &since);

    health_add(sink, subject, healthy, message, since);
    driver_node_report(&driver->place, sink);
    driver_controller_report(&driver->own, sink);
    ceph_report(driver->ceph, report_cluster, sink);
}

static bool serves_cephfs(const struct options *options)
{
    return strcmp(options->type, "cephfs") == 0;
}

/* For calls without secrets. */
static struct standing_credentials *make_standing(const struct driver *driver,
                                                  const struct options *options)
{
    const char *keyring = options->keyring;
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_error_ struct error err = {0};
    bool found = false;

    if (keyring_read(keyring, &credentials, &found, &err) < 0)
        log_warn(NULL, "calls without secrets go without a keyring: %s", err.message);
    else if (found)
        log_info(NULL, "client.%s of '%s' serves calls without secrets", credentials.user, keyring);
    return standing_credentials_new(&(struct standing_credentials_options){
        .kube = driver->kube.kube,
        .config = driver->config,
        .keyring = &credentials,
        .is_cephfs = serves_cephfs(options),
    });
}

/* Beside the socket, where Ceph-CSI has it: in the plugin's folder on the host. Caller frees. */
static char *mount_info_dir(const struct options *options)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *socket = NULL;

    if (endpoint_parse(options->endpoint, &socket, &err) < 0)
        return xasprintf("%s/" MOUNT_INFO_FOLDER, options->run_dir);
    *strrchr(socket, '/') = '\0';
    return xasprintf("%s/" MOUNT_INFO_FOLDER, socket);
}

static void init_volumes(struct driver *driver, const struct options *options,
                         struct host *(*make_host)(const char *kubelet_dir, const char *key_dir))
{
    _cleanup_free_ char *key_dir = xasprintf("%s/" KEY_FOLDER, options->run_dir);

    driver->host = make_host(options->kubelet_dir, key_dir);
    driver->mount_info_dir = mount_info_dir(options);
    driver->volumes = (struct node_volumes){
        .info = driver->place.info,
        .backend = serves_cephfs(options) ? &CEPHFS_NODE_BACKEND : &RBD_NODE_BACKEND,
        .ceph = driver->ceph,
        .config = driver->config,
        .operations = driver->operations,
        .mappers = {driver->host, options->run_dir},
        .io_checks = io_checks_new(driver->host),
        .works = host_works_new(driver->host),
        .kube = driver->kube.kube,
        .standing = driver->standing,
        .users = staged_users_new(),
        .limits = pod_limits_new(),
        .driver_name = options->driver_name,
        .node_id = options->node_id,
        .instance_id = options->instance_id,
        .mapping_path = options->mapping_path,
        .read_affinity = &driver->place.read_affinity,
        .default_mounter = options->mounter,
        .enforces_places = options->enforce_topology,
        .watcher_wait_ms = WATCHER_WAIT_MS,
        .device_wait_ms = DEVICE_WAIT_MS,
        .cephfs = {.mount_info_dir = driver->mount_info_dir,
                   .rados_namespace = options->cephfs_namespace,
                   .kernel_options = options->kernel_mount_options,
                   .fuse_options = options->fuse_mount_options,
                   .force_kernel = options->force_kernel_client,
                   .fuse_wait_ms = FUSE_WAIT_MS},
    };
}

/* Devices and mounts whose process died, and records of clients. It may take long in Ceph, and the
 * API server, which has the Secrets, may be away as long as the node is not ready: calls do not
 * wait for it. */
static int revive_volumes(void *object, struct call *call, struct error *err)
{
    const struct driver *driver = object;
    struct backoff backoff = BACKOFF_INIT(REVIVAL_PAUSE_MS, REVIVAL_PAUSE_MAX_MS);
    _cleanup_strmap_ struct strmap recorded = {0};

    call->deadline = deadline_earlier(call->deadline, deadline_in_ms(REVIVAL_MS));
    for (;;) {
        size_t dead = node_revive(&driver->volumes, call);
        size_t open = node_record_clients(&driver->volumes, call, &recorded);

        if (dead + open == 0)
            return 0;
        if (call_pause(call, backoff_next_ms(&backoff), err) < 0)
            return error_wrap(err,
                              "%zu volumes still have no process that serves them, and %zu may "
                              "have no record of this node",
                              dead, open);
    }
}

/* A changed VolumeAttributesClass takes effect on running pods after this time. */
static int refresh_volumes(void *object, struct call *call, struct error *err)
{
    const struct driver *driver = object;

    (void)err;
    call->deadline = deadline_in_ms(REFRESH_MS); /* of this run: the call is for all of them */
    node_refresh(&driver->volumes, call);
    task_come_back(call, REFRESH_PAUSE_MS);
    return 0;
}

static void release_nothing(void *object)
{
    (void)object;
}

/* Only nodes of a Kubernetes can be out of service. */
static void init_fencing(struct driver *driver, const struct options *options)
{
    driver->fencing =
        (struct node_fencing){driver->kube.kube, options->driver_name, driver->kube.name_space};
    if (!options->controller_server)
        return;
    if (options->fencing && driver->kube.kube)
        driver->controller.fencing = &driver->fencing;
    log_info(NULL, "fencing of nodes that are out of service is %s",
             driver->controller.fencing ? "on"
             : options->fencing         ? "off: there is no Kubernetes to ask for their taints"
                                        : "off (--enable-fencing)");
}

static void init_controller(struct driver *driver, const struct options *options)
{
    driver->controller = (struct controller){
        .backend = serves_cephfs(options) ? &CEPHFS_BACKEND : &RBD_BACKEND,
        .ceph = driver->ceph,
        .config = driver->config,
        .operations = driver->operations,
        .tasks = driver->tasks,
        .purger = driver->purger,
        .process_id = uuid_text_generate(),
        .mapping_path = options->mapping_path,
        .cephfs_namespace = options->cephfs_namespace,
        .clone_waiters = &driver->clone_waiters,
        .instance_id = options->instance_id,
        .cluster_name = options->cluster_name,
        .driver_name = options->driver_name,
        .levels = &driver->place.levels,
        .usage = driver->usage,
        .takeover = driver->place.takeover,
        .standing = driver->standing,
        .events = driver->kube.events,
        .limits = {(unsigned)options->hard_clone_depth, (unsigned)options->soft_clone_depth,
                   (unsigned)options->max_snapshots, (unsigned)options->min_snapshots},
    };
    driver->own.fences = (struct fences){driver->ceph, driver->config, driver->standing};
    driver->own.records = (struct client_records){
        .ceph = driver->ceph,
        .config = driver->config,
        .standing = driver->standing,
        .instance_id = options->instance_id,
        .mapping_path = options->mapping_path,
        .cephfs_namespace = options->cephfs_namespace,
        .is_cephfs = serves_cephfs(options),
    };
    init_fencing(driver, options);
    driver_controller_start(&driver->own, &driver->kube, options, driver->place.takeover,
                            &driver->controller, driver->metrics);
}

/* What no other process has that runs at the same time, and this one has again after a restart: the
 * host's name is that of the pod, in which the socket is one container's. Caller frees. */
static char *describe_instance(const struct options *options)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (gethostname(host, sizeof(host) - 1) < 0)
        log_warn(NULL, "this host has no name: %m");
    return xasprintf("%s %s %d%d %s %s", options->driver_name, options->type,
                     options->controller_server, options->node_server, options->endpoint, host);
}

static void driver_init(struct driver *driver, const struct options *options,
                        struct ceph *(*make_ceph)(const struct ceph_options *options),
                        struct host *(*make_host)(const char *kubelet_dir, const char *key_dir))
{
    process_metrics_register(driver->metrics);
    driver->operations = operations_new();
    driver->tasks = tasks_new(TASK_THREADS);
    driver->purger = purger_new(PURGE_QUIET_MS);
    purger_register(driver->purger, driver->tasks, driver->metrics);
    driver->instance = describe_instance(options);
    driver->ceph = make_ceph(&(struct ceph_options){
        .connect_timeout_ms = options->ceph_timeout_ms,
        .mon_op_timeout_ms = options->ceph_timeout_ms,
        .osd_op_timeout_ms = options->ceph_timeout_ms,
        .cephfs_path = options_cephfs_path(options),
        .instance = driver->instance,
    });
    metrics_register(driver->metrics,
                     &(struct metric_spec){METRIC_GAUGE, "csi_manager_modules_hanging",
                                           "Modules of Ceph managers that do not answer.",
                                           .read = ceph_hanging_modules, .context = driver->ceph});
    const bool is_cephfs = serves_cephfs(options);
    driver->subvolumes = (struct subvolume_source){options->instance_id, options->cephfs_namespace};
    driver->usage = usage_cache_new(&(struct usage_cache_options){
        .ceph = driver->ceph,
        .config = driver->config,
        .max_age_ms = options->capacity_interval_ms,
        .listing_age_ms = LISTING_AGE_MS,
        .subvolumes = is_cephfs ? &driver->subvolumes : NULL,
    });
    driver->standing = make_standing(driver, options);
    init_controller(driver, options);
    init_volumes(driver, options, make_host);
    driver->identity = (struct identity){
        .driver_name = options->driver_name,
        .version = CEPHZONE_VERSION,
        /* Ceph-CSI's CephFS driver never advertises it: only on request */
        .topology = !is_cephfs || options->domain_labels[0] || options->topology,
        .group_controller = true,
        .metrics = driver->metrics,
        .report = report_health,
        .report_object = driver,
    };
}

/* False if something hangs in Ceph and the process can only end by _exit(). */
static bool driver_done(struct driver *driver)
{
    driver_addons_done(&driver->addons);
    rpc_server_free(driver->server);
    tasks_free(driver->tasks);
    purger_free(driver->purger);
    usage_cache_free(driver->usage);
    operations_free(driver->operations);
    io_checks_free(driver->volumes.io_checks);
    host_works_free(driver->volumes.works);
    staged_users_free(driver->volumes.users);
    pod_limits_free(driver->volumes.limits);
    host_free(driver->host);
    free(driver->mount_info_dir);
    metrics_free(driver->metrics);
    standing_credentials_free(driver->standing);
    driver_node_done(&driver->place);
    driver_kube_done(&driver->kube);
    config_file_free(driver->config);
    if (!ceph_free(driver->ceph))
        return false;
    free(driver->instance);
    return true;
}

static int start_serving(struct driver *driver, const struct options *options, struct error *err)
{
    const bool is_controller = options->controller_server;
    const bool is_node = options->node_server;
    const struct driver_service services[] = {
        {identity_service(&driver->identity), true},
        {health_service(&driver->identity), true},
        {controller_volume_service(&driver->controller), is_controller},
        {controller_snapshot_service(&driver->controller), is_controller},
        {controller_group_service(&driver->controller), is_controller},
        {node_service(&driver->volumes), is_node},
    };
    const struct driver_server_plan plan = {
        options->endpoint, WORKERS, driver->metrics, "csi", services, ARRAY_LENGTH(services)};

    if (is_node) {
        struct call call;

        call_init(&call, 0, "recovery", deadline_in_ms(RECOVERY_MS));
        node_recover(&driver->volumes, &call);
        call_done(&call);
    }
    if (driver_server_new(&plan, options, &driver->server, err) < 0)
        return -1;
    driver->own_fence = (struct own_fence){driver->host, driver->kube.kube, options->driver_name,
                                           driver->kube.name_space};
    const struct driver_addons_parts parts = {
        {driver->ceph, driver->config, is_node && options->fencing ? &driver->own_fence : NULL},
        &driver->controller,
        &driver->volumes,
        driver->metrics};
    if (driver_addons_start(&driver->addons, options, &parts, err) < 0)
        return -1;
    return rpc_server_start(driver->server, err);
}

static bool drain_driver(struct driver *driver)
{
    bool addons_ended = driver_addons_drain(&driver->addons);

    if (!rpc_server_drain(driver->server) || !addons_ended)
        return false;
    /* its metrics are not read any more, and it uses what is freed next */
    driver_controller_done(&driver->own);
    return true;
}

int driver_run(const struct options *options, const sigset_t *signals,
               struct ceph *(*make_ceph)(const struct ceph_options *options),
               struct host *(*make_host)(const char *kubelet_dir, const char *key_dir))
{
    static const struct task_kind revival = {
        .run = revive_volumes, .release = release_nothing, .name = "revive"};
    static const struct task_kind refreshing = {
        .run = refresh_volumes, .release = release_nothing, .name = "refresh"};
    _cleanup_error_ struct error err = {0};
    struct driver driver = {0};
    int signal_number = 0;

    driver.metrics = metrics_new();
    driver.config = config_file_new(options->config_path);
    if (driver_kube_init(&driver.kube, options, driver.metrics, &err) < 0 ||
        driver_node_init(&driver.place, options, driver.config, &driver.kube, driver.metrics,
                         &err) < 0) {
        log_error(NULL, "cannot start: %s", err.message);
        metrics_free(driver.metrics);
        driver_node_done(&driver.place);
        driver_kube_done(&driver.kube);
        config_file_free(driver.config);
        return 1;
    }
    driver_init(&driver, options, make_ceph, make_host);
    if (start_serving(&driver, options, &err) < 0) {
        log_error(NULL, "cannot serve '%s': %s", options->endpoint, err.message);
        return 1;
    }
    log_info(NULL, "listening on '%s'", options->endpoint);
    if (options->node_server) {
        tasks_start(driver.tasks, "revive", &revival, &driver);
        tasks_start(driver.tasks, "refresh", &refreshing, &driver);
    }
    if (driver.place.registrar)
        registrar_start(driver.place.registrar);
    sigwait(signals, &signal_number);
    log_info(NULL, "got %s, draining", sigabbrev_np(signal_number));
    if (driver.place.registrar)
        registrar_stop(driver.place.registrar);
    if (!drain_driver(&driver) || !tasks_stop(driver.tasks, TASKS_STOP_MS) ||
        !usage_cache_stop(driver.usage, TASKS_STOP_MS) || !driver_done(&driver)) {
        /* All state is in Ceph: the retry continues the call, the next start the task. */
        log_warn(NULL, "something still waits for Ceph; leaving it");
        _exit(0);
    }
    log_info(NULL, "ended");
    return 0;
}
