#include "controller/rbd/flatten.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/session.h"

struct flatten {
    const struct controller *controller;
    char *cluster_id;
    struct credentials credentials;
    int64_t pool_id;
    char *rados_namespace;
    char *image;
};

enum flatten_plan flatten_plan(const struct clone_limits *limits, unsigned depth, unsigned reserve)
{
    if (depth + reserve >= limits->hard_depth)
        return FLATTEN_FIRST;
    return depth + reserve >= limits->soft_depth ? FLATTEN_BEHIND : FLATTEN_NOT;
}

int image_depth(struct ceph_cluster *cluster, struct call *call, struct ceph_pool *pool,
                const char *name, unsigned *depth, struct error *err)
{
    struct image_facts facts = {0};
    int result = 0;

    if (pool->ops->image_get_facts(pool, call, name, &facts, err) < 0)
        return -1;
    *depth = facts.has_parent ? 1 : 0;
    if (facts.has_parent && !facts.parent.in_trash) {
        _cleanup_ceph_pool_ struct ceph_pool *parent_pool = NULL;
        unsigned above = 0;

        result = cluster->ops->pool_open_by_id(cluster, call, facts.parent.pool_id,
                                               facts.parent.rados_namespace, &parent_pool, err);
        if (result == 0)
            result = image_depth(cluster, call, parent_pool, facts.parent.image_name, &above, err);
        *depth += above;
    }
    image_facts_done(&facts);
    return result;
}

static int report_progress(void *object, int percent)
{
    return task_progress(object, percent);
}

static int flatten_run(void *object, struct call *call, struct error *err)
{
    const struct flatten *flatten = object;
    _cleanup_session_ struct session session = {0};
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (session_open(flatten->controller->ceph, flatten->controller->config, call,
                     flatten->cluster_id, &flatten->credentials, &session, err) < 0 ||
        session.cluster->ops->pool_open_by_id(session.cluster, call, flatten->pool_id,
                                              flatten->rados_namespace, &pool, err) < 0)
        return -1;
    return pool->ops->image_flatten(pool, call, flatten->image, report_progress, call, err);
}

static void flatten_release(void *object)
{
    struct flatten *flatten = object;

    free(flatten->cluster_id);
    free(flatten->rados_namespace);
    free(flatten->image);
    credentials_done(&flatten->credentials);
    free(flatten);
}

static const struct task_kind FLATTEN = {flatten_run, flatten_release, "flatten"};

static char *task_key(const struct flatten_target *target)
{
    return xasprintf("flatten:%s/%lld/%s/%s", target->cluster_id, (long long)target->pool->id,
                     target->pool->rados_namespace, target->image);
}

void flatten_start(const struct controller *controller, const struct flatten_target *target)
{
    _cleanup_free_ char *key = task_key(target);
    struct flatten *flatten = xcalloc(1, sizeof(*flatten));

    *flatten = (struct flatten){
        .controller = controller,
        .cluster_id = xstrdup(target->cluster_id),
        .credentials = {.user = xstrdup(target->credentials->user)},
        .pool_id = target->pool->id,
        .rados_namespace = xstrdup(target->pool->rados_namespace),
        .image = xstrdup(target->image),
    };
    secret_copy(&flatten->credentials.key, &target->credentials->key);
    tasks_start(controller->tasks, key, &FLATTEN, flatten);
}

void flatten_describe(const struct controller *controller, const struct flatten_target *target,
                      struct text *text)
{
    _cleanup_free_ char *key = task_key(target);
    _cleanup_free_ char *failure = NULL;
    int percent = 0;

    switch (tasks_ask(controller->tasks, key, &percent, &failure)) {
    case TASK_WAITING:
        text_add(text, "waiting to begin");
        break;
    case TASK_RUNNING:
        text_addf(text, "%d %% done", percent);
        break;
    case TASK_FAILED:
        text_addf(text, "the last try failed: %s", failure);
        break;
    case TASK_NONE:
        text_add(text, "just ended");
    }
}

int flatten_if_needed(const struct controller *controller, struct call *call,
                      struct ceph_cluster *cluster, struct ceph_pool *pool,
                      const struct flatten_target *target, unsigned reserve, struct error *err)
{
    _cleanup_text_ struct text progress = TEXT_INIT(512);
    unsigned depth = 0;

    if (image_depth(cluster, call, pool, target->image, &depth, err) < 0)
        return -1;
    enum flatten_plan plan = flatten_plan(&controller->limits, depth, reserve);
    if (plan == FLATTEN_NOT || depth == 0)
        return 0;
    if (plan == FLATTEN_FIRST)
        flatten_describe(controller, target, &progress); /* of a try before this one */
    flatten_start(controller, target);
    if (plan == FLATTEN_BEHIND)
        return 0;
    return error_set(err, STATUS_ABORTED,
                     "image '%s' in pool '%s' has %u ancestors and nothing may be built on it "
                     "before it is detached from them (hard limit %u): %s; retry",
                     target->image, pool->name, depth, controller->limits.hard_depth,
                     text_chars(&progress));
}

/* The clone of a trashed snapshot has the name that the snapshot had. */
static int detach_clones(const struct controller *controller, struct call *call,
                         const struct flatten_target *target, struct ceph_pool *pool,
                         const struct image_snapshots *snapshots, unsigned *started,
                         struct error *err)
{
    for (size_t i = 0;
         i < snapshots->count && i + controller->limits.min_snapshots < snapshots->count; i++) {
        const struct image_snapshot *item = &snapshots->items[i];
        _cleanup_free_ char *clone_id = NULL;

        if (item->kind != SNAPSHOT_TRASH)
            continue;
        if (pool->ops->image_get_id(pool, call, item->original_name, &clone_id, err) < 0) {
            if (err->status != STATUS_NOT_FOUND)
                return -1;
            error_clear(err); /* in another pool, or of another name: not ours to find */
            continue;
        }
        const struct flatten_target clone = {target->cluster_id, target->credentials, pool,
                                             item->original_name};
        flatten_start(controller, &clone);
        (*started)++;
    }
    return 0;
}

int snapshots_make_room(const struct controller *controller, struct call *call,
                        const struct flatten_target *target, struct ceph_pool *pool,
                        struct error *err)
{
    _cleanup_(image_snapshots_done) struct image_snapshots snapshots = {0};
    unsigned started = 0;

    if (pool->ops->snapshot_list(pool, call, target->image, &snapshots, err) < 0)
        return -1;
    if (snapshots.count <= controller->limits.min_snapshots)
        return 0;
    if (detach_clones(controller, call, target, pool, &snapshots, &started, err) < 0)
        return -1;
    if (snapshots.count <= controller->limits.max_snapshots)
        return 0;
    return error_set(
        err, STATUS_RESOURCE_EXHAUSTED,
        "image '%s' in pool '%s' has %zu snapshots, more than %u; %u of its clones are "
        "being detached to free theirs; retry later, or delete snapshots",
        target->image, pool->name, snapshots.count, controller->limits.max_snapshots, started);
}
