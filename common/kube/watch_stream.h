#pragma once

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/kube/kube_ops.h"

/*
 * Splits the bytes of a watch into lines and decodes the lines as events. Bytes may come in pieces
 * of any size; a line that ends with the connection is dropped. One thread; bounded memory.
 */
#define WATCH_LINE_LIMIT ((size_t)4 * 1024 * 1024)

struct watch_stream {
    const char *request; /* for errors; borrowed */
    kube_event_fn *event;
    void *object;
    struct text line; /* what has come of the next one */
};

#define WATCH_STREAM_INIT(request_name, event_fn, event_object)                                    \
    {                                                                                              \
        .request = (request_name), .event = (event_fn), .object = (event_object),                  \
        .line = TEXT_INIT(WATCH_LINE_LIMIT)                                                        \
    }

/* Fails with UNAVAILABLE when the bytes are no events, with the server's error when it sent one,
 * with the event function's error otherwise. */
_must_check_ int watch_stream_feed(struct watch_stream *stream, const char *bytes, size_t length,
                                   struct error *err);
void watch_stream_done(struct watch_stream *stream);
