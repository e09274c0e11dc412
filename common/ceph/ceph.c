#include "common/ceph/ceph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/connections.h"

#define NAME_LIMIT 4096    /* bytes of a pool's name */
#define POOL_CALLS 40      /* at once in one pool */
#define POOL_WAITING 64    /* further calls that may wait for one of these */
#define MANAGER_COMMANDS 8 /* to the managers of one cluster at once */
#define MANAGER_WAITING 256
#define FILESYSTEM_CALLS 32 /* at once in one file system */
#define FILESYSTEM_WAITING 128

static int cluster_connect(struct ceph *ceph, struct call *call, const struct ceph_target *target,
                           struct ceph_cluster **out, struct error *err)
{
    struct real_ceph *real = (struct real_ceph *)ceph;
    struct connection *connection = NULL;
    rados_t rados = NULL;

    if (connections_join(real->connections, call, target, false, &connection, &rados, err) < 0)
        return -1;
    struct real_cluster *cluster = xcalloc(1, sizeof(*cluster));
    *cluster = (struct real_cluster){
        .base = {.ops = ceph->ops,
                 .cluster_id = xstrdup(target->cluster_id),
                 .cephfs_path = real->options.cephfs_path},
        .ceph = real,
        .connection = connection,
        .rados = rados,
    };
    *out = &cluster->base;
    return 0;
}

static void cluster_disconnect(struct ceph_cluster *cluster)
{
    struct real_cluster *real = real_cluster(cluster);

    connections_leave(real->ceph->connections, real->connection);
    free(real->base.cluster_id);
    free(real);
}

static int cluster_fsid(struct ceph_cluster *cluster, struct call *call, char **fsid,
                        struct error *err)
{
    char text[64];
    int result = rados_cluster_fsid(real_cluster(cluster)->rados, text, sizeof(text));

    (void)call;
    if (result < 0)
        return error_set_errno(err, result, "read the fsid of cluster '%s'", cluster->cluster_id);
    *fsid = xstrdup(text);
    return 0;
}

static int cluster_client_address(struct ceph_cluster *cluster, struct call *call, char **address,
                                  struct error *err)
{
    char *addresses = NULL;
    int result = rados_getaddrs(real_cluster(cluster)->rados, &addresses);

    (void)call;
    if (result < 0)
        return error_set_errno(err, result, "ask for our address in cluster '%s'",
                               cluster->cluster_id);
    *address = xstrdup(addresses);
    rados_buffer_free(addresses);
    return 0;
}

void shared_io_ref(struct shared_io *shared)
{
    atomic_fetch_add(&shared->refs, 1);
}

void shared_io_unref(struct shared_io *shared)
{
    if (atomic_fetch_sub(&shared->refs, 1) != 1)
        return;
    rados_ioctx_destroy(shared->io);
    connections_leave(shared->connections, shared->connection);
    free(shared);
}

static struct shared_io *shared_io_new(const struct real_cluster *cluster, rados_ioctx_t io)
{
    struct shared_io *shared = xcalloc(1, sizeof(*shared));

    atomic_init(&shared->refs, 1);
    shared->connections = cluster->ceph->connections;
    shared->connection = cluster->connection;
    shared->io = io;
    connections_keep(shared->connections, shared->connection);
    return shared;
}

/* Opens a pool that exists: @io is taken over. */
static int finish_open(struct ceph_cluster *cluster, struct call *call, rados_ioctx_t io,
                       const char *rados_namespace, struct ceph_pool **out, struct error *err)
{
    struct real_pool *pool = xcalloc(1, sizeof(*pool));
    char name[NAME_LIMIT];

    if (rados_ioctx_get_pool_name(io, name, sizeof(name)) < 0)
        name[0] = '\0';
    pool->io = io;
    if (admission_enter(real_cluster(cluster)->ceph->admission, call, cluster->cluster_id,
                        rados_ioctx_get_id(io), name, &pool->place, err) < 0) {
        rados_ioctx_destroy(io);
        free(pool);
        return -1;
    }
    pool->shared = shared_io_new(real_cluster(cluster), io);
    pool->base = (struct ceph_pool){cluster->ops, cluster, rados_ioctx_get_id(io), xstrdup(name),
                                    xstrdup(rados_namespace)};
    rados_ioctx_set_namespace(io, rados_namespace);
    /* Otherwise librados keeps every write to a full pool, even removals, until its time-out; so
     * the OSD decides, and answers ENOSPC or EDQUOT at once. */
    rados_set_pool_full_try(io);
    *out = &pool->base;
    return 0;
}

static int pool_list(struct ceph_cluster *cluster, struct call *call, struct string_list *names,
                     struct error *err)
{
    rados_t rados = real_cluster(cluster)->rados;
    int length = rados_pool_list(rados, NULL, 0);
    size_t size = (length < 0 ? 0 : (size_t)length) + NAME_LIMIT; /* pools may be added meanwhile */
    _cleanup_free_ char *buffer = xcalloc(size, 1);

    (void)call;
    if (length >= 0)
        length = rados_pool_list(rados, buffer, size);
    if (length < 0)
        return error_set_errno(err, length, "list the pools of cluster '%s'", cluster->cluster_id);
    for (const char *name = buffer; *name; name += strlen(name) + 1)
        string_list_add(names, name);
    return 0;
}

/*
 * librados (16.2) asks the monitors for a newer osdmap when it does not know a pool, by name or by
 * id, however long that takes. So it is asked for pools that its map has; whether there are new
 * ones is found out in a way that has a time limit. The first osdmap came with the connection.
 */
typedef int find_pool_fn(rados_t rados, const struct string_list *known, const void *wanted,
                         rados_ioctx_t *io);

/* -ENOENT if the map does not have it. */
static int find_by_name(rados_t rados, const struct string_list *known, const void *wanted,
                        rados_ioctx_t *io)
{
    const char *name = wanted;

    return string_list_has(known, name) ? rados_ioctx_create(rados, name, io) : -ENOENT;
}

static int find_by_id(rados_t rados, const struct string_list *known, const void *wanted,
                      rados_ioctx_t *io)
{
    const int64_t id = *(const int64_t *)wanted;

    for (size_t i = 0; i < known->count; i++)
        if (rados_pool_lookup(rados, known->items[i]) == id)
            return rados_ioctx_create(rados, known->items[i], io);
    return -ENOENT;
}

/* @title is for messages: "pool 'x'". */
static int open_known(struct ceph_cluster *cluster, struct call *call, find_pool_fn *find,
                      const void *wanted, const char *title, rados_ioctx_t *io, struct error *err)
{
    rados_t rados = real_cluster(cluster)->rados;
    _cleanup_string_list_ struct string_list known = {0};
    _cleanup_string_list_ struct string_list newest = {0};

    if (pool_list(cluster, call, &known, err) < 0)
        return -1;
    int result = find(rados, &known, wanted, io);
    if (result == -ENOENT) { /* it may be new */
        if (cluster_refresh_map(cluster, call, err) < 0)
            return error_wrap(err, "open %s", title);
        if (pool_list(cluster, call, &newest, err) < 0)
            return -1;
        result = find(rados, &newest, wanted, io);
    }
    if (result == -ENOENT)
        return error_set(err, STATUS_NOT_FOUND, "cluster '%s' has no %s", cluster->cluster_id,
                         title);
    return result < 0 ? error_set_errno(err, result, "open %s", title) : 0;
}

static int pool_open(struct ceph_cluster *cluster, struct call *call, const char *name,
                     const char *rados_namespace, struct ceph_pool **pool, struct error *err)
{
    _cleanup_free_ char *title = xasprintf("pool '%s'", name);
    rados_ioctx_t io = NULL;

    if (open_known(cluster, call, find_by_name, name, title, &io, err) < 0)
        return -1;
    return finish_open(cluster, call, io, rados_namespace, pool, err);
}

static int pool_open_by_id(struct ceph_cluster *cluster, struct call *call, int64_t id,
                           const char *rados_namespace, struct ceph_pool **pool, struct error *err)
{
    _cleanup_free_ char *title = xasprintf("pool with id %lld", (long long)id);
    rados_ioctx_t io = NULL;

    if (open_known(cluster, call, find_by_id, &id, title, &io, err) < 0)
        return -1;
    return finish_open(cluster, call, io, rados_namespace, pool, err);
}

static void pool_close(struct ceph_pool *pool)
{
    struct real_pool *real = real_pool(pool);

    shared_io_unref(real->shared);
    admission_leave(real_cluster(pool->cluster)->ceph->admission, &real->place);
    free_all(real->base.name, real->base.rados_namespace, real);
}

static void set_operations(struct ceph_ops *ops)
{
    ops->connect = cluster_connect;
    ops->disconnect = cluster_disconnect;
    ops->fsid = cluster_fsid;
    ops->client_address = cluster_client_address;
    ops->pool_open = pool_open;
    ops->pool_open_by_id = pool_open_by_id;
    ops->pool_close = pool_close;
    ops->pool_list = pool_list;
    ops->pool_settle = pool_settle;
    commands_register(ops);
    objects_register(ops);
    workers_register(ops);
    images_register(ops);
    image_users_register(ops);
    image_metadata_register(ops);
    snapshots_register(ops);
    mirroring_register(ops);
    cephfs_files_register(ops);
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value ? value : fallback;
}

struct ceph *ceph_new(const struct ceph_options *options)
{
    struct real_ceph *ceph = xcalloc(1, sizeof(*ceph));

    set_operations(&ceph->ops);
    ceph->base.ops = &ceph->ops;
    ceph->options = *options;
    ceph->options.connect_timeout_ms = or_default(options->connect_timeout_ms, 30000);
    ceph->options.mon_op_timeout_ms = or_default(options->mon_op_timeout_ms, 30000);
    ceph->options.osd_op_timeout_ms = or_default(options->osd_op_timeout_ms, 30000);
    ceph->options.idle_expiry_ms = or_default(options->idle_expiry_ms, 600000);
    ceph->options.max_connections = (size_t)or_default((int64_t)options->max_connections, 64);
    ceph->connections = connections_new(&ceph->options);
    ceph->admission = admission_new(&(struct admission_options){
        .running = POOL_CALLS,
        .waiting = POOL_WAITING,
    });
    ceph->managers = admission_new(&(struct admission_options){
        .running = MANAGER_COMMANDS,
        .waiting = MANAGER_WAITING,
        .stall_ms = ceph->options.mon_op_timeout_ms,
        .kind = "the manager of cluster",
        .hint = "is a ceph-mgr up?",
    });
    ceph->filesystems = admission_new(&(struct admission_options){
        .running = FILESYSTEM_CALLS,
        .waiting = FILESYSTEM_WAITING,
        .kind = "file system",
        .hint = "is an MDS up?",
    });
    ceph->breaker = breaker_new(&(struct breaker_options){0});
    return &ceph->base;
}

bool ceph_free(struct ceph *ceph)
{
    struct real_ceph *real = (struct real_ceph *)ceph;

    if (!connections_free(real->connections))
        return false;
    admission_free(real->admission);
    admission_free(real->managers);
    admission_free(real->filesystems);
    breaker_free(real->breaker);
    free(real);
    return true;
}

void ceph_report(struct ceph *ceph, ceph_report_fn *each, void *object)
{
    struct real_ceph *real = (struct real_ceph *)ceph;

    connections_report(real->connections, each, object);
    breaker_report(real->breaker, each, object);
}

double ceph_hanging_modules(void *ceph)
{
    return breaker_count(((struct real_ceph *)ceph)->breaker);
}
