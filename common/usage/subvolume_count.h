#pragma once

#include <stdint.h>

#include "common/ceph/filesystem.h"
#include "common/config/session.h"

/*
 * How many CephFS volumes have their files in a data pool, and their total size: from the journal,
 * because the manager, which executes one command after the other, would need one for each of
 * them. Any thread.
 */

/* Where volumes are noted. Borrowed. */
struct subvolume_source {
    const char *instance_id;     /* --instanceid */
    const char *rados_namespace; /* --radosnamespacecephfs; NULL or "": not given */
};

/*
 * Counts the volumes of file system @fs_name with files in @data_pool, those that are being made
 * too, but not those that show a snapshot. One round trip per 512 volumes of the cluster and one
 * for each of the file system; for one of Ceph-CSI's, whose entry has no size, a command to the
 * manager.
 */
_must_check_ int subvolume_count(const struct subvolume_source *source,
                                 const struct session *session, struct call *call,
                                 const char *fs_name, const char *data_pool, int64_t *volumes,
                                 int64_t *bytes, struct error *err);
