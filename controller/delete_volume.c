/*
 * DeleteVolume. What the entry stands for goes first; then the request name; then the uuid's
 * object. The object goes last because the handle leads to it: as long as anything is left, a retry
 * finds it.
 */
#include "common/base/log.h"
#include "common/base/memory.h"
#include "controller/backend.h"
#include "controller/rbd/migrated.h"

static int delete_located(const struct controller *controller, struct call *call,
                          struct located *located, const struct credentials *credentials,
                          struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (located->entry.request_name) { /* a creation of that name must not run meanwhile */
        _cleanup_free_ char *key = xasprintf("name:%s", located->entry.request_name);

        if (operation_begin(controller->operations, key, call, &operation, err) < 0)
            return -1;
    }
    return controller_backend(controller)
        ->discard_volume(controller, call, located, credentials, err);
}

/* What cannot be found is gone, or was never ours: the spec asks for success. */
static int settle_missing(struct call *call, const char *handle, struct error *err)
{
    if (err->status != STATUS_NOT_FOUND)
        return error_wrap(err, "delete volume '%s'", handle);
    log_v(2, call, "nothing to delete: %s", err->message);
    error_clear(err);
    return 0;
}

static int delete_migrated(const struct controller *controller, struct call *call,
                           const struct handle_request *request, struct error *err)
{
    _cleanup_migrated_ struct migrated migrated = {0};

    if (migrated_open(controller, call, request->handle, &request->credentials, &migrated, err) < 0)
        return settle_missing(call, request->handle, err);
    if (migrated_delete(controller, call, &migrated, &request->credentials, err) < 0)
        return error_wrap(err, "delete volume '%s'", request->handle);
    return 0;
}

int controller_delete_volume(const struct controller *controller, struct call *call,
                             const struct handle_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_located_ struct located located = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    _cleanup_free_ char *key = xasprintf("volume:%s", request->handle);
    if (operation_begin(controller->operations, key, call, &operation, err) < 0)
        return -1;
    if (controller_backend(controller)->knows_migrated && migrated_id_is(request->handle))
        return delete_migrated(controller, call, request, err);
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return settle_missing(call, request->handle, err);
    if (delete_located(controller, call, &located, &request->credentials, err) < 0)
        return error_wrap(err, "delete volume '%s'", request->handle);
    return 0;
}
