#include "common/volume/size.h"

#define MIB (1024ULL * 1024)
#define GIB (1024 * MIB)

/* What sizes are multiples of. */
struct units {
    uint64_t usual;    /* below 1 GiB; from there on, whole GiB */
    uint64_t smallest; /* where a limit leaves no room for the usual one */
};

static const struct units RBD_UNITS = {MIB, VOLUME_SIZE_UNIT};
static const struct units CEPHFS_UNITS = {CEPHFS_SIZE_UNIT, CEPHFS_SIZE_UNIT};

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static int choose_size(const struct capacity_range *range, const struct units *units,
                       uint64_t *size_bytes, struct error *err)
{
    if (range->required_bytes < 0 || range->limit_bytes < 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "capacity_range: required_bytes %lld and limit_bytes %lld must not be "
                         "negative",
                         (long long)range->required_bytes, (long long)range->limit_bytes);
    const uint64_t unit = units->smallest;
    const uint64_t limit = range->limit_bytes ? (uint64_t)range->limit_bytes : INT64_MAX;
    uint64_t wanted = (uint64_t)range->required_bytes;
    if (wanted == 0)
        wanted = VOLUME_SIZE_DEFAULT < limit ? VOLUME_SIZE_DEFAULT : limit / unit * unit;
    uint64_t size = round_up(wanted, wanted < GIB ? units->usual : GIB);
    if (size > limit)
        size = round_up(wanted, unit);
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
    return choose_size(range, &RBD_UNITS, size_bytes, err);
}

int capacity_range_choose_cephfs(const struct capacity_range *range, uint64_t *size_bytes,
                                 struct error *err)
{
    return choose_size(range, &CEPHFS_UNITS, size_bytes, err);
}

uint64_t volume_size_within(uint64_t bytes)
{
    const uint64_t unit = bytes < GIB ? CEPHFS_SIZE_UNIT : GIB;

    return bytes / unit * unit;
}

bool capacity_range_has(const struct capacity_range *range, uint64_t size_bytes)
{
    return size_bytes >= (uint64_t)range->required_bytes &&
           (range->limit_bytes == 0 || size_bytes <= (uint64_t)range->limit_bytes);
}

int capacity_range_fit(const struct capacity_range *range, uint64_t source_bytes,
                       uint64_t *size_bytes, struct error *err)
{
    const bool wants_more = range->required_bytes > 0 && *size_bytes > source_bytes;
    const uint64_t size = wants_more ? *size_bytes : source_bytes;

    if (range->limit_bytes && size > (uint64_t)range->limit_bytes)
        return error_set(err, STATUS_OUT_OF_RANGE,
                         "the source has %llu bytes; asked for are at least %lld and at most %lld",
                         (unsigned long long)source_bytes, (long long)range->required_bytes,
                         (long long)range->limit_bytes);
    *size_bytes = size;
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
