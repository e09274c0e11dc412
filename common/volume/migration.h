#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/volume/volume_id.h"

/*
 * Handles of volumes that were created by Kubernetes' in-tree rbd driver and migrated to CSI:
 *
 *   mig_mons-b7f67366bb43f32e07d8a261a7840da9_image-e0b45b52-7e09-47d3-8f1b-806995fa4412_706f6f6c
 *       |                                     |                                          +- pool
 *       |                                     +- image, without its prefix
 *       +- clusterID in config.json: a hash of the old monitors
 *
 * The pool's name is in hexadecimal. Such a volume has no journal. Pure, any thread.
 */
#define MIGRATED_POOL_MAX 128
#define MIGRATED_IMAGE_PREFIX "kubernetes-dynamic-pvc-"

struct migrated_id {
    char cluster_id[VOLUME_ID_CLUSTER_MAX + 1];
    char image_name[sizeof(MIGRATED_IMAGE_PREFIX) + UUID_LENGTH];
    char pool[MIGRATED_POOL_MAX + 1];
};

/* True if @handle begins like one, whether or not the rest is right. No handle of ours does. */
bool migrated_id_is(const char *handle);

/* Strict. NOT_FOUND for anything else, because no such handle was ever created. */
_must_check_ int migrated_id_parse(const char *handle, struct migrated_id *id, struct error *err);
