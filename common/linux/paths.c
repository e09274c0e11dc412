/*
 * Resolving paths that somebody else chose. kubelet gives us paths in folders into which pods may
 * be able to write; a link planted there must not lead a process with root's rights elsewhere. The
 * kernel does it in one call, openat2() (Linux 5.6); before that the path is walked part by part.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/host_internal.h"

/* One part after the other, each opened without following it. */
static int walk_path(int root, const char *path, int flags)
{
    _cleanup_free_ char *parts = xstrdup(path);
    _cleanup_close_ int folder = fcntl(root, F_DUPFD_CLOEXEC, 0);
    char *rest = NULL;
    char *part = strtok_r(parts, "/", &rest);

    if (folder < 0)
        return -errno;
    for (char *next = NULL; part; part = next) {
        next = strtok_r(NULL, "/", &rest);
        if (strcmp(part, "..") == 0)
            return -EXDEV;
        int fd =
            openat(folder, part, (next ? O_PATH | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) /* what is no folder although more follows may be a link */
            return next && errno == ENOTDIR ? -ELOOP : -errno;
        close(folder);
        folder = fd;
    }
    return TAKE_FD(folder);
}

static int open_beneath(int root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    const char *relative = path + strspn(path, "/");
    long fd = syscall(SYS_openat2, root, relative[0] ? relative : ".", &how, sizeof(how));

    if (fd >= 0)
        return (int)fd;
    return errno == ENOSYS ? walk_path(root, relative, flags) : -errno;
}

/* The part of @path beneath the kubelet's folder, or NULL if it is elsewhere. */
static const char *beneath_kubelet(const struct real_host *host, const char *path)
{
    size_t length = strlen(host->kubelet_dir);

    if (length == 0 || !text_has_prefix(path, host->kubelet_dir))
        return NULL;
    return path[length] == '/' || path[length] == '\0' ? path + length : NULL;
}

int path_open(const struct real_host *host, const char *path, int flags)
{
    const char *relative = beneath_kubelet(host, path);
    _cleanup_close_ int root = open(relative ? host->kubelet_dir : "/", O_PATH | O_CLOEXEC);

    if (path[0] != '/' || strlen(path) >= PATH_MAX)
        return path[0] != '/' ? -EINVAL : -ENAMETOOLONG;
    if (root < 0)
        return -errno;
    return open_beneath(root, relative ? relative : path, flags);
}

int path_open_beneath(const char *root, const char *path, int flags)
{
    _cleanup_close_ int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return folder < 0 ? -errno : open_beneath(folder, path, flags);
}

int path_open_parent(const struct real_host *host, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');

    if (!slash || slash[1] == '\0' || strcmp(slash + 1, "..") == 0 || strcmp(slash + 1, ".") == 0)
        return -EINVAL;
    _cleanup_free_ char *parent = xstrndup(path, (size_t)(slash - path) + (slash == path));
    *name = slash + 1;
    return path_open(host, parent, O_PATH | O_DIRECTORY);
}
