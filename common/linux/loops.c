/* Loop devices, which make a block device of a file: for the fuse mapper. */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/host_internal.h"

/* Between asking for a free device and taking it somebody else may take it. */
#define ATTACH_TRIES 20

/* sysfs has the whole path; the device's own status truncates it to 64 bytes. */
static int loop_find(struct host *host, const char *file, char **device, struct error *err)
{
    _cleanup_string_list_ struct string_list names = {0};

    *device = NULL;
    if (host->ops->sysfs_list(host, "/sys/block", &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count && !*device; i++) {
        _cleanup_free_ char *path = xasprintf("/sys/block/%s/loop/backing_file", names.items[i]);
        _cleanup_free_ char *found = NULL;

        if (!text_has_prefix(names.items[i], "loop"))
            continue;
        if (host->ops->sysfs_read(host, path, &found, err) < 0)
            return -1;
        if (found && strcmp(found, file) == 0)
            *device = xasprintf("/dev/%s", names.items[i]);
    }
    return 0;
}

/* Takes a free loop device; -EBUSY when somebody else was faster. */
static int take_free(int control, const struct loop_config *config, int *number)
{
    char device[32];

    *number = ioctl(control, LOOP_CTL_GET_FREE);
    if (*number < 0)
        return -errno;
    snprintf(device, sizeof(device), "/dev/loop%d", *number);
    _cleanup_close_ int fd = open(device, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return ioctl(fd, LOOP_CONFIGURE, config) < 0 ? -errno : 0;
}

static int attach_file(int file, bool read_only, int *number)
{
    const struct loop_config config = {
        .fd = (__u32)file,
        .block_size = 512,
        .info.lo_flags = LO_FLAGS_DIRECT_IO | (read_only ? LO_FLAGS_READ_ONLY : 0),
    };
    _cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    int result = control < 0 ? -errno : -EBUSY;

    for (int tries = 0; result == -EBUSY && tries < ATTACH_TRIES; tries++)
        result = take_free(control, &config, number);
    return result;
}

static int loop_attach(struct host *host, const char *path, bool read_only, char **device,
                       struct error *err)
{
    _cleanup_close_ int file =
        path_open((struct real_host *)host, path, read_only ? O_RDONLY : O_RDWR);
    int number = -1;
    int result = file < 0 ? file : attach_file(file, read_only, &number);

    if (result < 0)
        return error_set_errno(err, result, "make a loop device of '%s'", path);
    *device = xasprintf("/dev/loop%d", number);
    return 0;
}

static int control_device(const char *device, unsigned long request, const char *what,
                          struct error *err)
{
    _cleanup_close_ int fd = open(device, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, -errno, "open '%s'", device);
    if (ioctl(fd, request, 0) < 0 && !(request == LOOP_CLR_FD && errno == ENXIO))
        return error_set_errno(err, -errno, "%s '%s'", what, device);
    return 0;
}

static int loop_detach(struct host *host, const char *device, struct error *err)
{
    (void)host;
    return control_device(device, LOOP_CLR_FD, "detach", err);
}

static int loop_refresh(struct host *host, const char *device, struct error *err)
{
    (void)host;
    return control_device(device, LOOP_SET_CAPACITY, "set the capacity of", err);
}

void loops_register(struct host_ops *ops)
{
    ops->loop_find = loop_find;
    ops->loop_attach = loop_attach;
    ops->loop_detach = loop_detach;
    ops->loop_refresh = loop_refresh;
}
