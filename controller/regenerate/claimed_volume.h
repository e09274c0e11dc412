#pragma once

#include <jansson.h>

#include "common/base/strmap.h"
#include "common/config/config.h"

/* What a PersistentVolume of Kubernetes says about the volume behind it. Pure, any thread. */
struct claimed_volume {
    char *pv_name; /* also the name that CreateVolume was asked for */
    char *pv_uid;
    char *handle;
    char *claim_namespace;
    char *claim_name;
    struct secret_ref secret; /* of controllerExpandSecretRef, else of nodeStageSecretRef; NULLs */
    struct strmap attributes; /* the volume_context */
};

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

/* Reads @pv, an object of the API; @volume is zero, and is filled only for UNCLAIMED_NOT.
 * claimed_volume_done() frees. */
enum unclaimed claimed_volume_decode(const json_t *pv, const char *driver_name,
                                     struct claimed_volume *volume);
void claimed_volume_done(struct claimed_volume *volume);
#define _cleanup_claimed_volume_ _cleanup_(claimed_volume_done)

/* Takes out of @pv what claimed_volume_decode() does not look at: nearly all of those of other
 * drivers. */
void claimed_volume_trim(json_t *pv, const char *driver_name);
