/* Every cluster has pools that are not for volumes, and that a driver's user may not read, such as
 * the manager's own (.mgr, from Ceph 17 on). */
#include "common/usage/pool_purpose.h"

#include <jansson.h>
#include <string.h>

#include "common/usage/cluster_usage.h"

static bool has_other_applications(const json_t *pool)
{
    const json_t *applications = json_object_get(pool, "application_metadata");

    return json_object_size(applications) > 0 && !json_object_get(applications, "rbd") &&
           !json_object_get(applications, "cephfs");
}

bool pool_is_for_others(struct ceph_cluster *cluster, struct call *call, const char *name)
{
    _cleanup_error_ struct error unknown = {0};
    _cleanup_free_ char *reply = NULL;
    const json_t *pool = NULL;
    size_t i = 0;

    if (cluster->ops->mon_command(cluster, call, CLUSTER_USAGE_POOLS, &reply, &unknown) < 0)
        return false;
    json_auto_t *pools = json_loads(reply, 0, NULL);
    json_array_foreach(pools, i, pool)
    {
        const char *pool_name = json_string_value(json_object_get(pool, "pool_name"));

        if (pool_name && strcmp(pool_name, name) == 0)
            return has_other_applications(pool);
    }
    return false;
}
