#include "node/registrar.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/condition.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/worker.h"
#include "common/rpc/endpoint.h"
#include "node/registration.h"

#define CHECK_MS 2000
#define ASK_MS 1000         /* kubelet gives a plugin as long */
#define FOREIGN_SOCKETS 256 /* looked at in one go; a node has a dozen */
#define DRAIN_MS 1000

static const char WAITING[] = "waiting for kubelet";

struct registrar {
    struct registration registration; /* its strings are ours */
    char *driver_name;
    char *endpoint;
    char *folder;
    char *path; /* of our socket */
    struct node_info *info;
    struct worker worker;
    bool is_running; /* the starter's own */
    atomic_uint_fast64_t registrations;
    atomic_uint_fast64_t refusals;
    atomic_uint_fast64_t is_registered;
    /* the thread's own */
    struct rpc_server *server; /* NULL: there is no socket of ours */
    dev_t device;              /* of our socket */
    ino_t inode;
    struct strmap offered; /* the segments with which it was put there */
    pthread_mutex_t lock;  /* over the one below */
    struct condition state;
};

/* --- the state --- */

static void note_state(struct registrar *registrar, const char *fault)
{
    pthread_mutex_lock(&registrar->lock);
    enum condition_news news = condition_note(&registrar->state, fault);
    atomic_store(&registrar->is_registered, !fault);
    pthread_mutex_unlock(&registrar->lock);
    if (news == CONDITION_FAULT && fault != WAITING)
        log_warn(NULL, "not registered with kubelet: %s", fault);
}

static void note_notification(void *object, bool registered, const char *fault)
{
    struct registrar *registrar = object;
    _cleanup_free_ char *whole =
        registered ? NULL : xasprintf("kubelet refuses, and will try again: %.1024s", fault);

    if (registered)
        log_info(NULL, "kubelet has registered '%s'", registrar->driver_name);
    atomic_fetch_add(registered ? &registrar->registrations : &registrar->refusals, 1);
    note_state(registrar, whole);
}

bool registrar_is_healthy(struct registrar *registrar, char **message, time_t *since)
{
    pthread_mutex_lock(&registrar->lock);
    bool healthy = condition_is_healthy(&registrar->state, message, since);
    pthread_mutex_unlock(&registrar->lock);
    return healthy;
}

void registrar_register(struct registrar *registrar, struct metrics *metrics)
{
    const struct metric_spec specs[] = {
        {METRIC_COUNTER, "csi_registrations_total", "Registrations by kubelet.",
         .number = &registrar->registrations},
        {METRIC_COUNTER, "csi_registration_refusals_total", "Registrations that kubelet refused.",
         .number = &registrar->refusals},
        {METRIC_GAUGE, "csi_registered",
         "1 while kubelet knows the driver through the built-in registrar.",
         .number = &registrar->is_registered},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
}

/* --- others --- */

/* Whether the file is the socket that we put there. */
static bool is_ours(const struct registrar *registrar, const struct stat *status)
{
    return registrar->server && status->st_dev == registrar->device &&
           status->st_ino == registrar->inode;
}

/* The socket by which another process registers our driver, be it a previous version of this one;
 * NULL if there is none. Caller frees. */
static char *find_foreign(const struct registrar *registrar)
{
    DIR *folder = opendir(registrar->folder);
    char *found = NULL;

    if (!folder)
        return NULL; /* publishing will say why */
    for (int i = 0; i < FOREIGN_SOCKETS && !found; i++) {
        const struct dirent *entry = readdir(folder);
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *name = NULL;
        struct stat status;

        if (!entry)
            break;
        if (entry->d_name[0] == '.')
            continue;
        _cleanup_free_ char *path = xasprintf("%s/%s", registrar->folder, entry->d_name);
        if (lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode) || is_ours(registrar, &status) ||
            registration_ask(path, deadline_in_ms(ASK_MS), &name, &err) < 0)
            continue;
        if (name && strcmp(name, registrar->driver_name) == 0)
            found = TAKE(path);
    }
    closedir(folder);
    return found;
}

/* --- our socket --- */

/* None while NodeGetInfo fails; when it no longer does, that is a change, and kubelet asks again.
 */
static void current_segments(struct registrar *registrar, struct strmap *segments)
{
    _cleanup_node_answer_ struct node_answer answer = {0};
    _cleanup_error_ struct error ignored = {0};

    if (node_info_get(registrar->info, NULL, &answer, &ignored) == 0)
        strmap_merge(segments, &answer.segments);
}

/* A server on a new socket, which takes the place of the old one. */
static int publish_socket(struct registrar *registrar, struct error *err)
{
    const struct rpc_server_options options = {
        .endpoint = registrar->path, .workers = 1, .queue_limit = 16, .drain_ms = DRAIN_MS};
    const struct rpc_service service = registration_service(&registrar->registration);
    struct rpc_server *server = NULL;
    struct stat status;

    strmap_done(&registrar->offered);
    current_segments(registrar, &registrar->offered);
    if (rpc_server_new(&options, &server, err) < 0)
        return -1;
    rpc_server_add(server, &service);
    if (rpc_server_start(server, err) < 0) {
        rpc_server_free(server);
        return -1;
    }
    rpc_server_free(registrar->server); /* leaves the new socket alone */
    registrar->server = server;
    if (lstat(registrar->path, &status) == 0) {
        registrar->device = status.st_dev;
        registrar->inode = status.st_ino;
    }
    return 0;
}

static void withdraw_socket(struct registrar *registrar)
{
    rpc_server_free(TAKE(registrar->server));
    registrar->inode = 0;
}

/* Why the socket has to be put there now; NULL if it need not. */
static const char *reason_to_publish(struct registrar *registrar)
{
    _cleanup_strmap_ struct strmap segments = {0};
    struct stat status;

    if (!registrar->server)
        return "for the first time";
    if (lstat(registrar->path, &status) < 0 || !is_ours(registrar, &status))
        return "because the socket was gone";
    current_segments(registrar, &segments);
    return strmap_is_equal(&segments, &registrar->offered)
               ? NULL
               : "because the node's topology has changed";
}

static void check_socket(struct registrar *registrar)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *foreign = find_foreign(registrar);

    if (foreign) {
        _cleanup_free_ char *fault =
            xasprintf("another process registers '%s' at '%s'; remove node-driver-registrar or "
                      "leave --registration-dir away",
                      registrar->driver_name, foreign);
        withdraw_socket(registrar);
        note_state(registrar, fault);
        return;
    }
    const char *reason = reason_to_publish(registrar);
    if (!reason)
        return;
    log_info(NULL, "offering '%s' to kubelet at '%s' %s", registrar->driver_name, registrar->path,
             reason);
    note_state(registrar, WAITING);
    if (publish_socket(registrar, &err) < 0)
        note_state(registrar, err.message);
}

static void run_registrar(void *object)
{
    struct registrar *registrar = object;

    while (!worker_is_stopping(&registrar->worker)) {
        check_socket(registrar);
        worker_pause(&registrar->worker, CHECK_MS);
    }
    withdraw_socket(registrar);
}

/* --- life --- */

int registrar_new(const struct registrar_options *options, struct registrar **out,
                  struct error *err)
{
    _cleanup_free_ char *path = xasprintf("%s/%s-reg.sock", options->folder, options->driver_name);
    _cleanup_free_ char *checked = NULL;

    if (options->folder[0] != '/')
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not an absolute path",
                         options->folder);
    if (endpoint_parse(path, &checked, err) < 0)
        return -1;
    struct registrar *registrar = xcalloc(1, sizeof(*registrar));
    registrar->driver_name = xstrdup(options->driver_name);
    registrar->endpoint = xstrdup(options->endpoint);
    registrar->folder = xstrdup(options->folder);
    registrar->path = TAKE(checked);
    registrar->info = options->info;
    registrar->registration = (struct registration){registrar->driver_name, registrar->endpoint,
                                                    note_notification, registrar};
    pthread_mutex_init(&registrar->lock, NULL);
    condition_note(&registrar->state, WAITING);
    *out = registrar;
    return 0;
}

void registrar_start(struct registrar *registrar)
{
    registrar->is_running = true;
    worker_start(&registrar->worker, "registrar", run_registrar, registrar);
}

void registrar_stop(struct registrar *registrar)
{
    if (registrar->is_running)
        worker_stop(&registrar->worker);
    registrar->is_running = false;
}

void registrar_free(struct registrar *registrar)
{
    if (!registrar)
        return;
    registrar_stop(registrar);
    strmap_done(&registrar->offered);
    condition_done(&registrar->state);
    pthread_mutex_destroy(&registrar->lock);
    free_all(registrar->driver_name, registrar->endpoint, registrar->folder, registrar->path,
             registrar);
}
