#include "common/linux/disk_fs.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"

#define OPTIONS_MAX 64

struct disk_fs {
    const char *type;
    const char *make;         /* program */
    const char *force;        /* overwrites what an interrupted try left */
    const char *uuid_option;  /* is followed by an argument */
    const char *uuid_prefix;  /* of that argument */
    const char *make_options; /* when the class gives none; as Ceph-CSI's */
    const char *mount_flag;
};

static const struct disk_fs FILESYSTEMS[] = {
    {"ext4", "mkfs.ext4", "-F", "-U", "", "-m0 -Enodiscard,lazy_itable_init=1,lazy_journal_init=1",
     NULL},
    {"xfs", "mkfs.xfs", "-f", "-m", "uuid=", "-K -m reflink=0", "nouuid"},
};

const struct disk_fs *disk_fs_find(const char *type)
{
    for (size_t i = 0; i < ARRAY_LENGTH(FILESYSTEMS); i++)
        if (strcmp(FILESYSTEMS[i].type, type) == 0)
            return &FILESYSTEMS[i];
    return NULL;
}

const char *disk_fs_type(const struct disk_fs *fs)
{
    return fs->type;
}

const char *disk_fs_mount_flag(const struct disk_fs *fs)
{
    return fs->mount_flag;
}

/* mkfs.xfs refuses a second one; of two the last one counts for mkfs.ext4. */
static bool options_name_uuid(const struct disk_fs *fs, const char *options)
{
    return fs->uuid_prefix[0] && strstr(options, fs->uuid_prefix);
}

int disk_fs_make(const struct disk_fs *fs, const struct host_work *work, struct call *call,
                 const char *device, const char *options, const char *uuid, struct error *err)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_free_ char *doing = xasprintf("making %s on '%s'", fs->type, device);
    _cleanup_free_ char *words = xstrdup(options[0] ? options : fs->make_options);
    _cleanup_free_ char *uuid_argument = xasprintf("%s%s", fs->uuid_prefix, uuid);
    const char *argv[OPTIONS_MAX + 4] = {fs->make, fs->force};
    size_t count = 2;
    char *rest = NULL;

    if (!options_name_uuid(fs, words)) {
        argv[count++] = fs->uuid_option;
        argv[count++] = uuid_argument;
    }
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count >= OPTIONS_MAX)
            return error_set(err, STATUS_INVALID_ARGUMENT, "mkfsOptions has more than %d words",
                             OPTIONS_MAX);
        argv[count++] = word;
    }
    argv[count] = device;
    return host_work_run(work, call, argv, doing, &result, err);
}

int disk_fs_check(const struct disk_fs *fs, const struct host_work *work, struct call *call,
                  const char *device, struct error *err)
{
    const char *const argv[] = {"e2fsck", "-p", device, NULL};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error failure = {0};
    _cleanup_free_ char *doing = xasprintf("checking the file system on '%s'", device);

    if (strcmp(fs->type, "ext4") != 0)
        return 0; /* xfs replays its log when it is mounted, and fsck.xfs does nothing */
    if (host_work_run(work, call, argv, doing, &result, &failure) == 0)
        return 0;
    if (result.exit_code == 1 || result.exit_code == 2) /* errors were there and are gone */
        return 0;
    if (result.exit_code == 4) {
        error_move(err, &failure);
        error_recode(err, STATUS_FAILED_PRECONDITION);
        return error_hint(err, "the file system has errors that need e2fsck by hand");
    }
    if (failure.status == STATUS_ABORTED || result.was_cancelled || result.signal)
        return error_move(err, &failure); /* it runs, or was ended half-way through a repair */
    log_warn(call, "mounting '%s' unchecked: %s", device, failure.message);
    return 0;
}

int disk_fs_grow(const struct disk_fs *fs, const struct host_work *work, struct call *call,
                 const char *device, const char *mount_point, struct error *err)
{
    const char *const ext[] = {"resize2fs", device, NULL};
    const char *const xfs[] = {"xfs_growfs", "-d", mount_point, NULL};
    const bool is_xfs = strcmp(fs->type, "xfs") == 0;
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_free_ char *doing = xasprintf("growing the file system on '%s'", device);

    if (host_work_run(work, call, is_xfs ? xfs : ext, doing, &result, err) == 0)
        return 0;
    if (!is_xfs && strstr(err->message, "Permission denied"))
        return error_hint(err, "growing a mounted ext4 needs the capability SYS_RESOURCE, which a "
                               "privileged container has");
    return -1;
}
