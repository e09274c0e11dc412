/*
 * What CreateVolume does for CephFS; create_volume.c drives it, cephfs_make.c makes the subvolume.
 *
 * What a volume's handle names is its file system, so its journal entry is in the metadata pool of
 * that, where Ceph-CSI finds it. The request name is in the metadata pool of the class's fsName,
 * whichever file system of the cluster the volume is in.
 *
 * The name leads to a file system, not to a data pool: that is in the entry. A creation that was
 * interrupted between the two has made nothing yet, and chooses again within the file system.
 *
 * Making again what is not committed does no harm: Ceph takes the same subvolume or snapshot twice,
 * and reports a clone that it knows. Only a committed volume may have grown since, so that it is
 * examined and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"
#include "controller/cephfs/cephfs_creation.h"
#include "controller/claim_metadata.h"
#include "controller/fingerprint.h"
#include "controller/recorded_segments.h"

static bool only_reads(const struct create_request *request)
{
    for (size_t i = 0; i < request->capabilities.count; i++)
        if (!access_mode_is_read_only(request->capabilities.items[i].mode))
            return false;
    return true;
}

/* Whether the volume shows its snapshot: by what the class says, else if it is only read. */
static int choose_backing(struct creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;
    const bool reads = only_reads(request);
    const bool from_snapshot = request->source_kind == SOURCE_SNAPSHOT;

    creation->shows_source = cephfs_of(creation)->parameters.backing == BACKING_SNAPSHOT;
    if (cephfs_of(creation)->parameters.backing == BACKING_BY_MODE)
        creation->shows_source = reads && from_snapshot;
    if (creation->shows_source && !from_snapshot)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter backingSnapshot: the volume is not to be made from a snapshot");
    if (creation->shows_source && !reads)
        return error_set(
            err, STATUS_INVALID_ARGUMENT,
            "parameter backingSnapshot: a snapshot can only be read, but the volume is "
            "to be written to; use accessModes ReadOnlyMany, or leave it out");
    return 0;
}

static int check_request(struct creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;

    if (capability_list_check_cephfs(&request->capabilities, err) < 0 ||
        capacity_range_choose_cephfs(&request->range, &creation->size_bytes, err) < 0 ||
        cephfs_parameters_parse(&request->parameters, &cephfs_of(creation)->parameters, err) < 0 ||
        class_pools_parse_cephfs(&request->parameters, &creation->class, err) < 0 ||
        choose_backing(creation, err) < 0)
        return -1;
    if (request->mutable_parameters.count > 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "mutable_parameters: '%.64s' is not known; CephFS volumes have none",
                         request->mutable_parameters.entries[0].key);
    creation->name_prefix = cephfs_of(creation)->parameters.name_prefix;
    creation->owner = cephfs_of(creation)->parameters.owner;
    creation_use_data_pool(creation, creation->class.pool);
    claim_metadata_collect(creation->controller, METADATA_VOLUME, &request->parameters,
                           &creation->metadata);
    return 0;
}

/* What can be checked as soon as the source is known. */
static int check_source(struct creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;
    const struct cephfs_source *source = &cephfs_of(creation)->source;

    if (request->source_kind == SOURCE_VOLUME && source->snapshot && only_reads(request))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the source '%s' shows snapshot '%s'; for another volume that only reads, "
                         "use that snapshot as the source",
                         request->source_handle, source->snapshot_handle);
    if (source->size_bytes == 0) /* no quota */
        return 0;
    return capacity_range_fit(&request->range, source->size_bytes, &creation->size_bytes, err);
}

/* Several clusterIDs may lead to one Ceph, each with a group and a RADOS namespace of its own. */
static int name_cluster(const struct creation *creation, struct cephfs_source *source,
                        struct error *err)
{
    bool same = false;

    if (strcmp(source->cluster_id, creation->cluster_id) == 0)
        return 0;
    if (creation_is_same_ceph(creation, source->fsid, &same, err) < 0)
        return -1;
    if (same)
        snprintf(source->cluster_id, sizeof(source->cluster_id), "%s", creation->cluster_id);
    return 0;
}

/* Once it is settled where the volume will be. */
static int check_source_place(struct creation *creation, struct error *err)
{
    const struct cephfs_source *source = &cephfs_of(creation)->source;
    const struct filesystem *fs = &cephfs_of(creation)->fs;

    if (strcmp(source->cluster_id, creation->cluster_id) != 0 || source->fs.id != fs->id)
        return error_set(
            err, STATUS_INVALID_ARGUMENT,
            "the source is in file system '%s' of cluster '%s', the new volume would be in "
            "'%s' of '%s'; Ceph copies within one file system only",
            source->fs.name, source->cluster_id, fs->name, creation->cluster_id);
    /* what keeps a snapshot alive is in the journal of the snapshot */
    if (creation->shows_source &&
        (strcmp(source->rados_namespace, creation->pool->rados_namespace) != 0 ||
         strcmp(source->group, cephfs_of(creation)->group.name) != 0))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the volume would show a snapshot of subvolume group '%s' (RADOS "
                         "namespace '%s') in group '%s' (namespace '%s'); set backingSnapshot: "
                         "\"false\" for a copy",
                         source->group, source->rados_namespace, cephfs_of(creation)->group.name,
                         creation->pool->rados_namespace);
    return 0;
}

int cephfs_open_source(struct creation *creation, struct error *err)
{
    struct cephfs_creation *cephfs = cephfs_of(creation);

    if (creation->request->source_kind == SOURCE_NONE)
        return 0;
    if (!cephfs->source_is_open) {
        cephfs->source_is_open = true;
        if (cephfs_source_open(creation->controller, creation->call, creation->request,
                               creation->is_begun, &cephfs->source, err) < 0 ||
            name_cluster(creation, &cephfs->source, err) < 0 || check_source(creation, err) < 0)
            return -1;
    }
    return creation->is_placed ? check_source_place(creation, err) : 0;
}

/* --- file systems --- */

static int list_filesystems(struct cephfs_creation *creation, struct error *err)
{
    free(TAKE(creation->listed));
    filesystem_list_done(&creation->filesystems);
    if (filesystem_list_read(creation->base.session.cluster, creation->base.call,
                             &creation->filesystems, err) < 0)
        return -1;
    creation->listed = xstrdup(creation->base.cluster_id);
    return 0;
}

static int open_named(struct creation *base, const char *name, struct ceph_pool **pool,
                      struct error *err)
{
    struct cephfs_creation *creation = cephfs_of(base);
    struct ceph_cluster *cluster = base->session.cluster;
    const char *rados_namespace =
        session_cephfs_namespace(&base->session, base->controller->cephfs_namespace);
    bool is_listed = creation->listed && strcmp(creation->listed, base->cluster_id) == 0;

    if (!is_listed && list_filesystems(creation, err) < 0)
        return -1;
    const struct filesystem *fs = filesystem_list_find(&creation->filesystems, cluster, name, err);
    if (!fs)
        return -1;
    return cluster->ops->pool_open_by_id(cluster, base->call, fs->metadata_pool_id, rados_namespace,
                                         pool, err);
}

/* Takes the file system with that metadata pool for the volume's. */
static bool take_filesystem(struct cephfs_creation *creation, const struct ceph_pool *pool)
{
    for (size_t i = 0; i < creation->filesystems.count; i++) {
        const struct filesystem *fs = &creation->filesystems.items[i];

        if (fs->metadata_pool_id != pool->id)
            continue;
        filesystem_done(&creation->fs);
        filesystem_copy(fs, &creation->fs);
        creation->group = cephfs_group(&creation->base.session, &creation->fs);
        return true;
    }
    return false;
}

static int enter_pool(struct creation *base, const struct ceph_pool *pool, struct error *err)
{
    struct cephfs_creation *creation = cephfs_of(base);
    bool is_listed = creation->listed && strcmp(creation->listed, base->cluster_id) == 0;

    if (is_listed && take_filesystem(creation, pool))
        return 0;
    /* it may be younger than the list */
    if (list_filesystems(creation, err) < 0)
        return -1;
    if (take_filesystem(creation, pool))
        return 0;
    return error_set(err, STATUS_NOT_FOUND, "there is no file system with metadata pool %lld",
                     (long long)pool->id);
}

/* --- the place --- */

static void describe_source(const struct creation *creation, struct placing *placing)
{
    const struct cephfs_creation *cephfs = (const struct cephfs_creation *)creation;

    if (!cephfs->source_is_open)
        return;
    placing->source_cluster = cephfs->source.cluster_id;
    placing->source_fs = cephfs->source.fs.name;
    placing->source_pool = cephfs->source.data_pool;
}

/* Decides for a data pool of the file system that the name leads to, unless that was done. */
static int settle_place(struct creation *creation, struct error *err)
{
    const char *fs_name = cephfs_of(creation)->fs.name;
    struct place *place = &creation->place;

    if (!creation->wants_place || (place->fs_name && strcmp(place->fs_name, fs_name) == 0 &&
                                   strcmp(place->cluster_id, creation->cluster_id) == 0))
        return 0;
    struct placing placing = creation_placing(creation);
    placing.only_cluster = creation->cluster_id;
    placing.only_fs = fs_name;
    place_done(place);
    if (place_decide(&placing, place, err) < 0) {
        if (err->status != STATUS_RESOURCE_EXHAUSTED)
            return -1;
        error_clear(err); /* it was begun where nothing serves this try: continue there */
        if (place_recover(&placing, NULL, place, err) < 0)
            return -1;
    }
    creation_use_data_pool(creation, place->data_pool);
    return 0;
}

static void fill_entry(struct creation *creation, struct journal_entry *entry)
{
    const struct cephfs_source *source = &cephfs_of(creation)->source;

    if (creation->directory == creation->pool)
        entry->journal_pool_id = -1;
    if (creation->data_pool)
        strmap_set(&entry->extra, JOURNAL_KEY_DATA_POOL, creation->data_pool);
    if (creation->shows_source)
        strmap_set(&entry->extra, CEPHFS_KEY_BACKING, source->snapshot_handle);
    if (creation->shows_source || !source->subvolume || source->snapshot)
        return;
    strmap_set(&entry->extra, CEPHFS_KEY_CLONED, source->subvolume);
    if (strcmp(source->group, cephfs_of(creation)->group.name) != 0)
        strmap_set(&entry->extra, CEPHFS_KEY_CLONED_GROUP, source->group);
}

static int adopt_place(struct creation *creation, struct error *err)
{
    const struct strmap *extra = &creation->entry.extra;

    (void)err;
    place_done(&creation->place);
    segments_read(extra, &creation->place.segments);
    creation_use_data_pool(creation,
                           strmap_get_or(extra, JOURNAL_KEY_DATA_POOL, creation->class.pool));
    creation->shows_source = cephfs_backing(&creation->entry) != NULL;
    return 0;
}

/* --- the result --- */

static void describe_volume(const struct creation *creation, uint64_t *location,
                            struct strmap *context)
{
    const struct cephfs_creation *cephfs = (const struct cephfs_creation *)creation;

    *location = (uint64_t)cephfs->fs.id;
    strmap_set(context, PARAM_CLUSTER_ID, creation->cluster_id);
    strmap_set(context, PARAM_FS_NAME, cephfs->fs.name);
    strmap_set(context, PARAM_SUBVOLUME_NAME, creation->entry.image_name);
    strmap_set(context, PARAM_SUBVOLUME_PATH, cephfs->path ? cephfs->path : "");
    if (creation->data_pool)
        strmap_set(context, PARAM_POOL, creation->data_pool);
}

static void creation_done(struct creation *base)
{
    struct cephfs_creation *creation = cephfs_of(base);

    cephfs_source_done(&creation->source);
    filesystem_done(&creation->fs);
    filesystem_list_done(&creation->filesystems);
    free(creation->listed);
    free(creation->path);
}

const struct creation_steps CEPHFS_CREATION = {
    .size = sizeof(struct cephfs_creation),
    .check = check_request,
    .open_source = cephfs_open_source,
    .open_named = open_named,
    .enter_pool = enter_pool,
    .describe_source = describe_source,
    .settle_place = settle_place,
    .fill_entry = fill_entry,
    .adopt_place = adopt_place,
    .make = cephfs_make_volume,
    .unmake = cephfs_unmake_volume,
    .describe = describe_volume,
    .done = creation_done,
};
