#pragma once

#include "common/config/session.h"
#include "common/volume/migration.h"
#include "controller/controller.h"

/* A volume migrated from Kubernetes' own rbd driver: an image, and nothing in the journal. */
struct migrated {
    struct migrated_id id;
    struct session session;
    struct ceph_pool *pool;
};

/* NOT_FOUND when the handle is broken or its pool is gone; whether there is an image is not looked
 * at. Caller calls migrated_done(), also after a failure. */
_must_check_ int migrated_open(const struct controller *controller, struct call *call,
                               const char *handle, const struct credentials *credentials,
                               struct migrated *migrated, struct error *err);

/* Removes the image; one that is gone is success. */
_must_check_ int migrated_delete(const struct controller *controller, struct call *call,
                                 struct migrated *migrated, const struct credentials *credentials,
                                 struct error *err);

/* Safe on a zeroed one. */
void migrated_done(struct migrated *migrated);
#define _cleanup_migrated_ _cleanup_(migrated_done)
