#include "common/base/memory.h"
#include "controller/backend.h"
#include "controller/rbd/qos.h"

int controller_modify_volume(const struct controller *controller, struct call *call,
                             const struct modify_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_located_ struct located located = {0};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_string_list_ struct string_list removed = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (!controller_backend(controller)->has_modification)
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "volumes of type %s have nothing that can be modified",
                         controller_backend(controller)->type);
    if (qos_to_metadata(&request->mutable_parameters, &entries, &removed, err) < 0)
        return -1;
    _cleanup_free_ char *key = xasprintf("volume:%s", request->handle);
    if (operation_begin(controller->operations, key, call, &operation, err) < 0)
        return -1;
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return error_wrap(err, "modify volume '%s'", request->handle);
    if (entries.count + removed.count == 0)
        return 0;
    if (located.pool->ops->image_metadata_change(located.pool, call, located.entry.image_name,
                                                 &entries, &removed, err) < 0)
        return error_wrap(err, "modify volume '%s'", request->handle);
    return 0;
}
