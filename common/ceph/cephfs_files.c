/* Files and directories of CephFS, through the mounts of cephfs_mounts.h: fs_*() of ceph_ops.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/ceph/cephfs_mounts.h"

#define ATTRIBUTE_LIMIT 4096

struct real_fs {
    struct ceph_fs base;
    struct cephfs_mount *mount;
    struct admission_place place;
};

/* What one request works on; owned, as it may outlive its caller. */
struct file_request {
    struct mount_errand base;
    char *path;
    char *attribute;
    char *value; /* that is set, or was read */
    mode_t mode;
    struct fs_stat stat;
};

static int fs_open(struct ceph_cluster *cluster, struct call *call, const char *name,
                   struct ceph_fs **out, struct error *err)
{
    struct real_cluster *real = real_cluster(cluster);
    struct cephfs_mounts *mounts = connection_mounts(real->connection);
    const uint64_t gate = hash_field(hash_field(HASH_START, mounts->options.user), name);
    struct real_fs *fs = xcalloc(1, sizeof(*fs));

    if (admission_enter(real->ceph->filesystems, call, cluster->cluster_id, (int64_t)gate, name,
                        &fs->place, err) < 0) {
        free(fs);
        return -1;
    }
    if (cephfs_mounts_join(mounts, call, name, &fs->mount, err) < 0) {
        admission_leave(real->ceph->filesystems, &fs->place);
        free(fs);
        return -1;
    }
    fs->base = (struct ceph_fs){cluster->ops, cluster, xstrdup(name)};
    *out = &fs->base;
    return 0;
}

static void fs_close(struct ceph_fs *fs)
{
    struct real_fs *real = (struct real_fs *)fs;

    cephfs_mount_leave(real->mount);
    admission_leave(real_cluster(fs->cluster)->ceph->filesystems, &real->place);
    free_all(real->base.name, real);
}

/* --- requests --- */

static void release_file_request(struct errand *errand)
{
    struct file_request *request = (struct file_request *)errand;

    free_all(request->path, request->attribute, request->value, request);
}

static int ask_for_stat(struct ceph_mount_info *handle, struct mount_errand *errand)
{
    struct file_request *request = (struct file_request *)errand;
    struct ceph_statx stat = {0};
    /* all of it, although less is wanted: a nudge has to ask for what has changed */
    const int result =
        ceph_statx(handle, request->path, &stat, CEPH_STATX_BASIC_STATS, AT_SYMLINK_NOFOLLOW);

    request->stat = (struct fs_stat){S_ISDIR(stat.stx_mode), stat.stx_size};
    return result;
}

static struct mount_errand *make_nudge(const struct mount_errand *errand);

static struct file_request *new_file_request(int (*ask)(struct ceph_mount_info *handle,
                                                        struct mount_errand *errand),
                                             const char *path)
{
    struct file_request *request = xcalloc(1, sizeof(*request));

    errand_init(&request->base.errand, NULL, release_file_request);
    request->base.ask = ask;
    request->base.make_nudge = make_nudge;
    request->path = xstrdup(path);
    return request;
}

static struct mount_errand *make_nudge(const struct mount_errand *errand)
{
    return &new_file_request(ask_for_stat, ((const struct file_request *)errand)->path)->base;
}

/* Takes @request over if it fails. @verb is for messages. */
static int run_file_request(struct ceph_fs *fs, struct call *call, struct file_request *request,
                            const char *verb, struct error *err)
{
    const int64_t timeout_ms = real_cluster(fs->cluster)->ceph->options.mon_op_timeout_ms;
    _cleanup_free_ char *what = xasprintf("%s '%s'", verb, request->path);

    return cephfs_mount_run(((struct real_fs *)fs)->mount, call, &request->base, timeout_ms, what,
                            err);
}

static int stat_file(struct ceph_fs *fs, struct call *call, const char *path, struct fs_stat *stat,
                     struct error *err)
{
    struct file_request *request = new_file_request(ask_for_stat, path);

    if (run_file_request(fs, call, request, "look up", err) < 0)
        return -1;
    *stat = request->stat;
    errand_free(&request->base.errand);
    return 0;
}

/* The file's bytes in @content, which has room for one more than may be there. */
static int read_content(struct ceph_mount_info *handle, int file, char *content)
{
    int64_t length = 0;
    int result = 1;

    while (result > 0 && length <= (int64_t)FS_READ_LIMIT) {
        result =
            ceph_read(handle, file, content + length, (int64_t)FS_READ_LIMIT + 1 - length, length);
        length += result > 0 ? result : 0;
    }
    if (result < 0)
        return result;
    if (length > (int64_t)FS_READ_LIMIT)
        return -EFBIG;
    content[length] = '\0';
    return strlen(content) == (size_t)length ? 0 : -EILSEQ;
}

static int ask_for_content(struct ceph_mount_info *handle, struct mount_errand *errand)
{
    struct file_request *request = (struct file_request *)errand;
    const int file = ceph_open(handle, request->path, O_RDONLY | O_NOFOLLOW, 0);

    if (file < 0)
        return file;
    request->value = xmalloc(FS_READ_LIMIT + 2);
    const int result = read_content(handle, file, request->value);
    ceph_close(handle, file);
    return result;
}

static int read_file(struct ceph_fs *fs, struct call *call, const char *path, char **content,
                     struct error *err)
{
    struct file_request *request = new_file_request(ask_for_content, path);

    if (run_file_request(fs, call, request, "read", err) < 0)
        return -1;
    *content = xstrdup(request->value);
    errand_free(&request->base.errand);
    return 0;
}

static int ask_for_attribute(struct ceph_mount_info *handle, struct mount_errand *errand)
{
    struct file_request *request = (struct file_request *)errand;

    request->value = xcalloc(ATTRIBUTE_LIMIT + 1, 1);
    return ceph_lgetxattr(handle, request->path, request->attribute, request->value,
                          ATTRIBUTE_LIMIT);
}

static int get_attribute(struct ceph_fs *fs, struct call *call, const char *path,
                         const char *attribute, char **value, struct error *err)
{
    struct file_request *request = new_file_request(ask_for_attribute, path);

    request->attribute = xstrdup(attribute);
    if (run_file_request(fs, call, request, "read an attribute of", err) < 0)
        return error_wrap(err, "%s", attribute);
    *value = TAKE(request->value);
    errand_free(&request->base.errand);
    return 0;
}

static int ask_to_set_attribute(struct ceph_mount_info *handle, struct mount_errand *errand)
{
    struct file_request *request = (struct file_request *)errand;

    return ceph_lsetxattr(handle, request->path, request->attribute, request->value,
                          strlen(request->value), 0);
}

static int set_attribute(struct ceph_fs *fs, struct call *call, const char *path,
                         const char *attribute, const char *value, struct error *err)
{
    struct file_request *request = new_file_request(ask_to_set_attribute, path);

    request->attribute = xstrdup(attribute);
    request->value = xstrdup(value);
    if (run_file_request(fs, call, request, "set an attribute of", err) < 0)
        return error_wrap(err, "%s", attribute);
    errand_free(&request->base.errand);
    return 0;
}

static int ask_to_make_directory(struct ceph_mount_info *handle, struct mount_errand *errand)
{
    struct file_request *request = (struct file_request *)errand;

    return ceph_mkdir(handle, request->path, request->mode);
}

static int make_directory(struct ceph_fs *fs, struct call *call, const char *path, unsigned mode,
                          struct error *err)
{
    struct file_request *request = new_file_request(ask_to_make_directory, path);

    request->mode = (mode_t)mode;
    if (run_file_request(fs, call, request, "make directory", err) < 0)
        return -1;
    errand_free(&request->base.errand);
    return 0;
}

void cephfs_files_register(struct ceph_ops *ops)
{
    ops->fs_open = fs_open;
    ops->fs_close = fs_close;
    ops->fs_stat = stat_file;
    ops->fs_read = read_file;
    ops->fs_get_attribute = get_attribute;
    ops->fs_set_attribute = set_attribute;
    ops->fs_make_directory = make_directory;
}
