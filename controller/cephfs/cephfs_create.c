/*
 * CreateVolume for CephFS. The steps, each of which a retry finds done or does itself:
 *
 *   claim    the request name in the directory         1 RT, guarded: of two processes one wins
 *   record   the uuid's object with its attributes     1 RT
 *   make     the subvolume, empty or as a clone; or a  commands to the manager
 *            reference to the snapshot that it shows
 *   commit   'complete' in the object                  1 RT
 *
 * Making again what is not committed does no harm: Ceph takes the same subvolume or snapshot twice,
 * and tells of a clone that it knows. Only a committed volume may have grown since, so that it is
 * looked at and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "controller/cephfs/cephfs_creation.h"
#include "controller/claim.h"
#include "controller/fingerprint.h"
#include "controller/rbd/rbd_images.h"
#include "controller/rbd/rbd_metadata.h"

static bool only_reads(const struct create_request *request)
{
    for (size_t i = 0; i < request->capabilities.count; i++)
        if (!access_mode_is_read_only(request->capabilities.items[i].mode))
            return false;
    return true;
}

/* Whether the volume shows its snapshot: by what the class says, else if it is only read. */
static int choose_backing(struct cephfs_creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;
    const bool reads = only_reads(request);
    const bool from_snapshot = request->source_kind == SOURCE_SNAPSHOT;

    creation->is_shallow = creation->parameters.backing == BACKING_SNAPSHOT;
    if (creation->parameters.backing == BACKING_BY_MODE)
        creation->is_shallow = reads && from_snapshot;
    if (creation->is_shallow && !from_snapshot)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter backingSnapshot: the volume is not to be made from a snapshot");
    if (creation->is_shallow && !reads)
        return error_set(
            err, STATUS_INVALID_ARGUMENT,
            "parameter backingSnapshot: a snapshot can only be read, but the volume is "
            "to be written to; use accessModes ReadOnlyMany, or leave it out");
    return 0;
}

static int check_request(struct cephfs_creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;

    if (capability_list_check_cephfs(&request->capabilities, err) < 0 ||
        capacity_range_choose_cephfs(&request->range, &creation->size_bytes, err) < 0 ||
        cephfs_parameters_parse(&request->parameters, &creation->parameters, err) < 0 ||
        class_pools_parse_cephfs(&request->parameters, &creation->class, err) < 0 ||
        choose_backing(creation, err) < 0)
        return -1;
    if (request->mutable_parameters.count > 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "mutable_parameters: '%.64s' is not known; CephFS volumes have none",
                         request->mutable_parameters.entries[0].key);
    metadata_collect(creation->controller, METADATA_VOLUME, &request->parameters,
                     &creation->metadata);
    return 0;
}

/* What can be told of the source as soon as it is known. */
static int check_source(struct cephfs_creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;
    const struct cephfs_source *source = &creation->source;

    if (request->source_kind == SOURCE_VOLUME && source->snapshot && only_reads(request))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the source '%s' shows snapshot '%s'; for another volume that only reads, "
                         "use that snapshot as the source",
                         request->source_handle, source->snapshot_handle);
    if (source->size_bytes == 0) /* no quota */
        return 0;
    return capacity_range_fit(&request->range, source->size_bytes, &creation->size_bytes, err);
}

int cephfs_creation_open_source(struct cephfs_creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;

    if (request->source_kind == SOURCE_NONE)
        return 0;
    if (!creation->source_is_open) {
        creation->source_is_open = true;
        if (cephfs_source_open(creation->controller, creation->call, request, creation->is_begun,
                               &creation->source, err) < 0 ||
            check_source(creation, err) < 0)
            return -1;
    }
    if (!creation->is_placed)
        return 0;
    return cephfs_source_check_place(&creation->source, creation->cluster_id, &creation->fs, err);
}

/* --- claim and record --- */

static void fill_entry(struct cephfs_creation *creation, const struct uuid_text *uuid)
{
    const struct cephfs_source *source = &creation->source;
    struct journal_entry *entry = &creation->entry;

    journal_entry_done(entry);
    *entry = (struct journal_entry){
        .uuid = *uuid,
        .request_name = xstrdup(creation->request->name),
        .image_name = xasprintf("%s%s", creation->parameters.name_prefix, uuid->chars),
        .owner = creation->parameters.owner ? xstrdup(creation->parameters.owner) : NULL,
        .journal_pool_id = creation->directory == creation->pool ? -1 : creation->directory->id,
    };
    fingerprint_write(creation->request, creation->size_bytes, &entry->extra);
    cephfs_creation_write_place(creation, &entry->extra);
    if (creation->is_shallow)
        strmap_set(&entry->extra, CEPHFS_KEY_BACKING, source->snapshot_handle);
    else if (source->subvolume && !source->snapshot)
        strmap_set(&entry->extra, CEPHFS_KEY_CLONED, source->subvolume);
}

/* Writes the entry; @is_empty says that its object is there without attributes. */
static int record(struct cephfs_creation *creation, const struct uuid_text *uuid, bool is_empty,
                  struct error *err)
{
    if (cephfs_creation_open_source(creation, err) < 0 ||
        cephfs_creation_settle_place(creation, err) < 0)
        return -1;
    fill_entry(creation, uuid);
    if (is_empty)
        return journal_fill(&creation->journal, creation->call, creation->pool, &creation->entry,
                            err);
    if (journal_write(&creation->journal, creation->call, creation->pool, &creation->entry, err) ==
        0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err); /* another process continues the same reservation */
    return 0;
}

/* What an earlier try chose stays chosen. */
static int adopt_entry(struct cephfs_creation *creation, struct error *err)
{
    const struct strmap *extra = &creation->entry.extra;
    uint64_t recorded = fingerprint_size(extra);

    if (journal_check_name(&creation->entry, creation->request->name, err) < 0 ||
        fingerprint_check(creation->request, extra, err) < 0)
        return -1;
    if (recorded)
        creation->size_bytes = recorded;
    cephfs_creation_read_place(creation, extra);
    creation->is_shallow = cephfs_backing(&creation->entry) != NULL;
    return 0;
}

static int follow(void *object, int64_t metadata_pool_id, struct error *err)
{
    return cephfs_creation_follow(object, metadata_pool_id, err);
}

static int claim(struct cephfs_creation *creation, struct journal_ref *ref, struct error *err)
{
    const struct name_claim claim = {.journal = &creation->journal,
                                     .call = creation->call,
                                     .directory = creation->directory,
                                     .name = creation->request->name,
                                     .pool_id = creation->pool->id,
                                     .follow = follow,
                                     .object = creation};

    return name_claim(&claim, ref, &creation->fresh, err);
}

/* Finds or makes the entry that the request name leads to. */
static int reserve(struct cephfs_creation *creation, struct error *err)
{
    struct journal_ref ref;
    bool found = false;

    if (claim(creation, &ref, err) < 0)
        return -1;
    creation->is_begun = !creation->fresh;
    creation->entry.uuid = ref.uuid;
    if (!creation->fresh && journal_read(&creation->journal, creation->call, creation->pool,
                                         &ref.uuid, &creation->entry, &found, err) < 0)
        return -1;
    if (!found || !creation->entry.request_name)
        return record(creation, &ref.uuid, found, err);
    return adopt_entry(creation, err);
}

/* --- the whole --- */

/* Undoes what a call that failed for good has begun. */
static void give_up(struct cephfs_creation *creation)
{
    _cleanup_error_ struct error err = {0};

    if ((creation->entry.image_name && cephfs_creation_unmake(creation, &err) < 0) ||
        journal_release_name(&creation->journal, creation->call, creation->directory,
                             creation->request->name, creation->pool->id, &creation->entry.uuid,
                             NULL, &err) < 0 ||
        journal_remove(&creation->journal, creation->call, creation->pool, &creation->entry.uuid,
                       &err) < 0)
        log_warn(creation->call, "the failed creation leaves something behind: %s", err.message);
}

static void describe(const struct cephfs_creation *creation, struct volume *volume)
{
    struct volume_id id = {.location_id = (uint64_t)creation->fs.id, .uuid = creation->entry.uuid};
    const char *cluster_id = creation->cluster_id;

    memcpy(id.cluster_id, cluster_id, strlen(cluster_id) + 1);
    volume_id_format(&id, volume->handle);
    volume->size_bytes = creation->size_bytes;
    class_parameters_to_context(&creation->request->parameters, &volume->context);
    strmap_set(&volume->context, "clusterID", cluster_id);
    strmap_set(&volume->context, "fsName", creation->fs.name);
    strmap_set(&volume->context, "subvolumeName", creation->entry.image_name);
    strmap_set(&volume->context, "subvolumePath", creation->path ? creation->path : "");
    if (creation->data_pool)
        strmap_set(&volume->context, "pool", creation->data_pool);
    strmap_merge(&volume->segments, &creation->place.segments);
}

static int create(struct cephfs_creation *creation, struct volume *volume, struct error *err)
{
    if (cephfs_creation_open_place(creation, err) < 0)
        return -1;
    if (reserve(creation, err) == 0 && cephfs_creation_make(creation, err) == 0) {
        place_end(&creation->place, creation->fresh && !creation->is_shallow);
        describe(creation, volume);
        return 0;
    }
    if (creation->fresh && status_is_final(err->status) && creation->pool)
        give_up(creation);
    return -1;
}

static void creation_done(struct cephfs_creation *creation)
{
    cephfs_source_done(&creation->source);
    cephfs_creation_close_pools(creation);
    filesystem_done(&creation->fs);
    session_close(&creation->session);
    journal_entry_done(&creation->entry);
    place_done(&creation->place);
    class_pools_done(&creation->class);
    strmap_done(&creation->metadata);
    free(creation->path);
}

int cephfs_create_volume(const struct controller *controller, struct call *call,
                         const struct create_request *request, struct volume *volume,
                         struct error *err)
{
    _cleanup_(creation_done) struct cephfs_creation creation = {
        .controller = controller,
        .call = call,
        .request = request,
        .journal = {JOURNAL_VOLUME, controller->instance_id},
    };

    if (check_request(&creation, err) < 0)
        return -1;
    return create(&creation, volume, err);
}
