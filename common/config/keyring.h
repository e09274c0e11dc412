#pragma once

#include "common/base/error.h"
#include "common/config/credentials.h"

/*
 * Reads the first user with a key from a keyring file in Ceph's form:
 *
 *   [client.csi]
 *       key = AQB...
 *
 * *@found is false when there is no such file or no user in it, which is no failure: Ceph-CSI puts
 * an empty one there.
 */
_must_check_ int keyring_read(const char *path, struct credentials *credentials, bool *found,
                              struct error *err);
