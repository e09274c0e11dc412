#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/references.h"
#include "controller/cephfs/cephfs_backend.h"
#include "controller/encrypted.h"
#include "controller/fingerprint.h"

/* What is looked for, and for whom. The place where it is found is open only while it is looked
 * at: a call that waits for a clone must not keep a place in the pool. */
struct search {
    const struct controller *controller;
    struct call *call;
    const struct credentials *credentials;
};

static int take_place(const struct search *search, const struct located *located,
                      struct cephfs_source *source, struct error *err)
{
    struct ceph_cluster *cluster = located->session.cluster;

    if (cluster->ops->fsid(cluster, search->call, &source->fsid, err) < 0)
        return -1;
    memcpy(source->cluster_id, located->id.cluster_id, sizeof(source->cluster_id));
    source->group = xstrdup(session_cephfs_group(&located->session));
    source->rados_namespace = xstrdup(located->pool->rados_namespace);
    filesystem_copy(&located->fs, &source->fs);
    return 0;
}

/* The directory above that of the subvolume's files. Of a deleted one that is kept for its
 * snapshots Ceph does not report the path, but it always has this form. */
static char *root_of(const struct subvolume_group *group, const char *name, const char *path)
{
    const char *end = path ? strrchr(path, '/') : NULL;

    if (!end || end == path)
        return xasprintf("/volumes/%s/%s", group->name, name);
    return xstrndup(path, (size_t)(end - path));
}

/* @source->subvolume is known: reads what else there is to know of it. */
static int read_subvolume(struct call *call, const struct located *located,
                          struct cephfs_source *source, struct error *err)
{
    const struct subvolume_group group = cephfs_group(&located->session, &located->fs);
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (subvolume_get_facts(&group, call, source->subvolume, &facts, err) < 0)
        return -1;
    if (!facts.path && !source->snapshot)
        return error_set(err, STATUS_NOT_FOUND,
                         "subvolume '%s' is deleted; only snapshots are left", source->subvolume);
    if (source->size_bytes == 0)
        source->size_bytes = facts.size_bytes;
    if (facts.data_pool && !source->data_pool)
        source->data_pool = TAKE(facts.data_pool);
    source->root = root_of(&group, source->subvolume, facts.path);
    return 0;
}

/* One that was deleted exists only for the volumes that show it; @shown says that one of these
 * leads here. */
static int check_not_deleted(struct call *call, struct located *located, bool shown,
                             struct error *err)
{
    bool are_masked = false;

    if (shown)
        return 0;
    if (references_are_masked(located->pool, call, located->handle, &are_masked, err) < 0)
        return -1;
    if (are_masked)
        return error_set(err, STATUS_NOT_FOUND, "snapshot '%s' was deleted", located->handle);
    return 0;
}

static int open_snapshot(const struct search *search, const char *handle, bool shown,
                         struct cephfs_source *source, struct error *err)
{
    _cleanup_located_ struct located located = {0};

    if (locate(search->controller, search->call, JOURNAL_SNAPSHOT, handle, search->credentials,
               &located, err) < 0 ||
        check_not_deleted(search->call, &located, shown, err) < 0 ||
        encrypted_check_entry(&located, err) < 0)
        return -1;
    if (!located.entry.source)
        return error_set(err, STATUS_NOT_FOUND, "the journal does not say whose snapshot it is");
    source->subvolume = xstrdup(located.entry.source);
    source->snapshot = xstrdup(located.entry.image_name);
    source->snapshot_handle = xstrdup(handle);
    const char *data_pool = strmap_get(&located.entry.extra, JOURNAL_KEY_DATA_POOL);
    source->data_pool = data_pool ? xstrdup(data_pool) : NULL;
    source->size_bytes = fingerprint_size(&located.entry.extra);
    if (take_place(search, &located, source, err) < 0)
        return -1;
    return read_subvolume(search->call, &located, source, err);
}

static int open_volume(const struct search *search, const char *handle,
                       struct cephfs_source *source, struct error *err)
{
    _cleanup_located_ struct located located = {0};

    if (locate(search->controller, search->call, JOURNAL_VOLUME, handle, search->credentials,
               &located, err) < 0 ||
        encrypted_check_entry(&located, err) < 0)
        return -1;
    if (cephfs_backing(&located.entry))
        return open_snapshot(search, cephfs_backing(&located.entry), true, source, err);
    source->subvolume = xstrdup(located.entry.image_name);
    if (take_place(search, &located, source, err) < 0)
        return -1;
    return read_subvolume(search->call, &located, source, err);
}

int cephfs_source_open(const struct controller *controller, struct call *call,
                       const struct create_request *request, bool begun,
                       struct cephfs_source *source, struct error *err)
{
    const struct search search = {controller, call, &request->credentials};
    const bool is_snapshot = request->source_kind == SOURCE_SNAPSHOT;
    const char *handle = request->source_handle;

    if (operation_begin_shared(controller->operations, is_snapshot ? "snapshot" : "volume", handle,
                               call, &source->operation, err) < 0)
        return -1;
    int result = is_snapshot ? open_snapshot(&search, handle, begun, source, err)
                             : open_volume(&search, handle, source, err);
    return result < 0 ? error_wrap(err, "find the source '%s'", handle) : 0;
}

void cephfs_source_done(struct cephfs_source *source)
{
    operation_end(&source->operation);
    filesystem_done(&source->fs);
    free_all(source->fsid, source->group, source->rados_namespace, source->data_pool,
             source->subvolume, source->snapshot, source->snapshot_handle, source->root);
    *source = (struct cephfs_source){0};
}
