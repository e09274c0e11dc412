/*
 * What CreateVolume does for RBD; create_volume.c drives it. A class with one pool has the name,
 * the attributes and the image there.
 *
 *   make     the image, empty or as a clone            what librbd needs
 *   finish   size, metadata, limits of a clone         nothing for an empty volume
 *   commit   the image's id in the object              2 RT; says that all is done
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"
#include "common/config/rbd_parameters.h"
#include "controller/claim_metadata.h"
#include "controller/creation.h"
#include "controller/fingerprint.h"
#include "controller/rbd/flatten.h"
#include "controller/rbd/purge.h"
#include "controller/rbd/qos.h"
#include "controller/rbd/rbd_backend.h"
#include "controller/rbd/rbd_images.h"
#include "controller/rbd/rbd_metadata.h"
#include "controller/rbd/rbd_source.h"
#include "controller/recorded_segments.h"

struct rbd_creation {
    struct creation base;
    struct rbd_parameters parameters;
    struct source source;
    bool source_is_open;
    bool source_is_thin; /* it is to become a copy and still needs another pool */
};

static struct rbd_creation *rbd_of(struct creation *creation)
{
    return (struct rbd_creation *)creation;
}

static int check_request(struct creation *creation, struct error *err)
{
    const struct create_request *request = creation->request;
    struct rbd_parameters *parameters = &rbd_of(creation)->parameters;

    if (capability_list_check_rbd(&request->capabilities, err) < 0 ||
        capacity_range_choose(&request->range, &creation->size_bytes, err) < 0 ||
        rbd_parameters_parse(&request->parameters, parameters, err) < 0 ||
        class_pools_parse_rbd(&request->parameters, &creation->class, err) < 0 ||
        qos_check(&request->mutable_parameters, err) < 0)
        return -1;
    creation->name_prefix = parameters->name_prefix;
    creation->owner = parameters->owner;
    creation_use_data_pool(creation, parameters->image.data_pool);
    claim_metadata_collect(creation->controller, METADATA_VOLUME, &request->parameters,
                           &creation->metadata);
    return 0;
}

/* --- source and place --- */

static int open_source(struct creation *creation, struct error *err)
{
    struct rbd_creation *rbd = rbd_of(creation);

    if (creation->request->source_kind == SOURCE_NONE)
        return 0;
    if (!rbd->source_is_open) {
        rbd->source_is_open = true; /* source_done() is needed from here on */
        if (source_open(creation, &rbd->source, err) < 0 ||
            flatten_is_queued(creation->controller, creation->call, rbd->source.located.pool,
                              rbd->source.image, &rbd->source_is_thin, err) < 0 ||
            capacity_range_fit(&creation->request->range, rbd->source.size_bytes,
                               &creation->size_bytes, err) < 0)
            return -1;
    }
    return creation->is_placed ? source_check_cluster(&rbd->source, creation, err) : 0;
}

static int open_named(struct creation *creation, const char *name, struct ceph_pool **pool,
                      struct error *err)
{
    struct ceph_cluster *cluster = creation->session.cluster;

    return cluster->ops->pool_open(cluster, creation->call, name,
                                   session_rbd_namespace(&creation->session), pool, err);
}

static void describe_source(const struct creation *creation, struct placing *placing)
{
    const struct rbd_creation *rbd = (const struct rbd_creation *)creation;

    placing->rados_namespace = session_rbd_namespace(&creation->session);
    if (rbd->source_is_open) {
        placing->source_pool = rbd->source.located.pool->name;
        placing->source_cluster = rbd->source.cluster_id;
    }
}

/* The name led to a pool that this call did not choose: what the class says of that pool. */
static int recover_place(struct creation *creation, struct error *err)
{
    struct place *place = &creation->place;

    if (!creation->wants_place ||
        (place->cluster_id && strcmp(place->cluster_id, creation->cluster_id) == 0 &&
         strcmp(place->entry.pool, creation->pool->name) == 0))
        return 0;
    struct placing placing = creation_placing(creation);
    placing.only_cluster = creation->cluster_id;
    place_done(place);
    if (place_recover(&placing, creation->pool->name, place, err) < 0)
        return -1;
    creation_use_data_pool(creation, place->data_pool);
    return 0;
}

static void fill_entry(struct creation *creation, struct journal_entry *entry)
{
    if (creation->wants_place && creation->data_pool)
        strmap_set(&entry->extra, JOURNAL_KEY_DATA_POOL, creation->data_pool);
}

/* What the entry says of the place; Ceph-CSI's do not, and then the class does. */
static int adopt_place(struct creation *creation, struct error *err)
{
    const struct strmap *extra = &creation->entry.extra;

    if (!segments_are_written(extra))
        return recover_place(creation, err);
    place_done(&creation->place);
    segments_read(extra, &creation->place.segments);
    creation->place.entry.pool = xstrdup(creation->pool->name);
    creation_use_data_pool(creation, strmap_get_or(extra, JOURNAL_KEY_DATA_POOL, NULL));
    return 0;
}

/* --- the image --- */

/* The image is the one that the journal knows as complete. */
static bool is_committed(const struct rbd_creation *creation, const char *image_id)
{
    const char *recorded = creation->base.entry.image_id;

    return recorded && strcmp(recorded, image_id) == 0;
}

/* An interrupted deletion or clean-up left an image of this name in the trash. Its data are
 * queued before the name is used again, because nothing would lead to them afterwards. */
static int forget_trashed(struct rbd_creation *creation, struct error *err)
{
    _cleanup_strmap_ struct strmap queued = {0};

    if (image_queue_trashed(creation->base.pool, creation->base.call,
                            creation->base.entry.image_name, creation->base.entry.image_id, &queued,
                            err) < 0)
        return -1;
    return purge_queue(creation->base.controller, creation->base.call, creation->base.cluster_id,
                       &creation->base.request->credentials, creation->base.directory, &queued,
                       err);
}

/* The image that the entry stands for. As a clone once the source is open. */
static struct begun_image begun_image(struct rbd_creation *creation)
{
    struct creation *base = &creation->base;
    struct begun_image image = {
        .begun = creation_begun(base),
        .work = base->work,
        .pool = base->pool,
    };

    if (!creation->source.image)
        return image;
    image.parent_pool = creation->source.located.pool;
    image.parent = creation->source.image;
    image.snapshot =
        creation->source.kind == SOURCE_SNAPSHOT ? creation->source.image : base->entry.image_name;
    return image;
}

static int make_image(struct rbd_creation *creation, struct error *err)
{
    struct ceph_pool *pool = creation->base.pool;
    struct image_options options = creation->parameters.image;

    options.data_pool = creation->base.data_pool;
    if (open_source(&creation->base, err) < 0)
        return -1;
    if (!creation->base.fresh && forget_trashed(creation, err) < 0)
        return -1;
    const struct begun_image image = begun_image(creation);
    if (creation->base.request->source_kind != SOURCE_NONE)
        return source_clone(&creation->source, &image, &options, err);
    if (pool->ops->image_create(pool, creation->base.call, creation->base.entry.image_name,
                                creation->base.size_bytes, &options, err) == 0)
        return 0;
    return another_is_faster(err);
}

/* Checks the size of an image that was there, and grows a clone to what was asked for. */
static int settle_size(struct rbd_creation *creation, const char *image_id, struct error *err)
{
    struct ceph_pool *pool = creation->base.pool;
    bool is_clone = creation->base.request->source_kind != SOURCE_NONE;
    /* Ceph-CSI notes the id of a clone before it grows it */
    bool is_done =
        is_committed(creation, image_id) && fingerprint_is_present(&creation->base.entry.extra);
    uint64_t size = 0;

    if (creation->base.fresh && !is_clone)
        return 0;
    if (pool->ops->image_get_size(pool, creation->base.call, image_id, &size, err) < 0)
        return -1;
    if (is_clone && !is_done && size < creation->base.size_bytes) {
        if (pool->ops->image_resize(pool, creation->base.call, creation->base.entry.image_name,
                                    creation->base.size_bytes, err) < 0)
            return -1;
        size = creation->base.size_bytes;
    }
    if (capacity_range_check(&creation->base.request->range, size, err) < 0)
        return -1;
    creation->base.size_bytes = size;
    return 0;
}

/* The image is there, but an earlier try did not come to its end: is it whole? If not, it is made
 * again. If it is, its snapshot may still be on the source. */
static int settle_begun(struct rbd_creation *creation, bool *usable, struct error *err)
{
    bool is_clone = creation->base.request->source_kind != SOURCE_NONE;
    bool source_is_gone = false;

    if (open_source(&creation->base, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* and the snapshot with it */
        source_is_gone = true;
    }
    struct begun_image image = begun_image(creation);
    if (source_is_gone)
        image.parent_pool = NULL;
    if (image_settle(&image, usable, err) < 0)
        return -1;
    if (!*usable || !is_clone || source_is_gone)
        return 0;
    return source_remove_snapshot(&creation->source, creation->base.call,
                                  creation->base.entry.image_name, err);
}

/* Looks for what an earlier try made. *@image_id is NULL if nothing that is of use is there, and
 * then nothing is in the way. */
static int find_begun(struct rbd_creation *creation, char **image_id, struct error *err)
{
    struct creation *base = &creation->base;
    const struct begun_image image = begun_image(creation);
    bool usable = true;

    if (image_find(base->pool, base->call, base->entry.image_name, image_id, err) < 0)
        return -1;
    if (!*image_id)
        return image_clear_remnant(&image, err);
    if (!is_committed(creation, *image_id) && settle_begun(creation, &usable, err) < 0)
        return -1;
    if (!usable)
        free(TAKE(*image_id));
    return 0;
}

/* Ceph-CSI clones a volume through an intermediate image, from another snapshot of the source. */
static int remove_foreign_snapshot(struct rbd_creation *creation, struct error *err)
{
    _cleanup_free_ char *snapshot =
        xasprintf("%s" IMAGE_SUFFIX_CLONE, creation->base.entry.image_name);

    if (creation->base.fresh || fingerprint_is_present(&creation->base.entry.extra))
        return 0;
    return source_remove_snapshot(&creation->source, creation->base.call, snapshot, err);
}

/* A VolumeAttributesClass counts, and without one what the StorageClass says. (A clone does not
 * keep the limits of its source.) */
static void collect_limits(struct creation *creation)
{
    const struct create_request *request = creation->request;

    qos_to_metadata(request->mutable_parameters.count ? &request->mutable_parameters
                                                      : &request->parameters,
                    creation->size_bytes, &creation->metadata);
}

static int commit(struct rbd_creation *creation, const char *image_id, struct error *err)
{
    struct journal_entry *entry = &creation->base.entry;
    bool is_clone = creation->base.request->source_kind != SOURCE_NONE;

    collect_limits(&creation->base);
    if (remove_foreign_snapshot(creation, err) < 0 ||
        metadata_apply(creation->base.pool, creation->base.call, entry->image_name, is_clone,
                       &creation->base.metadata, err) < 0)
        return -1;
    return journal_set_image_id(&creation->base.journal, creation->base.call,
                                creation->base.attributes, &entry->uuid, image_id, err);
}

/* A clone that left its source's pool is to be a copy, so that neither place needs the other; so is
 * one whose source is not a copy yet. The source itself may be gone by now. */
static int is_in_other_pool(const struct rbd_creation *creation, bool *is_other, struct error *err)
{
    const struct creation *base = &creation->base;
    _cleanup_image_facts_ struct image_facts facts = {0};

    *is_other = creation->source_is_thin;
    if (*is_other || base->request->source_kind == SOURCE_NONE || !base->class.may_cross_pools)
        return 0;
    if (creation->source_is_open && creation->source.located.pool) {
        *is_other = creation->source.located.pool->id != base->pool->id;
        return 0;
    }
    if (base->pool->ops->image_get_facts(base->pool, base->call, base->entry.image_name, &facts,
                                         err) < 0)
        return -1;
    *is_other = facts.has_parent && facts.parent.pool_id != base->pool->id;
    return 0;
}

/* The order to detach it is written before the creation counts as complete. */
static int commit_detached(struct rbd_creation *creation, const char *image_id, struct error *err)
{
    struct creation *base = &creation->base;
    const struct flatten_target target = {base->cluster_id, &base->request->credentials, base->pool,
                                          base->entry.image_name};
    bool is_other = false;

    if (is_committed(creation, image_id))
        return 0;
    if (is_in_other_pool(creation, &is_other, err) < 0 ||
        (is_other && flatten_queue(base->controller, base->call, base->pool, target.image, image_id,
                                   err) < 0) ||
        commit(creation, image_id, err) < 0)
        return -1;
    if (is_other)
        flatten_start(base->controller, &target);
    return 0;
}

static int make_volume(struct creation *base, struct error *err)
{
    struct rbd_creation *creation = rbd_of(base);
    const char *name = base->entry.image_name;
    _cleanup_free_ char *image_id = NULL;

    purge_resume(base->controller, base->cluster_id, &base->request->credentials, base->directory);
    purge_resume(base->controller, base->cluster_id, &base->request->credentials, base->pool);
    if (!base->fresh && find_begun(creation, &image_id, err) < 0)
        return -1;
    if (!image_id &&
        (make_image(creation, err) < 0 ||
         base->pool->ops->image_get_id(base->pool, base->call, name, &image_id, err) < 0))
        return -1;
    if (settle_size(creation, image_id, err) < 0)
        return -1;
    if (commit_detached(creation, image_id, err) < 0)
        return -1;
    source_flatten_behind(&creation->source, base);
    return 0;
}

/* The image may exist: a clone whose size or metadata could not be set. */
static int unmake_volume(struct creation *creation, struct error *err)
{
    const char *name = creation->entry.image_name;

    if (source_remove_snapshot(&rbd_of(creation)->source, creation->call, name, err) < 0)
        return -1;
    return image_discard(creation->pool, creation->call, name, NULL, creation->entry.image_id,
                         &creation->queued, err);
}

static void describe_volume(const struct creation *creation, uint64_t *location,
                            struct strmap *context)
{
    *location = (uint64_t)creation->pool->id;
    strmap_set(context, PARAM_CLUSTER_ID, creation->cluster_id); /* may be a listed pool's own */
    strmap_set(context, PARAM_POOL, creation->pool->name);
    strmap_set(context, PARAM_JOURNAL_POOL, creation->directory->name);
    strmap_set(context, PARAM_IMAGE_NAME, creation->entry.image_name);
    if (creation->pool->rados_namespace[0])
        strmap_set(context, PARAM_RADOS_NAMESPACE, creation->pool->rados_namespace);
    if (creation->data_pool)
        strmap_set(context, PARAM_DATA_POOL, creation->data_pool);
    else
        strmap_remove(context, PARAM_DATA_POOL); /* the class's own is not that of a listed pool */
}

static void creation_done(struct creation *creation)
{
    struct rbd_creation *rbd = rbd_of(creation);

    if (creation->queued.count > 0 && creation->directory)
        purge_start(creation->controller, creation->cluster_id, &creation->request->credentials,
                    creation->directory);
    if (rbd->source_is_open)
        source_done(&rbd->source);
}

const struct creation_steps RBD_CREATION = {
    .size = sizeof(struct rbd_creation),
    .has_foreign_names = true,
    .check = check_request,
    .open_source = open_source,
    .open_named = open_named,
    .describe_source = describe_source,
    .settle_place = recover_place,
    .fill_entry = fill_entry,
    .adopt_place = adopt_place,
    .make = make_volume,
    .unmake = unmake_volume,
    .describe = describe_volume,
    .done = creation_done,
};
