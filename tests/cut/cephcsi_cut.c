/*
 * The driver, made to die. The file CUT_FILE says at which Ceph call of which methods:
 *
 *   3 DeleteVolume purge
 *
 * kills it with SIGKILL after the third Ceph call of these methods from now on, and 0 before the
 * first one. (Before a call and after the one before are the same to Ceph.) "off", or another
 * content than before, starts the count anew.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/rpc/rpc.h"
#include "programs/driver.h"
#include "programs/options.h"

static const struct ceph_ops *real;

/* What CUT_FILE says, and how many calls were made since. */
static struct {
    pthread_mutex_t lock;
    char order[128];
    long calls;
} cut = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void read_order(char *order, int size)
{
    const char *path = getenv("CUT_FILE");
    _cleanup_fclose_ FILE *file = path ? fopen(path, "re") : NULL;

    if (!file || !fgets(order, size, file))
        order[0] = '\0';
}

/* Dies if the order says so; @made is the number of calls that have just been made: 0 or 1. */
static void cut_point(const struct call *call, long made)
{
    char order[sizeof(cut.order)];
    char *methods = NULL;

    pthread_mutex_lock(&cut.lock);
    read_order(order, sizeof(order));
    if (strcmp(order, cut.order) != 0) {
        memcpy(cut.order, order, sizeof(order));
        cut.calls = 0;
    }
    long at = strtol(order, &methods, 10);
    if (methods != order && strstr(methods, call->method)) {
        cut.calls += made;
        if (cut.calls == at)
            kill(getpid(), SIGKILL);
    }
    pthread_mutex_unlock(&cut.lock);
}

#define CUT(name, parameters, arguments)                                                           \
    static int cut_##name parameters                                                               \
    {                                                                                              \
        cut_point(call, 0);                                                                        \
        int result = real->name arguments;                                                         \
        cut_point(call, 1);                                                                        \
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
CUT(image_has_snapshots, (POOL, const char *image_id, bool *has, ERR),
    (pool, call, image_id, has, err))
CUT(image_get_facts, (POOL, const char *name, struct image_facts *facts, ERR),
    (pool, call, name, facts, err))
CUT(image_watchers, (POOL, const char *name, struct string_list *watchers, ERR),
    (pool, call, name, watchers, err))
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
    USE(omap_get), USE(omap_list), USE(omap_add), USE(omap_set), USE(omap_remove_if);
    USE(mon_command), USE(mgr_command), USE(object_read), USE(object_change);
    USE(object_create), USE(object_remove);
    USE(image_create), USE(image_get_id), USE(image_get_size), USE(image_has_snapshots);
    USE(image_get_facts), USE(image_watchers), USE(image_resize), USE(image_clone);
    USE(image_metadata_get), USE(image_metadata_change);
    USE(snapshot_create), USE(snapshot_remove), USE(snapshot_list);
    USE(trash_move), USE(trash_list), USE(trash_remove);
    ceph->ops = &ops;
    return ceph;
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
    code = driver_run(&options, &signals, make_ceph);
    rpc_shutdown();
    return code;
}
