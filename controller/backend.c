#include "controller/backend.h"

const struct controller_backend *controller_backend(const struct controller *controller)
{
    return controller->backend ? controller->backend : &RBD_BACKEND;
}
