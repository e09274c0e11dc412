/* Files and folders, each reached through its parent's descriptor: see paths.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/encoding/uuid.h"
#include "common/linux/host_internal.h"

#define LIST_LIMIT 65536 /* names in one folder */
#define CGROUP_FOLDER "/sys/fs/cgroup"
#define TEXT_FILE_LIMIT ((size_t)64 * 1024)

/* Reads a descriptor to its end; negative errno, -EFBIG beyond TEXT_FILE_LIMIT. */
static int read_file(int fd, char **text)
{
    _cleanup_text_ struct text content = TEXT_INIT(TEXT_FILE_LIMIT);
    int result = text_read_fd(&content, fd);

    if (result < 0)
        return result;
    if (content.truncated)
        return -EFBIG;
    *text = text_take(&content);
    return 0;
}

static enum path_kind kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return PATH_DIRECTORY;
    if (S_ISREG(mode))
        return PATH_FILE;
    return S_ISBLK(mode) ? PATH_BLOCK_DEVICE : PATH_OTHER;
}

/* The number that the mount table has for the mount on which @fd is (Linux 3.15), or a negative
 * errno. */
static int mount_number(int fd)
{
    _cleanup_free_ char *path = xasprintf("/proc/self/fdinfo/%d", fd);
    _cleanup_free_ char *text = NULL;
    _cleanup_close_ int facts = open(path, O_RDONLY | O_CLOEXEC);
    int result = facts < 0 ? -errno : read_file(facts, &text);
    const char *line = text ? strstr(text, "mnt_id:") : NULL;
    int number = 0;

    if (result < 0)
        return result;
    return line && sscanf(line, "mnt_id: %d", &number) == 1 && number >= 0 ? number : -ENOTSUP;
}

/* Kernels before 5.8 do not say it: @fd, which is in the folder @parent, is on another mount. (Not
 * on another device: a bind may show the same one.) */
static int find_mount_point(const struct statx *stat, int parent, int fd, bool *is_mount_point)
{
    if (stat->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) {
        *is_mount_point = stat->stx_attributes & STATX_ATTR_MOUNT_ROOT;
        return 0;
    }
    const int number = fd < 0 ? fd : mount_number(fd);
    const int around = number < 0 ? number : mount_number(parent);
    *is_mount_point = number != around;
    return around < 0 ? around : 0;
}

static int look_at_path(struct host *host, const char *path, struct path_facts *facts,
                        struct error *err)
{
    const char *name = NULL;
    struct statvfs mount;
    struct statx stat;
    _cleanup_close_ int parent = path_open_parent((struct real_host *)host, path, &name);

    *facts = (struct path_facts){.kind = PATH_ABSENT};
    if (parent == -ENOENT)
        return 0;
    if (parent < 0)
        return error_set_errno(err, parent, "look at '%s'", path);
    if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &stat) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, -errno, "look at '%s'", path);
    if (S_ISLNK(stat.stx_mode))
        return error_set_errno(err, -ELOOP, "look at '%s', which is a link", path);
    facts->kind = kind_of(stat.stx_mode);
    facts->device = S_ISBLK(stat.stx_mode) ? makedev(stat.stx_rdev_major, stat.stx_rdev_minor)
                                           : makedev(stat.stx_dev_major, stat.stx_dev_minor);
    facts->size_bytes = stat.stx_size;
    _cleanup_close_ int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int result = find_mount_point(&stat, parent, fd < 0 ? -errno : fd, &facts->is_mount_point);
    if (result < 0)
        return error_set_errno(err, result, "find out whether '%s' is a mount point", path);
    if (fd >= 0 && fstatvfs(fd, &mount) == 0)
        facts->is_read_only = mount.f_flag & ST_RDONLY;
    return 0;
}

/* Something is there already: fine if it is of the right kind. */
static int check_kind(struct host *host, const char *path, enum path_kind wanted, struct error *err)
{
    struct path_facts facts;

    if (look_at_path(host, path, &facts, err) < 0)
        return -1;
    if (facts.kind == wanted)
        return 0;
    return error_set(err, STATUS_ALREADY_EXISTS, "'%s' exists and is no %s", path,
                     wanted == PATH_DIRECTORY ? "folder" : "plain file");
}

static int make_directory(struct host *host, const char *path, mode_t mode, struct error *err)
{
    const char *name = NULL;
    _cleanup_close_ int parent = path_open_parent((struct real_host *)host, path, &name);

    if (parent < 0)
        return error_set_errno(err, parent, "make folder '%s'", path);
    if (mkdirat(parent, name, mode) == 0)
        return 0;
    if (errno == EEXIST)
        return check_kind(host, path, PATH_DIRECTORY, err);
    return error_set_errno(err, -errno, "make folder '%s'", path);
}

static int make_file(struct host *host, const char *path, mode_t mode, struct error *err)
{
    const char *name = NULL;
    _cleanup_close_ int parent = path_open_parent((struct real_host *)host, path, &name);

    if (parent < 0)
        return error_set_errno(err, parent, "make file '%s'", path);
    _cleanup_close_ int fd =
        openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0)
        return 0;
    if (errno == EEXIST)
        return check_kind(host, path, PATH_FILE, err);
    return error_set_errno(err, -errno, "make file '%s'", path);
}

static int remove_path(struct host *host, const char *path, struct error *err)
{
    const char *name = NULL;
    _cleanup_close_ int parent = path_open_parent((struct real_host *)host, path, &name);

    if (parent == -ENOENT)
        return 0;
    if (parent < 0)
        return error_set_errno(err, parent, "remove '%s'", path);
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno == EISDIR && (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT))
        return 0;
    int failed = -errno;
    error_set_errno(err, failed, "remove '%s'", path);
    if (failed == -ENOTEMPTY || failed == -EBUSY)
        error_recode(err, STATUS_FAILED_PRECONDITION);
    return -1;
}

static int add_names(int fd, struct string_list *names)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry = NULL;

    if (!folder) {
        int failed = -errno;

        close(fd);
        return failed;
    }
    while (names->count < LIST_LIMIT && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            string_list_add(names, entry->d_name);
    closedir(folder);
    return 0;
}

static int list_folder(struct host *host, const char *path, struct string_list *names,
                       struct error *err)
{
    int fd = path_open((struct real_host *)host, path, O_RDONLY | O_DIRECTORY);

    if (fd == -ENOENT)
        return 0;
    int result = fd < 0 ? fd : add_names(fd, names);
    return result < 0 ? error_set_errno(err, result, "list '%s'", path) : 0;
}

static int read_text(struct host *host, const char *path, char **text, struct error *err)
{
    _cleanup_close_ int fd = path_open((struct real_host *)host, path, O_RDONLY | O_NONBLOCK);

    *text = NULL;
    if (fd == -ENOENT)
        return 0;
    int result = fd < 0 ? fd : read_file(fd, text);
    return result < 0 ? error_set_errno(err, result, "read '%s'", path) : 0;
}

/* A new file beside the old one takes its place when it is whole and on disk. */
static int replace_file(int parent, const char *name, const char *text)
{
    _cleanup_free_ char *temporary = xasprintf(".%s.new", name);

    unlinkat(parent, temporary, 0); /* of an interrupted write */
    _cleanup_close_ int fd =
        openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int result = text_write_fd(fd, text, strlen(text));
    if (result == 0 && (fsync(fd) < 0 || renameat(parent, temporary, parent, name) < 0))
        result = -errno;
    if (result == 0) {
        /* @parent is a path only; to write its entries to disk it has to be open for reading */
        _cleanup_close_ int folder = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (folder < 0 || fsync(folder) < 0)
            result = -errno;
    }
    if (result < 0)
        unlinkat(parent, temporary, 0);
    return result;
}

static int write_text(struct host *host, const char *path, const char *text, struct error *err)
{
    const char *name = NULL;
    _cleanup_close_ int parent = path_open_parent((struct real_host *)host, path, &name);
    int result = parent < 0 ? parent : replace_file(parent, name, text);

    return result < 0 ? error_set_errno(err, result, "write '%s'", path) : 0;
}

/* The folder is ours alone; its parents are the operator's. */
static int make_key_dir(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT)
        return -errno;
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return -ENOENT;
    _cleanup_free_ char *parent = xstrndup(path, (size_t)(slash - path));
    if (mkdir(parent, 0755) < 0 && errno != EEXIST)
        return -errno;
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int write_key(struct host *host, const struct secret *key, char **path, struct error *err)
{
    const struct real_host *real = (struct real_host *)host;
    struct uuid_text name = uuid_text_generate();
    _cleanup_free_ char *file = xasprintf("%s/keyfile-%s", real->key_dir, name.chars);
    int result = make_key_dir(real->key_dir);

    if (result < 0)
        return error_set_errno(err, result, "make folder '%s'", real->key_dir);
    _cleanup_close_ int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    result = fd < 0 ? -errno : text_write_fd(fd, secret_reveal(key), key->length);
    if (result < 0) {
        unlink(file);
        return error_set_errno(err, result, "write a key file in '%s'", real->key_dir);
    }
    *path = TAKE(file);
    return 0;
}

/* Not the name of a file in it but the folder itself, so that nothing stays behind. */
static int lock_folder(struct host *host, const char *path, int *fd, struct error *err)
{
    _cleanup_close_ int folder = path_open((struct real_host *)host, path, O_RDONLY | O_DIRECTORY);

    if (folder < 0)
        return error_set_errno(err, folder, "open '%s'", path);
    if (flock(folder, LOCK_EX | LOCK_NB) == 0)
        *fd = TAKE_FD(folder);
    else if (errno == EWOULDBLOCK)
        *fd = -1;
    else
        return error_set_errno(err, -errno, "lock '%s'", path);
    return 0;
}

static int set_group(struct host *host, const char *path, gid_t group, struct error *err)
{
    struct stat stat;
    _cleanup_close_ int fd =
        path_open((struct real_host *)host, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

    if (fd < 0)
        return error_set_errno(err, fd, "open '%s'", path);
    if (fstat(fd, &stat) < 0 || fchown(fd, (uid_t)-1, group) < 0 ||
        fchmod(fd, (stat.st_mode & 07777) | S_ISGID | S_IRWXG) < 0)
        return error_set_errno(err, -errno, "give '%s' to group %u", path, group);
    return 0;
}

static int set_size(struct host *host, const char *path, uint64_t size_bytes, struct error *err)
{
    _cleanup_close_ int fd = path_open((struct real_host *)host, path, O_WRONLY);

    if (fd < 0)
        return error_set_errno(err, fd, "open '%s'", path);
    if (ftruncate(fd, (off_t)size_bytes) < 0)
        return error_set_errno(err, -errno, "set the size of '%s'", path);
    return 0;
}

static int read_usage(struct host *host, const char *path, struct usage *usage, struct error *err)
{
    struct statvfs found;
    _cleanup_close_ int fd = path_open((struct real_host *)host, path, O_PATH);

    if (fd < 0)
        return error_set_errno(err, fd, "open '%s'", path);
    if (fstatvfs(fd, &found) < 0)
        return error_set_errno(err, -errno, "ask for the usage of '%s'", path);
    uint64_t used_blocks = found.f_blocks > found.f_bfree ? found.f_blocks - found.f_bfree : 0;
    *usage = (struct usage){
        .total_bytes = found.f_blocks * found.f_frsize,
        .used_bytes = used_blocks * found.f_frsize,
        .available_bytes = found.f_bavail * found.f_frsize,
        .total_inodes = found.f_files,
        .used_inodes = found.f_files > found.f_ffree ? found.f_files - found.f_ffree : 0,
        .available_inodes = found.f_ffree,
    };
    return 0;
}

static int ask_folder(struct host *host, const char *path, struct error *err)
{
    struct statx stat;
    _cleanup_close_ int fd = path_open((struct real_host *)host, path, O_PATH | O_DIRECTORY);

    if (fd < 0)
        return error_set_errno(err, fd, "open '%s'", path);
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stat) < 0)
        return error_set_errno(err, -errno, "ask the file system of '%s'", path);
    return 0;
}

static int trim(struct host *host, const char *path, uint64_t start, uint64_t length,
                uint64_t *freed_bytes, struct error *err)
{
    struct fstrim_range range = {.start = start, .len = length};
    _cleanup_close_ int fd = path_open((struct real_host *)host, path, O_RDONLY | O_DIRECTORY);

    if (fd < 0)
        return error_set_errno(err, fd, "open '%s'", path);
    if (ioctl(fd, FITRIM, &range) == 0) {
        *freed_bytes = range.len;
        return 0;
    }
    const bool is_unable = errno == EOPNOTSUPP || errno == ENOTTY;
    error_set_errno(err, -errno, "discard unused blocks of the file system at '%s'", path);
    return is_unable ? error_recode(err, STATUS_UNIMPLEMENTED) : -1;
}

/* --- /sys --- */

static int sysfs_read(struct host *host, const char *path, char **text, struct error *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    (void)host;
    *text = NULL;
    if (fd < 0)
        return errno == ENOENT || errno == ENXIO ? 0
                                                 : error_set_errno(err, -errno, "open '%s'", path);
    int result = read_file(fd, text);
    if (result == -ENXIO || result == -ENODEV) /* the device went meanwhile */
        return 0;
    if (result < 0)
        return error_set_errno(err, result, "read '%s'", path);
    (*text)[strcspn(*text, "\n")] = '\0';
    return 0;
}

static int sysfs_list(struct host *host, const char *path, struct string_list *names,
                      struct error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)host;
    if (fd < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, -errno, "list '%s'", path);
    int result = add_names(fd, names);
    return result < 0 ? error_set_errno(err, result, "list '%s'", path) : 0;
}

static int sysfs_write(struct host *host, const char *path, const struct secret *text,
                       struct error *err)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

    (void)host;
    if (fd < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    if (write(fd, secret_reveal(text), text->length) < 0)
        return error_set_errno(err, -errno, "write to '%s'", path);
    return 0;
}

/* --- cgroups --- */

/* The descriptor, or a negative errno; -ENOENT for what is not of the second hierarchy. */
static int cgroup_open(const char *path, int flags)
{
    struct statfs facts;
    _cleanup_close_ int fd = path_open_beneath(CGROUP_FOLDER, path, flags);

    if (fd < 0)
        return fd;
    if (fstatfs(fd, &facts) < 0)
        return -errno;
    return facts.f_type == CGROUP2_SUPER_MAGIC ? TAKE_FD(fd) : -ENOENT;
}

static int cgroup_read(struct host *host, const char *path, char **text, struct error *err)
{
    _cleanup_close_ int fd = cgroup_open(path, O_RDONLY);
    int result = fd;

    (void)host;
    *text = NULL;
    if (fd >= 0)
        result = read_file(fd, text);
    if (result >= 0 || result == -ENOENT || result == -ENODEV) /* -ENODEV: it went meanwhile */
        return 0;
    return error_set_errno(err, result, "read '" CGROUP_FOLDER "/%s'", path);
}

static int cgroup_write(struct host *host, const char *path, const char *text, struct error *err)
{
    _cleanup_close_ int fd = cgroup_open(path, O_WRONLY);
    int result = fd;

    (void)host;
    if (fd >= 0)
        result = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    if (result >= 0)
        return 0;
    return error_set_errno(err, result, "write '%s' to '" CGROUP_FOLDER "/%s'", text, path);
}

void files_register(struct host_ops *ops)
{
    ops->look = look_at_path;
    ops->make_directory = make_directory;
    ops->make_file = make_file;
    ops->remove = remove_path;
    ops->list = list_folder;
    ops->read_text = read_text;
    ops->write_text = write_text;
    ops->write_key = write_key;
    ops->lock_folder = lock_folder;
    ops->set_group = set_group;
    ops->set_size = set_size;
    ops->usage = read_usage;
    ops->ask_folder = ask_folder;
    ops->trim = trim;
    ops->sysfs_read = sysfs_read;
    ops->sysfs_list = sysfs_list;
    ops->sysfs_write = sysfs_write;
    ops->cgroup_read = cgroup_read;
    ops->cgroup_write = cgroup_write;
}
