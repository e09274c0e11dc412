#pragma once

#include "common/linux/mapper.h"

/* Inside of common/linux: what the mappers share. */

#define FUSE_FOLDER "fuse"  /* in the run folder: one folder per export */
#define SOCKET_FOLDER "qmp" /* in the run folder: their control sockets */
/* A program that maps takes well under a second, or hangs because the cluster does. */
#define MAPPER_TIMEOUT_MS 60000

/* The call's deadline, but not beyond MAPPER_TIMEOUT_MS from now. */
struct deadline mapper_deadline(const struct call *call);
