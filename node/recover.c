#include "common/base/log.h"
#include "node/volumes.h"

void node_recover(const struct node_volumes *volumes, struct call *call)
{
    static const struct mapper *const mappers[] = {&MAPPER_KRBD, &MAPPER_NBD, &MAPPER_FUSE};

    for (size_t i = 0; i < ARRAY_LENGTH(mappers); i++) {
        _cleanup_error_ struct error err = {0};

        if (mappers[i]->recover && mappers[i]->recover(&volumes->mappers, call, &err) < 0)
            log_warn(call, "looking for what a former life left: %s", err.message);
    }
}
