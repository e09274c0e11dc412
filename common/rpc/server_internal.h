#pragma once

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/call.h"
#include "common/base/error.h"
#include "common/base/metrics.h"
#include "common/rpc/endpoint.h"
#include "common/rpc/message.h"
#include "common/rpc/server.h"
#include "common/rpc/worker_pool.h"

/* What the parts of server.h share: server.c is the server's life, server_call.c a call's life,
 * server_report.c what the log and the metrics say about calls. */

/* A method with its object, and where it is counted. */
struct bound_method {
    const struct rpc_method *method;
    const char *name; /* in its path */
    void *object;
    struct metric *duration; /* NULL: no metrics */
    struct metric *in_flight;
};

enum rpc_event { EVENT_NEW, EVENT_RECEIVED, EVENT_CLOSED, EVENT_SENT, EVENT_SHUTDOWN };

/* The address of a tag is what the completion queue hands back. */
struct rpc_tag {
    enum rpc_event event;
    struct rpc_call *call;
};

struct rpc_server {
    struct rpc_server_options options; /* with the defaults put in; without the strings */
    char *metrics_prefix;
    char *path; /* of the socket */
    struct endpoint_socket socket;

    struct bound_method *methods;
    size_t method_count;
    struct bound_method unknown; /* stands for all others in log and metrics; its method is NULL */
    struct metric_family *total; /* NULL: no metrics */

    grpc_server *core;
    grpc_completion_queue *queue;
    struct worker_pool *workers;
    struct worker_pool *quick_workers;
    atomic_uint slow_calls; /* that run */
    pthread_t poller;
    bool has_poller;
    struct rpc_tag on_shutdown;
    uint64_t last_id;      /* poller only */
    int64_t slow_check_ms; /* poller only: when to look for slow calls again */

    pthread_mutex_t lock; /* over the three below */
    pthread_cond_t changed;
    struct rpc_call *calls; /* being served; those that are refused at once are not here */
    bool is_draining;       /* or has been drained */
    bool core_is_shut;
};

/* One incoming call. References: the armed request, each started batch, the worker, and whoever
 * looks at it from outside. */
struct rpc_call {
    struct rpc_server *server;
    atomic_int refs;
    atomic_bool cancelled;
    int core_cancelled; /* written by core, valid after EVENT_CLOSED */
    grpc_call *core;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *in;
    grpc_byte_buffer *out;
    struct rpc_tag on_new;
    struct rpc_tag on_received;
    struct rpc_tag on_closed;
    struct rpc_tag on_sent;
    struct worker_job job;

    /* from here on set when it is accepted: */
    const struct bound_method *bound;
    struct call call;
    int64_t started_us;
    int64_t slow_ms;           /* when it is to be reported as slow; server's lock */
    struct rpc_call *next;     /* in the server's list; server's lock */
    struct rpc_call **pointer; /* that points here; server's lock */
    bool is_listed;
};

/* Asks core for the next call; poller, or before it has calls. */
void rpc_call_arm(struct rpc_server *server);
/* Poller: one event of a call. */
void rpc_call_on_event(struct rpc_tag *tag, bool success);
void rpc_call_unref(struct rpc_call *call);

/* Before start: registers the metrics of all methods. */
void rpc_report_register(struct rpc_server *server);
/* A call was accepted; poller. */
void rpc_report_start(struct rpc_call *call);
/* It was decoded and is about to run; its worker. */
void rpc_report_request(struct rpc_call *call, const ProtobufCMessage *request);
/* It is about to be answered: with @err, or with @reply if that is NULL. */
void rpc_report_end(struct rpc_call *call, const struct error *err, const ProtobufCMessage *reply);
/* Poller, after each event or time-out: logs calls that are slow. */
void rpc_report_slow(struct rpc_server *server);
/* Logs all calls that still run. */
void rpc_report_stuck(struct rpc_server *server);
