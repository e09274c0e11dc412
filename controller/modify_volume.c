#include "controller/backend.h"

int controller_modify_volume(const struct controller *controller, struct call *call,
                             const struct modify_request *request, struct error *err)
{
    const struct controller_backend *backend = controller_backend(controller);
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_located_ struct located located = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (!backend->check_mutable)
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "volumes of type %s have nothing that can be modified", backend->type);
    if (backend->check_mutable(&request->mutable_parameters, err) < 0)
        return -1;
    if (operation_begin(controller->operations, "volume", request->handle, call, &operation, err) <
        0)
        return -1;
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return error_wrap(err, "modify volume '%s'", request->handle);
    if (backend->modify_volume(call, &located, &request->mutable_parameters, err) < 0)
        return error_wrap(err, "modify volume '%s'", request->handle);
    return 0;
}
