#include "common/base/log.h"
#include "controller/backend.h"

/* Whoever schedules this calls again later, and never by itself after another status. */
static int find_volume(const struct controller *controller, struct call *call,
                       const struct handle_request *request, struct located *located,
                       struct error *err)
{
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, located,
               err) == 0)
        return 0;
    return err->status == STATUS_NOT_FOUND ? error_recode(err, STATUS_ABORTED) : -1;
}

int controller_reclaim_space(const struct controller *controller, struct call *call,
                             const struct handle_request *request, struct error *err)
{
    const struct controller_backend *backend = controller_backend(controller);
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_located_ struct located located = {0};
    bool used = false;

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (!backend->reclaim_space)
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "volumes of type %s hold no space that they do not need", backend->type);
    if (operation_begin(controller->operations, "volume", request->handle, call, &operation, err) <
        0)
        return -1;
    if (find_volume(controller, call, request, &located, err) < 0 ||
        backend->reclaim_space(call, &located, &used, err) < 0)
        return error_wrap(err, "reclaim space of volume '%s'", request->handle);
    if (used)
        log_info(call, "volume '%s' is in use: its node reclaims its space", request->handle);
    return 0;
}
