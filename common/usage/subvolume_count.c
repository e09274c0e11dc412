#include "common/usage/subvolume_count.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/journal.h"
#include "common/ceph/on_disk.h"
#include "common/ceph/subvolume.h"

struct volume_count {
    const struct subvolume_source *source;
    const struct session *session;
    struct call *call;
    struct journal journal;
    const struct filesystem *fs;
    const char *data_pool;
    bool is_default;        /* the data pool is the file system's first */
    struct ceph_pool *pool; /* where the entries of its volumes are */
    int64_t volumes;
    int64_t bytes;
};

static void count_volume(struct volume_count *count, uint64_t size_bytes)
{
    count->volumes++;
    count->bytes += (int64_t)size_bytes;
}

/* A volume of Ceph-CSI, whose entry has no size. */
static int count_foreign(struct volume_count *count, const struct journal_entry *entry,
                         struct error *err)
{
    const struct subvolume_group group = {count->session->cluster, count->fs->name,
                                          session_cephfs_group(count->session)};
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (subvolume_get_facts(&group, count->call, entry->image_name, &facts, err) < 0) {
        if (err->status != STATUS_NOT_FOUND && err->status != STATUS_ABORTED)
            return -1;
        error_clear(err); /* gone meanwhile, or being copied */
        return 0;
    }
    if (facts.data_pool && strcmp(facts.data_pool, count->data_pool) == 0)
        count_volume(count, facts.size_bytes);
    return 0;
}

static int count_entry(struct volume_count *count, const struct journal_entry *entry,
                       struct error *err)
{
    const struct strmap *extra = &entry->extra;
    const char *size = strmap_get(extra, JOURNAL_KEY_SIZE);
    const char *data_pool = strmap_get(extra, JOURNAL_KEY_DATA_POOL);

    if (!entry->image_name || strmap_get_or(extra, CEPHFS_KEY_BACKING, NULL))
        return 0;
    if (!size)
        return count_foreign(count, entry, err);
    if (data_pool ? strcmp(data_pool, count->data_pool) == 0 : count->is_default)
        count_volume(count, strtoull(strmap_get_or(extra, CEPHFS_KEY_GROWN, size), NULL, 10));
    return 0;
}

static int count_names(struct volume_count *count, struct ceph_pool *directory,
                       const struct strmap *names, struct error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        _cleanup_journal_entry_ struct journal_entry entry = {0};
        struct journal_ref ref;
        bool found = false;

        if (call_check(count->call, err) < 0)
            return -1;
        if (journal_parse_value(directory, names->entries[i].key, names->entries[i].value, &ref,
                                err) < 0) {
            error_clear(err); /* broken: no volume */
            continue;
        }
        if (ref.image_pool_id != count->fs->metadata_pool_id)
            continue;
        if (journal_read(&count->journal, count->call, count->pool, &ref.uuid, &entry, &found,
                         err) < 0 ||
            (found && count_entry(count, &entry, err) < 0))
            return -1;
    }
    return 0;
}

static int count_directory(struct volume_count *count, struct ceph_pool *directory,
                           struct error *err)
{
    _cleanup_free_ char *object = journal_directory(&count->journal);
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    while (more) {
        _cleanup_strmap_ struct strmap names = {0};

        if (directory->ops->omap_list(directory, count->call, object, after, JOURNAL_VOLUME_PREFIX,
                                      &names, &more, err) < 0) {
            if (err->status != STATUS_NOT_FOUND && err->status != STATUS_PERMISSION_DENIED)
                return -1;
            error_clear(err); /* no volumes, or not for this user */
            return 0;
        }
        if (names.count == 0)
            return 0;
        if (count_names(count, directory, &names, err) < 0)
            return -1;
        free(after);
        after = xstrdup(names.entries[names.count - 1].key);
    }
    return 0;
}

static int open_journal(const struct volume_count *count, const struct filesystem *fs,
                        struct ceph_pool **pool, struct error *err)
{
    struct ceph_cluster *cluster = count->session->cluster;

    return cluster->ops->pool_open_by_id(
        cluster, count->call, fs->metadata_pool_id,
        session_cephfs_namespace(count->session, count->source->rados_namespace), pool, err);
}

static int check_default_pool(struct volume_count *count, struct error *err)
{
    struct ceph_cluster *cluster = count->session->cluster;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (cluster->ops->pool_open(cluster, count->call, count->data_pool, "", &pool, err) < 0)
        return -1;
    count->is_default = count->fs->data_pool_count > 0 && pool->id == count->fs->data_pool_ids[0];
    return 0;
}

int subvolume_count(const struct subvolume_source *source, const struct session *session,
                    struct call *call, const char *fs_name, const char *data_pool, int64_t *volumes,
                    int64_t *bytes, struct error *err)
{
    _cleanup_filesystem_list_ struct filesystem_list list = {0};
    _cleanup_ceph_pool_ struct ceph_pool *journal = NULL;
    struct volume_count count = {.source = source,
                                 .session = session,
                                 .call = call,
                                 .journal = {JOURNAL_VOLUME, source->instance_id},
                                 .data_pool = data_pool};

    if (filesystem_list_read(session->cluster, call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].name, fs_name) == 0)
            count.fs = &list.items[i];
    if (!count.fs)
        return error_set(err, STATUS_NOT_FOUND, "there is no file system '%s'", fs_name);
    if (check_default_pool(&count, err) < 0 || open_journal(&count, count.fs, &journal, err) < 0)
        return -1;
    count.pool = journal;
    /* a class may keep the names of one file system's volumes in another */
    for (size_t i = 0; i < list.count; i++) {
        _cleanup_ceph_pool_ struct ceph_pool *directory = NULL;

        if (open_journal(&count, &list.items[i], &directory, err) < 0 ||
            count_directory(&count, directory, err) < 0)
            return -1;
    }
    *volumes = count.volumes;
    *bytes = count.bytes;
    return 0;
}
