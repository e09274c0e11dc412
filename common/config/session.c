#include "common/config/session.h"

#include "common/base/text.h"
#include "common/ceph/on_disk.h"

int session_open(struct ceph *ceph, struct config_file *config_file, struct call *call,
                 const char *cluster_id, const struct credentials *credentials,
                 struct session *session, struct error *err)
{
    _cleanup_config_ struct config *config = NULL;
    const struct cluster_config *cluster = NULL;
    struct ceph_cluster *connection = NULL;

    if (credentials_check(credentials, err) < 0 || config_file_get(config_file, &config, err) < 0 ||
        config_find_cluster(config, cluster_id, &cluster, err) < 0)
        return -1;
    const struct ceph_target target = {
        .cluster_id = cluster_id,
        .monitors = cluster->monitors,
        .user = credentials->user,
        .key = &credentials->key,
    };
    if (ceph->ops->connect(ceph, call, &target, &connection, err) < 0)
        return -1;
    if (cluster->rbd.mirror_daemon_count > 0)
        connection->mirror_daemons = (size_t)cluster->rbd.mirror_daemon_count;
    *session = (struct session){TAKE(config), cluster, connection};
    return 0;
}

void session_close(struct session *session)
{
    if (session->cluster)
        session->cluster->ops->disconnect(session->cluster);
    if (session->config)
        config_unref(session->config);
    *session = (struct session){0};
}

const char *session_rbd_namespace(const struct session *session)
{
    const char *name = session->cluster_config->rbd.rados_namespace;

    return name ? name : "";
}

const char *session_cephfs_group(const struct session *session)
{
    const char *name = session->cluster_config->cephfs.subvolume_group;

    return text_is_empty(name) ? CEPHFS_NAMESPACE : name;
}

const char *session_cephfs_namespace(const struct session *session, const char *fallback)
{
    const char *name = session->cluster_config->cephfs.rados_namespace;

    if (!text_is_empty(name))
        return name;
    return text_is_empty(fallback) ? CEPHFS_NAMESPACE : fallback;
}
