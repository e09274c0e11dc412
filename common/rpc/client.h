#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "common/base/cleanup.h"
#include "common/base/deadline.h"
#include "common/base/error.h"

/* A gRPC client for unary calls over a unix socket: liveness, command line, tests. Any thread, also
 * many at once; all calls of one client share one connection. */
struct rpc_client;

/* @endpoint as endpoint_parse() reads it. Does not connect yet. */
_must_check_ int rpc_client_new(const char *endpoint, struct rpc_client **client,
                                struct error *err);
/* When no call runs any more. NULL is fine. */
void rpc_client_free(struct rpc_client *client);
DEFINE_CLEANUP(struct rpc_client, rpc_client_free)

struct rpc_request {
    const char *path;                /* "/csi.v1.Identity/Probe" */
    const ProtobufCMessage *message; /* borrowed */
    const ProtobufCMessageDescriptor *response;
    struct deadline deadline;
    bool wait_for_ready; /* wait for a socket that is not there yet instead of failing */
};

/*
 * Calls once, without retries, and blocks until the answer or the deadline. Caller frees *@reply
 * with message_free(). On failure the error carries the server's status and message as they came; a
 * server that cannot be reached is UNAVAILABLE.
 */
_must_check_ int rpc_client_call(struct rpc_client *client, const struct rpc_request *request,
                                 ProtobufCMessage **reply, struct error *err);
