#include "common/base/memory.h"
#include "controller/backend.h"

int controller_modify_volume(const struct controller *controller, struct call *call,
                             const struct modify_request *request, struct error *err)
{
    const struct controller_backend *backend = controller_backend(controller);
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_located_ struct located located = {0};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_string_list_ struct string_list removed = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (!backend->parse_mutable)
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "volumes of type %s have nothing that can be modified", backend->type);
    if (backend->parse_mutable(&request->mutable_parameters, &entries, &removed, err) < 0)
        return -1;
    _cleanup_free_ char *key = xasprintf("volume:%s", request->handle);
    if (operation_begin(controller->operations, key, call, &operation, err) < 0)
        return -1;
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return error_wrap(err, "modify volume '%s'", request->handle);
    if (entries.count + removed.count > 0 &&
        backend->change_metadata(call, &located, &entries, &removed, err) < 0)
        return error_wrap(err, "modify volume '%s'", request->handle);
    return 0;
}
