#include "common/base/memory.h"
#include "controller/controller.h"
#include "controller/lookup.h"
#include "controller/migrated.h"

static int grow_image(struct ceph_pool *pool, struct call *call, const char *name, uint64_t wanted,
                      uint64_t *size, struct error *err)
{
    _cleanup_free_ char *image_id = NULL;

    if (pool->ops->image_get_id(pool, call, name, &image_id, err) < 0 ||
        pool->ops->image_get_size(pool, call, image_id, size, err) < 0)
        return -1;
    if (*size >= wanted) /* a repeated call, or a volume that is larger than asked */
        return 0;
    *size = wanted;
    return pool->ops->image_resize(pool, call, name, wanted, err);
}

static int grow(const struct controller *controller, struct call *call,
                const struct expand_request *request, uint64_t wanted, uint64_t *size,
                struct error *err)
{
    _cleanup_located_ struct located located = {0};
    _cleanup_migrated_ struct migrated migrated = {0};

    if (migrated_id_is(request->handle)) {
        if (migrated_open(controller, call, request->handle, &request->credentials, &migrated,
                          err) < 0)
            return -1;
        return grow_image(migrated.pool, call, migrated.id.image_name, wanted, size, err);
    }
    if (locate(controller, call, JOURNAL_VOLUME, request->handle, &request->credentials, &located,
               err) < 0)
        return -1;
    return grow_image(located.pool, call, located.entry.image_name, wanted, size, err);
}

int controller_expand_volume(const struct controller *controller, struct call *call,
                             const struct expand_request *request, struct expansion *expansion,
                             struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    uint64_t wanted = 0;

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (request->range.required_bytes == 0 && request->range.limit_bytes == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "capacity_range is missing");
    if (capacity_range_choose(&request->range, &wanted, err) < 0)
        return -1;
    _cleanup_free_ char *key = xasprintf("volume:%s", request->handle);
    if (operation_begin(controller->operations, key, call, &operation, err) < 0)
        return -1;
    if (grow(controller, call, request, wanted, &expansion->size_bytes, err) < 0)
        return error_wrap(err, "expand volume '%s'", request->handle);
    if (request->range.limit_bytes && expansion->size_bytes > (uint64_t)request->range.limit_bytes)
        return error_set(err, STATUS_OUT_OF_RANGE,
                         "volume '%s' has %llu bytes already, more than limit_bytes %lld",
                         request->handle, (unsigned long long)expansion->size_bytes,
                         (long long)request->range.limit_bytes);
    /* a raw block device grows with the image; a file system has to be told */
    expansion->node_expansion_required = request->capability.type != ACCESS_TYPE_BLOCK;
    return 0;
}
