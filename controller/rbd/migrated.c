#include "controller/rbd/migrated.h"

#include "controller/rbd/purge.h"
#include "controller/rbd/rbd_images.h"

int migrated_open(const struct controller *controller, struct call *call, const char *handle,
                  const struct credentials *credentials, struct migrated *migrated,
                  struct error *err)
{
    *migrated = (struct migrated){0};
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

int migrated_delete(const struct controller *controller, struct call *call,
                    struct migrated *migrated, const struct credentials *credentials,
                    struct error *err)
{
    _cleanup_strmap_ struct strmap queued = {0};

    if (image_discard(migrated->pool, call, migrated->id.image_name, NULL, &queued, err) < 0)
        return -1;
    return purge_queue(controller, call, migrated->id.cluster_id, credentials, migrated->pool,
                       &queued, err);
}

void migrated_done(struct migrated *migrated)
{
    if (migrated->pool)
        ceph_pool_close(migrated->pool);
    session_close(&migrated->session);
    *migrated = (struct migrated){0};
}
