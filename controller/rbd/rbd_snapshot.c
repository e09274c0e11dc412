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
#include "controller/encrypted.h"
#include "controller/rbd/flatten.h"
#include "controller/rbd/purge.h"
#include "controller/rbd/rbd_backend.h"
#include "controller/rbd/rbd_images.h"
#include "controller/rbd/rbd_metadata.h"
#include "controller/rbd/rbd_source.h"

#define UNKNOWN_DEPTH 64 /* librbd refuses 16 */

/* Snapshot images are only ever cloned and flattened. */
#define SNAPSHOT_FEATURES (IMAGE_FEATURE_LAYERING | IMAGE_FEATURE_DEEP_FLATTEN)

static int look_for_copy(struct snapshot_work *work, struct error *err)
{
    return flatten_is_queued(work->controller, work->call, work->source->pool,
                             work->source->entry.image_name, &work->source_is_thin, err);
}

int rbd_prepare_snapshot(struct snapshot_work *work, struct error *err)
{
    struct located *source = work->source;
    const struct flatten_target target = {source->id.cluster_id, work->credentials, source->pool,
                                          source->entry.image_name};

    if (encrypted_check_image(source, work->call, err) < 0 || look_for_copy(work, err) < 0)
        return -1;
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
        pool->ops->image_get_id(pool, work->call, name, &image_id, err) < 0 ||
        (work->source_is_thin &&
         flatten_queue(work->controller, work->call, pool, name, image_id, err) < 0))
        return -1;
    return journal_set_image_id(&work->journal, work->call, pool, &work->entry.uuid, image_id, err);
}

static struct begun_image begun_image(struct snapshot_work *work)
{
    return (struct begun_image){
        .begun = snapshot_begun(work),
        .work = work->work,
        .pool = work->source->pool,
        .parent_pool = work->source->pool,
        .parent = work->source->entry.image_name,
        .snapshot = work->entry.image_name,
    };
}

/* N is there or not; one that was interrupted half-way is removed. */
static int find_whole(struct snapshot_work *work, bool *found, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const char *name = work->entry.image_name;
    const struct begun_image image = begun_image(work);
    _cleanup_free_ char *image_id = NULL;

    if (image_find(pool, work->call, name, &image_id, err) < 0)
        return -1;
    *found = image_id != NULL;
    return *found ? image_settle(&image, found, err) : image_clear_remnant(&image, err);
}

/* What there is to know of S before it is cloned. */
static int read_source(struct snapshot_work *work, struct image_facts *facts, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const char *source = work->source->entry.image_name;

    if (pool->ops->image_get_facts(pool, work->call, source, facts, err) < 0)
        return -1;
    if (!(facts->features & IMAGE_FEATURE_LAYERING))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "image '%s' in pool '%s' has no feature 'layering', without which it has "
                         "no snapshots to clone",
                         source, pool->name);
    return 0;
}

/* Makes N. Its data, which a flatten writes, go where those of S are. */
static int clone_source(struct snapshot_work *work, bool takes_source, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const struct begun_image image = begun_image(work);
    struct image_options options = {.features = SNAPSHOT_FEATURES};
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (read_source(work, &facts, err) < 0)
        return -1;
    options.data_pool = facts.data_pool;
    if (!takes_source) /* the group has */
        return image_clone_kept(pool, work->call, image.parent, image.snapshot, pool,
                                image.snapshot, &options, err);
    return image_snapshot_and_clone(&image, &options, err);
}

int rbd_build_snapshot(struct snapshot_work *work, bool takes_source, struct error *err)
{
    const struct flatten_target target = {work->source->id.cluster_id, work->credentials,
                                          work->source->pool, work->entry.image_name};
    bool found = false;

    if (work->entry.image_id) /* committed: all was done before */
        return 0;
    /* a group's snapshots may be of an earlier try */
    if ((!takes_source && !work->source_is_thin && look_for_copy(work, err) < 0) ||
        find_whole(work, &found, err) < 0 ||
        (!found && clone_source(work, takes_source, err) < 0) || finish(work, err) < 0)
        return -1;
    if (work->source_is_thin)
        flatten_start(work->controller, &target);
    return 0;
}

/* --- reporting --- */

/* How many ancestors the snapshot's image has. One that goes meanwhile cannot be counted, and the
 * next call knows more. */
static int count_ancestors(struct call *call, struct located *located, const char *image,
                           const struct image_facts *facts, unsigned *depth, struct error *err)
{
    *depth = facts->has_parent ? 1 : 0;
    if (!facts->has_parent || facts->parent.in_trash ||
        image_depth(located->session.cluster, call, located->pool, image, depth, err) == 0)
        return 0;
    *depth = UNKNOWN_DEPTH;
    return error_ignore(err, STATUS_NOT_FOUND);
}

/* Whether CreateVolume makes a volume of it, instead of waiting for it to be detached first. */
static bool is_ready(const struct clone_limits *limits, unsigned depth)
{
    return depth == 0 || flatten_plan(limits, depth, SOURCE_LEVELS) != FLATTEN_FIRST;
}

int rbd_describe_snapshot(struct snapshot_work *work, struct snapshot *snapshot, struct error *err)
{
    struct located *source = work->source;
    const char *name = work->entry.image_name;
    const struct clone_limits *limits = &work->controller->limits;
    const struct flatten_target target = {source->id.cluster_id, work->credentials, source->pool,
                                          name};
    _cleanup_image_facts_ struct image_facts facts = {0};
    unsigned depth = 0;

    *snapshot = (struct snapshot){0};
    if (source->pool->ops->image_get_facts(source->pool, work->call, name, &facts, err) < 0 ||
        count_ancestors(work->call, source, name, &facts, &depth, err) < 0)
        return -1;
    snapshot->ready = is_ready(limits, depth);
    if (depth != UNKNOWN_DEPTH &&
        (!snapshot->ready || flatten_plan(limits, depth, 0) != FLATTEN_NOT))
        flatten_start(work->controller, &target);
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
          image_discard(pool, work->call, name, NULL, work->entry.image_id, &queued, &err) < 0)) ||
        journal_remove(&work->journal, work->call, pool, &work->entry.uuid, &err) < 0 ||
        journal_release_name(&work->journal, work->call, pool, work->entry.request_name, pool->id,
                             &work->entry.uuid, &queued, &err) < 0)
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
        image_discard(snapshot->pool, call, entry->image_name, NULL, entry->image_id, &queued,
                      err) < 0)
        return -1;
    if (entry->source && /* what an interrupted creation left on the source */
        snapshot_ensure_gone(snapshot->pool, call, entry->source, entry->image_name, err) < 0)
        return -1;
    int result = located_release(snapshot, call, &queued, err);
    purge_start(controller, snapshot->id.cluster_id, credentials, snapshot->directory);
    return result;
}

int rbd_read_snapshot(const struct controller *controller, struct call *call,
                      struct located *located, const struct credentials *credentials,
                      struct snapshot *snapshot, struct error *err)
{
    struct ceph_pool *pool = located->pool;
    const char *name = located->entry.image_name;
    _cleanup_image_facts_ struct image_facts facts = {0};
    unsigned depth = 0;

    if (pool->ops->image_get_facts(pool, call, name, &facts, err) < 0 ||
        count_ancestors(call, located, name, &facts, &depth, err) < 0)
        return -1;
    const bool is_detached = is_ready(&controller->limits, depth);
    const struct flatten_target target = {located->id.cluster_id, credentials, pool, name};
    if (!is_detached && depth != UNKNOWN_DEPTH && credentials)
        flatten_start(controller, &target);
    *snapshot = (struct snapshot){
        .size_bytes = facts.size_bytes,
        .created = facts.created,
        .ready = located->entry.image_id != NULL && is_detached,
    };
    handle_format(&located->id, &located->entry.uuid, snapshot->handle);
    snapshot_format_source(located, snapshot->source_handle);
    if (located->entry.group_id)
        snprintf(snapshot->group_handle, sizeof(snapshot->group_handle), "%s",
                 located->entry.group_id);
    return 0;
}
