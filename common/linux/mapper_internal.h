#pragma once

#include "common/linux/mapper.h"

/* Inside of common/linux: what the mappers share. */

extern const struct mapper MAPPER_KRBD;
extern const struct mapper MAPPER_NBD;
extern const struct mapper MAPPER_FUSE;

/* A program that maps takes well under a second, or hangs because the cluster does. */
#define MAPPER_TIMEOUT_MS 60000

/* The call's deadline, but not beyond MAPPER_TIMEOUT_MS from now. */
struct deadline mapper_deadline(const struct call *call);

/* Whether the kernel has the driver, which the folder @sysfs_path shows, or can load it. *@reason
 * (caller frees) says why not. */
bool mapper_load_driver(const struct mapper_host *mapper, struct call *call, const char *driver,
                        const char *sysfs_path, char **reason);
