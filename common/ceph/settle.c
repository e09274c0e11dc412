/*
 * Waiting for the OSDs to know what the monitors have decided. A new OSD map, and with it a fence,
 * reaches an OSD a second later or more: until then it accepts writes of the fenced client. But a
 * group serves no client whose map is newer than its own before it has caught up. So a client with
 * the newest map asks each group something small; that it answers is what counts.
 *
 * Groups are reached by listing: the objects of a pool in their order, split into as many equal
 * parts as there are groups, or up to twice as many while their number is no power of two.
 *
 * A group without any OSD is skipped: nobody writes there, and an OSD that serves it again needs a
 * newer map for that, which has the fence. So the groups that a failed zone took with it do not
 * keep others from taking over what has survived. The same goes for a group with fewer OSDs than
 * the pool's min_size, which serves nobody: what a fenced client still writes to an OSD that has
 * not heard of it comes before anything that others read or write there, for they have to wait
 * until more OSDs serve the group, by a newer map.
 */
#include <errno.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/connections.h"
#include "common/encoding/json.h"

#define NO_OSD 2147483647 /* in a group of an erasure-coded pool */

/* Caller frees. */
static char *group_name(struct ceph_pool *pool, size_t group)
{
    return xasprintf("%lld.%zx", (long long)rados_ioctx_get_id(real_pool(pool)->io), group);
}

static bool group_is_served(struct ceph_pool *pool, struct call *call, size_t group,
                            size_t min_size)
{
    _cleanup_free_ char *name = group_name(pool, group);
    _cleanup_free_ char *command =
        xasprintf("{\"prefix\": \"pg map\", \"pgid\": \"%s\", \"format\": \"json\"}", name);
    _cleanup_free_ char *reply = NULL;
    _cleanup_error_ struct error err = {0};
    size_t osds = 0;

    if (pool->cluster->ops->mon_command(pool->cluster, call, command, &reply, &err) < 0) {
        log_v(3, call, "cannot tell who serves group %s of pool '%s': %s", name, pool->name,
              err.message);
        return true;
    }
    json_auto_t *map = json_loads(reply, 0, NULL);
    const json_t *acting = json_object_get(map, "acting");
    for (size_t i = 0; i < json_array_size(acting); i++)
        osds += json_integer_value(json_array_get(acting, i)) != NO_OSD;
    /* nothing is known: the group itself is asked */
    return !json_is_array(acting) || (osds > 0 && osds >= min_size);
}

/* The group that the objects of a part are in: the order of objects is that of their hashes read
 * from the lowest bit on, and the lowest bits are the group's number. */
static size_t group_of_part(size_t part, size_t parts, size_t groups)
{
    size_t group = 0;

    for (size_t bit = 1, from = parts / 2; bit < parts; bit *= 2, from /= 2)
        if (part & from)
            group |= bit;
    return group < groups ? group : group & (parts / 2 - 1);
}

/* Asks the group in which the objects of the part are for one of them. */
static int ask_part(rados_ioctx_t io, size_t part, size_t parts)
{
    rados_object_list_cursor first = rados_object_list_begin(io);
    rados_object_list_cursor last = rados_object_list_end(io);
    rados_object_list_cursor from = rados_object_list_begin(io);
    rados_object_list_cursor to = rados_object_list_begin(io);
    rados_object_list_cursor next = rados_object_list_begin(io);
    rados_object_list_item item = {0};

    rados_object_list_slice(io, first, last, part, parts, &from, &to);
    int result = rados_object_list(io, from, to, 1, NULL, 0, &item, &next);
    rados_object_list_free(1, &item);
    rados_object_list_cursor_free(io, next);
    rados_object_list_cursor_free(io, to);
    rados_object_list_cursor_free(io, from);
    rados_object_list_cursor_free(io, last);
    rados_object_list_cursor_free(io, first);
    /* a refusal is an answer too, and comes after the check of the map */
    return result >= 0 || result == -ENOENT || result == -EPERM ? 0 : result;
}

int pool_settle(struct ceph_pool *pool, struct call *call, size_t groups, size_t min_size,
                struct error *err)
{
    size_t parts = 1;

    if (cluster_refresh_map(pool->cluster, call, err) < 0)
        return -1;
    while (parts < groups)
        parts *= 2;
    for (size_t part = 0; part < parts; part++) {
        call_stage(call, "waiting {age} for the OSDs of pool '%s' to know the newest map",
                   pool->name);
        if (call_check(call, err) < 0)
            return -1;
        const size_t group = group_of_part(part, parts, groups);
        if (!group_is_served(pool, call, group, min_size))
            continue;
        int result = ask_part(real_pool(pool)->io, part, parts);
        if (result < 0) {
            _cleanup_free_ char *name = group_name(pool, group);

            error_set_errno(err, result, "placement group %s of pool '%s' does not answer", name,
                            pool->name);
            return error_hint(err, "'ceph pg %s query' says why", name);
        }
    }
    return 0;
}
