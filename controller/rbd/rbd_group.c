/*
 * One moment for several images: every member's exclusive lock is held while the snapshots are
 * taken, so that nobody writes to any of them in between.
 */
#include <time.h>

#include "common/base/memory.h"
#include "controller/rbd/rbd_backend.h"
#include "controller/rbd/rbd_images.h"

static int drop_old_snapshots(struct snapshot_work *const *works, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct located *source = works[i]->source;

        if (snapshot_ensure_gone(source->pool, works[i]->call, source->entry.image_name,
                                 works[i]->entry.image_name, err) < 0)
            return -1;
    }
    return 0;
}

static int hold_all(struct snapshot_work *const *works, size_t count, struct image_hold **holds,
                    struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct ceph_pool *pool = works[i]->source->pool;

        if (pool->ops->image_hold(pool, works[i]->call, works[i]->source->entry.image_name,
                                  &holds[i], err) < 0)
            return -1;
    }
    return 0;
}

static int snapshot_all(struct snapshot_work *const *works, size_t count,
                        struct image_hold *const *holds, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (holds[i]->ops->hold_snapshot(holds[i], works[i]->call, works[i]->entry.image_name,
                                         err) < 0)
            return -1;
    return 0;
}

int rbd_snapshot_together(struct snapshot_work *const *works, size_t count, struct timespec *moment,
                          struct error *err)
{
    _cleanup_free_ struct image_hold **holds = xcalloc(count, sizeof(struct image_hold *));

    if (drop_old_snapshots(works, count, err) < 0)
        return -1;
    call_stage(works[0]->call, "holding the locks of %zu images for {age}", count);
    int result = hold_all(works, count, holds, err);
    clock_gettime(CLOCK_REALTIME, moment);
    if (result == 0)
        result = snapshot_all(works, count, holds, err);
    for (size_t i = 0; i < count; i++)
        if (holds[i])
            ceph_hold_release(holds[i]);
    return result;
}
