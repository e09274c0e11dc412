#include "controller/backend.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "controller/claim_events.h"

const struct controller_backend *controller_backend(const struct controller *controller)
{
    return controller->backend ? controller->backend : &RBD_BACKEND;
}

int controller_create_volume(const struct controller *controller, struct call *call,
                             const struct create_request *request, struct volume *volume,
                             struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (create_request_check(request, err) < 0)
        return -1;
    _cleanup_free_ char *key = xasprintf("name:%s", request->name);
    if (operation_begin(controller->operations, key, call, &operation, err) < 0)
        return -1;
    if (controller_backend(controller)->create_volume(controller, call, request, volume, err) < 0) {
        error_wrap(err, "create volume '%s'", request->name);
        claim_event_refused(controller, &request->parameters, request->name, err);
        return -1;
    }
    return 0;
}
