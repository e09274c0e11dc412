#include "controller/lookup.h"

#include <stdlib.h>

#include "controller/backend.h"

static int open_location(void *object, struct call *call, const struct credentials *credentials,
                         struct located *located, struct error *err)
{
    const struct controller *controller = object;

    return controller_backend(controller)
        ->open_location(controller, call, credentials, located, err);
}

int locate(const struct controller *controller, struct call *call, enum journal_kind kind,
           const char *handle, const struct credentials *credentials, struct located *located,
           struct error *err)
{
    const bool has_migrated = controller_backend(controller)->migrated != NULL;
    const struct locator locator = {
        .ceph = controller->ceph,
        .config = controller->config,
        .instance_id = controller->instance_id,
        /* Ceph-CSI reads but does not use the part for CephFS */
        .mapping_path = has_migrated ? controller->mapping_path : NULL,
        .open = open_location,
        .object = (struct controller *)(uintptr_t)controller,
        .knows_migrated = has_migrated,
    };

    return volume_locate(&locator, call, kind, handle, credentials, located, err);
}

void location_list_done(struct location_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        filesystem_done(&list->items[i].fs);
    free(list->items);
    *list = (struct location_list){0};
}
