#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/strmap.h"
#include "tests/integration/place.h"

/*
 * What Ceph-CSI writes, written by the test: volumes and snapshots of each generation, byte for
 * byte, and its rules for finding them again. Uses librados and librbd as client.admin and nothing
 * of the driver's journal, so that the two can be compared. Every failure ends the test.
 */

/* Without features beyond layering, so that nothing but the image itself is in the pool. */
void fixture_image_create(const struct place *place, const char *image, uint64_t size_bytes);
/* Clone format 2, as Ceph-CSI always clones. */
void fixture_image_clone(const struct place *from, const char *parent, const char *snapshot,
                         const struct place *to, const char *image);
void fixture_image_trash(const struct place *place, const char *image);
/* As "rbd trash mv --expires-at": to be kept for so long. */
void fixture_image_trash_for(const struct place *place, const char *image, uint64_t seconds);
/* Back under its name. */
void fixture_image_restore(const struct place *place, const char *image_id);
size_t fixture_trash_count(const struct place *place);
/* 0 if there is no such image. */
uint64_t fixture_image_size(const struct place *place, const char *image);
/* Caller frees; NULL if there is no such image. */
char *fixture_image_id(const struct place *place, const char *image);
uint64_t fixture_image_features(const struct place *place, const char *image);
/* "POOLID/IMAGE@user" of the parent, or "POOLID/IMAGE@trash" after the namespace of its snapshot;
 * "" without a parent. Caller frees. */
char *fixture_image_parent(const struct place *place, const char *image);
void fixture_snapshot_create(const struct place *place, const char *image, const char *snapshot);
void fixture_snapshot_remove(const struct place *place, const char *image, const char *snapshot);
/* Snapshots in the user namespace, joined with commas. Caller frees. */
char *fixture_snapshots(const struct place *place, const char *image);
void fixture_namespace_create(const char *pool, const char *rados_namespace);
void fixture_namespace_remove(const char *pool, const char *rados_namespace);

/* --- Ceph-CSI's volumes --- */

enum csi_generation {
    CSI_PLAIN, /* no topology, any version; with topology 3.11 and later, where @pool is the one
                  that was selected */
    CSI_TOPOLOGY_2_1, /* name in the class's pool, attributes in the image's */
    CSI_TOPOLOGY_3_0, /* up to 3.10: name and attributes in the class's pool, and an empty object
                         in the image's */
};

struct csi_volume {
    const char *name; /* of the request */
    const char *uuid;
    enum csi_generation generation;
    const char *pool;            /* of the image */
    const char *class_pool;      /* NULL: the same */
    const char *rados_namespace; /* NULL: none */
    const char *prefix;          /* volumeNamePrefix; NULL: not set */
    const char *owner;           /* NULL: the provisioner did not say */
    bool without_image_id;       /* interrupted before, or made before it was kept */
    bool without_image_name;     /* made before 2.1 */
};

/* Caller frees. */
char *csi_volume_image(const struct csi_volume *volume);
char *csi_handle(const char *cluster_id, const char *pool, const char *uuid);
/* Directory key, object and attributes, in Ceph-CSI's order. */
void csi_volume_reserve(const struct csi_volume *volume);
/* The attribute that follows when the image is made, unless the volume is to be without. */
void csi_volume_commit(const struct csi_volume *volume);
/* All of it, with an empty image. */
void csi_volume_write(const struct csi_volume *volume, uint64_t size_bytes);

struct csi_snapshot {
    const char *name;
    const char *uuid;
    const struct csi_volume *source;
    bool without_image_id;
};

/* Caller frees. */
char *csi_snapshot_image(const struct csi_snapshot *snapshot);
void csi_snapshot_write(const struct csi_snapshot *snapshot);

/* As a clone of @parent, with the intermediate image that stays. */
void csi_volume_write_clone(const struct csi_volume *volume, const struct csi_volume *parent);

/* --- how Ceph-CSI finds them --- */

enum csi_kind { CSI_VOLUME, CSI_SNAPSHOT };

/* Follows a request name, or a handle, to the image by Ceph-CSI's rules; fails the test where
 * Ceph-CSI would not get there. Returns the image's name (caller frees). */
char *csi_follow_name(enum csi_kind kind, const char *pool, const char *name);
char *csi_follow_handle(enum csi_kind kind, const char *pool, const char *cluster_id,
                        const char *handle);
