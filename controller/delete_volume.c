/*
 * DeleteVolume. The image goes to the trash, which makes it invisible at once; then the request
 * name, together with the order to remove the data; then the uuid's object. The object goes last
 * because the handle leads to it: as long as anything is left, a retry finds it.
 */
#include "common/base/log.h"
#include "common/base/memory.h"
#include "controller/controller.h"
#include "controller/fingerprint.h"
#include "controller/images.h"
#include "controller/lookup.h"
#include "controller/migrated.h"
#include "controller/purge.h"

static int discard(const struct controller *controller, struct call *call, struct located *located,
                   const struct credentials *credentials, struct error *err)
{
    const struct journal_entry *entry = &located->entry;
    _cleanup_strmap_ struct strmap queued = {0};
    /* Ceph-CSI clones a volume through an image of this name, which lives as long as the clone */
    _cleanup_free_ char *intermediate = xasprintf("%s-temp", entry->image_name);

    if (image_discard(located->pool, call, entry->image_name, NULL, &queued, err) < 0)
        return -1;
    _cleanup_free_ char *intermediate_id = NULL;
    if (image_find(located->pool, call, intermediate, &intermediate_id, err) < 0)
        return -1;
    /* it went first, so that a deletion cut there left it in the trash */
    bool may_be_trashed = !fingerprint_is_present(&entry->extra);
    if ((intermediate_id || may_be_trashed) &&
        image_discard(located->pool, call, intermediate, intermediate_id, &queued, err) < 0)
        return -1;
    int result = located_release(located, call, &queued, err);
    purge_start(controller, located->id.cluster_id, credentials, located->directory);
    return result;
}

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
    return discard(controller, call, located, credentials, err);
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
    if (migrated_id_is(request->handle))
        return delete_migrated(controller, call, request, err);
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return settle_missing(call, request->handle, err);
    if (delete_located(controller, call, &located, &request->credentials, err) < 0)
        return error_wrap(err, "delete volume '%s'", request->handle);
    return 0;
}
