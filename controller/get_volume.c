#include <string.h>

#include "common/base/memory.h"
#include "controller/backend.h"
#include "controller/place.h"

int controller_get_volume(const struct controller *controller, struct call *call,
                          const struct handle_request *request, struct volume_state *state,
                          struct error *err)
{
    _cleanup_located_ struct located located = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &controller->standing, &located,
               err) < 0 ||
        controller_backend(controller)->examine_volume(call, &located, true, state, err) < 0)
        return error_wrap(err, "get volume '%s'", request->handle);
    memcpy(state->volume.handle, located.handle, sizeof(located.handle));
    segments_read(&located.entry.extra, &state->volume.segments);
    if (!state->message)
        state->message = xstrdup("volume is in a healthy condition");
    return 0;
}
