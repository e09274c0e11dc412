/*
 * Shared connections. One rados_t per (cluster, monitors, user, key): a call with a wrong key never
 * gets one that was made with the right key. librados connects by blocking, so each attempt has a
 * thread of its own, and callers wait for its end on a condition, no longer than their deadline.
 *
 * A monitor address without "v1:" or "v2:" and with a port of its own makes librados try both
 * protocols in turn; a refused key then looks like an unreachable monitor until the time-out. So
 * such addresses are tried as v2 first, for a short while, which distinguishes the two.
 *
 * A client on the OSDs' blocklist cannot be used again. Such a connection is marked as fenced, no
 * call joins it any more, and it is closed when the last one has left.
 */
#include "common/ceph/connections.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/cephfs_mounts.h"
#include "common/ceph/cephx_key.h"
#include "common/ceph/library_version.h"
#include "common/ceph/workers.h"

#define FAILURE_KEPT_MS 1000 /* a storm of calls makes one attempt, not one each */
#define GRACE_MS 100         /* a first attempt that takes no longer is no trouble to report */
#define FIRST_TRY_MS 5000
#define SWEEP_MS 15000
#define STOP_MS 1000
#define STOP_MOUNTED_MS 5000 /* unmounting gives back what the metadata servers have granted */
#define DEFAULT_CONF "/etc/ceph/ceph.conf"
#define FSID_BYTES 37
#define BLOCKED_MAX 32 /* threads of one connection that wait for an answer */

enum connection_state { CONNECTION_CONNECTING, CONNECTION_READY, CONNECTION_FAILED };

struct connection {
    struct connection *next;
    struct connections *owner;
    char *cluster_id;
    char *monitors;
    char *user;
    struct secret key;
    bool manager; /* for manager commands: without rados_mon_op_timeout */
    bool fenced;
    enum connection_state state;
    unsigned refs;
    unsigned blocked; /* threads of connections_run() */
    rados_t rados;
    int64_t client; /* its id and fsid are the cluster's name for it, once it is ready */
    char fsid[FSID_BYTES];
    int failure; /* negative errno */
    int64_t changed_ms;
    int64_t used_ms;
    time_t since;
    struct workers workers;
    struct cephfs_mounts mounts;
};

struct connections {
    struct ceph_options options;
    struct session_names *names;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct connection *first;
    size_t count;
    unsigned threads; /* attempts under way, those of connections_run(), and the sweeper */
    bool stopping;
};

/* --- one attempt --- */

static void set_seconds(rados_t rados, const char *option, int64_t ms)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)((ms + 999) / 1000));
    rados_conf_set(rados, option, text);
}

static void set_connection_options(rados_t rados, const struct ceph_options *options,
                                   int64_t mount_ms, bool manager)
{
    static const char *const settings[][2] = {
        {"keyring", "/dev/null"}, /* the key comes with the call, from nowhere else */
        {"log_file", ""},
        {"log_to_stderr", "false"},
        {"err_to_stderr", "false"},
        {"admin_socket", ""},
        {"ms_async_op_threads", "2"},
        {"rbd_cache", "false"},         /* nothing is read or written here */
        {"rbd_validate_pool", "false"}, /* saves a round trip per image; the class names the pool */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
        rados_conf_set(rados, settings[i][0], settings[i][1]);
    set_seconds(rados, "client_mount_timeout", mount_ms);
    if (!manager)
        set_seconds(rados, "rados_mon_op_timeout", options->mon_op_timeout_ms);
    set_seconds(rados, "rados_osd_op_timeout", options->osd_op_timeout_ms);
}

static int connect_once(const struct connection *connection, const struct ceph_options *options,
                        const char *monitors, int64_t mount_ms, rados_t *rados)
{
    const char *conf = options->ceph_conf ? options->ceph_conf : DEFAULT_CONF;
    rados_t handle = NULL;
    int result = rados_create(&handle, connection->user);

    if (result < 0)
        return result;
    /* Reading any file, even an empty one, puts librados' log settings into effect; until then it
     * writes errors to stderr whatever they say. */
    rados_conf_read_file(handle, access(conf, R_OK) == 0 ? conf : "/dev/null");
    set_connection_options(handle, options, mount_ms, connection->manager);
    result = rados_conf_set(handle, "mon_host", monitors);
    if (result == 0)
        result = rados_conf_set(handle, "key", secret_reveal(&connection->key));
    if (result == 0)
        result = rados_connect(handle);
    /* Whoever needs the first osdmap waits for it inside librados, whatever his deadline; so it is
     * waited for here. Commands to the manager need none. */
    if (result == 0 && !connection->manager)
        result = rados_pool_list(handle, NULL, 0);
    if (result < 0) {
        rados_shutdown(handle);
        return result;
    }
    *rados = handle;
    return 0;
}

/* True for "host:port" with another port than the well-known ones, which name their protocol. */
static bool is_ambiguous(const char *address, size_t length)
{
    const char *colon = memrchr(address, ':', length);

    if (memchr(address, '[', length) || text_has_prefix(address, "v1:") ||
        text_has_prefix(address, "v2:") || !colon)
        return false;
    size_t digits = length - (size_t)(colon + 1 - address);
    return !(digits == 4 &&
             (strncmp(colon + 1, "3300", 4) == 0 || strncmp(colon + 1, "6789", 4) == 0));
}

/* The monitors with "v2:" before each ambiguous address; NULL if there is none. */
static char *prefer_v2(const char *monitors)
{
    struct text text = TEXT_INIT(64 * 1024);
    bool changed = false;

    for (const char *next = monitors; *next;) {
        size_t length = strcspn(next, ",");
        bool ambiguous = is_ambiguous(next, length);

        text_addf(&text, "%s%s%.*s", next == monitors ? "" : ",", ambiguous ? "v2:" : "",
                  (int)length, next);
        changed = changed || ambiguous;
        next += length + (next[length] == ',');
    }
    char *result = text_take(&text);
    if (changed)
        return result;
    free(result);
    return NULL;
}

/* Asks what clients the cluster is set up for: it does not refuse older ones, which then hang. */
static void warn_of_age(const struct connection *connection, rados_t rados)
{
    const char *command = "{\"prefix\": \"osd get-require-min-compat-client\"}";
    const char *version = ceph_library_version();
    char *reply = NULL;
    size_t length = 0;

    if (!library_is_older(version, LIBRARY_NEWEST_NEEDED) ||
        rados_mon_command(rados, &command, 1, NULL, 0, &reply, &length, NULL, NULL) < 0)
        return;
    _cleanup_free_ char *release = xstrndup(reply ? reply : "", length);
    _cleanup_free_ char *warning = library_age_warning(version, release);
    rados_buffer_free(reply);
    if (warning)
        log_warn(NULL, "cluster '%s' %s", connection->cluster_id, warning);
}

/* The thread of one attempt. */
static void *run_attempt(void *object)
{
    struct connection *connection = object;
    struct connections *owner = connection->owner;
    const int64_t timeout_ms = owner->options.connect_timeout_ms;
    _cleanup_free_ char *v2 = prefer_v2(connection->monitors);
    rados_t rados = NULL;
    int result = -ETIMEDOUT;

    if (v2)
        result = connect_once(connection, &owner->options, v2,
                              timeout_ms < FIRST_TRY_MS ? timeout_ms : FIRST_TRY_MS, &rados);
    if (result == -ETIMEDOUT)
        result =
            connect_once(connection, &owner->options, connection->monitors, timeout_ms, &rados);
    if (result == 0 && !connection->manager)
        warn_of_age(connection, rados);
    pthread_mutex_lock(&owner->lock);
    connection->state = result < 0 ? CONNECTION_FAILED : CONNECTION_READY;
    connection->failure = result;
    connection->rados = rados;
    connection->changed_ms = clock_monotonic_ms();
    connection->used_ms = connection->changed_ms;
    if (result == 0) {
        connection->since = time(NULL);
        connection->client = (int64_t)rados_get_instance_id(rados);
        rados_cluster_fsid(rados, connection->fsid, sizeof(connection->fsid));
    }
    owner->threads--;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
    return NULL;
}

/* Lock held. */
static void start_thread(struct connections *connections, const char *name, void *(*run)(void *),
                         void *object)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, object) != 0)
        abort();
    pthread_setname_np(thread, name);
    pthread_detach(thread);
    connections->threads++;
}

/* Lock held. */
static void start_attempt(struct connection *connection)
{
    if (connection->state == CONNECTION_READY || connection->failure == 0)
        connection->since = time(NULL); /* else it has been in trouble since the first failure */
    connection->state = CONNECTION_CONNECTING;
    connection->changed_ms = clock_monotonic_ms();
    start_thread(connection->owner, "ceph-connect", run_attempt, connection);
}

/* --- the list --- */

static bool is_connection_to(const struct connection *connection, const struct ceph_target *target,
                             bool manager)
{
    return connection->manager == manager && !connection->fenced &&
           strcmp(connection->cluster_id, target->cluster_id) == 0 &&
           strcmp(connection->monitors, target->monitors) == 0 &&
           strcmp(connection->user, target->user) == 0 &&
           secret_is_equal(&connection->key, target->key);
}

static struct connection *connection_new(struct connections *connections,
                                         const struct ceph_target *target, bool manager)
{
    struct connection *connection = xcalloc(1, sizeof(*connection));

    connection->owner = connections;
    connection->cluster_id = xstrdup(target->cluster_id);
    connection->monitors = xstrdup(target->monitors);
    connection->user = xstrdup(target->user);
    secret_copy(&connection->key, target->key);
    connection->manager = manager;
    workers_init(&connection->workers);
    cephfs_mounts_init(&connection->mounts,
                       &(struct mounts_options){
                           .connections = connections,
                           .connection = connection,
                           .names = connections->names,
                           .instance = connections->options.instance,
                           .cluster_id = connection->cluster_id,
                           .user = connection->user,
                           .timeout_ms = connections->options.connect_timeout_ms,
                       });
    connection->next = connections->first;
    connections->first = connection;
    connections->count++;
    start_attempt(connection);
    return connection;
}

/* Whether nobody has used it since @before_ms; failed ones go after the same time, fenced ones at
 * once. Lock held. */
static bool is_expired(const struct connection *connection, int64_t before_ms)
{
    return connection->refs == 0 && connection->state != CONNECTION_CONNECTING &&
           (connection->fenced || connection->used_ms < before_ms);
}

/* Unmounts what expired connections have mounted, in threads that keep them until that has ended.
 * Lock held, given up meanwhile. */
static void unmount_idle(struct connections *connections, int64_t before_ms)
{
    struct connection *connection = connections->first;

    while (connection) {
        if (!is_expired(connection, before_ms) || !cephfs_mounts_any(&connection->mounts)) {
            connection = connection->next;
            continue;
        }
        connection->refs++;
        pthread_mutex_unlock(&connections->lock);
        cephfs_mounts_retire(&connection->mounts);
        pthread_mutex_lock(&connections->lock);
        connection->refs--;
        connection = connections->first; /* the list may have changed */
    }
}

/* Takes expired connections without mounts off the list. Lock held. */
static struct connection *take_idle(struct connections *connections, int64_t before_ms)
{
    struct connection *idle = NULL;

    for (struct connection **link = &connections->first; *link;) {
        struct connection *connection = *link;

        if (!is_expired(connection, before_ms) || cephfs_mounts_any(&connection->mounts)) {
            link = &connection->next;
            continue;
        }
        *link = connection->next;
        connections->count--;
        connection->next = idle;
        idle = connection;
    }
    return idle;
}

static void free_connections(struct connection *connection)
{
    while (connection) {
        struct connection *next = connection->next;

        log_v(2, NULL, "closing the unused connection to cluster '%s' as client.%s",
              connection->cluster_id, connection->user);
        workers_done(&connection->workers);
        cephfs_mounts_done(&connection->mounts);
        if (connection->rados)
            rados_shutdown(connection->rados);
        free_all(connection->cluster_id, connection->monitors, connection->user);
        secret_done(&connection->key);
        free(connection);
        connection = next;
    }
}

static void *sweep_idle(void *object)
{
    struct connections *connections = object;
    int64_t expiry_ms = connections->options.idle_expiry_ms;
    int64_t pause_ms = expiry_ms / 2 < SWEEP_MS ? expiry_ms / 2 + 1 : SWEEP_MS;

    pthread_mutex_lock(&connections->lock);
    while (!connections->stopping) {
        const struct timespec wake = deadline_timespec(deadline_in_ms(pause_ms));

        pthread_cond_clockwait(&connections->changed, &connections->lock, CLOCK_MONOTONIC, &wake);
        const int64_t before_ms = clock_monotonic_ms() - expiry_ms;
        unmount_idle(connections, before_ms);
        struct connection *idle = take_idle(connections, before_ms);
        pthread_mutex_unlock(&connections->lock);
        free_connections(idle);
        pthread_mutex_lock(&connections->lock);
    }
    connections->threads--;
    pthread_cond_broadcast(&connections->changed);
    pthread_mutex_unlock(&connections->lock);
    return NULL;
}

struct connections *connections_new(const struct ceph_options *options)
{
    struct connections *connections = xcalloc(1, sizeof(*connections));

    connections->options = *options;
    connections->names = session_names_new();
    pthread_mutex_init(&connections->lock, NULL);
    pthread_cond_init(&connections->changed, NULL);
    pthread_mutex_lock(&connections->lock);
    start_thread(connections, "ceph-sweep", sweep_idle, connections);
    pthread_mutex_unlock(&connections->lock);
    return connections;
}

static bool has_mounts(const struct connections *connections)
{
    bool has = false;

    for (const struct connection *c = connections->first; c && !has; c = c->next)
        has = cephfs_mounts_any(&c->mounts);
    return has;
}

/* Whether a thread or an operation needs one of them. Lock held. */
static bool is_in_use(const struct connections *connections)
{
    bool in_use = connections->threads > 0 || has_mounts(connections);

    for (const struct connection *c = connections->first; c && !in_use; c = c->next)
        in_use = c->refs > 0;
    return in_use;
}

bool connections_free(struct connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    struct deadline limit = deadline_in_ms(has_mounts(connections) ? STOP_MOUNTED_MS : STOP_MS);
    const struct timespec wake = deadline_timespec(limit);
    connections->stopping = true;
    pthread_cond_broadcast(&connections->changed);
    unmount_idle(connections, INT64_MAX);
    while (is_in_use(connections) && !deadline_has_passed(limit)) {
        pthread_cond_clockwait(&connections->changed, &connections->lock, CLOCK_MONOTONIC, &wake);
        unmount_idle(connections, INT64_MAX);
    }
    bool ended = !is_in_use(connections);
    pthread_mutex_unlock(&connections->lock);
    if (!ended)
        return false;
    free_connections(connections->first);
    session_names_free(connections->names);
    pthread_cond_destroy(&connections->changed);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
    return true;
}

/* --- joining --- */

static int explain_failure(const struct connection *connection, struct error *err)
{
    int failure = connection->failure;

    if (failure == -EINVAL || failure == -ENOENT) /* the key was checked before */
        return error_set(
            err, STATUS_UNAVAILABLE,
            "the monitors of cluster '%s' (%s) are not addresses, or are names that do "
            "not resolve; check 'monitors' in config.json",
            connection->cluster_id, connection->monitors);
    if (failure == -EACCES || failure == -EPERM || failure == -EKEYREJECTED)
        return error_set(
            err, STATUS_UNAUTHENTICATED,
            "cluster '%s' does not accept the key of user 'client.%s'; check userID and "
            "userKey in the Secret",
            connection->cluster_id, connection->user);
    if (failure == -ETIMEDOUT) {
        error_set(err, STATUS_DEADLINE_EXCEEDED, "the monitors of cluster '%s' (%s) do not answer",
                  connection->cluster_id, connection->monitors);
        return library_hint_at_age(ceph_library_version(), err);
    }
    error_set_errno(err, failure, "connect to the monitors of cluster '%s' (%s)",
                    connection->cluster_id, connection->monitors);
    return error_recode(err, STATUS_UNAVAILABLE);
}

/* Waits for the attempt under way. Lock held, given up while waiting. */
static int wait_for_attempt(struct connection *connection, struct call *call, struct error *err)
{
    struct connections *owner = connection->owner;
    struct deadline give_up = admission_deadline(call);
    int64_t start_ms = clock_monotonic_ms();

    call_stage(call, "waiting {age} for the monitors of cluster '%s'", connection->cluster_id);
    while (connection->state == CONNECTION_CONNECTING) {
        const struct timespec wake = admission_wake_time(give_up);

        if (deadline_has_passed(give_up)) {
            error_set(err, STATUS_DEADLINE_EXCEEDED,
                      "the monitors of cluster '%s' (%s) have not answered for %.1f s",
                      connection->cluster_id, connection->monitors,
                      (double)(clock_monotonic_ms() - start_ms) / 1000);
            return library_hint_at_age(ceph_library_version(), err);
        }
        if (call_check(call, err) < 0)
            return -1;
        pthread_cond_clockwait(&owner->changed, &owner->lock, CLOCK_MONOTONIC, &wake);
    }
    return connection->state == CONNECTION_READY ? 0 : explain_failure(connection, err);
}

/* Finds or starts the connection; NULL if there are too many. Lock held. */
static struct connection *find_or_start(struct connections *connections,
                                        const struct ceph_target *target, bool manager,
                                        struct error *err)
{
    struct connection *connection = connections->first;

    while (connection && !is_connection_to(connection, target, manager))
        connection = connection->next;
    if (!connection && connections->count >= connections->options.max_connections)
        error_set(err, STATUS_UNAVAILABLE,
                  "there are %zu connections, and no more are made; are there so many clusters and "
                  "users? Retry later",
                  connections->count);
    else if (!connection)
        connection = connection_new(connections, target, manager);
    else if (connection->state == CONNECTION_FAILED &&
             clock_monotonic_ms() - connection->changed_ms > FAILURE_KEPT_MS)
        start_attempt(connection);
    return connection;
}

int connections_join(struct connections *connections, struct call *call,
                     const struct ceph_target *target, bool for_manager, struct connection **joined,
                     rados_t *rados, struct error *err)
{
    int result = -1;

    if (cephx_key_check(target->key, ceph_library_version(), err) < 0)
        return error_wrap(err,
                          "cannot use userKey of the Secret, which must be what 'ceph auth get-key "
                          "client.%s' prints in cluster '%s'",
                          target->user, target->cluster_id);
    pthread_mutex_lock(&connections->lock);
    struct connection *connection = find_or_start(connections, target, for_manager, err);
    if (connection) {
        connection->refs++; /* also while waiting, so that the sweeper leaves it alone */
        result =
            connection->state == CONNECTION_READY ? 0 : wait_for_attempt(connection, call, err);
        if (result < 0)
            connection->refs--;
        connection->used_ms = clock_monotonic_ms();
    }
    if (result == 0) {
        *joined = connection;
        *rados = connection->rados;
    }
    pthread_mutex_unlock(&connections->lock);
    return result;
}

int connections_join_manager(struct connections *connections, struct call *call,
                             const struct connection *connection, struct connection **manager,
                             struct error *err)
{
    const struct ceph_target target = {connection->cluster_id, connection->monitors,
                                       connection->user, &connection->key};
    rados_t rados = NULL;

    return connections_join(connections, call, &target, true, manager, &rados, err);
}

void connections_keep(struct connections *connections, struct connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    connection->refs++;
    pthread_mutex_unlock(&connections->lock);
}

void connections_leave(struct connections *connections, struct connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    connection->refs--;
    connection->used_ms = clock_monotonic_ms();
    if (connection->refs == 0 && (connection->fenced || connections->stopping))
        pthread_cond_broadcast(&connections->changed); /* for the sweeper, or connections_free() */
    pthread_mutex_unlock(&connections->lock);
}

void connections_fence(struct connections *connections, struct connection *connection)
{
    pthread_mutex_lock(&connections->lock);
    if (!connection->fenced)
        log_warn(NULL,
                 "cluster '%s' has put this connection of client.%s on its blocklist; the next "
                 "call makes another one",
                 connection->cluster_id, connection->user);
    connection->fenced = true;
    pthread_mutex_unlock(&connections->lock);
}

bool connections_have_client(struct connections *connections, const struct connection *connection,
                             int64_t client)
{
    bool found = false;

    pthread_mutex_lock(&connections->lock);
    for (const struct connection *c = connections->first; c && !found; c = c->next)
        found = c->state == CONNECTION_READY && c->client == client &&
                strcmp(c->fsid, connection->fsid) == 0;
    pthread_mutex_unlock(&connections->lock);
    return found;
}

void connections_report(struct connections *connections, ceph_report_fn *each, void *object)
{
    pthread_mutex_lock(&connections->lock);
    for (const struct connection *c = connections->first; c; c = c->next) {
        _cleanup_error_ struct error err = {0};

        if (c->fenced)
            continue; /* on its way out */
        bool healthy =
            c->state == CONNECTION_READY || (c->state == CONNECTION_CONNECTING && c->failure == 0 &&
                                             clock_monotonic_ms() - c->changed_ms < GRACE_MS);

        if (!healthy && c->failure == 0)
            error_set(&err, STATUS_UNAVAILABLE, "no answer from the monitors (%s) so far",
                      c->monitors);
        else if (!healthy)
            explain_failure(c, &err);
        each(object, c->cluster_id, healthy, healthy ? "" : err.message, c->since);
    }
    pthread_mutex_unlock(&connections->lock);
}

struct workers *connection_workers(struct connection *connection)
{
    return &connection->workers;
}

struct cephfs_mounts *connection_mounts(struct connection *connection)
{
    return &connection->mounts;
}

/* --- threads that may block --- */

static void *run_errand(void *object)
{
    struct errand *errand = object;
    struct connection *connection = errand->connection;
    struct connections *owner = connection->owner;

    const bool is_apart = errand->is_apart; /* it may be freed when it has run */

    errand_execute(errand, connection->rados);
    pthread_mutex_lock(&owner->lock);
    connection->refs--;
    if (!is_apart) {
        connection->blocked--;
        connection->used_ms = clock_monotonic_ms();
    }
    owner->threads--;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
    return NULL;
}

int connections_run(struct connections *connections, struct connection *connection,
                    struct errand *errand, struct error *err)
{
    int result = 0;

    pthread_mutex_lock(&connections->lock);
    if (connection->blocked >= BLOCKED_MAX && !errand->is_apart) {
        result = error_set(err, STATUS_UNAVAILABLE,
                           "cluster '%s' has %u commands under way that are not answered; is a "
                           "%s up? Retry later",
                           connection->cluster_id, connection->blocked,
                           connection->manager ? "ceph-mgr" : "monitor");
    } else {
        errand->connection = connection;
        connection->blocked += !errand->is_apart;
        connection->refs++;
        start_thread(connections, errand->is_apart ? "ceph-files" : "ceph-command", run_errand,
                     errand);
    }
    pthread_mutex_unlock(&connections->lock);
    if (result < 0)
        errand_free(errand);
    return result;
}
