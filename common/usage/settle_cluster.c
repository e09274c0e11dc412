#include "common/usage/settle_cluster.h"

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/usage/cluster_usage.h"

static int settle_pool(struct ceph_cluster *cluster, struct call *call, const json_t *entry,
                       struct error *err)
{
    const char *name = json_string_value(json_object_get(entry, "pool_name"));
    const json_int_t groups = json_integer_value(json_object_get(entry, "pg_num"));
    const json_int_t min_size = json_integer_value(json_object_get(entry, "min_size"));
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (!name || groups <= 0)
        return error_set(err, STATUS_INTERNAL, "osd pool ls: a pool has no pool_name or pg_num");
    if (cluster->ops->pool_open(cluster, call, name, "", &pool, err) < 0)
        return -1;
    return pool->ops->pool_settle(pool, call, (size_t)groups, min_size > 0 ? (size_t)min_size : 1,
                                  err);
}

int settle_pools(struct ceph_cluster *cluster, struct call *call, const char *reply,
                 struct error *err)
{
    json_auto_t *pools = json_loads(reply, 0, NULL);
    size_t i = 0;
    json_t *entry = NULL;

    if (!json_is_array(pools))
        return error_set(err, STATUS_INTERNAL, "osd pool ls: expected a list of pools");
    json_array_foreach(pools, i, entry)
    {
        const json_t *applications = json_object_get(entry, "application_metadata");

        /* volumes may be in it */
        if ((json_object_get(applications, "rbd") || json_object_get(applications, "cephfs")) &&
            settle_pool(cluster, call, entry, err) < 0)
            return -1;
    }
    return 0;
}

int settle_cluster(struct ceph_cluster *cluster, struct call *call, struct error *err)
{
    _cleanup_free_ char *reply = NULL;

    if (cluster->ops->mon_command(cluster, call, CLUSTER_USAGE_POOLS, &reply, err) < 0 ||
        settle_pools(cluster, call, reply ? reply : "", err) < 0)
        return error_wrap(err, "not all OSDs are known to keep to the fence");
    return 0;
}
