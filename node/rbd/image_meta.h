#pragma once

#include <stdbool.h>

#include "common/base/error.h"

/*
 * image-meta.json, which a node keeps beside a staged volume: what it takes to unmap the image
 * without asking Ceph. Byte for byte that of Ceph-CSI for the mappers that Ceph-CSI has, so that
 * either driver unstages what the other staged; the name of another mapper is a key more, which
 * Ceph-CSI does not read. Pure, any thread.
 */
struct image_meta {
    char *pool;
    char *rados_namespace;
    char *image;
    char *unmap_options;
    bool access_type;
    bool is_encrypted;
    char *device; /* "" unless the mapper records it */
    char *log_dir;
    char *log_strategy;
    char *mapper; /* NULL: one of Ceph-CSI's, as access_type says */
};

/* All strings but the mapper are set. Caller frees. */
char *image_meta_print(const struct image_meta *meta);

/* Strings are never NULL afterwards, but for the mapper. Names must be there and be plain: no '/'
 * and no control characters. DATA_LOSS otherwise. Caller calls image_meta_done(). */
_must_check_ int image_meta_parse(const char *text, struct image_meta *meta, struct error *err);

void image_meta_done(struct image_meta *meta);
#define _cleanup_image_meta_ _cleanup_(image_meta_done)
