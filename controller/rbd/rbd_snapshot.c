/*
 * A CSI snapshot of an image is an image of its own, N, cloned from a snapshot S@N of the source
 * volume, with a snapshot N@N on it to restore from; S@N goes as soon as N exists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "controller/claim_metadata.h"
#include "controller/rbd/flatten.h"
#include "controller/rbd/purge.h"
#include "controller/rbd/rbd_backend.h"
#include "controller/rbd/rbd_images.h"
#include "controller/rbd/rbd_metadata.h"

/* Snapshot images are only ever cloned and flattened. */
#define SNAPSHOT_FEATURES (IMAGE_FEATURE_LAYERING | IMAGE_FEATURE_DEEP_FLATTEN)

int rbd_prepare_snapshot(struct snapshot_work *work, struct error *err)
{
    struct located *source = work->source;
    const struct flatten_target target = {source->id.cluster_id, work->credentials, source->pool,
                                          source->entry.image_name};
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (source->pool->ops->image_get_facts(source->pool, work->call, source->entry.image_name,
                                           &facts, err) < 0)
        return -1;
    if (!(facts.features & IMAGE_FEATURE_LAYERING))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "image '%s' in pool '%s' has no feature 'layering', without which it has "
                         "no snapshots to clone",
                         source->entry.image_name, source->pool->name);
    return snapshots_make_room(work->controller, work->call, &target, source->pool, err);
}

static int finish(struct snapshot_work *work, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const char *name = work->entry.image_name;
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_free_ char *image_id = NULL;

    claim_metadata_collect(work->controller, METADATA_SNAPSHOT, work->parameters, &metadata);
    if (snapshot_ensure_gone(pool, work->call, work->source->entry.image_name, name, err) < 0 ||
        metadata_apply(pool, work->call, name, true, &metadata, err) < 0 ||
        snapshot_ensure(pool, work->call, name, name, err) < 0 ||
        pool->ops->image_get_id(pool, work->call, name, &image_id, err) < 0)
        return -1;
    return journal_set_image_id(&work->journal, work->call, pool, &work->entry.uuid, image_id, err);
}

/* N is there or not; one that was interrupted half-way is removed. */
static int find_whole(struct snapshot_work *work, bool *found, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const char *name = work->entry.image_name;
    const struct begun_image image = {
        pool, name, &work->entry.extra, pool, work->source->entry.image_name, name};
    _cleanup_free_ char *image_id = NULL;

    if (image_find(pool, work->call, name, &image_id, err) < 0)
        return -1;
    *found = image_id != NULL;
    return *found ? image_settle(work->controller, work->call, &image, found, err) : 0;
}

/* Makes N from S@N, which the group has taken. */
static int clone_group_snapshot(struct snapshot_work *work, const struct image_options *options,
                                struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const char *name = work->entry.image_name;

    if (pool->ops->image_clone(pool, work->call, work->source->entry.image_name, name, pool, name,
                               options, err) == 0)
        return 0;
    return something_interfered(err);
}

int rbd_build_snapshot(struct snapshot_work *work, bool takes_source, struct error *err)
{
    const struct image_options options = {.features = SNAPSHOT_FEATURES};
    struct ceph_pool *pool = work->source->pool;
    const char *name = work->entry.image_name;
    bool found = false;
    int result = 0;

    if (work->entry.image_id) /* committed: all was done before */
        return 0;
    if (find_whole(work, &found, err) < 0)
        return -1;
    if (!found)
        result = takes_source
                     ? image_snapshot_and_clone(pool, work->call, work->source->entry.image_name,
                                                pool, name, &options, err)
                     : clone_group_snapshot(work, &options, err);
    return result < 0 ? -1 : finish(work, err);
}

/* A snapshot at the hard limit can be restored from only when it is detached. */
static int check_ready(struct snapshot_work *work, bool *ready, struct error *err)
{
    struct located *source = work->source;
    const struct flatten_target target = {source->id.cluster_id, work->credentials, source->pool,
                                          work->entry.image_name};
    unsigned depth = 0;

    if (image_depth(source->session.cluster, work->call, source->pool, work->entry.image_name,
                    &depth, err) < 0)
        return -1;
    enum flatten_plan plan = flatten_plan(&work->controller->limits, depth, 0);
    if (plan != FLATTEN_NOT)
        flatten_start(work->controller, &target);
    *ready = plan != FLATTEN_FIRST;
    return 0;
}

int rbd_describe_snapshot(struct snapshot_work *work, struct snapshot *snapshot, struct error *err)
{
    struct located *source = work->source;
    _cleanup_image_facts_ struct image_facts facts = {0};

    *snapshot = (struct snapshot){0};
    if (source->pool->ops->image_get_facts(source->pool, work->call, work->entry.image_name, &facts,
                                           err) < 0 ||
        check_ready(work, &snapshot->ready, err) < 0)
        return -1;
    handle_format(&source->id, &work->entry.uuid, snapshot->handle);
    memcpy(snapshot->source_handle, source->handle, sizeof(source->handle));
    if (work->entry.group_id)
        snprintf(snapshot->group_handle, sizeof(snapshot->group_handle), "%s",
                 work->entry.group_id);
    snapshot->size_bytes = facts.size_bytes;
    snapshot->created = facts.created;
    return 0;
}

void rbd_give_up_snapshot(struct snapshot_work *work)
{
    struct ceph_pool *pool = work->source->pool;
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap queued = {0};
    const char *name = work->entry.image_name;

    if ((name &&
         (snapshot_ensure_gone(pool, work->call, work->source->entry.image_name, name, &err) < 0 ||
          snapshot_ensure_gone(pool, work->call, name, name, &err) < 0 ||
          image_discard(pool, work->call, name, NULL, &queued, &err) < 0)) ||
        journal_release_name(&work->journal, work->call, pool, work->entry.request_name, pool->id,
                             &work->entry.uuid, &queued, &err) < 0 ||
        journal_remove(&work->journal, work->call, pool, &work->entry.uuid, &err) < 0)
        log_warn(work->call, "the failed snapshot leaves something behind: %s", err.message);
    else if (queued.count > 0)
        purge_start(work->controller, work->source->id.cluster_id, work->credentials, pool);
}

int rbd_discard_snapshot(const struct controller *controller, struct call *call,
                         struct located *snapshot, const struct credentials *credentials,
                         struct error *err)
{
    const struct journal_entry *entry = &snapshot->entry;
    _cleanup_strmap_ struct strmap queued = {0};

    if (snapshot_ensure_gone(snapshot->pool, call, entry->image_name, entry->image_name, err) < 0 ||
        image_discard(snapshot->pool, call, entry->image_name, NULL, &queued, err) < 0)
        return -1;
    if (entry->source && /* what an interrupted creation left on the source */
        snapshot_ensure_gone(snapshot->pool, call, entry->source, entry->image_name, err) < 0)
        return -1;
    int result = located_release(snapshot, call, &queued, err);
    purge_start(controller, snapshot->id.cluster_id, credentials, snapshot->directory);
    return result;
}

int rbd_read_snapshot(struct call *call, struct located *located, struct snapshot *snapshot,
                      struct error *err)
{
    struct ceph_pool *pool = located->pool;
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (pool->ops->image_get_facts(pool, call, located->entry.image_name, &facts, err) < 0)
        return -1;
    *snapshot = (struct snapshot){
        .size_bytes = facts.size_bytes,
        .created = facts.created,
        .ready = located->entry.image_id != NULL,
    };
    handle_format(&located->id, &located->entry.uuid, snapshot->handle);
    snapshot_format_source(located, snapshot->source_handle);
    if (located->entry.group_id)
        snprintf(snapshot->group_handle, sizeof(snapshot->group_handle), "%s",
                 located->entry.group_id);
    return 0;
}
