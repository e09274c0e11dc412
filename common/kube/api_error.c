#include "common/kube/api_error.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"

/* Longer messages of admission webhooks exist; nobody reads that much in an event. */
#define MESSAGE_LIMIT 1024

static enum status status_of(long http_status, const char *reason)
{
    switch (http_status) {
    case 400:
    case 413:
    case 422:
        return STATUS_INVALID_ARGUMENT;
    case 401:
        return STATUS_UNAUTHENTICATED;
    case 403:
        return STATUS_PERMISSION_DENIED;
    case 404:
        return STATUS_NOT_FOUND;
    case 405:
        return STATUS_UNIMPLEMENTED;
    case 409:
        return strcmp(reason, "AlreadyExists") == 0 ? STATUS_ALREADY_EXISTS : STATUS_ABORTED;
    case 410:
        return STATUS_OUT_OF_RANGE;
    case 429: /* not RESOURCE_EXHAUSTED, on which the scheduler tries another node */
    case 502:
    case 503:
        return STATUS_UNAVAILABLE;
    case 504:
        return STATUS_DEADLINE_EXCEEDED;
    case 500:
        return STATUS_INTERNAL;
    default:
        return STATUS_UNKNOWN;
    }
}

/* The server's message on one line. Caller frees. */
static char *one_line(const char *message)
{
    char *line = xstrndup(message, MESSAGE_LIMIT);

    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    return line;
}

static int set_error(struct error *err, const char *request, long http_status, const json_t *status)
{
    const char *reason = kube_text(status, "reason", NULL);
    _cleanup_free_ char *message = one_line(kube_text(status, "message", NULL));
    _cleanup_free_ char *short_reason = one_line(reason);

    if (message[0] == '\0')
        return error_set(err, status_of(http_status, reason), "%s: HTTP status %ld without reason",
                         request, http_status);
    return error_set(err, status_of(http_status, reason), "%s: %ld %s: %s", request, http_status,
                     short_reason, message);
}

int api_error_set(struct error *err, const char *request, long http_status, const struct text *body)
{
    _cleanup_error_ struct error ignored = {0};
    json_auto_t *status = NULL;

    if (json_load_text(text_chars(body), body->length, "answer", &status, &ignored) < 0)
        status = NULL;
    return set_error(err, request, http_status, status);
}

int api_error_from_status(struct error *err, const char *request, const json_t *status)
{
    const json_t *code = json_object_get(status, "code");

    return set_error(err, request, json_is_integer(code) ? (long)json_integer_value(code) : 0,
                     status);
}
