#include <string.h>

#include "common/base/memory.h"
#include "controller/backend.h"
#include "controller/recorded_segments.h"

/* Of a call that carries none: those for the cluster that the handle names. */
static int credentials_of(const struct controller *controller, struct call *call,
                          const struct handle_request *request, struct credentials *credentials,
                          struct error *err)
{
    struct volume_id id;

    if (request->credentials.user)
        return 0;
    if (volume_id_parse(request->handle, &id, err) < 0) {
        error_clear(err); /* locate() says what is wrong with it */
        return 0;
    }
    return standing_credentials_get(controller->standing, call, id.cluster_id, NULL, credentials,
                                    err);
}

int controller_get_volume(const struct controller *controller, struct call *call,
                          const struct handle_request *request, struct volume_state *state,
                          struct error *err)
{
    _cleanup_credentials_ struct credentials standing = {0};
    const struct credentials *credentials =
        request->credentials.user ? &request->credentials : &standing;
    _cleanup_located_ struct located located = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (credentials_of(controller, call, request, &standing, err) < 0 ||
        locate(controller, call, JOURNAL_VOLUME, request->handle, credentials, &located, err) < 0 ||
        controller_backend(controller)->examine_volume(call, &located, true, state, err) < 0)
        return error_wrap(err, "get volume '%s'", request->handle);
    memcpy(state->volume.handle, located.handle, sizeof(located.handle));
    segments_read(&located.entry.extra, &state->volume.segments);
    if (!state->message)
        state->message = xstrdup("volume is in a healthy condition");
    return 0;
}
