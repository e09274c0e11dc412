#include "controller/lookup.h"

#include <stdlib.h>

#include "controller/backend.h"

static int open_location(const void *object, struct call *call,
                         const struct credentials *credentials, struct located *located,
                         struct error *err)
{
    const struct controller *controller = object;

    return controller_backend(controller)
        ->open_location(controller, call, credentials, located, err);
}

int locate(const struct controller *controller, struct call *call, enum journal_kind kind,
           const char *handle, const struct credentials *credentials, struct located *located,
           struct error *err)
{
    const struct locator locator = {
        .ceph = controller->ceph,
        .config = controller->config,
        .instance_id = controller->instance_id,
        .mapping_path = controller->mapping_path,
        .is_cephfs = !controller_backend(controller)->knows_migrated,
        .open_location = open_location,
        .object = controller,
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
