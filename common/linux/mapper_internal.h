#pragma once

#include "common/linux/mapper.h"

/* Inside of common/linux: what the mappers share. */

/*
 * All of them, each in its file mapper_NAME.c; the first one is the default:
 *
 *   krbd   the kernel's own client, through /sys/bus/rbd
 *   nbd    rbd-nbd, a process per image beside the kernel's nbd driver
 *   fuse   qemu-storage-daemon's FUSE export with a loop device, for kernels that have neither;
 *          only when the class or a flag names it
 */
#define MAPPER_ROWS(ROW)                                                                           \
    ROW(MAPPER_KRBD)                                                                               \
    ROW(MAPPER_NBD)                                                                                \
    ROW(MAPPER_FUSE)

#define DECLARE_MAPPER(name) extern const struct mapper name;
MAPPER_ROWS(DECLARE_MAPPER)
#undef DECLARE_MAPPER

/* A program that maps takes well under a second, or hangs because the cluster does. */
#define MAPPER_TIMEOUT_MS 60000

/* The call's deadline, but not beyond MAPPER_TIMEOUT_MS from now. */
struct deadline mapper_deadline(const struct call *call);

/* Whether the kernel has the driver, which the folder @sysfs_path shows, or can load it. *@reason
 * (caller frees) says why not. */
bool mapper_load_driver(const struct mapper_host *mapper, struct call *call, const char *driver,
                        const char *sysfs_path, char **reason);
