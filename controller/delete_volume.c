/*
 * DeleteVolume. What the entry stands for goes first; then the request name; then the uuid's
 * object. The object goes last because the handle leads to it: as long as anything is left, a retry
 * finds it.
 */
#include "common/base/log.h"
#include "controller/backend.h"

static int delete_located(const struct controller *controller, struct call *call,
                          struct located *located, const struct credentials *credentials,
                          struct error *err)
{
    const char *name = located->entry.request_name;
    _cleanup_operation_ struct operation operation = {0};

    if (name && /* a creation of that name must not run meanwhile */
        operation_begin(controller->operations, "name", name, call, &operation, err) < 0)
        return -1;
    return controller_backend(controller)
        ->discard_volume(controller, call, located, credentials, err);
}

static int delete_volume(const struct controller *controller, struct call *call,
                         const struct handle_request *request, struct error *err)
{
    const struct migrated_steps *migrated = controller_backend(controller)->migrated;
    _cleanup_located_ struct located located = {0};
    int result;

    if (migrated && migrated->owns_handle(request->handle))
        result = migrated->discard(controller, call, request, err);
    else
        result = locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials,
                        &located, err);
    if (result < 0 && err->status == STATUS_NOT_FOUND) {
        log_v(2, call, "nothing to delete: %s", err->message);
        error_clear(err); /* gone, or never ours: the spec asks for success */
        return 0;
    }
    if (result < 0 || !located.pool)
        return result;
    return delete_located(controller, call, &located, &request->credentials, err);
}

int controller_delete_volume(const struct controller *controller, struct call *call,
                             const struct handle_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (operation_begin(controller->operations, "volume", request->handle, call, &operation, err) <
        0)
        return -1;
    if (delete_volume(controller, call, request, err) < 0)
        return error_wrap(err, "delete volume '%s'", request->handle);
    return 0;
}
