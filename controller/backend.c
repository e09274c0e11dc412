#include "controller/backend.h"

const struct controller_backend *controller_backend(const struct controller *controller)
{
    return controller->backend ? controller->backend : &RBD_BACKEND;
}

int controller_create_volume(const struct controller *controller, struct call *call,
                             const struct create_request *request, struct volume *volume,
                             struct error *err)
{
    return controller_backend(controller)->create_volume(controller, call, request, volume, err);
}
