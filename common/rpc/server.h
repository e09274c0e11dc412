#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/call.h"
#include "common/base/cleanup.h"
#include "common/base/error.h"

struct metrics;

/*
 * A gRPC server for unary calls on a unix socket. One poller thread takes calls in, a fixed number
 * of worker threads runs the handlers, which may block. Messages are checked (message_check()) and
 * unpacked before a handler sees them, and every failed call is logged once, here.
 */

/*
 * Serves one method. Worker thread; several at once.
 *
 * @request and @reply are messages of the method's types. On success returns 0 with @reply filled
 * as message.h says; it comes empty, and the server frees it with message_free(). On failure
 * returns -1 with @err set. @request is borrowed, is zeroed and freed after the handler has
 * returned, and never holds invalid UTF-8. @call knows the deadline and whether the client still
 * waits.
 */
typedef int rpc_handler(void *object, struct call *call, const void *request, void *reply,
                        struct error *err);

struct rpc_method {
    const char *path; /* "/csi.v1.Identity/Probe"; the part behind the last slash is its name */
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *response;
    rpc_handler *handle;
    bool quick; /* never waits for anything outside of this process; has workers of its own, so that
                   Probe answers while all others hang in Ceph */
    bool slow;  /* may take hours: half of the workers serve such calls at most, so that others need
                   not wait; further ones are ABORTED */
};

/* A row for the method @service/@name, as "/csi.v1.Node", "NodeGetInfo", whose messages are
 * generated as package__message_request and package__message_response; .quick or .slow may follow.
 */
#define RPC_METHOD(service, name, package, message, function, ...)                                 \
    {                                                                                              \
        .path = service "/" name, .request = &package##__##message##_request__descriptor,          \
        .response = &package##__##message##_response__descriptor, .handle = (function),            \
        __VA_ARGS__                                                                                \
    }

/* Borrowed, as is all it points to, until rpc_server_free(). */
struct rpc_service {
    const struct rpc_method *methods;
    size_t count;
    void *object; /* first argument of the handlers */
};

struct rpc_server_options {
    const char *endpoint;          /* as endpoint_parse() reads it */
    unsigned workers;              /* 0: 64 */
    unsigned queue_limit;          /* calls that wait for a worker; beyond: UNAVAILABLE. 0: 1024 */
    int64_t drain_ms;              /* for running calls to end by themselves; 0: cancel at once */
    int64_t cancel_ms;             /* for cancelled calls to end; 0: 5 s */
    int64_t slow_call_interval_ms; /* between two log lines about a call that outlived its deadline,
                                      or 30 s if it has none; 0: no such lines */
    struct metrics *metrics;       /* NULL: none. Borrowed until rpc_server_free() */
    const char *metrics_prefix;    /* "csi": csi_rpc_total and so on. NULL: that */
};

struct rpc_server;

/* The options' strings are copied. Fails if the endpoint makes no sense. */
_must_check_ int rpc_server_new(const struct rpc_server_options *options,
                                struct rpc_server **server, struct error *err);

/* Before rpc_server_start(). */
void rpc_server_add(struct rpc_server *server, const struct rpc_service *service);

/* Makes the socket, replacing a stale one, and serves. After a failure only rpc_server_free(). */
_must_check_ int rpc_server_start(struct rpc_server *server, struct error *err);

/*
 * Removes the socket, answers new calls with UNAVAILABLE, lets running ones end, cancels them after
 * drain_ms and waits for cancel_ms more. Returns false if handlers still run then: the process can
 * only end by _exit(). Blocks; once, from the thread that started the server.
 */
_must_check_ bool rpc_server_drain(struct rpc_server *server);

/* Drains if that was not done. Frees nothing while handlers still run. NULL is fine. */
void rpc_server_free(struct rpc_server *server);
DEFINE_CLEANUP(struct rpc_server, rpc_server_free)
