#include "common/rpc/endpoint.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"

/* "/.csi-" and eight digits behind the folder; see endpoint_prepare(). */
#define TEMPORARY_LENGTH 14
/* sun_path with its NUL byte */
#define PATH_LIMIT (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

static int check_length(const char *path, struct error *err)
{
    size_t folder = (size_t)(strrchr(path, '/') - path);
    size_t longest = folder + TEMPORARY_LENGTH;

    if (strlen(path) > longest)
        longest = strlen(path);
    if (longest > PATH_LIMIT)
        return error_set(
            err, STATUS_INVALID_ARGUMENT,
            "socket path '%s' is %zu bytes too long: the kernel allows %zu, a temporary "
            "name in the same folder included",
            path, longest - PATH_LIMIT, PATH_LIMIT);
    return 0;
}

int endpoint_parse(const char *endpoint, char **path, struct error *err)
{
    static const char url[] = "unix://";
    static const char scheme[] = "unix:";
    const char *rest = endpoint;

    if (text_has_prefix(endpoint, "tcp:"))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "endpoint '%s': the CSI specification allows unix sockets only; write "
                         "unix:///csi/csi.sock",
                         endpoint);
    if (text_has_prefix(endpoint, url))
        rest = endpoint + strlen(url);
    else if (text_has_prefix(endpoint, scheme))
        rest = endpoint + strlen(scheme);
    /* as Ceph-CSI does, what follows "unix://" is absolute, with or without a slash */
    bool is_relative = rest[0] != '/' && !text_has_prefix(endpoint, url);
    if (is_relative || rest[0] == '\0' || text_has_suffix(rest, "/"))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "endpoint '%s' names no socket; write unix:///csi/csi.sock", endpoint);
    _cleanup_free_ char *result = xasprintf("%s%s", rest[0] == '/' ? "" : "/", rest);
    if (check_length(result, err) < 0)
        return -1;
    *path = TAKE(result);
    return 0;
}

char *endpoint_target(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    _cleanup_text_ struct text target = TEXT_INIT(4 * PATH_LIMIT);

    text_add(&target, "unix:");
    for (const char *next = path; *next; next++) {
        if (strchr(plain, *next))
            text_add_bytes(&target, next, 1);
        else /* core reads the target as a URI */
            text_addf(&target, "%%%02X", (unsigned char)*next);
    }
    return text_take(&target);
}

static bool somebody_answers(const char *path)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, path, strlen(path));
    /* EAGAIN: its queue of connections is full, so it does listen */
    return fd >= 0 &&
           (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN);
}

int endpoint_prepare(struct endpoint_socket *socket, const char *path, struct error *err)
{
    size_t length = (size_t)(strrchr(path, '/') - path);
    _cleanup_free_ char *folder = xstrndup(path, length > 0 ? length : 1);
    uint32_t number = 0;
    struct stat status;

    /* core's bind() would fail too, but its reason is only in a log line */
    if (access(folder, W_OK | X_OK) < 0)
        return error_set_errno(err, -errno, "make a socket in folder '%s'", folder);
    if (lstat(path, &status) == 0) {
        if (!S_ISSOCK(status.st_mode))
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "'%s' exists and is not a socket; remove it", path);
        if (somebody_answers(path))
            log_warn(NULL,
                     "another process serves '%s'; new connections come here from now on, as in a "
                     "rolling update",
                     path);
    } else if (errno != ENOENT) {
        return error_set_errno(err, -errno, "look at socket '%s'", path);
    }
    /* In the same folder, for rename(); random, because process ids repeat between containers that
     * share it: two of them are 1 during a rolling update. */
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        number = (uint32_t)getpid();
    *socket = (struct endpoint_socket){
        .path = xstrdup(path),
        .temporary = xasprintf("%.*s/.csi-%08x", (int)length, path, number),
    };
    return 0;
}

int endpoint_publish(struct endpoint_socket *socket, struct error *err)
{
    struct stat status;

    if (lstat(socket->temporary, &status) < 0)
        return error_set_errno(err, -errno, "look at socket '%s'", socket->temporary);
    if (rename(socket->temporary, socket->path) < 0)
        return error_set_errno(err, -errno, "rename socket '%s' to '%s'", socket->temporary,
                               socket->path);
    socket->device = status.st_dev;
    socket->inode = status.st_ino;
    return 0;
}

void endpoint_withdraw(struct endpoint_socket *socket)
{
    struct stat status;

    if (socket->inode != 0 && lstat(socket->path, &status) == 0 &&
        status.st_dev == socket->device && status.st_ino == socket->inode)
        unlink(socket->path);
    socket->inode = 0;
}

void endpoint_done(struct endpoint_socket *socket)
{
    free(socket->path);
    free(socket->temporary);
    *socket = (struct endpoint_socket){0};
}
