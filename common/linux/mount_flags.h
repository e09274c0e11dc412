#pragma once

#include <sys/mount.h>

#include "common/base/error.h"

/* Options of a mount, one by one, as a StorageClass lists them. Pure. */

enum mount_flag {
    MOUNT_FLAG_OF_MOUNT,       /* flags of mount(2), perhaps none */
    MOUNT_FLAG_OF_FILE_SYSTEM, /* for the file system to read */
    MOUNT_FLAG_REFUSED,        /* would make it another call: bind, remount, move, ... */
};

/* Those of a mount, as against those of a file system: all that a bind can have. */
#define MOUNT_FLAGS_OF_BIND                                                                        \
    (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME | MS_RELATIME |     \
     MS_STRICTATIME | MS_NOSYMFOLLOW)

/* Adds to *@flags. */
enum mount_flag mount_flag_parse(const char *option, unsigned long *flags);

/* INVALID_ARGUMENT. */
int mount_flag_refuse(const char *option, struct error *err);
