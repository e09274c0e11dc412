#include "controller/rbd/flatten.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/session.h"
#include "controller/rbd/purge.h"
#include "controller/rbd/rbd_images.h"

#define RETRY_FIRST_MS 5000
#define RETRY_LIMIT_MS 600000
#define AT_ONCE 3 /* one thread is left for what takes less time */

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

/* --- keys --- */

static char *directory_of(const struct controller *controller)
{
    const struct journal journal = {JOURNAL_VOLUME, controller->instance_id};

    return journal_directory(&journal);
}

int flatten_queue(const struct controller *controller, struct call *call, struct ceph_pool *pool,
                  const char *image, const char *image_id, struct error *err)
{
    _cleanup_free_ char *object = directory_of(controller);
    _cleanup_free_ char *key = xasprintf(FLATTEN_KEY "%s", image_id);

    if (pool->ops->omap_add(pool, call, object, key, image, err) == 0)
        return 0;
    return error_ignore(err, STATUS_ALREADY_EXISTS);
}

int flatten_is_queued(const struct controller *controller, struct call *call,
                      struct ceph_pool *pool, const char *image, bool *queued, struct error *err)
{
    _cleanup_free_ char *object = directory_of(controller);
    _cleanup_free_ char *image_id = NULL;
    _cleanup_free_ char *value = NULL;

    if (pool->ops->image_get_id(pool, call, image, &image_id, err) < 0)
        return -1;
    _cleanup_free_ char *key = xasprintf(FLATTEN_KEY "%s", image_id);
    if (pool->ops->omap_get(pool, call, object, key, &value, err) < 0)
        return -1;
    *queued = value != NULL;
    return 0;
}

static int forget_key(const struct controller *controller, struct call *call,
                      struct ceph_pool *pool, const char *key, const char *image, struct error *err)
{
    _cleanup_free_ char *object = directory_of(controller);
    bool removed = false;

    return pool->ops->omap_remove_if(pool, call, object, key, image, NULL, &removed, err);
}

/* --- the task --- */

static int report_progress(void *object, int percent)
{
    return task_progress(object, percent);
}

static int flatten_image(const struct flatten *flatten, struct call *call, struct ceph_pool *pool,
                         struct error *err)
{
    _cleanup_free_ char *image_id = NULL;

    if (image_find(pool, call, flatten->image, &image_id, err) < 0)
        return -1;
    if (!image_id) /* deleted; its key goes with those of other lost images */
        return flatten_resume(flatten->controller, call, flatten->cluster_id, &flatten->credentials,
                              pool, err);
    if (pool->ops->image_flatten(pool, call, flatten->image, report_progress, call, err) < 0)
        return -1;
    _cleanup_free_ char *key = xasprintf(FLATTEN_KEY "%s", image_id);
    return forget_key(flatten->controller, call, pool, key, flatten->image, err);
}

static int flatten_run(void *object, struct call *call, struct error *err)
{
    const struct flatten *flatten = object;
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_session_ struct session session = {0};
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    purger_credentials(flatten->controller, flatten->cluster_id, &flatten->credentials,
                       &credentials);
    if (session_open(flatten->controller->ceph, flatten->controller->config, call,
                     flatten->cluster_id, &credentials, &session, err) < 0 ||
        session.cluster->ops->pool_open_by_id(session.cluster, call, flatten->pool_id,
                                              flatten->rados_namespace, &pool, err) < 0)
        return -1;
    return flatten_image(flatten, call, pool, err);
}

static void flatten_release(void *object)
{
    struct flatten *flatten = object;

    free_all(flatten->cluster_id, flatten->rados_namespace, flatten->image);
    credentials_done(&flatten->credentials);
    free(flatten);
}

static const struct task_kind FLATTEN = {.run = flatten_run,
                                         .release = flatten_release,
                                         .name = "flatten",
                                         .retry_first_ms = RETRY_FIRST_MS,
                                         .retry_limit_ms = RETRY_LIMIT_MS,
                                         .at_once = AT_ONCE};

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

/* Whether the key is of an image that is there, not of an earlier one of its name. */
static int key_is_valid(struct call *call, struct ceph_pool *pool, const struct strmap_entry *key,
                        bool *valid, struct error *err)
{
    _cleanup_free_ char *image_id = NULL;

    if (image_find(pool, call, key->value, &image_id, err) < 0)
        return -1;
    *valid = image_id && strcmp(key->key + strlen(FLATTEN_KEY), image_id) == 0;
    return 0;
}

static void start_if_idle(const struct controller *controller, const struct flatten_target *target)
{
    _cleanup_free_ char *key = task_key(target);
    _cleanup_free_ char *failure = NULL;
    int percent = 0;

    if (tasks_ask(controller->tasks, key, &percent, &failure) == TASK_NONE)
        flatten_start(controller, target);
}

static int resume_keys(const struct controller *controller, struct call *call,
                       const char *cluster_id, const struct credentials *credentials,
                       struct ceph_pool *pool, const struct strmap *keys, struct error *err)
{
    for (size_t i = 0; i < keys->count; i++) {
        const struct strmap_entry *key = &keys->entries[i];
        bool valid = false;

        if (key_is_valid(call, pool, key, &valid, err) < 0)
            return -1;
        if (valid)
            start_if_idle(controller,
                          &(struct flatten_target){cluster_id, credentials, pool, key->value});
        else if (forget_key(controller, call, pool, key->key, key->value, err) < 0)
            return -1;
    }
    return 0;
}

int flatten_resume(const struct controller *controller, struct call *call, const char *cluster_id,
                   const struct credentials *credentials, struct ceph_pool *pool, struct error *err)
{
    _cleanup_free_ char *object = directory_of(controller);
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    while (more) {
        _cleanup_strmap_ struct strmap keys = {0};

        if (pool->ops->omap_list(pool, call, object, after, FLATTEN_KEY, &keys, &more, err) < 0)
            return error_ignore(err, STATUS_NOT_FOUND); /* no volume has ever been here */
        if (resume_keys(controller, call, cluster_id, credentials, pool, &keys, err) < 0)
            return -1;
        if (keys.count == 0)
            return 0;
        free(after);
        after = xstrdup(keys.entries[keys.count - 1].key);
    }
    return 0;
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
                      const struct flatten_target *target, unsigned reserve, bool *behind,
                      struct error *err)
{
    _cleanup_text_ struct text progress = TEXT_INIT(512);
    unsigned depth = 0;

    if (image_depth(cluster, call, pool, target->image, &depth, err) < 0)
        return -1;
    enum flatten_plan plan = flatten_plan(&controller->limits, depth, reserve);
    *behind = plan == FLATTEN_BEHIND && depth > 0;
    if (plan != FLATTEN_FIRST || depth == 0)
        return 0;
    flatten_describe(controller, target, &progress); /* of a try before this one */
    flatten_start(controller, target);
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
