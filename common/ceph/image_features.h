#pragma once

#include <stddef.h>
#include <stdint.h>

/* Features of RBD images. The bits are part of the on-disk format of images. */
enum {
    IMAGE_FEATURE_LAYERING = 1 << 0,
    IMAGE_FEATURE_EXCLUSIVE_LOCK = 1 << 2,
    IMAGE_FEATURE_OBJECT_MAP = 1 << 3,
    IMAGE_FEATURE_FAST_DIFF = 1 << 4,
    IMAGE_FEATURE_DEEP_FLATTEN = 1 << 5,
    IMAGE_FEATURE_JOURNALING = 1 << 6,
    IMAGE_FEATURE_MIGRATING = 1 << 9,
};

#define IMAGE_FEATURES_DEFAULT UINT64_MAX /* leave the choice to librbd's configuration */

/* A feature that a StorageClass can ask for, and the one that it depends on (0: none). */
struct image_feature {
    const char *name;
    uint64_t bit;
    uint64_t needs;
};

extern const struct image_feature IMAGE_FEATURES[];
extern const size_t IMAGE_FEATURES_COUNT;
