#pragma once

#include <stdbool.h>

#include "common/ceph/ceph_ops.h"

/*
 * Who still needs a CephFS snapshot: read-only volumes that show it without a copy keep it alive
 * after its deletion. One object per such snapshot beside the journal, byte for byte that of
 * Ceph-CSI:
 *
 *   rt-backingsnapshot-HANDLE   xattr csi.ceph.com/rt-version: 00 00 00 01
 *                               data: how many references are not masked, 4 bytes, big-endian
 *                               omap: REFERENCE -> 01, or 02 where it is masked
 *
 * References are the snapshot's handle itself, which is masked when the snapshot is deleted, and
 * the names of the volumes. Each change is one operation that fails if another one came first; it
 * is then retried a few times, and ABORTED in the end. 2 RT each. Any thread.
 */

/* Whether the snapshot was deleted while volumes showed it. */
_must_check_ int references_are_masked(struct ceph_pool *pool, struct call *call,
                                       const char *snapshot, bool *are_masked, struct error *err);

/* Adds the snapshot and @volume, as far as they are not there. */
_must_check_ int references_add(struct ceph_pool *pool, struct call *call, const char *snapshot,
                                const char *volume, struct error *err);

/* Removes @volume. *@is_last: nobody needs the snapshot any more, there is no object now. */
_must_check_ int references_remove(struct ceph_pool *pool, struct call *call, const char *snapshot,
                                   const char *volume, bool *is_last, struct error *err);

/* Masks the snapshot. *@is_last: no volume needs it, there is no object now. */
_must_check_ int references_mask(struct ceph_pool *pool, struct call *call, const char *snapshot,
                                 bool *is_last, struct error *err);
