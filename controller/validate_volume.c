#include "common/base/memory.h"
#include "controller/backend.h"

/* Fails with NOT_FOUND unless the volume is in the journal and what it stands for exists. */
static int check_exists(const struct controller *controller, struct call *call,
                        const struct validate_request *request, struct error *err)
{
    _cleanup_located_ struct located located = {0};

    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return -1;
    return controller_backend(controller)->check_volume(call, &located, err);
}

int controller_validate_volume(const struct controller *controller, struct call *call,
                               const struct validate_request *request, char **refusal,
                               struct error *err)
{
    _cleanup_error_ struct error unsupported = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (capability_list_check(&request->capabilities, err) < 0)
        return -1;
    if (check_exists(controller, call, request, err) < 0)
        return error_wrap(err, "validate volume '%s'", request->handle);
    *refusal = NULL;
    if (controller_backend(controller)->check_capabilities(&request->capabilities, &unsupported) <
        0)
        *refusal = TAKE(unsupported.message);
    return 0;
}
