#include "tests/fakes/fake_ceph.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"

/*
 * The fake itself, connections, pools and commands. State is flat: one list each of pools, objects
 * and images, searched from the front; a test has few of them. The other files hold objects,
 * images, snapshots with the trash, clones, faults and the dump.
 */

#define REPLY_LIMIT ((size_t)64 << 20) /* as common/ceph */
#define FIRST_WORKER 4100              /* ids of clients */
#define FIRST_OTHER 5100

/* --- connections --- */

static int refuse_connect(enum status status, const struct ceph_target *target, struct error *err)
{
    error_set(err, status, "connect to cluster '%s' at %s as user '%s': %s", target->cluster_id,
              target->monitors, target->user,
              status == STATUS_UNAUTHENTICATED ? "the key was refused" : "made to fail");
    if (status == STATUS_UNAUTHENTICATED)
        err->sys_errno = EACCES;
    if (status == STATUS_DEADLINE_EXCEEDED)
        err->sys_errno = ETIMEDOUT;
    return -1;
}

static int cluster_connect(struct ceph *ceph, struct call *call, const struct ceph_target *target,
                           struct ceph_cluster **cluster, struct error *err)
{
    struct fake_client *client = (struct fake_client *)ceph;
    struct fake_ceph *fake = client->fake;
    struct fake_step step;
    int result = 0;

    if (fake_step_begin_connection(&step, client, call, "connect", err) < 0)
        return -1;
    if (fake->refused_connect != STATUS_OK && !client->is_other)
        result = refuse_connect(fake->refused_connect, target, err);
    else if (fake->valid_key && strcmp(secret_reveal(target->key), fake->valid_key) != 0)
        result = refuse_connect(STATUS_UNAUTHENTICATED, target, err);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    struct fake_cluster *made = xcalloc(1, sizeof(*made));
    made->base = (struct ceph_cluster){.ops = &fake->ops,
                                       .cluster_id = xstrdup(target->cluster_id),
                                       .cephfs_path = fake->cephfs_path};
    made->client = client;
    atomic_fetch_add(&fake->open_handles, 1);
    *cluster = &made->base;
    return 0;
}

static void cluster_disconnect(struct ceph_cluster *cluster)
{
    struct fake_cluster *fake_cluster = (struct fake_cluster *)cluster;

    atomic_fetch_sub(&fake_cluster->client->fake->open_handles, 1);
    free(cluster->cluster_id);
    free(fake_cluster);
}

static int cluster_client_address(struct ceph_cluster *cluster, struct call *call, char **address,
                                  struct error *err)
{
    struct fake_step step;

    if (fake_step_begin_connection(&step, ((struct fake_cluster *)cluster)->client, call,
                                   "client_address", err) < 0 ||
        fake_step_end(&step, 0, err) < 0)
        return -1;
    *address = xstrdup("10.0.0.7:0/3141");
    return 0;
}

static int cluster_fsid(struct ceph_cluster *cluster, struct call *call, char **fsid,
                        struct error *err)
{
    struct fake_step step;

    if (fake_step_begin_connection(&step, ((struct fake_cluster *)cluster)->client, call, "fsid",
                                   err) < 0)
        return -1;
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *fsid = xstrdup(FAKE_CEPH_FSID);
    return 0;
}

/* --- pools --- */

const struct fake_pool *fake_pool_find(const struct fake_ceph *fake, const char *name)
{
    for (size_t i = 0; i < fake->pool_count; i++)
        if (strcmp(fake->pools[i].name, name) == 0)
            return &fake->pools[i];
    return NULL;
}

const struct fake_pool *fake_pool_find_id(const struct fake_ceph *fake, int64_t id)
{
    for (size_t i = 0; i < fake->pool_count; i++)
        if (fake->pools[i].id == id)
            return &fake->pools[i];
    return NULL;
}

int fake_refuse(struct error *err, int negative_errno, const struct ceph_pool *pool,
                const char *what, const char *name)
{
    if (pool->rados_namespace[0] == '\0')
        return error_set_errno(err, negative_errno, "%s '%s' in pool '%s'", what, name, pool->name);
    return error_set_errno(err, negative_errno, "%s '%s' in pool '%s', namespace '%s'", what, name,
                           pool->name, pool->rados_namespace);
}

static struct ceph_pool *make_open_pool(struct ceph_cluster *cluster, int64_t id, const char *name,
                                        const char *rados_namespace)
{
    struct fake_open_pool *made = xcalloc(1, sizeof(*made));

    made->base = (struct ceph_pool){
        .ops = cluster->ops,
        .cluster = cluster,
        .id = id,
        .name = xstrdup(name),
        .rados_namespace = xstrdup(rados_namespace ? rados_namespace : ""),
    };
    made->client = ((struct fake_cluster *)cluster)->client;
    atomic_fetch_add(&made->client->fake->open_handles, 1);
    return &made->base;
}

static int pool_open(struct ceph_cluster *cluster, struct call *call, const char *name,
                     const char *rados_namespace, struct ceph_pool **pool, struct error *err)
{
    struct fake_step step;
    int64_t id = 0;
    int result = 0;

    if (fake_step_begin_connection(&step, ((struct fake_cluster *)cluster)->client, call,
                                   "pool_open", err) < 0)
        return -1;
    const struct fake_pool *found = fake_pool_find(step.fake, name);
    if (found)
        id = found->id;
    else
        result = error_set_errno(err, -ENOENT, "pool '%s'", name);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    *pool = make_open_pool(cluster, id, name, rados_namespace);
    return 0;
}

static int pool_open_by_id(struct ceph_cluster *cluster, struct call *call, int64_t id,
                           const char *rados_namespace, struct ceph_pool **pool, struct error *err)
{
    _cleanup_free_ char *name = NULL;
    struct fake_step step;
    int result = 0;

    if (fake_step_begin_connection(&step, ((struct fake_cluster *)cluster)->client, call,
                                   "pool_open_by_id", err) < 0)
        return -1;
    const struct fake_pool *found = fake_pool_find_id(step.fake, id);
    if (found)
        name = xstrdup(found->name);
    else
        result = error_set_errno(err, -ENOENT, "pool with id %lld", (long long)id);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    *pool = make_open_pool(cluster, id, name, rados_namespace);
    return 0;
}

static void pool_close(struct ceph_pool *pool)
{
    struct fake_open_pool *open_pool = (struct fake_open_pool *)pool;

    atomic_fetch_sub(&open_pool->client->fake->open_handles, 1);
    free(pool->name);
    free(pool->rados_namespace);
    free(open_pool);
}

static int pool_list(struct ceph_cluster *cluster, struct call *call, struct string_list *names,
                     struct error *err)
{
    _cleanup_string_list_ struct string_list found = {0};
    struct fake_step step;

    if (fake_step_begin_connection(&step, ((struct fake_cluster *)cluster)->client, call,
                                   "pool_list", err) < 0)
        return -1;
    for (size_t i = 0; i < step.fake->pool_count; i++)
        string_list_add(&found, step.fake->pools[i].name);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < found.count; i++)
        string_list_add(names, found.items[i]);
    return 0;
}

/* Here everybody knows everything at once. */
static int pool_settle(struct ceph_pool *pool, struct call *call, size_t groups, size_t min_size,
                       struct error *err)
{
    struct fake_step step;

    (void)groups, (void)min_size;
    if (fake_step_begin(&step, ((struct fake_open_pool *)pool)->client, call, "pool_settle", err) <
        0)
        return -1;
    return fake_step_end(&step, 0, err);
}

/* --- commands --- */

static int answer_nothing(void *object, const char *command, struct text *reply)
{
    (void)object;
    (void)command;
    text_add(reply, "No handler found");
    return -EINVAL;
}

static int run_command(struct ceph_cluster *cluster, struct call *call, const char *operation,
                       const struct fake_answer *setting, const char *command, char **reply,
                       struct error *err)
{
    _cleanup_text_ struct text words = TEXT_INIT(REPLY_LIMIT);
    struct fake_step step;

    if (fake_step_begin(&step, ((struct fake_cluster *)cluster)->client, call, operation, err) < 0)
        return -1;
    struct fake_answer used = *setting;
    fake_step_pause(&step);
    int result = used.answer ? used.answer(used.object, command, &words)
                             : answer_nothing(NULL, command, &words);
    fake_step_resume(&step);
    if (result < 0)
        result = error_set_errno(err, result, "%s refused by cluster '%s': %s", operation,
                                 cluster->cluster_id, text_chars(&words));
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    *reply = text_take(&words);
    return 0;
}

static int mon_command(struct ceph_cluster *cluster, struct call *call, const char *command,
                       char **reply, struct error *err)
{
    const struct fake_ceph *fake = ((struct fake_cluster *)cluster)->client->fake;

    return run_command(cluster, call, "mon_command", &fake->mon, command, reply, err);
}

static int mgr_command(struct ceph_cluster *cluster, struct call *call, const char *command,
                       char **reply, struct error *err)
{
    const struct fake_ceph *fake = ((struct fake_cluster *)cluster)->client->fake;

    return run_command(cluster, call, "mgr_command", &fake->mgr, command, reply, err);
}

void fake_ceph_answer_mon(struct fake_ceph *fake, fake_ceph_command answer, void *object)
{
    pthread_mutex_lock(&fake->lock);
    fake->mon = (struct fake_answer){answer, object};
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_answer_mgr(struct fake_ceph *fake, fake_ceph_command answer, void *object)
{
    pthread_mutex_lock(&fake->lock);
    fake->mgr = (struct fake_answer){answer, object};
    pthread_mutex_unlock(&fake->lock);
}

/* --- the fake --- */

static void cluster_ops(struct ceph_ops *ops)
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
    ops->mon_command = mon_command;
    ops->mgr_command = mgr_command;
}

struct fake_ceph *fake_ceph_new(void)
{
    struct fake_ceph *fake = xcalloc(1, sizeof(*fake));

    pthread_mutex_init(&fake->lock, NULL);
    cluster_ops(&fake->ops);
    fake_object_ops(&fake->ops);
    fake_worker_ops(&fake->ops);
    fake_file_ops(&fake->ops);
    fake_image_ops(&fake->ops);
    fake_snapshot_ops(&fake->ops);
    fake_clone_ops(&fake->ops);
    fake_mirroring_ops(&fake->ops);
    fake->process = (struct fake_client){
        .ceph = {&fake->ops}, .fake = fake, .is_other = false, .worker = FIRST_WORKER};
    fake->other = (struct fake_client){
        .ceph = {&fake->ops}, .fake = fake, .is_other = true, .worker = FIRST_OTHER};
    return fake;
}

void fake_ceph_free(struct fake_ceph *fake)
{
    if (!fake)
        return;
    for (size_t i = 0; i < fake->pool_count; i++) {
        free(fake->pools[i].name);
        string_list_done(&fake->pools[i].namespaces);
    }
    for (size_t i = 0; i < fake->object_count; i++)
        fake_object_done(&fake->objects[i]);
    for (size_t i = 0; i < fake->image_count; i++)
        fake_image_free(fake->images[i]);
    string_list_done(&fake->process.watched);
    string_list_done(&fake->other.watched);
    free(fake->pools);
    free(fake->objects);
    free(fake->images);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

struct ceph *fake_ceph_as_ceph(struct fake_ceph *fake)
{
    return &fake->process.ceph;
}

struct ceph *fake_ceph_as_other(struct fake_ceph *fake)
{
    return &fake->other.ceph;
}

void fake_ceph_add_pool(struct fake_ceph *fake, const char *name, int64_t id)
{
    pthread_mutex_lock(&fake->lock);
    assert(!fake_pool_find(fake, name) && !fake_pool_find_id(fake, id));
    fake->pools = xreallocarray(fake->pools, fake->pool_count + 1, sizeof(*fake->pools));
    fake->pools[fake->pool_count++] = (struct fake_pool){.id = id, .name = xstrdup(name)};
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_add_namespace(struct fake_ceph *fake, const char *pool, const char *rados_namespace)
{
    pthread_mutex_lock(&fake->lock);
    const struct fake_pool *found = fake_pool_find(fake, pool);
    assert(found);
    string_list_add(&fake->pools[found - fake->pools].namespaces, rados_namespace);
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_refuse_connect(struct fake_ceph *fake, enum status status)
{
    pthread_mutex_lock(&fake->lock);
    fake->refused_connect = status;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_rotate_key(struct fake_ceph *fake, const char *key)
{
    pthread_mutex_lock(&fake->lock);
    fake->valid_key = key;
    pthread_mutex_unlock(&fake->lock);
}

unsigned fake_ceph_open_handles(struct fake_ceph *fake)
{
    return atomic_load(&fake->open_handles);
}
