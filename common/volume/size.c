#include "common/volume/size.h"

static int choose_size(const struct capacity_range *range, uint64_t unit, uint64_t *size_bytes,
                       struct error *err)
{
    if (range->required_bytes < 0 || range->limit_bytes < 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "capacity_range: required_bytes %lld and limit_bytes %lld must not be "
                         "negative",
                         (long long)range->required_bytes, (long long)range->limit_bytes);
    uint64_t limit = range->limit_bytes ? (uint64_t)range->limit_bytes : INT64_MAX;
    uint64_t wanted = (uint64_t)range->required_bytes;
    if (wanted == 0)
        wanted = VOLUME_SIZE_DEFAULT < limit ? VOLUME_SIZE_DEFAULT : limit / unit * unit;
    uint64_t size = (wanted + unit - 1) / unit * unit;
    if (size == 0 || size > limit)
        return error_set(
            err, STATUS_OUT_OF_RANGE,
            "capacity_range: no multiple of %llu bytes lies between required_bytes %lld "
            "and limit_bytes %lld",
            (unsigned long long)unit, (long long)range->required_bytes,
            (long long)range->limit_bytes);
    *size_bytes = size;
    return 0;
}

int capacity_range_choose(const struct capacity_range *range, uint64_t *size_bytes,
                          struct error *err)
{
    return choose_size(range, VOLUME_SIZE_UNIT, size_bytes, err);
}

int capacity_range_choose_cephfs(const struct capacity_range *range, uint64_t *size_bytes,
                                 struct error *err)
{
    return choose_size(range, CEPHFS_SIZE_UNIT, size_bytes, err);
}

bool capacity_range_has(const struct capacity_range *range, uint64_t size_bytes)
{
    return size_bytes >= (uint64_t)range->required_bytes &&
           (range->limit_bytes == 0 || size_bytes <= (uint64_t)range->limit_bytes);
}

int capacity_range_fit(const struct capacity_range *range, uint64_t source_bytes,
                       uint64_t *size_bytes, struct error *err)
{
    if (*size_bytes >= source_bytes && range->required_bytes > 0)
        return 0;
    if (range->required_bytes > 0 || !capacity_range_has(range, source_bytes))
        return error_set(err, STATUS_OUT_OF_RANGE,
                         "the source has %llu bytes; asked for are at least %lld and at most %lld",
                         (unsigned long long)source_bytes, (long long)range->required_bytes,
                         (long long)range->limit_bytes);
    *size_bytes = source_bytes;
    return 0;
}

int capacity_range_check(const struct capacity_range *range, uint64_t size_bytes, struct error *err)
{
    if (capacity_range_has(range, size_bytes))
        return 0;
    return error_set(err, STATUS_ALREADY_EXISTS,
                     "a volume of that name exists with %llu bytes; asked for are at least %lld "
                     "and at most %lld",
                     (unsigned long long)size_bytes, (long long)range->required_bytes,
                     (long long)range->limit_bytes);
}
