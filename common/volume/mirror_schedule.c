#include "common/volume/mirror_schedule.h"

#include <jansson.h>

#include "common/base/memory.h"

/* @level: "pool/image", "pool/namespace/image". */
static json_t *command_for(const char *prefix, const struct ceph_pool *pool, const char *image)
{
    const char *space = pool->rados_namespace;
    _cleanup_free_ char *level =
        xasprintf("%s/%s%s%s", pool->name, space, space[0] ? "/" : "", image);

    return json_pack("{s:s, s:s}", "prefix", prefix, "level_spec", level);
}

static int run(struct ceph_cluster *cluster, struct call *call, const json_t *command,
               struct error *err)
{
    _cleanup_free_ char *text = json_dumps(command, JSON_COMPACT);
    _cleanup_free_ char *reply = NULL;

    return cluster->ops->mgr_command(cluster, call, text, &reply, err);
}

int mirror_schedule_add(struct ceph_cluster *cluster, struct call *call,
                        const struct ceph_pool *pool, const char *image, const char *interval,
                        const char *start_time, struct error *err)
{
    json_auto_t *command = command_for("rbd mirror snapshot schedule add", pool, image);

    json_object_set_new(command, "interval", json_string(interval));
    if (start_time)
        json_object_set_new(command, "start_time", json_string(start_time));
    if (run(cluster, call, command, err) < 0)
        return error_wrap(err, "take a snapshot of image '%s' every %s", image, interval);
    return 0;
}

int mirror_schedule_remove(struct ceph_cluster *cluster, struct call *call,
                           const struct ceph_pool *pool, const char *image, struct error *err)
{
    json_auto_t *command = command_for("rbd mirror snapshot schedule remove", pool, image);

    return run(cluster, call, command, err) == 0 ? 0 : error_ignore(err, STATUS_NOT_FOUND);
}
