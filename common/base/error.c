#include "common/base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

static const char *const STATUS_NAMES[] = {
    [STATUS_OK] = "OK",
    [STATUS_CANCELLED] = "CANCELLED",
    [STATUS_UNKNOWN] = "UNKNOWN",
    [STATUS_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [STATUS_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
    [STATUS_NOT_FOUND] = "NOT_FOUND",
    [STATUS_ALREADY_EXISTS] = "ALREADY_EXISTS",
    [STATUS_PERMISSION_DENIED] = "PERMISSION_DENIED",
    [STATUS_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
    [STATUS_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
    [STATUS_ABORTED] = "ABORTED",
    [STATUS_OUT_OF_RANGE] = "OUT_OF_RANGE",
    [STATUS_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [STATUS_INTERNAL] = "INTERNAL",
    [STATUS_UNAVAILABLE] = "UNAVAILABLE",
    [STATUS_DATA_LOSS] = "DATA_LOSS",
    [STATUS_UNAUTHENTICATED] = "UNAUTHENTICATED",
};

const char *status_name(enum status status)
{
    if ((size_t)status >= ARRAY_LENGTH(STATUS_NAMES))
        return "UNKNOWN";
    return STATUS_NAMES[status];
}

bool status_is_final(enum status status)
{
    return status != STATUS_CANCELLED && status != STATUS_DEADLINE_EXCEEDED &&
           status != STATUS_UNAVAILABLE && status != STATUS_ABORTED;
}

static enum status status_of_errno(int positive_errno)
{
    switch (positive_errno) {
    case ENOENT:
        return STATUS_NOT_FOUND;
    case EEXIST:
        return STATUS_ALREADY_EXISTS;
    case ENOSPC:
    case EDQUOT:
        return STATUS_RESOURCE_EXHAUSTED;
    case ESHUTDOWN: /* this client is on the OSDs' blocklist: the next connection works */
        return STATUS_UNAVAILABLE;
    case ETIMEDOUT:
        return STATUS_DEADLINE_EXCEEDED;
    case EPERM:
    case EACCES:
        return STATUS_PERMISSION_DENIED;
    case EINVAL:
        return STATUS_INVALID_ARGUMENT;
    case EBUSY:
        return STATUS_FAILED_PRECONDITION;
    default:
        return STATUS_INTERNAL;
    }
}

int error_set(struct error *err, enum status status, const char *fmt, ...)
{
    assert(!err->message && status != STATUS_OK);
    *err = (struct error){.status = status, .message = xformat_arguments(fmt)};
    return -1;
}

int error_set_errno(struct error *err, int negative_errno, const char *fmt, ...)
{
    int number = negative_errno < 0 ? -negative_errno : negative_errno;

    assert(!err->message && number != 0);
    _cleanup_free_ char *text = xformat_arguments(fmt);
    /* strerrordesc_np, unlike strerror, is thread-safe and never translated; NULL if unknown */
    const char *reason = strerrordesc_np(number);
    *err = (struct error){
        .status = status_of_errno(number),
        .sys_errno = number,
        .message = reason ? xasprintf("%s: %s", text, reason)
                          : xasprintf("%s: error number %d", text, number),
    };
    return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
    assert(err->message);
    _cleanup_free_ char *context = xformat_arguments(fmt);
    char *message = xasprintf("%s: %s", context, err->message);
    free(err->message);
    err->message = message;
    return -1;
}

int error_hint(struct error *err, const char *fmt, ...)
{
    assert(err->message);
    _cleanup_free_ char *hint = xformat_arguments(fmt);
    char *message = xasprintf("%s; %s", err->message, hint);
    free(err->message);
    err->message = message;
    return -1;
}

int error_recode(struct error *err, enum status status)
{
    assert(err->message && status != STATUS_OK);
    err->status = status;
    return -1;
}

int error_ignore(struct error *err, enum status status)
{
    if (err->status != status)
        return -1;
    error_clear(err);
    return 0;
}

void error_clear(struct error *err)
{
    free(err->message);
    *err = (struct error){0};
}

int error_move(struct error *to, struct error *from)
{
    assert(!to->message && from->message);
    *to = *from;
    *from = (struct error){0};
    return -1;
}
