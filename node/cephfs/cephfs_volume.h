#pragma once

#include "common/ceph/subvolume.h"
#include "common/volume/locate.h"
#include "node/volumes.h"

/*
 * The directory that is to be mounted for a CephFS volume: its subvolume, found in the journal; the
 * snapshot that it shows; or what the context of a static volume names.
 */
struct cephfs_volume {
    struct located located;       /* of a volume in the journal */
    struct session session;       /* of a static one */
    struct ceph_cluster *cluster; /* borrowed from one of the above, as is the next one */
    const struct cluster_config *config;
    char *fs_name;   /* "": the default one */
    char *group;     /* of its subvolumes */
    char *subvolume; /* its own, or that of @snapshot; NULL: it has none */
    char *path;      /* what to mount */
    char *snapshot;  /* whose files it shows; NULL: all of @path */
    char *folder;    /* in the snapshot; "": all of it, NULL: the only one there is */
    bool is_part;    /* @snapshot is a part of the snapshot's name, not all of it */
};

/*
 * INVALID_ARGUMENT if the request or the context makes no sense, NOT_FOUND if there is no such
 * volume, FAILED_PRECONDITION for encrypted ones and those of Ceph-CSI 1.0. 1 or 2 commands to the
 * manager. Caller calls cephfs_volume_close().
 */
_must_check_ int cephfs_volume_open(const struct node_volumes *volumes, struct call *call,
                                    const struct stage_request *request,
                                    struct cephfs_volume *volume, struct error *err);
void cephfs_volume_close(struct cephfs_volume *volume);
#define _cleanup_cephfs_volume_ _cleanup_(cephfs_volume_close)

/* Writes this node's address and user to the metadata of the subvolume or the snapshot, so that it
 * can be fenced off if the node is lost: before anything is mounted. A user who may not is no
 * failure, nor is a snapshot whose subvolume is deleted: Ceph keeps no metadata there. */
_must_check_ int cephfs_volume_record(const struct node_volumes *volumes, struct call *call,
                                      const struct cephfs_volume *volume,
                                      const struct stage_request *request, struct error *err);

/* Beneath @target, where @volume->path is mounted: the part that the volume shows, from "/". Caller
 * frees. */
_must_check_ int cephfs_volume_root(const struct node_volumes *volumes,
                                    const struct cephfs_volume *volume, const char *target,
                                    char **root, struct error *err);
