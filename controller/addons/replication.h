#pragma once

#include "common/volume/replication_status.h"
#include "controller/controller.h"

/*
 * Volumes that rbd-mirror copies to another cluster, as csi-addons' VolumeReplication asks for it
 * and as Ceph-CSI does it, so that either driver continues what the other began. Each cluster has a
 * driver of its own; what one is told here concerns the image in its own cluster alone. Images are
 * mirrored, groups of them are not. All functions may be repeated; any thread.
 *
 * Common statuses: NOT_FOUND for a volume or image that is gone, INVALID_ARGUMENT for one that is
 * not mirrored or has the wrong role, and for bad parameters, before anything is done; ABORTED
 * while something else is under way.
 */
struct replication_request {
    struct handle_request volume;
    struct strmap parameters; /* of the VolumeReplicationClass */
    bool force;
};

void replication_request_done(struct replication_request *request);
#define _cleanup_replication_request_ _cleanup_(replication_request_done)

/* A clone is detached from its parent first if the class says so (flattenMode: force): ABORTED with
 * the progress until that is done. */
_must_check_ int replication_enable(const struct controller *controller, struct call *call,
                                    const struct replication_request *request, struct error *err);

/* A copy stays: it goes when the original is no longer mirrored. If rbd-mirror does not replay it,
 * that is FAILED_PRECONDITION, unless the parameter "force" is "true". */
_must_check_ int replication_disable(const struct controller *controller, struct call *call,
                                     const struct replication_request *request, struct error *err);

/* Makes the copy the original, and has the manager take snapshots by the class's schedule. */
_must_check_ int replication_promote(const struct controller *controller, struct call *call,
                                     const struct replication_request *request, struct error *err);

/* Makes the original a copy. FAILED_PRECONDITION while somebody has it open, unless by force. */
_must_check_ int replication_demote(const struct controller *controller, struct call *call,
                                    const struct replication_request *request, struct error *err);

/*
 * Of a copy. *@ready: all sides are up and equal, and none is primary. A copy that rbd-mirror
 * cannot continue, or any with @force, is thrown away and made anew, once: its time of creation
 * then differs from the one that was recorded when it was demoted.
 */
_must_check_ int replication_resync(const struct controller *controller, struct call *call,
                                    const struct replication_request *request, bool *ready,
                                    struct error *err);

/* Of an original. NOT_FOUND if nothing has arrived yet. */
_must_check_ int replication_get_info(const struct controller *controller, struct call *call,
                                      const struct handle_request *request,
                                      struct replication_info *info, struct error *err);
