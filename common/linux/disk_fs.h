#pragma once

#include "common/base/call.h"
#include "common/linux/host_work.h"

/* File systems that a volume can have: ext4 and xfs. Programs do the work, and go on when their
 * call has to end: ABORTED, see host_work.h. Any thread. */
struct disk_fs;

/* NULL for a type that is not supported. */
const struct disk_fs *disk_fs_find(const char *type);
const char *disk_fs_type(const struct disk_fs *fs);

/* @options are mkfsOptions of the class, split at blanks; "" for the defaults. The file system gets
 * @uuid, unless they name another. Overwrites what an earlier, interrupted try has written. */
_must_check_ int disk_fs_make(const struct disk_fs *fs, const struct host_work *work,
                              struct call *call, const char *device, const char *options,
                              const char *uuid, struct error *err);
/* Before a mount for writing; repairs what is safe to repair. FAILED_PRECONDITION when errors
 * remain. */
_must_check_ int disk_fs_check(const struct disk_fs *fs, const struct host_work *work,
                               struct call *call, const char *device, struct error *err);
/* Grows a mounted file system to the size of its device. */
_must_check_ int disk_fs_grow(const struct disk_fs *fs, const struct host_work *work,
                              struct call *call, const char *device, const char *mount_point,
                              struct error *err);
/* What has to be among the mount flags; NULL: nothing. */
const char *disk_fs_mount_flag(const struct disk_fs *fs);
