/* RBD's part of the rpcs: images, their journal beside them, and what becomes of their data. */
#include "controller/rbd/rbd_backend.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"
#include "common/usage/usage_cache.h"
#include "common/volume/image_clients.h"
#include "controller/fingerprint.h"
#include "controller/rbd/migrated.h"
#include "controller/rbd/purge.h"
#include "controller/rbd/qos.h"
#include "controller/rbd/rbd_images.h"

/* --- volumes --- */

/* Of a clone whose creation was interrupted: the snapshot of its source that it was to be made
 * from.
 */
static int remove_cut(const struct controller *controller, struct call *call,
                      const struct journal_entry *entry, const struct credentials *credentials,
                      struct error *err)
{
    const char *handle = entry->image_id ? NULL : fingerprint_source_volume(&entry->extra);
    _cleanup_located_ struct located source = {0};

    if (!handle)
        return 0;
    if (locate(controller, call, JOURNAL_VOLUME, handle, credentials, &source, err) < 0)
        return error_ignore(err, STATUS_NOT_FOUND);
    return snapshot_ensure_gone(source.pool, call, source.entry.image_name, entry->image_name, err);
}

static bool find_usage_pool(const struct located *located, struct usage_pool *pool)
{
    *pool = (struct usage_pool){located->id.cluster_id, located->pool->name,
                                located->pool->rados_namespace, NULL};
    return true;
}

/* The image goes to the trash, which makes it invisible at once; then the request name, together
 * with the order to remove the data. */
static int discard_volume(const struct controller *controller, struct call *call,
                          struct located *located, const struct credentials *credentials,
                          struct error *err)
{
    const struct journal_entry *entry = &located->entry;
    struct usage_pool pool = {0};
    _cleanup_strmap_ struct strmap queued = {0};
    /* Ceph-CSI clones a volume through an image of this name, which lives as long as the clone */
    _cleanup_free_ char *intermediate = xasprintf("%s" IMAGE_SUFFIX_CLONE, entry->image_name);

    if (remove_cut(controller, call, entry, credentials, err) < 0 ||
        image_discard(located->pool, call, entry->image_name, NULL, entry->image_id, &queued, err) <
            0)
        return -1;
    _cleanup_free_ char *intermediate_id = NULL;
    if (image_find(located->pool, call, intermediate, &intermediate_id, err) < 0)
        return -1;
    /* it went first, so that a deletion interrupted there left it in the trash */
    bool may_be_trashed = !fingerprint_is_present(&entry->extra);
    if ((intermediate_id || may_be_trashed) &&
        image_discard(located->pool, call, intermediate, intermediate_id, NULL, &queued, err) < 0)
        return -1;
    int result = located_release(located, call, &queued, err);
    if (result == 0 && controller->usage && find_usage_pool(located, &pool))
        usage_cache_deletion(controller->usage, &pool, fingerprint_size(&entry->extra));
    purge_start(controller, located->id.cluster_id, credentials, located->directory);
    return result;
}

int rbd_grow_image(struct ceph_pool *pool, struct call *call, const char *name, uint64_t wanted,
                   struct growth *growth, struct error *err)
{
    _cleanup_free_ char *image_id = NULL;
    uint64_t size = 0;

    if (pool->ops->image_get_id(pool, call, name, &image_id, err) < 0 ||
        pool->ops->image_get_size(pool, call, image_id, &size, err) < 0)
        return -1;
    *growth = (struct growth){.size_bytes = size};
    if (size >= wanted) /* a repeated call, or a volume that is larger than asked */
        return 0;
    *growth = (struct growth){wanted, wanted - size};
    /* limits first: a call that is interrupted in between is repeated while the image is small */
    if (qos_grow(pool, call, name, wanted, err) < 0)
        return -1;
    return pool->ops->image_resize(pool, call, name, wanted, err);
}

static int grow_volume(struct call *call, struct located *located, uint64_t wanted,
                       struct growth *growth, struct error *err)
{
    return rbd_grow_image(located->pool, call, located->entry.image_name, wanted, growth, err);
}

static int get_metadata(struct call *call, struct located *located, struct strmap *metadata,
                        struct error *err)
{
    return located->pool->ops->image_metadata_get(located->pool, call, located->entry.image_name,
                                                  metadata, err);
}

static int change_metadata(struct call *call, struct located *located, const struct strmap *entries,
                           const struct string_list *removed, struct error *err)
{
    struct ceph_pool *pool = located->pool;

    return pool->ops->image_metadata_change(pool, call, located->entry.image_name, entries, removed,
                                            err);
}

static int read_size(struct call *call, struct located *located, uint64_t *size, struct error *err)
{
    struct ceph_pool *pool = located->pool;
    _cleanup_free_ char *image_id = NULL;

    if (pool->ops->image_get_id(pool, call, located->entry.image_name, &image_id, err) < 0)
        return -1;
    return pool->ops->image_get_size(pool, call, image_id, size, err);
}

static int modify_volume(struct call *call, struct located *located,
                         const struct strmap *parameters, struct error *err)
{
    _cleanup_strmap_ struct strmap wanted = {0};
    uint64_t size = 0;

    if (read_size(call, located, &size, err) < 0)
        return -1;
    qos_to_metadata(parameters, size, &wanted);
    return qos_apply(located->pool, call, located->entry.image_name, &wanted, err);
}

/* The copy that rbd-mirror keeps of another cluster's image is in use by it. */
static int image_is_used(struct ceph_pool *pool, struct call *call, const char *name, bool *used,
                         struct error *err)
{
    _cleanup_string_list_ struct string_list users = {0};
    _cleanup_free_ char *image_id = NULL;
    struct image_mirroring mirroring = {0};

    if (pool->ops->image_get_id(pool, call, name, &image_id, err) < 0 ||
        pool->ops->image_get_mirroring(pool, call, name, image_id, &mirroring, err) < 0 ||
        image_clients(pool, call, name, &mirroring, &users, err) < 0)
        return -1;
    *used = users.count > 0 || (mirroring.is_enabled && !mirroring.is_primary);
    return 0;
}

/* A node that maps the image meanwhile is not kept from it: librbd hands it the exclusive lock, and
 * the work fails. */
static int reclaim_space(struct call *call, struct located *located, bool *used, struct error *err)
{
    struct ceph_pool *pool = located->pool;
    const char *name = located->entry.image_name;
    _cleanup_error_ struct error unknown = {0};

    if (image_is_used(pool, call, name, used, err) < 0)
        return -1;
    if (*used || pool->ops->image_sparsify(pool, call, name, err) == 0)
        return 0;
    if (image_is_used(pool, call, name, used, &unknown) < 0 || !*used)
        return -1;
    error_clear(err);
    return 0;
}

/* A raw block device grows with the image; a file system has to be resized. */
static bool needs_node_expansion(const struct volume_capability *capability)
{
    return capability->type != ACCESS_TYPE_BLOCK;
}

static int examine_volume(struct call *call, struct located *located, bool with_context,
                          struct volume_state *state, struct error *err)
{
    if (with_context) {
        strmap_set(&state->volume.context, PARAM_POOL, located->pool->name);
        strmap_set(&state->volume.context, PARAM_IMAGE_NAME, located->entry.image_name);
    }
    /* a listing is content with the header of the image that the journal knows */
    int result = with_context ? read_size(call, located, &state->volume.size_bytes, err)
                              : located->pool->ops->image_get_size(located->pool, call,
                                                                   located->entry.image_id,
                                                                   &state->volume.size_bytes, err);
    if (result == 0)
        return 0;
    return volume_state_conclude(state, err);
}

static int check_volume(struct call *call, struct located *located, struct error *err)
{
    _cleanup_free_ char *image_id = NULL;

    return located->pool->ops->image_get_id(located->pool, call, located->entry.image_name,
                                            &image_id, err);
}

static int check_snapshot_class(const struct strmap *parameters, struct error *err)
{
    return class_parameter_check(parameters, CLASS_RBD, PARAM_SNAPSHOT_PREFIX, err);
}

/* --- the journal --- */

static const char *journal_namespace(const struct controller *controller,
                                     const struct session *session)
{
    (void)controller;
    return session_rbd_namespace(session);
}

static int open_location(const struct controller *controller, struct call *call,
                         const struct credentials *credentials, struct located *located,
                         struct error *err)
{
    struct ceph_cluster *cluster = located->session.cluster;

    if (cluster->ops->pool_open_by_id(cluster, call, (int64_t)located->id.location_id,
                                      session_rbd_namespace(&located->session), &located->pool,
                                      err) < 0)
        return -1;
    purge_resume(controller, located->id.cluster_id, credentials, located->pool);
    return 0;
}

static int list_locations(const struct controller *controller, struct call *call,
                          struct session *session, struct location_list *locations,
                          struct error *err)
{
    struct ceph_cluster *cluster = session->cluster;
    _cleanup_string_list_ struct string_list names = {0};

    (void)controller;
    if (cluster->ops->pool_list(cluster, call, &names, err) < 0)
        return -1;
    locations->items = xcalloc(names.count, sizeof(*locations->items));
    for (size_t i = 0; i < names.count; i++) {
        _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

        if (cluster->ops->pool_open(cluster, call, names.items[i], "", &pool, err) == 0) {
            locations->items[locations->count++].pool_id = pool->id;
            continue;
        }
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* removed meanwhile */
    }
    return 0;
}

static bool entry_is_complete(const struct journal_entry *entry)
{
    return entry->image_id != NULL;
}

const struct controller_backend RBD_BACKEND = {
    .type = "rbd",
    .migrated = &RBD_MIGRATED,
    .smallest_volume = 512, /* a sector */
    .parse_pools = class_pools_parse_rbd,
    .creation = &RBD_CREATION,
    .discard_volume = discard_volume,
    .choose_size = capacity_range_choose,
    .grow_volume = grow_volume,
    .find_usage_pool = find_usage_pool,
    .check_mutable = qos_check,
    .modify_volume = modify_volume,
    .get_metadata = get_metadata,
    .change_metadata = change_metadata,
    .reclaim_space = reclaim_space,
    .needs_node_expansion = needs_node_expansion,
    .examine_volume = examine_volume,
    .check_volume = check_volume,
    .check_capabilities = capability_list_check_rbd,
    .check_snapshot_class = check_snapshot_class,
    .prepare_snapshot = rbd_prepare_snapshot,
    .build_snapshot = rbd_build_snapshot,
    .describe_snapshot = rbd_describe_snapshot,
    .give_up_snapshot = rbd_give_up_snapshot,
    .discard_snapshot = rbd_discard_snapshot,
    .read_snapshot = rbd_read_snapshot,
    .snapshot_together = rbd_snapshot_together,
    .open_location = open_location,
    .list_locations = list_locations,
    .journal_namespace = journal_namespace,
    .entry_is_complete = entry_is_complete,
};
