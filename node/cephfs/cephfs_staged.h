#pragma once

#include "common/linux/cephfs_client.h"
#include "node/cephfs/mount_info.h"
#include "node/volumes.h"

/*
 * What is at the staging path of a CephFS volume, read from the machine itself:
 *
 *   STAGING                  the mount; of a volume that shows a snapshot, two of them: the
 *                            directory with the snapshot, and over it the snapshot's files
 *   nodestage-HANDLE.json    what was asked for, and whether all of it was done
 *
 * Ceph-CSI does the same, but writes the file for ceph-fuse alone, and other things into it. What
 * it staged counts as complete when it is a mount of CephFS.
 */
struct cephfs_staged {
    const char *handle; /* borrowed, as is the next one */
    const char *path;   /* NULL: not known */
    char *info_path;
    bool has_info;
    struct mount_info info;
    struct path_facts facts;
    bool is_dead;    /* cannot even be looked at: what is mounted there has died */
    bool is_mounted; /* something is */
    const struct cephfs_client *client; /* NULL: that is not of CephFS, or there is none */
    char *source;                       /* of the mount; NULL: none */
    char *root;
    dev_t device;
    bool is_shared; /* with mounts of other volumes: its device does not say which are its own */
};

/* Looks at everything; changes nothing. @staging_path NULL: where the file says, if it says so.
 * Caller calls cephfs_staged_done(). */
_must_check_ int cephfs_staged_look(const struct node_volumes *volumes, const char *handle,
                                    const char *staging_path, struct cephfs_staged *staged,
                                    struct error *err);
void cephfs_staged_done(struct cephfs_staged *staged);
#define _cleanup_cephfs_staged_ _cleanup_(cephfs_staged_done)

bool cephfs_staged_is_complete(const struct cephfs_staged *staged);

/* FAILED_PRECONDITION unless complete, with what is wrong. */
_must_check_ int cephfs_staged_check(const struct cephfs_staged *staged, struct error *err);

/* Of @request, to be mounted with @client; not complete as long as @root is "". */
_must_check_ int cephfs_staged_write(const struct node_volumes *volumes,
                                     const struct cephfs_staged *staged,
                                     const struct stage_request *request,
                                     const struct cephfs_client *client, const char *root,
                                     struct error *err);

/*
 * Takes all mounts off, those that died lazily, and waits until the volume's ceph-fuse has ended,
 * and so has written back all that it held. A mount that is busy is tried again for as long.
 * FAILED_PRECONDITION if something else is mounted there; UNAVAILABLE if ceph-fuse does not end in
 * time. The file stays.
 */
_must_check_ int cephfs_staged_unmount(const struct node_volumes *volumes, struct call *call,
                                       const struct cephfs_staged *staged, struct error *err);

/* Reads a volume's file; *@found says whether there is one. Caller calls mount_info_done(). */
_must_check_ int cephfs_info_read(const struct node_volumes *volumes, const char *handle,
                                  struct mount_info *info, bool *found, struct error *err);
/* The handle in "nodestage-HANDLE.json"; NULL for other names. Caller frees. */
char *cephfs_info_handle(const char *name);

/* The backend's NodeStageVolume, also for a volume whose client has died. */
_must_check_ int cephfs_stage_volume(const struct node_volumes *volumes, struct call *call,
                                     const struct stage_request *request, struct error *err);
