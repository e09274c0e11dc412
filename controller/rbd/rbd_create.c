/*
 * CreateVolume. The steps, each of which a retry finds done or does itself:
 *
 *   claim    the request name in the directory         1 RT, guarded: of two processes one wins
 *   record   the uuid's object with its attributes     1 RT
 *   make     the image, empty or as a clone            what librbd needs
 *   finish   size, metadata, limits of a clone         nothing for an empty volume
 *   commit   the image's id in the object              2 RT; says that all is done
 *
 * The source of a clone is opened only when there is something left to do, so that a late retry
 * does not fail because the source is gone. A call that fails for good gives the name back; one
 * that timed out leaves it for the retry, because the write that timed out may still happen.
 */
#include "controller/controller.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "controller/fingerprint.h"
#include "controller/rbd/flatten.h"
#include "controller/rbd/purge.h"
#include "controller/rbd/qos.h"
#include "controller/rbd/rbd_backend.h"
#include "controller/rbd/rbd_creation.h"
#include "controller/rbd/rbd_images.h"
#include "controller/rbd/rbd_metadata.h"

static int check_request(struct creation *creation, struct error *err)
{
    /* limits of 0: a new image has none, and a clone does not keep its source's */
    _cleanup_string_list_ struct string_list lifted = {0};
    const struct create_request *request = creation->request;

    if (capability_list_check_rbd(&request->capabilities, err) < 0 ||
        capacity_range_choose(&request->range, &creation->size_bytes, err) < 0 ||
        rbd_parameters_parse(&request->parameters, &creation->parameters, err) < 0 ||
        class_pools_parse_rbd(&request->parameters, &creation->class, err) < 0 ||
        qos_to_metadata(&request->mutable_parameters, &creation->metadata, &lifted, err) < 0)
        return -1;
    creation->cluster_id = creation->parameters.cluster_id;
    metadata_collect(creation->controller, METADATA_VOLUME, &request->parameters,
                     &creation->metadata);
    return 0;
}

/* --- the source --- */

int creation_open_source(struct creation *creation, struct error *err)
{
    if (creation->source_is_open || creation->request->source_kind == SOURCE_NONE)
        return 0;
    creation->source_is_open = true; /* source_done() is needed from here on */
    if (source_open(creation->controller, creation->call, creation->request, creation->cluster_id,
                    &creation->source, err) < 0)
        return -1;
    return capacity_range_fit(&creation->request->range, creation->source.size_bytes,
                              &creation->size_bytes, err);
}

/* --- the image --- */

/* The image is the one that the journal knows as complete. */
static bool is_committed(const struct creation *creation, const char *image_id)
{
    const char *recorded = creation->entry.image_id;

    return recorded && strcmp(recorded, image_id) == 0;
}

/* A deletion, or an undoing, that was cut left an image of this name in the trash. Its data are
 * queued before the name is used again, because nothing would lead to them afterwards. */
static int forget_trashed(struct creation *creation, struct error *err)
{
    _cleanup_strmap_ struct strmap queued = {0};

    if (image_queue_trashed(creation->pool, creation->call, creation->entry.image_name, &queued,
                            err) < 0)
        return -1;
    return purge_queue(creation->controller, creation->call, creation->cluster_id,
                       &creation->request->credentials, creation->directory, &queued, err);
}

static int make_image(struct creation *creation, struct error *err)
{
    struct ceph_pool *pool = creation->pool;
    const char *name = creation->entry.image_name;
    const struct image_options *options = &creation->parameters.image;

    if (creation_open_source(creation, err) < 0)
        return -1;
    if (!creation->fresh && forget_trashed(creation, err) < 0)
        return -1;
    if (creation->request->source_kind != SOURCE_NONE)
        return source_clone(&creation->source, creation->call, pool, name, options, err);
    if (pool->ops->image_create(pool, creation->call, name, creation->size_bytes, options, err) ==
        0)
        return 0;
    return another_is_faster(err);
}

/* Checks the size of an image that was there, and grows a clone to what was asked for. */
static int settle_size(struct creation *creation, const char *image_id, struct error *err)
{
    struct ceph_pool *pool = creation->pool;
    bool is_clone = creation->request->source_kind != SOURCE_NONE;
    /* Ceph-CSI notes the id of a clone before it grows it */
    bool is_done =
        is_committed(creation, image_id) && fingerprint_is_present(&creation->entry.extra);
    uint64_t size = 0;

    if (creation->fresh && !is_clone)
        return 0;
    if (pool->ops->image_get_size(pool, creation->call, image_id, &size, err) < 0)
        return -1;
    if (is_clone && !is_done && size < creation->size_bytes) {
        if (pool->ops->image_resize(pool, creation->call, creation->entry.image_name,
                                    creation->size_bytes, err) < 0)
            return -1;
        size = creation->size_bytes;
    }
    if (capacity_range_check(&creation->request->range, size, err) < 0)
        return -1;
    creation->size_bytes = size;
    return 0;
}

/* The image is there, but an earlier try did not come to its end: is it whole? If not, it is made
 * again. If it is, its cut may still be on the source. */
static int settle_begun(struct creation *creation, bool *usable, struct error *err)
{
    struct begun_image image = {
        creation->pool, creation->entry.image_name, &creation->entry.extra, NULL, NULL, NULL};
    bool is_clone = creation->request->source_kind != SOURCE_NONE;
    bool source_is_gone = false;

    if (creation_open_source(creation, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* and the cut with it */
        source_is_gone = true;
    }
    if (is_clone && !source_is_gone) {
        image.parent_pool = creation->source.located.pool;
        image.parent = creation->source.image;
        image.snapshot = creation->source.kind == SOURCE_SNAPSHOT ? creation->source.image
                                                                  : creation->entry.image_name;
    }
    if (image_settle(creation->controller, creation->call, &image, usable, err) < 0)
        return -1;
    if (!*usable || !is_clone || source_is_gone)
        return 0;
    return source_remove_cut(&creation->source, creation->call, creation->entry.image_name, err);
}

/* Ceph-CSI clones a volume through an intermediate image, for which it cuts the source as well. */
static int remove_foreign_cut(struct creation *creation, struct error *err)
{
    _cleanup_free_ char *cut = xasprintf("%s-temp", creation->entry.image_name);

    if (creation->fresh || fingerprint_is_present(&creation->entry.extra))
        return 0;
    return source_remove_cut(&creation->source, creation->call, cut, err);
}

static int commit(struct creation *creation, const char *image_id, struct error *err)
{
    struct journal_entry *entry = &creation->entry;
    bool is_clone = creation->request->source_kind != SOURCE_NONE;

    if (is_committed(creation, image_id))
        return 0;
    if (remove_foreign_cut(creation, err) < 0 ||
        metadata_apply(creation->pool, creation->call, entry->image_name, is_clone,
                       &creation->metadata, NULL, err) < 0)
        return -1;
    return journal_set_image_id(&creation->journal, creation->call, creation->attributes,
                                &entry->uuid, image_id, err);
}

/* Sees to it that the image exists, is what was asked for, and that the journal says so. */
static int complete(struct creation *creation, struct error *err)
{
    struct ceph_pool *pool = creation->pool;
    const char *name = creation->entry.image_name;
    _cleanup_free_ char *image_id = NULL;

    bool usable = true;

    if (!creation->fresh && image_find(pool, creation->call, name, &image_id, err) < 0)
        return -1;
    if (image_id && !is_committed(creation, image_id) && settle_begun(creation, &usable, err) < 0)
        return -1;
    if (!usable) {
        free(image_id);
        image_id = NULL;
    }
    if (!image_id && (make_image(creation, err) < 0 ||
                      pool->ops->image_get_id(pool, creation->call, name, &image_id, err) < 0))
        return -1;
    if (settle_size(creation, image_id, err) < 0)
        return -1;
    return commit(creation, image_id, err);
}

/* --- the whole --- */

/* The image may exist: a clone whose size or metadata could not be set. */
static int undo_image(struct creation *creation, struct strmap *queued, struct error *err)
{
    const char *name = creation->entry.image_name;

    if (!name) /* not even recorded */
        return 0;
    if (source_remove_cut(&creation->source, creation->call, name, err) < 0)
        return -1;
    return image_discard(creation->pool, creation->call, name, NULL, queued, err);
}

/* Undoes what a call that failed for good has begun. */
static void give_up(struct creation *creation)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap queued = {0};

    if (undo_image(creation, &queued, &err) < 0 ||
        journal_release_name(&creation->journal, creation->call, creation->directory,
                             creation->request->name, creation->pool->id, &creation->entry.uuid,
                             &queued, &err) < 0 ||
        journal_remove(&creation->journal, creation->call, creation->pool, &creation->entry.uuid,
                       &err) < 0) {
        log_warn(creation->call, "the failed creation leaves something behind: %s", err.message);
        return;
    }
    if (queued.count > 0)
        purge_start(creation->controller, creation->cluster_id, &creation->request->credentials,
                    creation->directory);
}

/* A clone that left its source's pool is to be a copy, so that neither place needs the other. */
static void detach_from_other_pool(const struct creation *creation)
{
    const struct flatten_target target = {creation->cluster_id, &creation->request->credentials,
                                          creation->pool, creation->entry.image_name};

    if (creation->source_is_open && creation->class.may_cross_pools &&
        creation->source.located.pool->id != creation->pool->id)
        flatten_start(creation->controller, &target);
}

static void describe(const struct creation *creation, struct volume *volume)
{
    struct volume_id id = {.location_id = (uint64_t)creation->pool->id,
                           .uuid = creation->entry.uuid};
    struct strmap *context = &volume->context;

    memcpy(id.cluster_id, creation->cluster_id, strlen(creation->cluster_id) + 1);
    volume_id_format(&id, volume->handle);
    volume->size_bytes = creation->size_bytes;
    class_parameters_to_context(&creation->request->parameters, context);
    strmap_set(context, "pool", creation->pool->name);
    strmap_set(context, "journalPool", creation->directory->name);
    strmap_set(context, "imageName", creation->entry.image_name);
    if (creation->pool->rados_namespace[0])
        strmap_set(context, "radosNamespace", creation->pool->rados_namespace);
    if (creation->parameters.image.data_pool)
        strmap_set(context, "dataPool", creation->parameters.image.data_pool);
    else
        strmap_remove(context, "dataPool"); /* the class's own is not that of a listed pool */
    strmap_merge(&volume->segments, &creation->place.segments);
}

static int create(struct creation *creation, struct volume *volume, struct error *err)
{
    if (creation_open_pools(creation, err) < 0)
        return -1;
    purge_resume(creation->controller, creation->cluster_id, &creation->request->credentials,
                 creation->directory);
    if (creation_reserve(creation, err) < 0 || complete(creation, err) < 0) {
        if (creation->fresh && status_is_final(err->status))
            give_up(creation);
        return -1;
    }
    detach_from_other_pool(creation);
    place_end(&creation->place, creation->fresh);
    describe(creation, volume);
    return 0;
}

static void creation_done(struct creation *creation)
{
    if (creation->source_is_open)
        source_done(&creation->source);
    if (creation->other_pool)
        ceph_pool_close(creation->other_pool);
    if (creation->directory)
        ceph_pool_close(creation->directory);
    session_close(&creation->session);
    journal_entry_done(&creation->entry);
    place_done(&creation->place);
    class_pools_done(&creation->class);
    strmap_done(&creation->metadata);
}

int rbd_create_volume(const struct controller *controller, struct call *call,
                      const struct create_request *request, struct volume *volume,
                      struct error *err)
{
    _cleanup_(creation_done) struct creation creation = {
        .controller = controller,
        .call = call,
        .request = request,
        .journal = {JOURNAL_VOLUME, controller->instance_id},
    };

    if (check_request(&creation, err) < 0)
        return -1;
    return create(&creation, volume, err);
}
