#pragma once

#include "common/base/call.h"
#include "common/base/secret.h"
#include "common/linux/host_ops.h"

/*
 * Ways to mount a directory of CephFS, behind one table:
 *
 *   kernel   the kernel's own client
 *   fuse     ceph-fuse, a process per mount, which dies with the container that it was started in
 *
 * No client keeps anything in memory: what is mounted is asked of the kernel, so that a restarted
 * driver knows what its previous run did. Any thread; calls for one volume must not overlap.
 */
struct cephfs_mount {
    const char *handle; /* of the volume, by which its ceph-fuse is known */
    const char *target;
    const char *monitors; /* comma-separated */
    const char *user;     /* without "client." */
    const struct secret *key;
    const char *fs_name;               /* "": the default one */
    const char *path;                  /* in the file system, absolute */
    const struct string_list *options; /* one each; those of a mount and those for the client */
    bool read_only;
};

struct cephfs_client {
    const char *name;                       /* as in a class's "mounter" */
    const char *fs_type;                    /* in the mount table */
    const struct cephfs_client *substitute; /* mounts where this one cannot */
    bool reads_nearest;    /* knows the options read_from_replica and crush_location */
    bool shares_device;    /* its mounts of one file system, unless with the option noshare */
    bool names_path;       /* the source of a mount is "...:PATH" */
    bool names_handle;     /* the source of a mount is cephfs_fuse_source() */
    bool uses_kernel_keys; /* the kernel must know the type of the key */

    /* Whether this machine can. @forced: also a kernel that is too old to keep quotas. *@reason
     * (caller frees) says why not. */
    bool (*is_usable)(struct host *host, struct call *call, bool forced, char **reason);
    /* The key is in no argument, no message and no file that outlives the call. */
    int (*mount)(struct host *host, struct call *call, const struct cephfs_mount *mount,
                 struct error *err);
};

extern const struct cephfs_client CEPHFS_KERNEL;
extern const struct cephfs_client CEPHFS_FUSE;

/* By the name that a class gives in "mounter". NULL: unknown. */
const struct cephfs_client *cephfs_client_find(const char *name);
/* The client whose mount @entry is; NULL: something else is mounted there. */
const struct cephfs_client *cephfs_client_of(const struct mount_entry *entry);

/* What the mount table names as the source of a ceph-fuse mount of a volume. Caller frees. */
char *cephfs_fuse_source(const char *handle);
/* Whether a ceph-fuse for this volume runs: mounted, about to mount, or, after an unmount, writing
 * back what it still holds. */
_must_check_ int cephfs_fuse_is_running(struct host *host, const char *handle, bool *running,
                                        struct error *err);
