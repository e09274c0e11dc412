/* Block devices: what they are and what is on them. */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/linux/host_internal.h"

#define MIB ((size_t)1024 * 1024)
#define HEAD_BYTES 2048 /* an ext's boot block and superblock, or the superblock of an xfs */
#define DEVICE_READ_BYTES ((size_t)4096) /* alignment and size of a direct read */

static int open_device(const char *device, int flags)
{
    struct stat stat;
    int fd = open(device, flags | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &stat) == 0 && S_ISBLK(stat.st_mode))
        return fd;
    close(fd);
    return -ENOTBLK;
}

static int read_facts(int fd, struct device_facts *facts)
{
    struct stat stat;
    int read_only = 0;

    if (fstat(fd, &stat) < 0 || ioctl(fd, BLKGETSIZE64, &facts->size_bytes) < 0 ||
        ioctl(fd, BLKROGET, &read_only) < 0)
        return -errno;
    facts->number = stat.st_rdev;
    facts->is_read_only = read_only;
    return 0;
}

static int device_facts(struct host *host, const char *device, struct device_facts *facts,
                        struct error *err)
{
    _cleanup_close_ int fd = open_device(device, O_RDONLY | O_NONBLOCK);
    int result = fd < 0 ? fd : read_facts(fd, facts);

    (void)host;
    return result < 0 ? error_set_errno(err, result, "look at device '%s'", device) : 0;
}

/* --- what is on it --- */

/* A number in a superblock: ext puts the lowest byte first, xfs the highest. */
static uint64_t little_at(const unsigned char *superblock, size_t offset, size_t width)
{
    uint64_t number = 0;

    for (size_t i = width; i > 0; i--)
        number = number << 8 | superblock[offset + i - 1];
    return number;
}

static uint64_t big_at(const unsigned char *superblock, size_t offset, size_t width)
{
    uint64_t number = 0;

    for (size_t i = 0; i < width; i++)
        number = number << 8 | superblock[offset + i];
    return number;
}

/* The superblock's own count: libblkid 2.38 does not report it. Offsets as on disk. */
static uint64_t ext_bytes(const unsigned char *superblock)
{
    const uint64_t order = little_at(superblock, 0x18, 4);
    uint64_t blocks = little_at(superblock, 0x4, 4);

    if (order > 6)
        return 0;
    if (little_at(superblock, 0x60, 4) & 0x80) /* else there is no high half */
        blocks |= little_at(superblock, 0x150, 4) << 32;
    return blocks << (10 + order);
}

static uint64_t xfs_bytes(const unsigned char *superblock)
{
    return big_at(superblock, 4, 4) * big_at(superblock, 8, 8);
}

/* Every mount for writing counts itself and notes the time; a check resets the count only. */
static bool ext_is_never_mounted(const unsigned char *superblock)
{
    return little_at(superblock, 0x2c, 4) == 0 /* time of the last mount */ &&
           little_at(superblock, 0x34, 2) == 0 /* number of mounts */ &&
           superblock[0x88] == 0 /* where it was mounted last */ &&
           !(little_at(superblock, 0x60, 4) & 0x4); /* its journal is to be replayed */
}

/* mkfs.xfs writes its superblock first, marked as in progress, with which the kernel mounts
 * nothing, and removes the mark last. A complete xfs does not tell whether it was ever mounted. */
static bool xfs_is_never_mounted(const unsigned char *superblock)
{
    return superblock[126] != 0;
}

/* What libblkid does not report. */
static int read_head(int fd, struct device_content *content)
{
    unsigned char head[4096] = {0};

    if (pread(fd, head, sizeof(head), 0) < 0)
        return -errno;
    /* equal to itself one byte further: all bytes are the first one */
    content->is_head_zero = head[0] == 0 && memcmp(head, head + 1, HEAD_BYTES - 1) == 0;
    if (strncmp(content->fs_type, "ext", 3) == 0) {
        content->fs_bytes = ext_bytes(head + 1024);
        content->is_never_mounted = ext_is_never_mounted(head + 1024);
    } else if (strcmp(content->fs_type, "xfs") == 0) {
        content->fs_bytes = xfs_bytes(head);
        content->is_never_mounted = xfs_is_never_mounted(head);
    }
    return 0;
}

static void copy_value(blkid_probe probe, const char *name, char *to)
{
    const char *value = NULL;

    if (blkid_probe_lookup_value(probe, name, &value, NULL) == 0)
        snprintf(to, CONTENT_NAME_MAX, "%s", value);
}

static int probe_content(int fd, struct device_content *content)
{
    blkid_probe probe = blkid_new_probe();

    if (!probe || blkid_probe_set_device(probe, fd, 0, 0) < 0) {
        blkid_free_probe(probe);
        return -EIO;
    }
    blkid_probe_enable_superblocks(probe, 1);
    blkid_probe_set_superblocks_flags(probe,
                                      BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_UUID);
    blkid_probe_enable_partitions(probe, 1);
    int found = blkid_do_safeprobe(probe); /* 0 found, 1 nothing, -2 ambivalent, -1 error */
    copy_value(probe, "TYPE", content->fs_type);
    copy_value(probe, "UUID", content->fs_uuid);
    copy_value(probe, "PTTYPE", content->partition_table);
    blkid_free_probe(probe);
    content->is_ambivalent = found == -2;
    return found == -1 ? -EIO : 0;
}

static int device_content(struct host *host, const char *device, struct device_content *content,
                          struct error *err)
{
    _cleanup_close_ int fd = open_device(device, O_RDONLY);
    int result = fd < 0 ? fd : 0;

    (void)host;
    *content = (struct device_content){0};
    if (fd >= 0)
        result = probe_content(fd, content);
    if (result == 0)
        result = read_head(fd, content);
    return result < 0 ? error_set_errno(err, result, "find out what is on '%s'", device) : 0;
}

static int read_is_zero(int fd, uint64_t offset, size_t length, bool *is_zero)
{
    _cleanup_free_ char *bytes = xmalloc(length);

    for (size_t done = 0; done < length;) {
        ssize_t got = pread(fd, bytes + done, length - done, (off_t)(offset + done));

        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        done += (size_t)got;
    }
    /* equal to itself one byte further: all bytes are the first one */
    *is_zero = length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
    return 0;
}

static int device_is_zero(struct host *host, const char *device, bool *is_zero, struct error *err)
{
    struct device_facts facts = {0};
    _cleanup_close_ int fd = open_device(device, O_RDONLY);
    int result = fd < 0 ? fd : read_facts(fd, &facts);
    size_t length = facts.size_bytes < MIB ? (size_t)facts.size_bytes : MIB;

    (void)host;
    if (result == 0)
        result = read_is_zero(fd, 0, length, is_zero);
    if (result == 0 && *is_zero)
        result = read_is_zero(fd, facts.size_bytes - length, length, is_zero);
    return result < 0 ? error_set_errno(err, result, "read the ends of '%s'", device) : 0;
}

static int device_read(struct host *host, const char *device, struct error *err)
{
    _cleanup_close_ int fd = open_device(device, O_RDONLY | O_DIRECT);
    _cleanup_free_ void *block = NULL;

    (void)host;
    if (fd < 0)
        return error_set_errno(err, fd, "open device '%s'", device);
    if (posix_memalign(&block, DEVICE_READ_BYTES, DEVICE_READ_BYTES) != 0)
        return error_set_errno(err, -ENOMEM, "read device '%s'", device);
    if (pread(fd, block, DEVICE_READ_BYTES, 0) < 0)
        return error_set_errno(err, -errno, "read device '%s'", device);
    return 0;
}

void devices_register(struct host_ops *ops)
{
    ops->device_facts = device_facts;
    ops->device_content = device_content;
    ops->device_is_zero = device_is_zero;
    ops->device_read = device_read;
}
