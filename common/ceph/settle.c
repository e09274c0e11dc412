/*
 * Waiting for the OSDs to know what the monitors have decided. A new OSD map, and with it a fence,
 * reaches an OSD when it happens to hear of it, a second later or more: until then it takes the
 * writes of whom the map shuts out. But a group does nothing for a client whose map is newer than
 * its own before it has caught up. So each group is asked something small by a client with the
 * newest map; that it answers is what counts.
 *
 * Groups are reached by listing: the objects of a pool in their order, cut into as many equal parts
 * as there are groups, or up to twice as many while their number is no power of two.
 */
#include <errno.h>

#include "common/ceph/connections.h"

/* Asks the group in which the objects from @from on are; up to @to it is one group. */
static int ask_group(rados_ioctx_t io, rados_object_list_cursor from, rados_object_list_cursor to)
{
    rados_object_list_item item = {0};
    rados_object_list_cursor next = rados_object_list_begin(io);

    int result = rados_object_list(io, from, to, 1, NULL, 0, &item, &next);
    rados_object_list_free(1, &item);
    rados_object_list_cursor_free(io, next);
    /* a refusal is an answer too, and comes after the look at the map */
    return result >= 0 || result == -ENOENT || result == -EPERM ? 0 : result;
}

static int ask_part(rados_ioctx_t io, size_t part, size_t parts)
{
    rados_object_list_cursor first = rados_object_list_begin(io);
    rados_object_list_cursor last = rados_object_list_end(io);
    rados_object_list_cursor from = rados_object_list_begin(io);
    rados_object_list_cursor to = rados_object_list_begin(io);

    rados_object_list_slice(io, first, last, part, parts, &from, &to);
    int result = ask_group(io, from, to);
    rados_object_list_cursor_free(io, to);
    rados_object_list_cursor_free(io, from);
    rados_object_list_cursor_free(io, last);
    rados_object_list_cursor_free(io, first);
    return result;
}

static int pool_settle(struct ceph_pool *pool, struct call *call, size_t groups, struct error *err)
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
        int result = ask_part(real_pool(pool)->io, part, parts);
        if (result < 0)
            return error_set_errno(err, result, "ask part %zu of %zu of pool '%s'", part, parts,
                                   pool->name);
    }
    return 0;
}

void settle_register(struct ceph_ops *ops)
{
    ops->pool_settle = pool_settle;
}
