#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"
#include "common/base/text.h"

/*
 * A small HTTP/1.1 server for /healthz, /readyz and /metrics: GET and HEAD, no TLS, a handful of
 * connections. All requests are answered by one thread of its own, so a route must not block.
 */
struct http_reply {
    int status;               /* 200 unless the route says otherwise */
    struct text body;         /* bounded; a longer one is answered with 500 */
    const char *content_type; /* plain text in UTF-8 unless the route says otherwise; static */
};

struct http_route {
    const char *path;
    void (*answer)(void *object, struct http_reply *reply);
    void *object;
};

struct http_server;

/*
 * Listens on @address, a numeric IPv4 or IPv6 address or "" for all, and @port, 0 for any free one.
 * @routes is copied; what it points to is borrowed until http_server_free(). Fails with UNAVAILABLE
 * if the port is taken.
 */
_must_check_ int http_server_new(const char *address, uint16_t port,
                                 const struct http_route *routes, size_t count,
                                 struct http_server **server, struct error *err);
/* The port that it listens on. */
uint16_t http_server_port(const struct http_server *server);
/* Waits for a running request. NULL is fine. */
void http_server_free(struct http_server *server);
DEFINE_CLEANUP(struct http_server, http_server_free)
