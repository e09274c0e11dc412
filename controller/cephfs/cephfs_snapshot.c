/*
 * Snapshots of subvolumes. The name of a snapshot is unique, so that making it twice makes one;
 * what Ceph says of it when it is made is kept in the journal, because of a deleted subvolume that
 * only lives on for its snapshots it says less.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/references.h"
#include "common/config/class_parameters.h"
#include "controller/cephfs/cephfs_backend.h"
#include "controller/claim_metadata.h"
#include "controller/encrypted.h"
#include "controller/fingerprint.h"

int cephfs_check_snapshot_class(const struct strmap *parameters, struct error *err)
{
    return class_parameter_check(parameters, CLASS_CEPHFS, PARAM_SNAPSHOT_PREFIX, err);
}

int cephfs_prepare_snapshot(struct snapshot_work *work, struct error *err)
{
    const struct located *source = work->source;
    const char *cluster_id =
        strmap_get_or(work->parameters, PARAM_CLUSTER_ID, source->id.cluster_id);

    /* As Ceph-CSI, for CephFS alone: a class that is meant for another cluster, or for one that
     * nobody knows. */
    if (strcmp(cluster_id, source->id.cluster_id) != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "parameter clusterID is '%.64s', but the volume is in '%s'; use a "
                         "VolumeSnapshotClass of that clusterID",
                         cluster_id, source->id.cluster_id);
    if (cephfs_backing(&source->entry))
        return error_set(
            err, STATUS_INVALID_ARGUMENT,
            "the volume shows snapshot '%s'; there is nothing in it to make a snapshot "
            "of",
            cephfs_backing(&source->entry));
    return encrypted_check_entry(source, err);
}

/* --- making --- */

/* Asks Ceph what the journal keeps of the snapshot. */
static int read_attributes(const struct subvolume_group *group, struct call *call,
                           const struct journal_entry *entry, struct strmap *attributes,
                           struct error *err)
{
    _cleanup_subvolume_facts_ struct subvolume_facts volume = {0};
    struct subvolume_snapshot_facts facts;

    if (subvolume_get_facts(group, call, entry->source, &volume, err) < 0 ||
        subvolume_snapshot_get_facts(group, call, entry->source, entry->image_name, &facts, err) <
            0)
        return -1;
    _cleanup_free_ char *size = xasprintf("%llu", (unsigned long long)volume.size_bytes);
    _cleanup_free_ char *created =
        xasprintf("%lld.%09ld", (long long)facts.created.tv_sec, facts.created.tv_nsec);
    strmap_set(attributes, JOURNAL_KEY_SIZE, size);
    strmap_set(attributes, CEPHFS_KEY_CREATED, created);
    if (volume.data_pool)
        strmap_set(attributes, JOURNAL_KEY_DATA_POOL, volume.data_pool);
    return 0;
}

static int commit(struct snapshot_work *work, const struct subvolume_group *group,
                  struct error *err)
{
    _cleanup_strmap_ struct strmap attributes = {0};
    _cleanup_strmap_ struct strmap metadata = {0};
    struct journal_entry *entry = &work->entry;

    claim_metadata_collect(work->controller, METADATA_SNAPSHOT, work->parameters, &metadata);
    if (read_attributes(group, work->call, entry, &attributes, err) < 0 ||
        subvolume_set_metadata(group, work->call, entry->source, entry->image_name, &metadata,
                               err) < 0)
        return -1;
    strmap_set(&attributes, CEPHFS_KEY_COMPLETE, "1");
    strmap_merge(&entry->extra, &attributes);
    return journal_set(&work->journal, work->call, work->source->pool, &entry->uuid, &attributes,
                       err);
}

int cephfs_build_snapshot(struct snapshot_work *work, bool takes_source, struct error *err)
{
    const struct subvolume_group group = cephfs_group(&work->source->session, &work->source->fs);
    const struct journal_entry *entry = &work->entry;

    if (strmap_has(&entry->extra, CEPHFS_KEY_COMPLETE))
        return 0;
    if (takes_source &&
        subvolume_snapshot_create(&group, work->call, entry->source, entry->image_name, err) < 0)
        return -1;
    return commit(work, &group, err);
}

/* What the entry, complete by @attributes, says. */
static void fill(const struct journal_entry *entry, const struct strmap *attributes,
                 struct snapshot *snapshot)
{
    char *rest = NULL;

    *snapshot = (struct snapshot){.ready = true, .size_bytes = fingerprint_size(attributes)};
    snapshot->created.tv_sec =
        strtoll(strmap_get_or(attributes, CEPHFS_KEY_CREATED, "0"), &rest, 10);
    if (*rest == '.')
        snapshot->created.tv_nsec = strtol(rest + 1, NULL, 10) % 1000000000;
    if (entry->group_id)
        snprintf(snapshot->group_handle, sizeof(snapshot->group_handle), "%s", entry->group_id);
}

int cephfs_describe_snapshot(struct snapshot_work *work, struct snapshot *snapshot,
                             struct error *err)
{
    const struct located *source = work->source;

    (void)err;
    fill(&work->entry, &work->entry.extra, snapshot);
    handle_format(&source->id, &work->entry.uuid, snapshot->handle);
    memcpy(snapshot->source_handle, source->handle, sizeof(source->handle));
    return 0;
}

void cephfs_give_up_snapshot(struct snapshot_work *work)
{
    const struct subvolume_group group = cephfs_group(&work->source->session, &work->source->fs);
    struct ceph_pool *pool = work->source->pool;
    const struct journal_entry *entry = &work->entry;
    _cleanup_error_ struct error err = {0};

    if ((entry->source && subvolume_snapshot_remove(&group, work->call, entry->source,
                                                    entry->image_name, &err) < 0) ||
        journal_remove(&work->journal, work->call, pool, &entry->uuid, &err) < 0 ||
        journal_release_name(&work->journal, work->call, pool, entry->request_name, pool->id,
                             &entry->uuid, NULL, &err) < 0)
        log_warn(work->call, "the failed snapshot leaves something behind: %s", err.message);
}

/* --- reading and deleting --- */

int cephfs_read_snapshot(const struct controller *controller, struct call *call,
                         struct located *located, const struct credentials *credentials,
                         struct snapshot *snapshot, struct error *err)
{
    const struct subvolume_group group = cephfs_group(&located->session, &located->fs);
    const struct journal_entry *entry = &located->entry;
    _cleanup_strmap_ struct strmap attributes = {0};
    bool are_masked = false;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    (void)controller, (void)credentials; /* one that is complete is ready */
    handle_format(&located->id, &entry->uuid, handle);
    if (references_are_masked(located->pool, call, handle, &are_masked, err) < 0)
        return -1;
    if (are_masked || strmap_has(&entry->extra, CEPHFS_KEY_DELETED) || !entry->source)
        return error_set(err, STATUS_NOT_FOUND, "snapshot '%s' was deleted", handle);
    strmap_merge(&attributes, &entry->extra);
    if (!strmap_has(&attributes, CEPHFS_KEY_CREATED) && /* one of Ceph-CSI's */
        read_attributes(&group, call, entry, &attributes, err) < 0)
        return -1;
    fill(entry, &attributes, snapshot);
    memcpy(snapshot->handle, handle, sizeof(handle));
    snapshot_format_source(located, snapshot->source_handle);
    return 0;
}

/* A snapshot from which Ceph is copying cannot go. */
static int check_not_copied(const struct subvolume_group *group, struct call *call,
                            const struct journal_entry *entry, struct error *err)
{
    struct subvolume_snapshot_facts facts;

    if (subvolume_snapshot_get_facts(group, call, entry->source, entry->image_name, &facts, err) <
        0) {
        return error_ignore(err, STATUS_NOT_FOUND);
    }
    if (facts.has_pending_clones)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "Ceph is copying snapshot '%s' of '%s' to a new volume; retry when that "
                         "has ended",
                         entry->image_name, entry->source);
    return 0;
}

int cephfs_discard_snapshot(const struct controller *controller, struct call *call,
                            struct located *snapshot, const struct credentials *credentials,
                            struct error *err)
{
    const struct subvolume_group group = cephfs_group(&snapshot->session, &snapshot->fs);
    const struct journal_entry *entry = &snapshot->entry;
    bool is_needed = false;

    (void)controller, (void)credentials;
    if (entry->source && check_not_copied(&group, call, entry, err) < 0)
        return -1;
    if (cephfs_shallow_forget(call, snapshot, &is_needed, err) < 0)
        return -1;
    if (is_needed) /* by volumes that show it: the last of them takes it along */
        return 0;
    if (entry->source &&
        subvolume_snapshot_remove(&group, call, entry->source, entry->image_name, err) < 0)
        return -1;
    return located_release(snapshot, call, NULL, err);
}
