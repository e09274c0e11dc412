#pragma once

#include "common/linux/host_ops.h"

/*
 * Whether a device, or a file system that is not on one, answers. A read from a device whose
 * storage is gone can hang for ever, in the kernel, where nothing ends it; so it is made in a
 * thread of its own, at most one per device, and a device whose last read still hangs is not asked
 * again. Any thread.
 */
struct io_checks;

struct io_checks *io_checks_new(struct host *host);
/* Threads that hang keep what they need. */
void io_checks_free(struct io_checks *checks);
DEFINE_CLEANUP(struct io_checks, io_checks_free)

/* Reads one block of @device. Fails with the errno of the read, or DEADLINE_EXCEEDED when it has
 * taken longer than @timeout_ms, with how long. */
_must_check_ int io_check(struct io_checks *checks, const char *device, int64_t timeout_ms,
                          struct error *err);

/* The same for a folder, whose file system is asked past its caches. */
_must_check_ int io_check_folder(struct io_checks *checks, const char *path, int64_t timeout_ms,
                                 struct error *err);
