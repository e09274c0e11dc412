/*
 * Mounts. libmount reads the table and knows the options; the mount itself is made by the kernel on
 * a descriptor of the target, so that nobody can put another target in its place meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/linux/host_internal.h"
#include "common/linux/mount_flags.h"

#define DATA_LIMIT ((size_t)4095) /* a page, with the NUL at its end */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void add_entry(struct mount_list *mounts, struct libmnt_fs *fs)
{
    *array_add(mounts->items, mounts->count) = (struct mount_entry){
        .device = mnt_fs_get_devno(fs),
        .root = xstrdup(or_empty(mnt_fs_get_root(fs))),
        .target = xstrdup(or_empty(mnt_fs_get_target(fs))),
        .fs_type = xstrdup(or_empty(mnt_fs_get_fstype(fs))),
        .source = xstrdup(or_empty(mnt_fs_get_source(fs))),
        .options = xstrdup(or_empty(mnt_fs_get_fs_options(fs))),
        .flags = xstrdup(or_empty(mnt_fs_get_vfs_options(fs))),
    };
}

static int list_mounts(struct host *host, struct mount_list *mounts, struct error *err)
{
    struct libmnt_table *table = mnt_new_table();
    struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs = NULL;
    int result = table && iterator ? mnt_table_parse_file(table, "/proc/self/mountinfo") : -ENOMEM;

    (void)host;
    while (result == 0 && mnt_table_next_fs(table, iterator, &fs) == 0)
        add_entry(mounts, fs);
    mnt_free_iter(iterator);
    mnt_unref_table(table);
    return result ? error_set_errno(err, result < 0 ? result : -EIO, "read the mount table") : 0;
}

/* Flags of mount(2), and what is left for the file system to read. */
static int parse_flags(const struct mount_request *request, unsigned long *flags, struct text *data,
                       struct error *err)
{
    for (size_t i = 0; request->flags && i < request->flags->count; i++) {
        const char *option = request->flags->items[i];

        switch (mount_flag_parse(option, flags)) {
        case MOUNT_FLAG_REFUSED:
            return mount_flag_refuse(option, err);
        case MOUNT_FLAG_OF_FILE_SYSTEM:
            text_addf(data, "%s%s", data->length ? "," : "", option);
            break;
        case MOUNT_FLAG_OF_MOUNT:
            break;
        }
    }
    if (request->read_only)
        *flags |= MS_RDONLY;
    return 0;
}

/* The options of a file system, which may hold a key: wiped when they are released. */
static int make_data(const struct mount_request *request, struct text *options, struct secret *data,
                     struct error *err)
{
    if (request->secret) {
        text_addf(options, "%ssecret=", options->length ? "," : "");
        text_add(options, secret_reveal(request->secret));
    }
    if (!options->truncated)
        secret_set(data, text_chars(options));
    if (options->chars)
        explicit_bzero(options->chars, options->length);
    if (options->truncated)
        return error_set(err, STATUS_INVALID_ARGUMENT, "the mount options are too long");
    return 0;
}

static int bind_mount(const struct real_host *host, const struct mount_request *request,
                      const char *target)
{
    char source[64];
    _cleanup_close_ int fd = path_open(host, request->source, O_PATH);

    if (fd < 0)
        return fd;
    snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
    return mount(source, target, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

/* A bind takes its flags in a second step; undone if that fails, so that nobody gets more than was
 * asked. The target has to be opened again, because the new mount covers it. */
static int restrict_bind(const struct real_host *host, const char *path, unsigned long flags)
{
    char target[64];
    _cleanup_close_ int fd = path_open(host, path, O_PATH);

    if (fd < 0)
        return fd;
    snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
    return mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | (flags & MOUNT_FLAGS_OF_BIND), NULL) < 0
               ? -errno
               : 0;
}

static int mount_on(struct host *host, const struct mount_request *request, const char *target,
                    unsigned long flags, const char *data, struct error *err)
{
    const struct real_host *real = (struct real_host *)host;
    int result = 0;

    if (request->device) {
        if (mount(request->device, target, request->fs_type, flags, data) < 0)
            return error_set_errno(err, -errno, "mount %s of '%s' on '%s'", request->fs_type,
                                   request->device, request->target);
        return 0;
    }
    if (request->source)
        result = bind_mount(real, request, target);
    if (result < 0)
        return error_set_errno(err, result, "bind '%s' to '%s'", request->source, request->target);
    if ((flags & MOUNT_FLAGS_OF_BIND) == 0)
        return 0;
    result = restrict_bind(real, request->target, flags);
    if (result == 0)
        return 0;
    _cleanup_error_ struct error ignored = {0};
    if (request->source && host->ops->unmount(host, request->target, false, &ignored) < 0)
        error_clear(&ignored);
    return error_set_errno(err, result, "set the flags of '%s'", request->target);
}

static int mount_volume(struct host *host, const struct mount_request *request, struct error *err)
{
    _cleanup_text_ struct text options = TEXT_INIT(DATA_LIMIT);
    _cleanup_secret_ struct secret data = {0};
    unsigned long flags = 0;
    char target[64];

    if (parse_flags(request, &flags, &options, err) < 0 ||
        make_data(request, &options, &data, err) < 0)
        return -1;
    _cleanup_close_ int fd = path_open((struct real_host *)host, request->target, O_PATH);
    if (fd < 0)
        return error_set_errno(err, fd, "open mount point '%s'", request->target);
    snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
    return mount_on(host, request, target, flags, secret_reveal(&data), err);
}

/* By parent and name: a descriptor of the mount itself would keep it busy. */
static int unmount_path(struct host *host, const char *path, bool lazily, struct error *err)
{
    const char *name = NULL;
    _cleanup_close_ int parent = path_open_parent((struct real_host *)host, path, &name);

    if (parent == -ENOENT)
        return 0;
    if (parent < 0)
        return error_set_errno(err, parent, "unmount '%s'", path);
    _cleanup_free_ char *target = xasprintf("/proc/self/fd/%d/%s", parent, name);
    if (umount2(target, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0 || errno == EINVAL ||
        errno == ENOENT)
        return 0;
    return error_set_errno(err, -errno, "unmount '%s'", path);
}

void mounts_register(struct host_ops *ops)
{
    ops->list_mounts = list_mounts;
    ops->mount = mount_volume;
    ops->unmount = unmount_path;
}
