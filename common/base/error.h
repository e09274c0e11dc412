#pragma once

#include <stdarg.h>

#include "common/base/cleanup.h"
#include "common/base/status.h"

/*
 * Why a call failed, for the RPC's caller and for the log. The caller provides the storage.
 *
 * A function that can fail returns 0 or -1 and takes the error last. On failure it sets it exactly
 * once; on success it leaves it alone. The setters return -1, so failing is one line. Each level
 * puts in front what the level below cannot know: the object, not the function's name.
 */
struct error {
    enum status status;
    int sys_errno; /* positive; 0 when the failure did not come from a system or Ceph call */
    char
        *message; /* grows outwards: "create volume 'pvc-1': reserve name: write omap: timed out" */
};

_printf_(3, 4) int error_set(struct error *err, enum status status, const char *fmt, ...);

/* From a negative errno of librados, librbd, libcephfs or the kernel: keeps the number, appends its
 * text and gives the plain cases their status (ENOENT, EEXIST, ENOSPC, EDQUOT, ESHUTDOWN,
 * ETIMEDOUT, EPERM, EACCES, EINVAL, EBUSY); INTERNAL for the rest. The caller recodes where the
 * meaning differs. */
_printf_(3, 4) int error_set_errno(struct error *err, int negative_errno, const char *fmt, ...);

/* Puts "context: " in front of the message. */
_printf_(2, 3) int error_wrap(struct error *err, const char *fmt, ...);

/* Appends "; hint" to the message: what would help. */
_printf_(2, 3) int error_hint(struct error *err, const char *fmt, ...);

int error_recode(struct error *err, enum status status);

/* For a failure that the caller can do without: clears an error of that status and returns 0;
 * leaves any other and returns -1. */
_must_check_ int error_ignore(struct error *err, enum status status);

/* Frees the message and returns to "no error". */
void error_clear(struct error *err);

/* Hands the error in @from over to @to, which must be clear. */
int error_move(struct error *to, struct error *from);

#define _cleanup_error_ _cleanup_(error_clear)
