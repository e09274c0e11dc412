#pragma once

#include "common/config/credentials.h"
#include "common/linux/host_ops.h"

/*
 * Keys for the kernel's clients of Ceph, krbd and CephFS. Since Ceph 19.2.6 and 20.2.4 there are
 * keys of type 2 (aes256k), which clients before Linux 7.0 do not know unless somebody has ported
 * it to them. Any thread.
 */

/* *@reason (caller frees) stays NULL unless the kernel says that it does not know keys of this
 * type; else it says so and what would help. The client must be loaded. */
void kernel_key_check(struct host *host, const struct credentials *credentials, char **reason);

/* After a mapping or a mount by the kernel failed: where that may be for the type of the key, the
 * message says so and the status becomes FAILED_PRECONDITION. Returns -1. */
int kernel_key_explain(struct host *host, const struct credentials *credentials, struct error *err);
