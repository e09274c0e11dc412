#include "controller/rbd/migrated.h"

#include "common/config/session.h"
#include "common/volume/migration.h"
#include "controller/rbd/purge.h"
#include "controller/rbd/rbd_backend.h"
#include "controller/rbd/rbd_images.h"

struct migrated {
    struct migrated_id id;
    struct session session;
    struct ceph_pool *pool;
};

static void migrated_done(struct migrated *migrated)
{
    ceph_pool_close(migrated->pool);
    session_close(&migrated->session);
}
#define _cleanup_migrated_ _cleanup_(migrated_done)

/* NOT_FOUND when the handle is broken or its pool is gone; whether there is an image is not
 * checked. */
static int migrated_open(const struct controller *controller, struct call *call, const char *handle,
                         const struct credentials *credentials, struct migrated *migrated,
                         struct error *err)
{
    if (migrated_id_parse(handle, &migrated->id, err) < 0 ||
        session_open(controller->ceph, controller->config, call, migrated->id.cluster_id,
                     credentials, &migrated->session, err) < 0)
        return -1;
    struct ceph_cluster *cluster = migrated->session.cluster;
    if (cluster->ops->pool_open(cluster, call, migrated->id.pool, "", &migrated->pool, err) < 0)
        return -1;
    purge_resume(controller, migrated->id.cluster_id, credentials, migrated->pool);
    return 0;
}

static int migrated_discard(const struct controller *controller, struct call *call,
                            const struct handle_request *request, struct error *err)
{
    const struct credentials *credentials = &request->credentials;
    _cleanup_migrated_ struct migrated migrated = {0};
    _cleanup_strmap_ struct strmap queued = {0};

    if (migrated_open(controller, call, request->handle, credentials, &migrated, err) < 0 ||
        image_discard(migrated.pool, call, migrated.id.image_name, NULL, NULL, &queued, err) < 0)
        return -1;
    return purge_queue(controller, call, migrated.id.cluster_id, credentials, migrated.pool,
                       &queued, err);
}

static int migrated_grow(const struct controller *controller, struct call *call,
                         const struct expand_request *request, uint64_t wanted,
                         struct growth *growth, struct error *err)
{
    _cleanup_migrated_ struct migrated migrated = {0};

    if (migrated_open(controller, call, request->handle, &request->credentials, &migrated, err) < 0)
        return -1;
    return rbd_grow_image(migrated.pool, call, migrated.id.image_name, wanted, growth, err);
}

const struct migrated_steps RBD_MIGRATED = {
    .owns_handle = migrated_id_is,
    .discard = migrated_discard,
    .grow = migrated_grow,
};
