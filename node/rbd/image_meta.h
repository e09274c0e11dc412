#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/strmap.h"

/*
 * image-meta.json, which a node keeps beside a staged volume: what it takes to unmap the image
 * without asking Ceph. First what Ceph-CSI writes, byte for byte, so that either driver unstages
 * what the other staged. Then keys of our own, which Ceph-CSI does not read: the name of a mapper
 * that it does not have, the ids of cluster and image and, for a device that can get a new process,
 * what its volume was staged with. Pure, any thread.
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
    char *mapper;   /* NULL: one of Ceph-CSI's, as access_type says */
    char *fsid;     /* of the cluster; "": written by Ceph-CSI or an earlier driver */
    char *image_id; /* likewise */
    char *mode;     /* the access mode's name; NULL: not recorded, and neither is the context */
    struct strmap context;
};

/* All strings but mapper and mode are set. Caller frees. */
char *image_meta_print(const struct image_meta *meta);

/* Strings are never NULL afterwards, but for mapper and mode. Names must be there and be plain: no
 * '/' and no control characters. DATA_LOSS otherwise. Caller calls image_meta_done(). */
_must_check_ int image_meta_parse(const char *text, struct image_meta *meta, struct error *err);

void image_meta_done(struct image_meta *meta);
#define _cleanup_image_meta_ _cleanup_(image_meta_done)
