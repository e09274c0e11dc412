#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/call.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/kube/kube_config.h"

/*
 * HTTP/1.1 to one server over libcurl, with a pool of connections that stay open.
 *
 * A request takes an idle channel (a libcurl handle with its connection) or makes a new one, drives
 * it on the caller's own thread, and gives it back. So nobody shares a handle, no lock is held
 * while bytes move, and a connection that hangs hurts only the request on it: that is why HTTP/2,
 * which would put all of them on one connection, is not asked for. Any thread.
 */
struct http_pool;

struct http_pool *http_pool_new(void);
/* No request may be under way. NULL is fine. */
void http_pool_free(struct http_pool *pool);
DEFINE_CLEANUP(struct http_pool, http_pool_free)

/* Bytes of the body of an answer with status 200, as they come. A failure ends the request. */
typedef int http_chunk_fn(void *object, const char *bytes, size_t length, struct error *err);

/* All borrowed. */
struct http_request {
    const char *method;
    const char *url;
    const char *content_type; /* of the body; NULL: no body */
    const char *body;
    const struct kube_config *config;
    const struct kube_credentials *credentials;
    struct deadline deadline; /* beside the call's own */
    size_t limit;             /* of the answer's body */
    http_chunk_fn *chunk;     /* NULL: the body is collected */
    void *object;
};

struct http_response {
    long status;            /* 0: none came */
    struct text body;       /* not what went to chunk */
    int64_t retry_after_ms; /* -1: the server did not say */
    bool maybe_seen;        /* the server may have seen the request, whether or not it answered */
};

/*
 * Returns 0 when a complete answer of any status came. Fails with UNAVAILABLE (connection), with
 * DEADLINE_EXCEEDED or CANCELLED, with UNAUTHENTICATED when the server's certificate is not the
 * right one or ours cannot be used, with INTERNAL and EMSGSIZE when the body is larger than the
 * limit, or with the error of chunk. @response is zero before; http_response_done() in either case.
 */
_must_check_ int http_perform(struct http_pool *pool, struct call *call,
                              const struct http_request *request, struct http_response *response,
                              struct error *err);
/* Wipes the body: it may have been a Secret. */
void http_response_done(struct http_response *response);
