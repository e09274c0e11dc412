#include "controller/rbd/rbd_source.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "controller/encrypted.h"
#include "controller/rbd/flatten.h"
#include "controller/rbd/rbd_images.h"

static int lock_source(const struct controller *controller, struct call *call,
                       const struct create_request *request, struct source *source,
                       struct error *err)
{
    const char *kind = source->kind == SOURCE_SNAPSHOT ? "snapshot" : "volume";

    return operation_begin_shared(controller->operations, kind, request->source_handle, call,
                                  &source->operation, err);
}

static int read_size(struct source *source, struct call *call, struct error *err)
{
    struct ceph_pool *pool = source->located.pool;
    _cleanup_free_ char *image_id = NULL;

    if (pool->ops->image_get_id(pool, call, source->image, &image_id, err) < 0)
        return -1;
    return pool->ops->image_get_size(pool, call, image_id, &source->size_bytes, err);
}

static int check_depth(const struct controller *controller, struct call *call,
                       const struct create_request *request, struct source *source,
                       struct error *err)
{
    const struct located *located = &source->located;
    const struct flatten_target target = {located->id.cluster_id, &request->credentials,
                                          located->pool, source->image};

    if (source->kind == SOURCE_VOLUME &&
        snapshots_make_room(controller, call, &target, located->pool, err) < 0)
        return -1;
    return flatten_if_needed(controller, call, located->session.cluster, located->pool, &target,
                             SOURCE_LEVELS, &source->is_to_be_flattened, err);
}

void source_flatten_behind(const struct source *source, const struct creation *creation)
{
    const struct flatten_target target = {source->located.id.cluster_id,
                                          &creation->request->credentials, source->located.pool,
                                          source->image};

    if (source->is_to_be_flattened)
        flatten_start(creation->controller, &target);
}

/* Several clusterIDs may lead to one Ceph, each with a RADOS namespace of its own. */
static int name_cluster(const struct creation *creation, struct source *source, struct error *err)
{
    const struct located *located = &source->located;
    struct ceph_cluster *cluster = located->session.cluster;
    _cleanup_free_ char *fsid = NULL;
    bool same = strcmp(located->id.cluster_id, creation->cluster_id) == 0;

    if (!same && (cluster->ops->fsid(cluster, creation->call, &fsid, err) < 0 ||
                  creation_is_same_ceph(creation, fsid, &same, err) < 0))
        return -1;
    source->cluster_id = xstrdup(same ? creation->cluster_id : located->id.cluster_id);
    return 0;
}

int source_open(const struct creation *creation, struct source *source, struct error *err)
{
    const struct controller *controller = creation->controller;
    const struct create_request *request = creation->request;
    struct call *call = creation->call;
    enum journal_kind kind =
        request->source_kind == SOURCE_SNAPSHOT ? JOURNAL_SNAPSHOT : JOURNAL_VOLUME;

    *source = (struct source){.kind = request->source_kind};
    if (source->kind == SOURCE_NONE)
        return 0;
    if (lock_source(controller, call, request, source, err) < 0)
        return -1;
    if (locate(controller, call, kind, request->source_handle, &request->credentials,
               &source->located, err) < 0)
        return error_wrap(err, "find the source '%s'", request->source_handle);
    source->image = source->located.entry.image_name;
    if (name_cluster(creation, source, err) < 0 || read_size(source, call, err) < 0 ||
        encrypted_check_image(&source->located, call, err) < 0)
        return error_wrap(err, "find the source '%s'", request->source_handle);
    return check_depth(controller, call, request, source, err);
}

int source_check_cluster(const struct source *source, const struct creation *creation,
                         struct error *err)
{
    if (strcmp(source->cluster_id, creation->cluster_id) == 0)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "the source '%s' is in cluster '%s', the new volume would be in '%s', which "
                     "is another Ceph",
                     creation->request->source_handle, source->cluster_id, creation->cluster_id);
}

void source_done(struct source *source)
{
    located_done(&source->located);
    operation_end(&source->operation);
    free(source->cluster_id);
}

int source_clone(struct source *source, const struct begun_image *image,
                 const struct image_options *options, struct error *err)
{
    struct ceph_pool *parent = source->located.pool;
    struct call *call = image->begun.call;
    const char *name = image->begun.entry->image_name;

    if (source->kind == SOURCE_SNAPSHOT)
        return image_clone_kept(parent, call, source->image, source->image, image->pool, name,
                                options, err);
    if (image_snapshot_and_clone(image, options, err) < 0)
        return -1;
    return source_remove_snapshot(source, call, name, err);
}

int source_remove_snapshot(struct source *source, struct call *call, const char *name,
                           struct error *err)
{
    if (source->kind != SOURCE_VOLUME || !source->image)
        return 0;
    return snapshot_ensure_gone(source->located.pool, call, source->image, name, err);
}
