#include "common/linux/disk_fs.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"

/* mkfs on thin storage writes little; fsck and growing depend on the size. */
#define MAKE_TIMEOUT_MS 300000
#define CHECK_TIMEOUT_MS 900000
#define GROW_TIMEOUT_MS 600000
#define OPTIONS_MAX 64

struct disk_fs {
    const char *type;
    const char *make;         /* program */
    const char *force;        /* overwrites what an interrupted try left */
    const char *make_options; /* when the class gives none; as Ceph-CSI's */
    const char *mount_flag;
};

static const struct disk_fs FILESYSTEMS[] = {
    {"ext4", "mkfs.ext4", "-F", "-m0 -Enodiscard,lazy_itable_init=1,lazy_journal_init=1", NULL},
    {"xfs", "mkfs.xfs", "-f", "-K -m reflink=0", "nouuid"},
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

static struct deadline deadline_of(const struct call *call, int64_t timeout_ms)
{
    return deadline_earlier(call->deadline, deadline_in_ms(timeout_ms));
}

int disk_fs_make(const struct disk_fs *fs, struct host *host, struct call *call, const char *device,
                 const char *options, struct error *err)
{
    _cleanup_free_ char *words = xstrdup(options[0] ? options : fs->make_options);
    const char *argv[OPTIONS_MAX + 4] = {fs->make, fs->force};
    size_t count = 2;
    char *rest = NULL;

    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count >= OPTIONS_MAX)
            return error_set(err, STATUS_INVALID_ARGUMENT, "mkfsOptions has more than %d words",
                             OPTIONS_MAX);
        argv[count++] = word;
    }
    argv[count] = device;
    call_stage(call, "making %s on '%s' for {age}", fs->type, device);
    return host->ops->run(
        host, &(struct subprocess){.argv = argv, .deadline = deadline_of(call, MAKE_TIMEOUT_MS)},
        NULL, err);
}

int disk_fs_check(const struct disk_fs *fs, struct host *host, struct call *call,
                  const char *device, struct error *err)
{
    const char *const argv[] = {"e2fsck", "-p", device, NULL};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error failure = {0};

    if (strcmp(fs->type, "ext4") != 0)
        return 0; /* xfs replays its log when it is mounted, and fsck.xfs does nothing */
    call_stage(call, "checking the file system on '%s' for {age}", device);
    const struct subprocess program = {.argv = argv,
                                       .deadline = deadline_of(call, CHECK_TIMEOUT_MS)};
    if (host->ops->run(host, &program, &result, &failure) == 0)
        return 0;
    if (result.exit_code == 1 || result.exit_code == 2) /* errors were there and are gone */
        return 0;
    if (result.exit_code == 4) {
        error_move(err, &failure);
        error_recode(err, STATUS_FAILED_PRECONDITION);
        return error_hint(err, "the file system has errors that need e2fsck by hand");
    }
    if (result.timed_out)
        return error_move(err, &failure);
    log_warn(call, "mounting '%s' unchecked: %s", device, failure.message);
    return 0;
}

int disk_fs_grow(const struct disk_fs *fs, struct host *host, struct call *call, const char *device,
                 const char *mount_point, struct error *err)
{
    const char *const ext[] = {"resize2fs", device, NULL};
    const char *const xfs[] = {"xfs_growfs", "-d", mount_point, NULL};
    const bool is_xfs = strcmp(fs->type, "xfs") == 0;

    call_stage(call, "growing the file system on '%s' for {age}", device);
    const struct subprocess program = {.argv = is_xfs ? xfs : ext,
                                       .deadline = deadline_of(call, GROW_TIMEOUT_MS)};
    if (host->ops->run(host, &program, NULL, err) == 0)
        return 0;
    if (!is_xfs && strstr(err->message, "Permission denied"))
        return error_hint(err, "growing a mounted ext4 needs the capability SYS_RESOURCE, which a "
                               "privileged container has");
    return -1;
}
