#pragma once

#include "tests/integration/harness.h"

/* What tests of the CephFS driver share. The file system is tests/ceph's. */

#define CEPHFS_NAME "cephfs"
#define CEPHFS_META "cephfs.meta"
#define CEPHFS_GROUP "csi"

/* Flags behind those of harness_start(): they win. */
extern const char *const CEPHFS_FLAGS[];

struct cephfs_wish {
    const char *name;
    long long size_bytes;
    const char *mode;            /* NULL: MULTI_NODE_MULTI_WRITER */
    const char *source_snapshot; /* handles; NULL: none */
    const char *source_volume;
    const char *key; /* one more parameter; NULL: none */
    const char *value;
};

/* The request as JSON. Caller frees. */
char *cephfs_request(const struct cephfs_wish *wish);
/* The handle, which the caller frees, or NULL. Comes back as long as Ceph copies. */
char *cephfs_create(struct driver_process *driver, const struct cephfs_wish *wish,
                    struct error *err);

/* The journal, the reference trackers, subvolumes and their snapshots, as lines; "" if there is
 * nothing. Caller frees. */
char *cephfs_contents(void);
/* What the manager knows of a subvolume; NULL if it refuses. Caller frees. */
char *cephfs_subvolume_info(const char *name);
/* For TEST_CLEANUP: kills the drivers and removes all of that. */
void cephfs_clean_up(void);
/* The subvolumes and snapshots of another group, while no driver runs. */
void cephfs_empty_group(const char *group);
/* Fails unless all goes: the manager removes some of it in the background. */
void cephfs_assert_empties(void);
