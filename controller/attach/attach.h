#pragma once

#include "controller/backend.h"

/* What attaching and detaching have in common. */

bool attach_is_cephfs(const struct controller *controller);
/* Of Kubernetes' own driver: the handle says nothing. */
bool attach_is_migrated(const struct controller *controller, const char *handle);

/*
 * The attacher need not bring credentials: old PersistentVolumes name no Secret for it. Then those
 * of config.json (controllerPublishSecretRef) or the keyring are used. *@found is false if there
 * are none, and nothing can be done then. UNAVAILABLE or DEADLINE_EXCEEDED if there may be some.
 */
_must_check_ int attach_find_credentials(const struct controller *controller, struct call *call,
                                         const char *cluster_id, const struct credentials *own,
                                         struct credentials *credentials, bool *found,
                                         struct error *err);
