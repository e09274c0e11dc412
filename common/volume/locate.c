#include "common/volume/locate.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/volume/cluster_mapping.h"
#include "common/volume/migration.h"

/* The request name is in another pool when the class had topology. */
static int open_directory(struct located *located, struct call *call, struct error *err)
{
    struct ceph_cluster *cluster = located->session.cluster;
    int64_t id = located->entry.journal_pool_id;

    if (id < 0 || id == located->pool->id)
        return 0;
    if (cluster->ops->pool_open_by_id(cluster, call, id, located->pool->rados_namespace,
                                      &located->other_pool, err) == 0) {
        located->directory = located->other_pool;
        return 0;
    }
    return error_ignore(err, STATUS_NOT_FOUND); /* the directory was deleted with its pool */
}

/* Adopts the attributes of a split entry if pool @name has them. */
static int try_split_pool(struct located *located, struct call *call, const char *name, bool *taken,
                          struct error *err)
{
    struct ceph_cluster *cluster = located->session.cluster;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;
    struct journal_entry entry = {0};
    bool found = false;

    if (cluster->ops->pool_open(cluster, call, name, located->pool->rados_namespace, &pool, err) <
            0 ||
        journal_read(&located->journal, call, pool, &located->id.uuid, &entry, &found, err) < 0) {
        if (err->status != STATUS_NOT_FOUND && err->status != STATUS_PERMISSION_DENIED)
            return -1;
        error_clear(err); /* not a pool of this user's */
        return 0;
    }
    *taken = found && entry.request_name;
    if (!*taken) {
        journal_entry_done(&entry);
        return 0;
    }
    journal_entry_done(&located->entry);
    located->entry = entry;
    located->other_pool = TAKE(pool);
    located->directory = located->other_pool;
    located->split = true;
    return 0;
}

/* An entry without a name: its other half is in an unknown pool, so that all are searched. */
static int find_split_half(struct located *located, struct call *call, struct error *err)
{
    struct ceph_cluster *cluster = located->session.cluster;
    _cleanup_string_list_ struct string_list names = {0};
    bool taken = false;

    if (cluster->ops->pool_list(cluster, call, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count && !taken; i++)
        if (strcmp(names.items[i], located->pool->name) != 0 &&
            try_split_pool(located, call, names.items[i], &taken, err) < 0)
            return -1;
    return 0;
}

static int locate_at(const struct locator *locator, struct call *call, enum journal_kind kind,
                     const struct volume_id *id, const struct credentials *credentials,
                     struct located *out, struct error *err)
{
    _cleanup_located_ struct located located = {.id = *id, .journal = {kind, locator->instance_id}};
    bool found = false;

    if (session_open(locator->ceph, locator->config, call, id->cluster_id, credentials,
                     &located.session, err) < 0)
        return -1;
    struct ceph_cluster *cluster = located.session.cluster;
    int result = locator->open
                     ? locator->open(locator->object, call, credentials, &located, err)
                     : cluster->ops->pool_open_by_id(cluster, call, (int64_t)id->location_id,
                                                     session_rbd_namespace(&located.session),
                                                     &located.pool, err);
    if (result < 0 || journal_read(&located.journal, call, located.pool, &located.id.uuid,
                                   &located.entry, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, STATUS_NOT_FOUND, "pool '%s' has no journal entry '%s'",
                         located.pool->name, located.id.uuid.chars);
    located.directory = located.pool;
    if ((located.entry.request_name ? open_directory(&located, call, err)
                                    : find_split_half(&located, call, err)) < 0)
        return -1;
    *out = located;
    located = (struct located){0};
    return 0;
}

/* Whether a lookup may have failed because the volume is in another cluster now: cluster, pool,
 * entry or user is unknown. */
static bool may_be_elsewhere(enum status status)
{
    return status == STATUS_NOT_FOUND || status == STATUS_PERMISSION_DENIED ||
           status == STATUS_UNAUTHENTICATED || status == STATUS_INVALID_ARGUMENT;
}

/* Tries the places to which the mapping leads. @err holds the failure at the handle's own, which
 * remains if the volume is at none of them. */
static int locate_mapped(const struct locator *locator, struct call *call, enum journal_kind kind,
                         const struct volume_id *id, const struct credentials *credentials,
                         struct located *located, struct error *err)
{
    _cleanup_error_ struct error failure = {0};
    _cleanup_free_ struct volume_id *places = NULL;
    size_t count = 0;
    int result = cluster_mapping_find(locator->mapping_path, id, &places, &count, &failure);

    for (size_t i = 0; result == 0 && i < count; i++) {
        if (locate_at(locator, call, kind, &places[i], credentials, located, &failure) == 0) {
            error_clear(err);
            return 0;
        }
        if (may_be_elsewhere(failure.status))
            error_clear(&failure);
        else
            result = -1;
    }
    if (result == 0)
        return -1;
    error_clear(err);
    return error_move(err, &failure);
}

int volume_locate(const struct locator *locator, struct call *call, enum journal_kind kind,
                  const char *handle, const struct credentials *credentials,
                  struct located *located, struct error *err)
{
    struct volume_id id;

    if (locator->knows_migrated && migrated_id_is(handle))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'%.128s' was migrated from Kubernetes' own rbd driver: such a volume can "
                         "only be expanded and deleted",
                         handle);
    if (volume_id_parse(handle, &id, err) < 0)
        return -1;
    if (locate_at(locator, call, kind, &id, credentials, located, err) < 0) {
        bool is_mapped = kind == JOURNAL_VOLUME && locator->mapping_path; /* as in Ceph-CSI */

        if (!is_mapped || !may_be_elsewhere(err->status) ||
            locate_mapped(locator, call, kind, &id, credentials, located, err) < 0)
            return -1;
    }
    memcpy(located->handle, handle, strlen(handle) + 1); /* it was parsed, so it fits */
    return 0;
}

int located_open_filesystem(struct located *located, struct call *call, const char *flag,
                            struct error *err)
{
    struct ceph_cluster *cluster = located->session.cluster;

    if (filesystem_find_id(cluster, call, (int64_t)located->id.location_id, &located->fs, err) < 0)
        return -1;
    return cluster->ops->pool_open_by_id(cluster, call, located->fs.metadata_pool_id,
                                         session_cephfs_namespace(&located->session, flag),
                                         &located->pool, err);
}

int located_release(struct located *located, struct call *call, const struct strmap *queued,
                    struct error *err)
{
    const struct journal *journal = &located->journal;
    const struct journal_entry *entry = &located->entry;

    if (journal_release_name(journal, call, located->directory, entry->request_name,
                             located->pool->id, &entry->uuid, queued, err) < 0)
        return -1;
    if (located->split && journal_remove(journal, call, located->directory, &entry->uuid, err) < 0)
        return -1;
    return journal_remove(journal, call, located->pool, &entry->uuid, err);
}

void located_done(struct located *located)
{
    journal_entry_done(&located->entry);
    ceph_pool_close(located->other_pool);
    ceph_pool_close(located->pool);
    filesystem_done(&located->fs);
    session_close(&located->session);
    *located = (struct located){0};
}
