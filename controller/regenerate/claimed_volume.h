#pragma once

#include "common/config/config.h"
#include "common/kube/objects/kube_objects.h"

/* What a PersistentVolume says about the journal entry of the volume behind it. Pure, any thread.
 */

/* Why a PersistentVolume has no journal entry that could be written anew. */
enum unclaimed {
    UNCLAIMED_NOT, /* it has */
    UNCLAIMED_FOREIGN,
    UNCLAIMED_FREE,     /* no claim is bound to it */
    UNCLAIMED_DELETING, /* it has a deletionTimestamp */
    UNCLAIMED_STATIC,   /* its image was not made by a driver */
    UNCLAIMED_MIGRATED, /* made by Kubernetes' own rbd driver: it never had an entry */
    UNCLAIMED_CEPHFS,   /* subvolumes are not mirrored to another cluster by their name */
};

enum unclaimed claimed_volume_judge(const struct kube_pv *pv, const char *driver_name);

/* controllerExpandSecretRef, else nodeStageSecretRef; NULLs if neither is whole. Borrowed. */
struct secret_ref claimed_volume_secret(const struct kube_pv *pv);

/* Takes out of @pv, an object of the API, what is not needed to regenerate: nearly all of those of
 * other drivers. */
void claimed_volume_trim(json_t *pv, const char *driver_name);
