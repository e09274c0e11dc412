#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"

/* Stops when @content is full. */
static int read_all(int fd, struct text *content, struct error *err)
{
    _cleanup_free_ char *buffer = xmalloc(BUFSIZ);
    ssize_t count = 0;

    do {
        count = TEMP_FAILURE_RETRY(read(fd, buffer, BUFSIZ));
        if (count > 0)
            text_add_bytes(content, buffer, (size_t)count);
    } while (count > 0 && !content->truncated);
    explicit_bzero(buffer, BUFSIZ); /* tokens and keys are files, too */
    return count < 0 ? error_set_errno(err, -errno, "read") : 0;
}

int file_read(const char *path, struct text *content, struct error *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    if (read_all(fd, content, err) < 0)
        return error_wrap(err, "'%s'", path);
    if (content->truncated)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is larger than %zu bytes", path,
                         content->limit);
    return 0;
}
