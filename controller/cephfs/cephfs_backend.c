/* The small parts of CephFS' backend; the larger ones have files of their own. */
#include "controller/cephfs/cephfs_backend.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/usage/usage_cache.h"
#include "controller/fingerprint.h"

struct subvolume_group cephfs_group(const struct session *session, const struct filesystem *fs)
{
    return (struct subvolume_group){session->cluster, fs->name, session_cephfs_group(session)};
}

const char *cephfs_backing(const struct journal_entry *entry)
{
    return strmap_get_or(&entry->extra, CEPHFS_KEY_BACKING, NULL);
}

static struct subvolume_group group_of(const struct located *located)
{
    return cephfs_group(&located->session, &located->fs);
}

/* --- volumes --- */

void cephfs_warn_of_lost_clone(const struct subvolume_group *group, const struct call *call,
                               const char *name)
{
    log_warn(call,
             "the manager died when it had begun to clone subvolume '%s', which stays pending for "
             "ever; Ceph has no command that removes it, nothing refers to it any more: mount file "
             "system '%s' and remove directory '/volumes/%s/%s'",
             name, group->fs_name, group->name[0] ? group->name : "_nogroup", name);
}

int cephfs_remove_subvolume(const struct subvolume_group *group, struct call *call,
                            const char *name, struct error *err)
{
    _cleanup_(clone_status_done) struct clone_status status = {0};
    _cleanup_error_ struct error failure = {0};
    bool is_lost = false;

    if (subvolume_remove(group, call, name, err) == 0)
        return 0;
    if (err->status != STATUS_ABORTED ||
        subvolume_clone_status(group, call, name, &status, &failure) < 0 ||
        status.state != CLONE_QUEUED)
        return -1;
    error_clear(err);
    if (subvolume_clone_cancel(group, call, name, &is_lost, err) < 0)
        return error_ignore(err, STATUS_NOT_FOUND);
    if (!is_lost)
        return subvolume_remove(group, call, name, err);
    cephfs_warn_of_lost_clone(group, call, name);
    return 0;
}

struct subvolume_group cephfs_source_group(const struct subvolume_group *group,
                                           const struct journal_entry *entry)
{
    const char *name = strmap_get_or(&entry->extra, CEPHFS_KEY_CLONED_GROUP, group->name);

    return (struct subvolume_group){group->cluster, group->fs_name, name};
}

/* What a creation that was not finished has made of the volume's source. */
static int remove_source_snapshot(const struct subvolume_group *group, struct call *call,
                                  const struct journal_entry *entry, struct error *err)
{
    const char *source = strmap_get(&entry->extra, CEPHFS_KEY_CLONED);

    const struct subvolume_group source_group = cephfs_source_group(group, entry);

    if (!source || strmap_has(&entry->extra, CEPHFS_KEY_COMPLETE))
        return 0;
    return subvolume_snapshot_remove(&source_group, call, source, entry->image_name, err);
}

static uint64_t promised_size(const struct strmap *extra)
{
    return strtoull(
        strmap_get_or(extra, CEPHFS_KEY_GROWN, strmap_get_or(extra, JOURNAL_KEY_SIZE, "0")), NULL,
        10);
}

/* Where the entry does not say which pool, the next listing does. */
static bool find_usage_pool(const struct located *located, struct usage_pool *pool)
{
    const char *data_pool = strmap_get(&located->entry.extra, JOURNAL_KEY_DATA_POOL);

    if (data_pool)
        *pool = (struct usage_pool){located->id.cluster_id, data_pool, "", located->fs.name};
    return data_pool;
}

/* What the pool has promised is less by one. */
static void forget_volume(const struct controller *controller, const struct located *located)
{
    struct usage_pool pool = {0};

    if (controller->usage && find_usage_pool(located, &pool))
        usage_cache_deletion(controller->usage, &pool, promised_size(&located->entry.extra));
}

static int discard_volume(const struct controller *controller, struct call *call,
                          struct located *located, const struct credentials *credentials,
                          struct error *err)
{
    const struct subvolume_group group = group_of(located);
    const char *name = located->entry.image_name;
    const char *backing = cephfs_backing(&located->entry);
    _cleanup_operation_ struct operation operation = {0};

    (void)credentials;
    if (backing) {
        if (operation_begin_shared(controller->operations, "snapshot", backing, call, &operation,
                                   err) < 0 ||
            cephfs_shallow_release(call, located->pool, &group, controller->instance_id, backing,
                                   name, err) < 0)
            return -1;
    } else if (cephfs_remove_subvolume(&group, call, name, err) < 0 ||
               remove_source_snapshot(&group, call, &located->entry, err) < 0) {
        return -1;
    }
    if (located_release(located, call, NULL, err) < 0)
        return -1;
    if (!backing)
        forget_volume(controller, located);
    return 0;
}

static int note_growth(struct call *call, struct located *located, uint64_t wanted,
                       struct error *err)
{
    _cleanup_strmap_ struct strmap grown = {0};
    _cleanup_free_ char *size = xasprintf("%llu", (unsigned long long)wanted);

    if (!fingerprint_is_present(&located->entry.extra)) /* Ceph-CSI's: Ceph is asked for its size */
        return 0;
    strmap_set(&grown, CEPHFS_KEY_GROWN, size);
    return journal_set(&located->journal, call, located->pool, &located->entry.uuid, &grown, err);
}

static int grow_volume(struct call *call, struct located *located, uint64_t wanted,
                       struct growth *growth, struct error *err)
{
    const struct subvolume_group group = group_of(located);
    const char *name = located->entry.image_name;
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (cephfs_backing(&located->entry))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the volume shows snapshot '%s', which does not grow",
                         cephfs_backing(&located->entry));
    if (subvolume_get_facts(&group, call, name, &facts, err) < 0)
        return -1;
    *growth = (struct growth){.size_bytes = facts.size_bytes};
    if (facts.size_bytes >= wanted) /* a repeated call, or a volume that is larger than asked */
        return 0;
    /* noted first: what is promised may be too much for a while, but never too little */
    if (note_growth(call, located, wanted, err) < 0)
        return -1;
    *growth = (struct growth){wanted, wanted - facts.size_bytes};
    return subvolume_resize(&group, call, name, wanted, err);
}

/* The quota is all there is; the next statfs() of a node shows it. */
static bool needs_node_expansion(const struct volume_capability *capability)
{
    (void)capability;
    return false;
}

static int examine_subvolume(struct call *call, struct located *located, struct volume_state *state,
                             struct error *err)
{
    const struct subvolume_group group = group_of(located);
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (subvolume_get_facts(&group, call, located->entry.image_name, &facts, err) == 0) {
        state->volume.size_bytes = facts.size_bytes;
        if (facts.path)
            strmap_set(&state->volume.context, PARAM_SUBVOLUME_PATH, facts.path);
        return 0;
    }
    return volume_state_conclude(state, err);
}

static int examine_volume(struct call *call, struct located *located, bool with_context,
                          struct volume_state *state, struct error *err)
{
    if (with_context) {
        strmap_set(&state->volume.context, PARAM_FS_NAME, located->fs.name);
        strmap_set(&state->volume.context, PARAM_SUBVOLUME_NAME, located->entry.image_name);
    }
    if (!cephfs_backing(&located->entry))
        return examine_subvolume(call, located, state, err);
    state->volume.size_bytes = fingerprint_size(&located->entry.extra);
    return 0;
}

static int check_volume(struct call *call, struct located *located, struct error *err)
{
    const struct subvolume_group group = group_of(located);
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (cephfs_backing(&located->entry))
        return 0;
    return subvolume_get_facts(&group, call, located->entry.image_name, &facts, err);
}

/* --- what the nodes write --- */

/* The subvolume, or the snapshot that the volume shows, has the metadata. Caller frees both. */
static int find_metadata(struct call *call, struct located *located, char **subvolume,
                         char **snapshot, struct error *err)
{
    const char *backing = cephfs_backing(&located->entry);

    if (backing)
        return cephfs_shallow_find(call, located->pool, located->journal.instance, backing,
                                   subvolume, snapshot, err);
    *subvolume = xstrdup(located->entry.image_name);
    return 0;
}

static int get_metadata(struct call *call, struct located *located, struct strmap *metadata,
                        struct error *err)
{
    const struct subvolume_group group = group_of(located);
    _cleanup_free_ char *subvolume = NULL;
    _cleanup_free_ char *snapshot = NULL;

    if (find_metadata(call, located, &subvolume, &snapshot, err) < 0)
        return -1;
    if (subvolume_get_metadata(&group, call, subvolume, snapshot, metadata, err) == 0)
        return 0;
    /* Ceph has none for snapshots whose subvolume is deleted */
    return snapshot ? error_ignore(err, STATUS_NOT_FOUND) : -1;
}

static int change_metadata(struct call *call, struct located *located, const struct strmap *entries,
                           const struct string_list *removed, struct error *err)
{
    const struct subvolume_group group = group_of(located);
    _cleanup_free_ char *subvolume = NULL;
    _cleanup_free_ char *snapshot = NULL;

    if (find_metadata(call, located, &subvolume, &snapshot, err) < 0 ||
        subvolume_set_metadata(&group, call, subvolume, snapshot, entries, err) < 0)
        return -1;
    return subvolume_remove_metadata(&group, call, subvolume, snapshot, removed, err);
}

/* --- the journal --- */

static const char *journal_namespace(const struct controller *controller,
                                     const struct session *session)
{
    return session_cephfs_namespace(session, controller->cephfs_namespace);
}

static int open_location(const struct controller *controller, struct call *call,
                         const struct credentials *credentials, struct located *located,
                         struct error *err)
{
    (void)credentials;
    return located_open_filesystem(located, call, controller->cephfs_namespace, err);
}

static int list_locations(const struct controller *controller, struct call *call,
                          struct session *session, struct location_list *locations,
                          struct error *err)
{
    _cleanup_filesystem_list_ struct filesystem_list list = {0};

    (void)controller;
    if (filesystem_list_read(session->cluster, call, &list, err) < 0)
        return -1;
    locations->items = xcalloc(list.count, sizeof(*locations->items));
    for (size_t i = 0; i < list.count; i++) {
        struct location *location = &locations->items[locations->count++];

        location->pool_id = list.items[i].metadata_pool_id;
        filesystem_copy(&list.items[i], &location->fs);
    }
    return 0;
}

/* Entries of Ceph-CSI do not say; whether there is something behind them, Ceph must be asked. */
static bool entry_is_complete(const struct journal_entry *entry)
{
    if (strmap_has(&entry->extra, CEPHFS_KEY_COMPLETE))
        return true;
    for (size_t i = 0; i < entry->extra.count; i++)
        if (text_has_prefix(entry->extra.entries[i].key, JOURNAL_KEY_OURS))
            return false;
    return true;
}

const struct controller_backend CEPHFS_BACKEND = {
    .type = "cephfs",
    .smallest_volume = CEPHFS_SIZE_UNIT,
    .parse_pools = class_pools_parse_cephfs,
    .group_lists_sources = true,
    .creation = &CEPHFS_CREATION,
    .discard_volume = discard_volume,
    .choose_size = capacity_range_choose_cephfs,
    .grow_volume = grow_volume,
    .find_usage_pool = find_usage_pool,
    .needs_node_expansion = needs_node_expansion,
    .get_metadata = get_metadata,
    .change_metadata = change_metadata,
    .examine_volume = examine_volume,
    .check_volume = check_volume,
    .check_capabilities = capability_list_check_cephfs,
    .check_snapshot_class = cephfs_check_snapshot_class,
    .prepare_snapshot = cephfs_prepare_snapshot,
    .build_snapshot = cephfs_build_snapshot,
    .describe_snapshot = cephfs_describe_snapshot,
    .give_up_snapshot = cephfs_give_up_snapshot,
    .discard_snapshot = cephfs_discard_snapshot,
    .read_snapshot = cephfs_read_snapshot,
    .snapshot_together = cephfs_snapshot_together,
    .open_location = open_location,
    .list_locations = list_locations,
    .journal_namespace = journal_namespace,
    .entry_is_complete = entry_is_complete,
};
