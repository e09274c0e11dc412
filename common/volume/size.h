#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* A CSI capacity range; 0 means unset. */
struct capacity_range {
    int64_t required_bytes;
    int64_t limit_bytes;
};

#define VOLUME_SIZE_DEFAULT (1024ULL * 1024 * 1024)
/* The unit of a block device: a fraction of it would be lost to the kernel. */
#define VOLUME_SIZE_UNIT 512

/*
 * The size of a new volume: what is required, rounded up to whole MiB below 1 GiB and to whole GiB
 * from there on. Ceph-CSI rounds in this way, and compares a volume that it finds by its name with
 * the result: so a retry by the other driver finds the volume large enough. Where the limit leaves
 * no such size it is rounded to VOLUME_SIZE_UNIT. When nothing is required: the default, or the
 * limit if that is smaller. INVALID_ARGUMENT for negative numbers, OUT_OF_RANGE when no size fits.
 */
_must_check_ int capacity_range_choose(const struct capacity_range *range, uint64_t *size_bytes,
                                       struct error *err);

/* What CephFS counts in: a quota that is no multiple of it looks smaller to the clients of the file
 * system than it is. */
#define CEPHFS_SIZE_UNIT (4ULL * 1024 * 1024)

/* As capacity_range_choose(), but in multiples of CEPHFS_SIZE_UNIT. */
_must_check_ int capacity_range_choose_cephfs(const struct capacity_range *range,
                                              uint64_t *size_bytes, struct error *err);

/* The largest size within @bytes that requests of either backend are rounded to when they have no
 * limit: every smaller request is rounded to this or less. */
uint64_t volume_size_within(uint64_t bytes);

/* Makes *@size_bytes, which was chosen for @range, that of a volume filled from one of
 * @source_bytes: never smaller, and the same if nothing is required or less. OUT_OF_RANGE if the
 * limit does not allow it. */
_must_check_ int capacity_range_fit(const struct capacity_range *range, uint64_t source_bytes,
                                    uint64_t *size_bytes, struct error *err);

/* ALREADY_EXISTS if a volume that was found by its name with @size_bytes does not satisfy @range.
 */
_must_check_ int capacity_range_check(const struct capacity_range *range, uint64_t size_bytes,
                                      struct error *err);

/* True if a volume of @size_bytes satisfies @range. */
bool capacity_range_has(const struct capacity_range *range, uint64_t size_bytes);
