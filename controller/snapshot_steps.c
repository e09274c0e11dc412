#include "controller/snapshot_steps.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "controller/images.h"
#include "controller/metadata.h"
#include "controller/purge.h"

/* Snapshot images are only ever cloned and flattened. The bits are RBD's layering and
 * deep-flatten. */
#define SNAPSHOT_FEATURES (1 << 0 | 1 << 5)

/* Ours: the handle of the source, because the journal's csi.source is only its image name. */
#define KEY_SOURCE_HANDLE "cephzone.sourcevolume"

void handle_format(const struct volume_id *like, const struct ceph_pool *pool,
                   const struct uuid_text *uuid, char *handle)
{
    struct volume_id id = *like;

    id.location_id = (uint64_t)pool->id;
    id.uuid = *uuid;
    volume_id_format(&id, handle);
}

static int check_source(const struct snapshot_work *work, struct error *err)
{
    const char *wanted = work->source->entry.image_name;
    const char *recorded = work->entry.source ? work->entry.source : "";

    if (strcmp(recorded, wanted) != 0)
        return error_set(err, STATUS_ALREADY_EXISTS,
                         "a snapshot of that name exists, of image '%s'; asked for is one of '%s'",
                         recorded, wanted);
    return 0;
}

/* Writes the entry; @is_empty says that its object is there without attributes. */
static int record(struct snapshot_work *work, const char *name, const char *name_prefix,
                  const char *group_handle, bool is_empty, struct error *err)
{
    struct located *source = work->source;
    const struct uuid_text uuid = work->entry.uuid;

    journal_entry_done(&work->entry);
    work->entry = (struct journal_entry){
        .uuid = uuid,
        .request_name = xstrdup(name),
        .image_name = xasprintf("%s%s", name_prefix, uuid.chars),
        .source = xstrdup(source->entry.image_name),
        .owner = source->entry.owner ? xstrdup(source->entry.owner) : NULL,
        .group_id = group_handle ? xstrdup(group_handle) : NULL,
        .journal_pool_id = -1,
    };
    strmap_set(&work->entry.extra, KEY_SOURCE_HANDLE, source->handle);
    image_mark_begun(work->controller, &work->entry.extra);
    if (is_empty)
        return journal_fill(&work->journal, work->call, source->pool, &work->entry, err);
    if (journal_write(&work->journal, work->call, source->pool, &work->entry, err) == 0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err); /* another process continues the same reservation */
    return 0;
}

int snapshot_reserve(struct snapshot_work *work, const char *name, const char *name_prefix,
                     const char *group_handle, bool *fresh, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    struct journal_ref ref;
    bool found = false;

    if (journal_claim(&work->journal, work->call, pool, name, pool->id, &ref, fresh, err) < 0)
        return -1;
    work->entry.uuid = ref.uuid;
    if (!*fresh &&
        journal_read(&work->journal, work->call, pool, &ref.uuid, &work->entry, &found, err) < 0)
        return -1;
    if (!found || !work->entry.request_name)
        return record(work, name, name_prefix, group_handle, found, err);
    if (journal_check_name(&work->entry, name, err) < 0)
        return -1;
    return check_source(work, err);
}

static int finish(struct snapshot_work *work, struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const char *name = work->entry.image_name;
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_free_ char *image_id = NULL;

    metadata_collect(work->controller, METADATA_SNAPSHOT, work->parameters, &metadata);
    if (snapshot_ensure_gone(pool, work->call, work->source->entry.image_name, name, err) < 0 ||
        metadata_apply(pool, work->call, name, true, &metadata, NULL, err) < 0 ||
        snapshot_ensure(pool, work->call, name, name, err) < 0 ||
        pool->ops->image_get_id(pool, work->call, name, &image_id, err) < 0)
        return -1;
    return journal_set_image_id(&work->journal, work->call, pool, &work->entry.uuid, image_id, err);
}

/* N is there or not; one that was cut half-way is removed. */
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

/* Makes N from S@N, which a group has cut. */
static int clone_cut(struct snapshot_work *work, const struct image_options *options,
                     struct error *err)
{
    struct ceph_pool *pool = work->source->pool;
    const char *name = work->entry.image_name;

    if (pool->ops->image_clone(pool, work->call, work->source->entry.image_name, name, pool, name,
                               options, err) == 0)
        return 0;
    return something_interfered(err);
}

int snapshot_build(struct snapshot_work *work, bool cut, struct error *err)
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
        result = cut ? image_cut_and_clone(pool, work->call, work->source->entry.image_name, pool,
                                           name, &options, err)
                     : clone_cut(work, &options, err);
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

int snapshot_describe(struct snapshot_work *work, struct snapshot *snapshot, struct error *err)
{
    struct located *source = work->source;
    _cleanup_image_facts_ struct image_facts facts = {0};

    *snapshot = (struct snapshot){0};
    if (source->pool->ops->image_get_facts(source->pool, work->call, work->entry.image_name, &facts,
                                           err) < 0 ||
        check_ready(work, &snapshot->ready, err) < 0)
        return -1;
    handle_format(&source->id, source->pool, &work->entry.uuid, snapshot->handle);
    memcpy(snapshot->source_handle, source->handle, sizeof(source->handle));
    if (work->entry.group_id)
        snprintf(snapshot->group_handle, sizeof(snapshot->group_handle), "%s",
                 work->entry.group_id);
    snapshot->size_bytes = facts.size_bytes;
    snapshot->created = facts.created;
    return 0;
}

void snapshot_give_up(struct snapshot_work *work)
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

void snapshot_work_done(struct snapshot_work *work)
{
    journal_entry_done(&work->entry);
}

int snapshot_discard(const struct controller *controller, struct call *call,
                     struct located *snapshot, const struct credentials *credentials,
                     struct error *err)
{
    const struct journal_entry *entry = &snapshot->entry;
    _cleanup_strmap_ struct strmap queued = {0};

    if (snapshot_ensure_gone(snapshot->pool, call, entry->image_name, entry->image_name, err) < 0 ||
        image_discard(snapshot->pool, call, entry->image_name, NULL, &queued, err) < 0)
        return -1;
    if (entry->source && /* what a cut creation left on the source */
        snapshot_ensure_gone(snapshot->pool, call, entry->source, entry->image_name, err) < 0)
        return -1;
    int result = located_release(snapshot, call, &queued, err);
    purge_start(controller, snapshot->id.cluster_id, credentials, snapshot->directory);
    return result;
}

/* Ceph-CSI's snapshots know only the name of their source's image; its uuid is at the end. */
static void format_source(const struct located *located, char *handle)
{
    const char *recorded = strmap_get(&located->entry.extra, KEY_SOURCE_HANDLE);
    const char *source = located->entry.source ? located->entry.source : "";
    size_t length = strlen(source);
    struct uuid_text uuid;

    handle[0] = '\0';
    if (recorded) {
        snprintf(handle, VOLUME_ID_LENGTH_MAX + 1, "%s", recorded);
    } else if (length >= UUID_LENGTH && uuid_text_is_valid(source + length - UUID_LENGTH)) {
        memcpy(uuid.chars, source + length - UUID_LENGTH, UUID_LENGTH + 1);
        handle_format(&located->id, located->pool, &uuid, handle);
    }
}

int snapshot_read(struct call *call, struct located *located, struct snapshot *snapshot,
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
    handle_format(&located->id, pool, &located->entry.uuid, snapshot->handle);
    format_source(located, snapshot->source_handle);
    if (located->entry.group_id)
        snprintf(snapshot->group_handle, sizeof(snapshot->group_handle), "%s",
                 located->entry.group_id);
    return 0;
}
