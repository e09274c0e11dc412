#include "controller/backend.h"

static int grow_volume(const struct controller *controller, struct call *call,
                       const struct expand_request *request, uint64_t wanted, struct growth *growth,
                       struct error *err)
{
    const struct controller_backend *backend = controller_backend(controller);
    _cleanup_located_ struct located located = {0};
    struct usage_pool pool = {0};

    if (backend->migrated && backend->migrated->owns_handle(request->handle))
        return backend->migrated->grow(controller, call, request, wanted, growth, err);
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return -1;
    if (backend->grow_volume(call, &located, wanted, growth, err) < 0)
        return -1;
    if (controller->usage && growth->more_bytes > 0 && backend->find_usage_pool(&located, &pool))
        usage_cache_growth(controller->usage, &pool, growth->more_bytes);
    return 0;
}

int controller_expand_volume(const struct controller *controller, struct call *call,
                             const struct expand_request *request, struct expansion *expansion,
                             struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    struct growth growth = {0};
    uint64_t wanted = 0;

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (request->range.required_bytes == 0 && request->range.limit_bytes == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "capacity_range is missing");
    if (controller_backend(controller)->choose_size(&request->range, &wanted, err) < 0)
        return -1;
    if (operation_begin(controller->operations, "volume", request->handle, call, &operation, err) <
        0)
        return -1;
    if (grow_volume(controller, call, request, wanted, &growth, err) < 0)
        return error_wrap(err, "expand volume '%s'", request->handle);
    expansion->size_bytes = growth.size_bytes;
    if (request->range.limit_bytes && expansion->size_bytes > (uint64_t)request->range.limit_bytes)
        return error_set(err, STATUS_OUT_OF_RANGE,
                         "volume '%s' has %llu bytes already, more than limit_bytes %lld",
                         request->handle, (unsigned long long)expansion->size_bytes,
                         (long long)request->range.limit_bytes);
    expansion->node_expansion_required =
        controller_backend(controller)->needs_node_expansion(&request->capability);
    return 0;
}
