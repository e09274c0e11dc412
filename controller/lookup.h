#pragma once

#include "common/volume/locate.h"
#include "controller/controller.h"

/* volume_locate() with what the controller knows; removals that were cut in the pools that it
 * visits are continued. */
_must_check_ int locate(const struct controller *controller, struct call *call,
                        enum journal_kind kind, const char *handle,
                        const struct credentials *credentials, struct located *located,
                        struct error *err);
