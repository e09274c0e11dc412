#include <string.h>

#include "common/base/memory.h"
#include "common/volume/session.h"
#include "controller/controller.h"
#include "controller/lookup.h"

/* A volume is well when its image is there and the journal knows the same image. */
static int examine(struct located *located, struct call *call, struct volume_state *state,
                   struct error *err)
{
    struct ceph_pool *pool = located->pool;
    _cleanup_free_ char *image_id = NULL;

    if (pool->ops->image_get_id(pool, call, located->entry.image_name, &image_id, err) == 0)
        return pool->ops->image_get_size(pool, call, image_id, &state->volume.size_bytes, err);
    if (err->status != STATUS_NOT_FOUND)
        return -1;
    state->abnormal = true;
    state->message = TAKE(err->message);
    error_clear(err);
    return 0;
}

int controller_get_volume(const struct controller *controller, struct call *call,
                          const struct handle_request *request, struct volume_state *state,
                          struct error *err)
{
    _cleanup_located_ struct located located = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &controller->standing, &located,
               err) < 0 ||
        examine(&located, call, state, err) < 0)
        return error_wrap(err, "get volume '%s'", request->handle);
    memcpy(state->volume.handle, located.handle, sizeof(located.handle));
    strmap_set(&state->volume.context, "pool", located.pool->name);
    strmap_set(&state->volume.context, "imageName", located.entry.image_name);
    if (!state->message)
        state->message = xstrdup("volume is in a healthy condition");
    return 0;
}
