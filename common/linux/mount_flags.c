#include "common/linux/mount_flags.h"

#include <libmount/libmount.h>
#include <string.h>

#define FLAGS_ALLOWED                                                                              \
    (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_SYNCHRONOUS | MS_DIRSYNC | MS_NOATIME |     \
     MS_NODIRATIME | MS_RELATIME | MS_STRICTATIME | MS_LAZYTIME | MS_SILENT | MS_NOSYMFOLLOW)

enum mount_flag mount_flag_parse(const char *option, unsigned long *flags)
{
    unsigned long found = 0;

    if (mnt_optstr_get_flags(option, &found, mnt_get_builtin_optmap(MNT_LINUX_MAP)) < 0 ||
        found & ~(unsigned long)FLAGS_ALLOWED || strcmp(option, "move") == 0)
        return MOUNT_FLAG_REFUSED;
    *flags |= found;
    if (found || strcmp(option, "defaults") == 0 || strcmp(option, "_netdev") == 0 ||
        strcmp(option, "rw") == 0)
        return MOUNT_FLAG_OF_MOUNT;
    return MOUNT_FLAG_OF_FILE_SYSTEM;
}

int mount_flag_refuse(const char *option, struct error *err)
{
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "mount flag '%s' is not one that a volume can have", option);
}
