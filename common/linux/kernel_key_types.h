#pragma once

#include <errno.h>

#include "common/base/error.h"

/* In the kernel's own list of errors, which reaches programs where it should not: what old clients
 * of Ceph say to a key whose type they do not know. */
#define KERNEL_ENOTSUPP 524

/* Whether a mapping or a mount failed as it does where the kernel does not know the type of the
 * key, or lacks the cipher for it. Pure. */
bool kernel_key_was_refused(const struct error *err);
