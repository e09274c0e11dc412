/*
 * The driver, made to die. The file CUT_FILE says at which Ceph call of which methods:
 *
 *   3 DeleteVolume purge
 *
 * kills it with SIGKILL after the third Ceph call of these methods from now on, and 0 before the
 * first one. (Before a call and after the one before are the same to Ceph.) With "host" among the
 * methods, calls that change the machine count as well, whoever makes them. "off", or another
 * content than before, starts the count anew. Before it dies it writes "dead". Whoever reads or
 * writes the file has it locked, so that an order that was taken back kills nobody later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/rpc/rpc.h"
#include "programs/cephcsi/driver.h"
#include "programs/cephcsi/options.h"

static const struct ceph_ops *real;
static const struct host_ops *real_host;

/* What CUT_FILE says, and how many calls were made since. */
static struct {
    pthread_mutex_t lock;
    char order[128];
    long calls;
} cut = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Opens and locks the file; -1 if there is none. */
static int read_order(char *order, size_t size)
{
    const char *path = getenv("CUT_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    ssize_t length = fd < 0 || flock(fd, LOCK_EX) < 0 ? -1 : pread(fd, order, size - 1, 0);

    order[length > 0 ? length : 0] = '\0';
    return fd;
}

static _Noreturn void die(int fd)
{
    if (ftruncate(fd, 0) < 0 || pwrite(fd, "dead", 4, 0) != 4)
        abort();
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Dies if the order says so; @made is the number of calls that have just been made: 0 or 1. */
static void cut_point(const char *method, long made)
{
    char order[sizeof(cut.order)];
    char *methods = NULL;

    pthread_mutex_lock(&cut.lock);
    _cleanup_close_ int fd = read_order(order, sizeof(order));
    if (strcmp(order, cut.order) != 0) {
        memcpy(cut.order, order, sizeof(order));
        cut.calls = 0;
    }
    long at = strtol(order, &methods, 10);
    if (methods != order && strstr(methods, method)) {
        cut.calls += made;
        if (cut.calls == at)
            die(fd);
    }
    pthread_mutex_unlock(&cut.lock);
}

#define CUT(name, parameters, arguments)                                                           \
    static int cut_##name parameters                                                               \
    {                                                                                              \
        cut_point(call->method, 0);                                                                \
        int result = real->name arguments;                                                         \
        cut_point(call->method, 1);                                                                \
        return result;                                                                             \
    }

#define POOL struct ceph_pool *pool, struct call *call
#define ERR struct error *err

#define CLUSTER struct ceph_cluster *cluster, struct call *call

CUT(mon_command, (CLUSTER, const char *command, char **reply, ERR),
    (cluster, call, command, reply, err))
CUT(mgr_command, (CLUSTER, const char *command, char **reply, ERR),
    (cluster, call, command, reply, err))
CUT(object_read,
    (POOL, const char *object, const char *attribute, const struct string_list *keys,
     struct object_state *state, ERR),
    (pool, call, object, attribute, keys, state, err))
CUT(object_change, (POOL, const char *object, const struct object_change *change, ERR),
    (pool, call, object, change, err))
CUT(omap_get, (POOL, const char *object, const char *key, char **value, ERR),
    (pool, call, object, key, value, err))
CUT(omap_get_many,
    (struct ceph_pool *const *pools, size_t count, struct call *call, const char *object,
     const char *key, int64_t patience_ms, struct omap_answer *answers, ERR),
    (pools, count, call, object, key, patience_ms, answers, err))
CUT(omap_list,
    (POOL, const char *object, const char *after, const char *prefix, struct strmap *entries,
     bool *more, ERR),
    (pool, call, object, after, prefix, entries, more, err))
CUT(omap_add, (POOL, const char *object, const char *key, const char *value, ERR),
    (pool, call, object, key, value, err))
CUT(omap_set, (POOL, const char *object, const struct strmap *entries, ERR),
    (pool, call, object, entries, err))
CUT(omap_remove_if,
    (POOL, const char *object, const char *key, const char *expected, const struct strmap *added,
     bool *removed, ERR),
    (pool, call, object, key, expected, added, removed, err))
CUT(object_create, (POOL, const char *object, const struct strmap *entries, ERR),
    (pool, call, object, entries, err))
CUT(object_remove, (POOL, const char *object, ERR), (pool, call, object, err))
CUT(image_create,
    (POOL, const char *name, uint64_t size_bytes, const struct image_options *options, ERR),
    (pool, call, name, size_bytes, options, err))
CUT(image_get_id, (POOL, const char *name, char **id, ERR), (pool, call, name, id, err))
CUT(image_get_size, (POOL, const char *image_id, uint64_t *size_bytes, ERR),
    (pool, call, image_id, size_bytes, err))
CUT(image_get_features, (POOL, const char *name, uint64_t *features, ERR),
    (pool, call, name, features, err))
CUT(image_has_snapshots, (POOL, const char *image_id, bool *has, ERR),
    (pool, call, image_id, has, err))
CUT(image_get_facts, (POOL, const char *name, struct image_facts *facts, ERR),
    (pool, call, name, facts, err))
CUT(image_watchers, (POOL, const char *name, struct string_list *watchers, ERR),
    (pool, call, name, watchers, err))
CUT(image_lockers, (POOL, const char *name, struct string_list *lockers, ERR),
    (pool, call, name, lockers, err))
CUT(image_is_empty, (POOL, const char *name, bool *empty, ERR), (pool, call, name, empty, err))
CUT(image_resize, (POOL, const char *name, uint64_t size_bytes, ERR),
    (pool, call, name, size_bytes, err))
CUT(image_clone,
    (POOL, const char *parent, const char *snapshot, struct ceph_pool *target, const char *name,
     const struct image_options *options, ERR),
    (pool, call, parent, snapshot, target, name, options, err))
CUT(image_metadata_get, (POOL, const char *name, struct strmap *entries, ERR),
    (pool, call, name, entries, err))
CUT(image_metadata_change,
    (POOL, const char *name, const struct strmap *entries, const struct string_list *removed, ERR),
    (pool, call, name, entries, removed, err))
CUT(snapshot_create, (POOL, const char *image, const char *snapshot, ERR),
    (pool, call, image, snapshot, err))
CUT(snapshot_remove, (POOL, const char *image, const char *snapshot, ERR),
    (pool, call, image, snapshot, err))
CUT(snapshot_list, (POOL, const char *image, struct image_snapshots *snapshots, ERR),
    (pool, call, image, snapshots, err))
CUT(trash_move, (POOL, const char *name, ERR), (pool, call, name, err))
CUT(trash_list, (POOL, struct trash_entries *entries, ERR), (pool, call, entries, err))
CUT(trash_remove, (POOL, const char *image_id, ceph_progress progress, void *progress_object, ERR),
    (pool, call, image_id, progress, progress_object, err))

static struct ceph *make_ceph(const struct ceph_options *options)
{
    static struct ceph_ops ops;
    struct ceph *ceph = ceph_new(options);

    real = ceph->ops;
    ops = *real;
#define USE(name) ops.name = cut_##name
    USE(omap_get), USE(omap_get_many), USE(omap_list), USE(omap_add), USE(omap_set),
        USE(omap_remove_if);
    USE(mon_command), USE(mgr_command), USE(object_read), USE(object_change);
    USE(object_create), USE(object_remove);
    USE(image_create), USE(image_get_id), USE(image_get_size), USE(image_get_features);
    USE(image_has_snapshots);
    USE(image_get_facts), USE(image_watchers), USE(image_lockers), USE(image_is_empty),
        USE(image_resize), USE(image_clone);
    USE(image_metadata_get), USE(image_metadata_change);
    USE(snapshot_create), USE(snapshot_remove), USE(snapshot_list);
    USE(trash_move), USE(trash_list), USE(trash_remove);
    ceph->ops = &ops;
    return ceph;
}

/* --- the machine --- */

#define CUT_HOST(name, parameters, arguments)                                                      \
    static int cut_##name parameters                                                               \
    {                                                                                              \
        cut_point("host", 0);                                                                      \
        int outcome = real_host->name arguments;                                                   \
        cut_point("host", 1);                                                                      \
        return outcome;                                                                            \
    }

#define HOST struct host *host

CUT_HOST(make_directory, (HOST, const char *path, mode_t mode, ERR), (host, path, mode, err))
CUT_HOST(make_file, (HOST, const char *path, mode_t mode, ERR), (host, path, mode, err))
CUT_HOST(remove, (HOST, const char *path, ERR), (host, path, err))
CUT_HOST(write_text, (HOST, const char *path, const char *text, ERR), (host, path, text, err))
CUT_HOST(set_size, (HOST, const char *path, uint64_t size_bytes, ERR),
         (host, path, size_bytes, err))
CUT_HOST(mount, (HOST, const struct mount_request *request, ERR), (host, request, err))
CUT_HOST(unmount, (HOST, const char *target, bool lazily, ERR), (host, target, lazily, err))
CUT_HOST(loop_attach, (HOST, const char *file, bool read_only, char **device, ERR),
         (host, file, read_only, device, err))
CUT_HOST(loop_detach, (HOST, const char *device, ERR), (host, device, err))
CUT_HOST(loop_refresh, (HOST, const char *device, ERR), (host, device, err))
CUT_HOST(nbd_resize, (HOST, const char *device, uint64_t size_bytes, ERR),
         (host, device, size_bytes, err))
CUT_HOST(run, (HOST, const struct subprocess *program, struct subprocess_result *result, ERR),
         (host, program, result, err))
CUT_HOST(daemon_stop, (HOST, const char *program, const char *argument, ERR),
         (host, program, argument, err))

static struct host *make_host(const char *kubelet_dir, const char *key_dir)
{
    static struct host_ops ops;
    struct host *host = host_new(kubelet_dir, key_dir);

    real_host = host->ops;
    ops = *real_host;
    USE(make_directory), USE(make_file), USE(remove), USE(write_text), USE(set_size);
    USE(mount), USE(unmount), USE(loop_attach), USE(loop_detach), USE(loop_refresh),
        USE(nbd_resize);
    USE(run), USE(daemon_stop);
    host->ops = &ops;
    return host;
}

int main(int argc, char **argv)
{
    struct options options;
    sigset_t signals;
    int code = options_read(&options, argc, argv);

    if (code >= 0)
        return code;
    log_start(&(struct log_options){.verbosity = (int)options.verbosity, .to_stderr = true});
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    rpc_init();
    code = driver_run(&options, &signals, make_ceph, make_host);
    rpc_shutdown();
    return code;
}
