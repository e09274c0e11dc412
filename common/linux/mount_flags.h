#pragma once

#include <sys/mount.h>

#include "common/base/error.h"
#include "common/base/string_list.h"

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

/* Changes *@flags: of options that exclude each other, as ro and rw, the later one counts. */
enum mount_flag mount_flag_parse(const char *option, unsigned long *flags);

/* Whether they ask for a mount that nobody writes to. */
bool mount_flags_are_read_only(const struct string_list *flags);

/* Whether it is one option, and stays so among others: no commas but in the quoted value of one
 * that sets SELinux labels. */
bool mount_flag_is_single(const char *option);
/* Appends the options of "o1,o2", without blanks around them; such quoted values stay whole. */
void mount_flags_split(const char *text, struct string_list *flags);

/* INVALID_ARGUMENT. */
int mount_flag_refuse(const char *option, struct error *err);
