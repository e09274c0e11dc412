#pragma once

#include "common/base/strmap.h"
#include "common/config/credentials.h"
#include "common/volume/capability.h"

/*
 * nodestage-HANDLE.json, which a node keeps of a staged CephFS volume, so that a ceph-fuse that
 * died can be replaced. The keys are those of Ceph-CSI, which keeps the Ceph user's key in there,
 * in plain text: that is read, but never written. What this driver needs besides is in an object
 * of its own, which Ceph-CSI does not read. Pure, any thread.
 */
struct mount_info {
    struct volume_capability capability;
    struct credentials credentials; /* that Ceph-CSI kept; unset otherwise */
    char *staging_path;             /* NULL: Ceph-CSI wrote it, which has none of the following */
    char *mounter;                  /* "kernel", "fuse" */
    char *root; /* which part of the mounted directory is shown; "": not known yet */
    struct strmap context;
};

/* Caller frees. */
char *mount_info_print(const struct mount_info *info);

/* DATA_LOSS if it makes no sense. Caller calls mount_info_done(). */
_must_check_ int mount_info_parse(const char *text, struct mount_info *info, struct error *err);

void mount_info_done(struct mount_info *info);
#define _cleanup_mount_info_ _cleanup_(mount_info_done)
