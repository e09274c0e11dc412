#include "common/kube/watch_stream.h"

#include <string.h>

#include "common/encoding/json.h"
#include "common/kube/api_error.h"
#include "common/kube/kube.h"

static const char *const KINDS[] = {[KUBE_ADDED] = "ADDED",
                                    [KUBE_MODIFIED] = "MODIFIED",
                                    [KUBE_DELETED] = "DELETED",
                                    [KUBE_BOOKMARK] = "BOOKMARK"};

static int give_event(struct watch_stream *stream, const json_t *event, struct error *err)
{
    const char *type = kube_text(event, "type", NULL);
    json_t *item = json_object_get(event, "object");

    if (!json_is_object(item))
        return error_set(err, STATUS_UNAVAILABLE, "%s: an event without an object",
                         stream->request);
    if (strcmp(type, "ERROR") == 0)
        return api_error_from_status(err, stream->request, item);
    for (size_t i = 0; i < ARRAY_LENGTH(KINDS); i++)
        if (strcmp(type, KINDS[i]) == 0)
            return stream->event(stream->object, (enum kube_event_kind)i, item, err);
    return 0; /* of a type that a later Kubernetes has added */
}

static int give_line(struct watch_stream *stream, struct error *err)
{
    json_auto_t *event = NULL;

    if (stream->line.length == 0)
        return 0;
    int result =
        json_load_large(stream->line.chars, stream->line.length, stream->request, &event, err);
    text_done(&stream->line);
    if (result < 0)
        return error_recode(err, STATUS_UNAVAILABLE);
    return give_event(stream, event, err);
}

int watch_stream_feed(struct watch_stream *stream, const char *bytes, size_t length,
                      struct error *err)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t piece = end ? (size_t)(end - bytes) : length;

        text_add_bytes(&stream->line, bytes, piece);
        if (stream->line.truncated)
            return error_set(err, STATUS_UNAVAILABLE, "%s: an event of more than %zu bytes",
                             stream->request, WATCH_LINE_LIMIT);
        if (!end)
            return 0;
        if (give_line(stream, err) < 0)
            return -1;
        bytes += piece + 1;
        length -= piece + 1;
    }
    return 0;
}

void watch_stream_done(struct watch_stream *stream)
{
    text_done(&stream->line);
}
