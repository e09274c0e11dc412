/*
 * The driver, made to die: see cut_order.h. The kinds of its steps are methods: each of their Ceph
 * calls is one. (Before a call and after the one before are the same to Ceph.) With "host" among
 * them, calls that change the machine count as well, whoever makes them.
 */
#include <signal.h>

#include "common/base/log.h"
#include "common/rpc/rpc.h"
#include "programs/cephcsi/driver.h"
#include "programs/cephcsi/options.h"
#include "tests/cut/cut_order.h"

static const struct ceph_ops *real;
static const struct host_ops *real_host;

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
CUT(image_get_listed_id, (POOL, const char *name, char **id, ERR), (pool, call, name, id, err))
CUT(image_has_objects, (POOL, const char *image_id, uint64_t features, bool *has, ERR),
    (pool, call, image_id, features, has, err))
CUT(image_remove, (POOL, const char *name, ERR), (pool, call, name, err))
CUT(image_get_size, (POOL, const char *image_id, uint64_t *size_bytes, ERR),
    (pool, call, image_id, size_bytes, err))
CUT(image_get_features, (POOL, const char *name, uint64_t *features, ERR),
    (pool, call, name, features, err))
CUT(image_has_snapshots, (POOL, const char *image_id, bool *has, ERR),
    (pool, call, image_id, has, err))
CUT(image_get_facts, (POOL, const char *name, struct image_facts *facts, ERR),
    (pool, call, name, facts, err))
CUT(image_get_mirroring,
    (POOL, const char *name, const char *image_id, struct image_mirroring *mirroring, ERR),
    (pool, call, name, image_id, mirroring, err))
CUT(image_disable_mirroring, (POOL, const char *name, bool force, ERR),
    (pool, call, name, force, err))
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
    USE(image_create), USE(image_get_id), USE(image_get_listed_id), USE(image_remove),
        USE(image_has_objects), USE(image_get_size), USE(image_get_features);
    USE(image_has_snapshots), USE(image_get_mirroring), USE(image_disable_mirroring);
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
CUT_HOST(nbd_disconnect, (HOST, const char *device, ERR), (host, device, err))
CUT_HOST(run, (HOST, const struct subprocess *program, struct subprocess_result *result, ERR),
         (host, program, result, err))
CUT_HOST(daemon_stop, (HOST, const char *program, const char *argument, ERR),
         (host, program, argument, err))
CUT_HOST(daemon_detach, (HOST, const char *program, const char *argument, ERR),
         (host, program, argument, err))

static struct host *make_host(const char *kubelet_dir, const char *key_dir)
{
    static struct host_ops ops;
    struct host *host = host_new(kubelet_dir, key_dir);

    real_host = host->ops;
    ops = *real_host;
    USE(make_directory), USE(make_file), USE(remove), USE(write_text), USE(set_size);
    USE(mount), USE(unmount), USE(loop_attach), USE(loop_detach), USE(loop_refresh),
        USE(nbd_resize), USE(nbd_disconnect);
    USE(run), USE(daemon_stop), USE(daemon_detach);
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
