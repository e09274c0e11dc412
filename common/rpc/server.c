/*
 * Start and end of a server. The order of shutdown is what gRPC core allows: refuse new calls and
 * wait for the running ones, tell core to shut down, wait until it has and every call is answered
 * and gone, join the workers, and only then shut the queue; a handler that answers on a queue that
 * was shut down would abort the process.
 */
#include "common/rpc/server.h"

#include <assert.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/sanitizer.h"
#include "common/rpc/core.h"
#include "common/rpc/server_internal.h"

#define WORKERS_DEFAULT 64
#define QUEUE_DEFAULT 1024
#define CANCEL_MS_DEFAULT 5000
/* Quick methods take microseconds; a second worker is for one that logs to a slow terminal. */
#define QUICK_WORKERS 2
/* Several, to save a round trip through the poller under load. */
#define ARMED_CALLS 4
#define POLL_MS 1000
/* For clients to disconnect from a server without calls; they do in milliseconds, unless they hang.
 */
#define GOODBYE_MS 1000
/* Of one connection; more wait in the client. Protects core's memory against a misbehaving peer. */
#define STREAMS_LIMIT 1000

static grpc_server *core_new(void)
{
    grpc_arg args[] = {
        core_integer_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
                         (int)MESSAGE_LIMITS_DEFAULT.total_bytes),
        core_integer_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, STREAMS_LIMIT),
        /* some clients ping more often than core likes by default, and would be disconnected */
        core_integer_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000),
        core_integer_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        /* identity only: core checks the size of a message before it decompresses it */
        core_integer_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1),
        core_integer_arg(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
        core_integer_arg(GRPC_ARG_ENABLE_CHANNELZ, 0),
        core_integer_arg(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
    };
    const grpc_channel_args all = {.num_args = ARRAY_LENGTH(args), .args = args};

    return grpc_server_create(&all, NULL);
}

int rpc_server_new(const struct rpc_server_options *options, struct rpc_server **out,
                   struct error *err)
{
    _cleanup_free_ char *path = NULL;

    if (endpoint_parse(options->endpoint, &path, err) < 0)
        return -1;
    struct rpc_server *server = xcalloc(1, sizeof(*server));
    server->path = TAKE(path);
    server->metrics_prefix = xstrdup(options->metrics_prefix ? options->metrics_prefix : "csi");
    server->options = *options;
    server->options.endpoint = NULL; /* the strings are kept elsewhere */
    server->options.metrics_prefix = NULL;
    if (options->workers == 0)
        server->options.workers = WORKERS_DEFAULT;
    if (options->queue_limit == 0)
        server->options.queue_limit = QUEUE_DEFAULT;
    if (options->cancel_ms == 0)
        server->options.cancel_ms = CANCEL_MS_DEFAULT;
    server->unknown.name = "unknown";
    server->on_shutdown.event = EVENT_SHUTDOWN;

    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&server->lock, NULL);
    *out = server;
    return 0;
}

void rpc_server_add(struct rpc_server *server, const struct rpc_service *service)
{
    size_t count = server->method_count + service->count;

    assert(!server->core);
    server->methods = xreallocarray(server->methods, count, sizeof(*server->methods));
    for (size_t i = 0; i < service->count; i++) {
        const struct rpc_method *method = &service->methods[i];

        server->methods[server->method_count++] = (struct bound_method){
            .method = method,
            .name = strrchr(method->path, '/') + 1,
            .object = service->object,
        };
    }
}

/* For ever, unless a call might become slow meanwhile. */
static gpr_timespec poll_until(struct rpc_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool is_idle = !server->calls;
    pthread_mutex_unlock(&server->lock);
    if (server->options.slow_call_interval_ms == 0 || is_idle)
        return gpr_inf_future(GPR_CLOCK_MONOTONIC);
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(POLL_MS, GPR_TIMESPAN));
}

static void *poll_events(void *argument)
{
    struct rpc_server *server = argument;

    for (;;) {
        grpc_event event = grpc_completion_queue_next(server->queue, poll_until(server), NULL);
        struct rpc_tag *tag = event.tag;

        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        tsan_acquire(tag);
        if (event.type == GRPC_OP_COMPLETE && tag->event == EVENT_SHUTDOWN) {
            pthread_mutex_lock(&server->lock);
            server->core_is_shut = true;
            pthread_cond_broadcast(&server->changed);
            pthread_mutex_unlock(&server->lock);
        } else if (event.type == GRPC_OP_COMPLETE) {
            rpc_call_on_event(tag, event.success);
        }
        rpc_report_slow(server);
    }
}

/* Core reports only that it failed; the reason is in its log line, which is in our log too. */
static int listen_on(struct rpc_server *server, struct error *err)
{
    if (endpoint_prepare(&server->socket, server->path, err) < 0)
        return -1;
    _cleanup_free_ char *target = endpoint_target(server->socket.temporary);
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server->core, target, credentials);
    grpc_server_credentials_release(credentials);
    if (port == 0)
        return error_set(err, STATUS_UNAVAILABLE, "cannot make a socket beside '%s'", server->path);
    return endpoint_publish(&server->socket, err);
}

int rpc_server_start(struct rpc_server *server, struct error *err)
{
    unsigned limit = server->options.queue_limit;

    assert(!server->queue);
    rpc_report_register(server);
    server->queue = grpc_completion_queue_create_for_next(NULL);
    int result = pthread_create(&server->poller, NULL, poll_events, server);
    if (result != 0)
        return error_set_errno(err, -result, "start poller thread");
    pthread_setname_np(server->poller, "rpc-poll");
    server->has_poller = true;
    const struct worker_pool_options workers = {
        .name = "rpc", .threads = server->options.workers, .queue_limit = limit};
    const struct worker_pool_options quick_workers = {
        .name = "rpc-quick", .threads = QUICK_WORKERS, .queue_limit = limit};
    if (worker_pool_new(&workers, &server->workers, err) < 0 ||
        worker_pool_new(&quick_workers, &server->quick_workers, err) < 0)
        return -1;
    server->core = core_new();
    grpc_server_register_completion_queue(server->core, server->queue, NULL);
    if (listen_on(server, err) < 0)
        return error_wrap(err, "serve '%s'", server->path);
    grpc_server_start(server->core);
    for (int i = 0; i < ARMED_CALLS; i++)
        rpc_call_arm(server);
    log_info(NULL, "listening for connections on '%s'", server->path);
    return 0;
}

/* With the lock held. */
static bool has_ended(const struct rpc_server *server, bool with_core)
{
    return !server->calls && (server->core_is_shut || !with_core);
}

/* True when all calls are gone and, if asked for, core is shut; false at the deadline. */
static bool wait_for_end(struct rpc_server *server, bool with_core, struct deadline deadline)
{
    struct timespec until = deadline_timespec(deadline);
    int result = 0;

    pthread_mutex_lock(&server->lock);
    while (result == 0 && !has_ended(server, with_core))
        result = pthread_cond_timedwait(&server->changed, &server->lock, &until);
    bool ended = has_ended(server, with_core);
    pthread_mutex_unlock(&server->lock);
    return ended;
}

/*
 * Calls may end before core shuts down: it would close each connection right behind the last
 * answer, and a client that happens to write at that moment (a ping will do) sees a broken pipe and
 * drops the answer unread.
 */
static bool stop_calls(struct rpc_server *server)
{
    /* while our socket is open its inode cannot be used again, so this is the time to compare */
    endpoint_withdraw(&server->socket);
    bool is_idle = wait_for_end(server, false, deadline_in_ms(server->options.drain_ms));
    grpc_server_shutdown_and_notify(server->core, server->queue, &server->on_shutdown);
    if (is_idle && wait_for_end(server, true, deadline_in_ms(GOODBYE_MS)))
        return true;
    if (!is_idle)
        log_info(NULL, "cancelling calls that still run");
    grpc_server_cancel_all_calls(server->core); /* and closes connections */
    if (wait_for_end(server, true, deadline_in_ms(server->options.cancel_ms)))
        return true;
    rpc_report_stuck(server);
    return false;
}

bool rpc_server_drain(struct rpc_server *server)
{
    assert(!server->is_draining);
    pthread_mutex_lock(&server->lock);
    server->is_draining = true;
    pthread_mutex_unlock(&server->lock);
    if (server->core && !stop_calls(server)) /* there may be none if the start failed */
        return false;
    worker_pool_free(TAKE(server->workers));
    worker_pool_free(TAKE(server->quick_workers));
    if (!server->queue)
        return true;
    grpc_completion_queue_shutdown(server->queue);
    if (server->has_poller)
        pthread_join(server->poller, NULL);
    else
        poll_events(server); /* takes out the end mark, or the queue could not be destroyed */
    grpc_completion_queue_destroy(TAKE(server->queue));
    return true;
}

void rpc_server_free(struct rpc_server *server)
{
    if (!server)
        return;
    /* the queue is what a drain takes away last */
    bool has_stopped = server->is_draining ? !server->queue : rpc_server_drain(server);
    if (!has_stopped)
        return; /* nothing can be freed while a handler runs */
    if (server->core)
        grpc_server_destroy(server->core);
    endpoint_done(&server->socket);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free_all(server->metrics_prefix, server->methods, server->path, server);
}
