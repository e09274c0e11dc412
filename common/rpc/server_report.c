/*
 * What the log and the metrics say about calls.
 *
 * Slow calls are looked for by the poller, which wakes once a second for it, but only while a call
 * is in flight: a call comes in through the poller, so it knows when to begin, and an idle process
 * stays asleep.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/rpc/server_internal.h"

#define SLOW_WITHOUT_DEADLINE_MS 30000
#define SLOW_CHECK_MS 1000
/* Reported per check; the others follow at the next one. */
#define SLOW_CALLS_AT_ONCE 16
/* Of a request or reply in the log; fits into a line. */
#define LOGGED_MESSAGE_LIMIT (32u << 10)

static int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void rpc_report_register(struct rpc_server *server)
{
    static const double bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                    1,     2.5,    5,     10,   30,    60,   120, 300};
    _cleanup_free_ char *total_name = xasprintf("%s_rpc_total", server->metrics_prefix);
    _cleanup_free_ char *in_flight_name = xasprintf("%s_rpc_in_flight", server->metrics_prefix);
    _cleanup_free_ char *duration_name =
        xasprintf("%s_rpc_duration_seconds", server->metrics_prefix);
    const struct metric_spec total_spec = {METRIC_COUNTER, total_name, "Answered calls.",
                                           .labels = {"method", "status"}};
    const struct metric_spec in_flight_spec = {METRIC_GAUGE, in_flight_name,
                                               "Calls that have not been answered yet.",
                                               .labels = {"method"}};
    const struct metric_spec duration_spec = {
        METRIC_HISTOGRAM,     duration_name,    "Time from the arrival of a call to its answer.",
        .labels = {"method"}, .bounds = bounds, .bound_count = ARRAY_LENGTH(bounds)};
    struct metrics *metrics = server->options.metrics;

    if (!metrics)
        return;
    struct metric_family *duration = metrics_register(metrics, &duration_spec);
    struct metric_family *in_flight = metrics_register(metrics, &in_flight_spec);
    server->total = metrics_register(metrics, &total_spec);
    for (size_t i = 0; i < server->method_count; i++) {
        struct bound_method *bound = &server->methods[i];

        bound->duration = metrics_get(duration, bound->name, NULL);
        bound->in_flight = metrics_get(in_flight, bound->name, NULL);
    }
    server->unknown.duration = metrics_get(duration, server->unknown.name, NULL);
    server->unknown.in_flight = metrics_get(in_flight, server->unknown.name, NULL);
}

void rpc_report_start(struct rpc_call *call)
{
    struct deadline deadline = call->call.deadline;

    call->started_us = clock_us();
    call->slow_ms = deadline.at_ms == DEADLINE_NEVER
                        ? clock_monotonic_ms() + SLOW_WITHOUT_DEADLINE_MS
                        : deadline.at_ms;
    if (call->bound->in_flight)
        metric_add(call->bound->in_flight, 1);
}

static void log_message(const struct rpc_call *call, const char *what,
                        const ProtobufCMessage *message)
{
    _cleanup_text_ struct text json = TEXT_INIT(LOGGED_MESSAGE_LIMIT);

    message_print_json(message, &json);
    log_info(&call->call, "GRPC %s: %s%s", what, text_chars(&json), json.truncated ? " ..." : "");
}

void rpc_report_request(struct rpc_call *call, const ProtobufCMessage *request)
{
    log_v(3, &call->call, "GRPC call: %s", call->bound->method->path);
    if (log_is_verbose(5))
        log_message(call, "request", request);
}

void rpc_report_end(struct rpc_call *call, const struct error *err, const ProtobufCMessage *reply)
{
    const struct bound_method *bound = call->bound;
    int64_t duration_us = clock_us() - call->started_us;
    const char *status = status_name(err ? err->status : STATUS_OK);

    if (err)
        log_error(&call->call, "GRPC error: %s failed with %s after %lld ms: %s", bound->name,
                  status, (long long)(duration_us / 1000), err->message);
    else if (log_is_verbose(5))
        log_message(call, "response", reply);
    if (!bound->duration)
        return;
    metric_add(bound->in_flight, -1);
    metric_observe(bound->duration, (double)duration_us / 1e6);
    metric_add(metrics_get(call->server->total, bound->name, status, NULL), 1);
}

/* False if the call is on its way to be freed already; it then only waits for the list's lock. */
static bool try_ref(struct rpc_call *call)
{
    int refs = atomic_load(&call->refs);

    while (refs > 0)
        if (atomic_compare_exchange_weak(&call->refs, &refs, refs + 1))
            return true;
    return false;
}

/* The call's own worker may just be setting the request's id, so it is not given to the log. */
static void log_running(struct rpc_call *call, const char *what)
{
    _cleanup_text_ struct text text = TEXT_INIT(4096);

    call_describe(&call->call, &text);
    log_warn(NULL, "ID: %llu %s GRPC call %s, %lld s after its arrival%s",
             (unsigned long long)call->call.id, what, text_chars(&text),
             (long long)((clock_us() - call->started_us) / 1000000),
             call_is_cancelled(&call->call) ? "; nobody waits for it any more" : "");
}

/* Logs the calls that were due by @now_ms, a few at once, and puts their next time off. */
static void log_due_calls(struct rpc_server *server, int64_t now_ms, const char *what)
{
    struct rpc_call *calls[SLOW_CALLS_AT_ONCE];
    size_t count = 0;

    pthread_mutex_lock(&server->lock);
    for (struct rpc_call *call = server->calls; call && count < ARRAY_LENGTH(calls);
         call = call->next) {
        if (now_ms < call->slow_ms || !try_ref(call))
            continue;
        call->slow_ms = clock_monotonic_ms() + server->options.slow_call_interval_ms;
        calls[count++] = call;
    }
    pthread_mutex_unlock(&server->lock);
    for (size_t i = 0; i < count; i++) {
        log_running(calls[i], what);
        rpc_call_unref(calls[i]);
    }
}

void rpc_report_slow(struct rpc_server *server)
{
    int64_t now = clock_monotonic_ms();

    if (server->options.slow_call_interval_ms == 0 || now < server->slow_check_ms)
        return;
    server->slow_check_ms = now + SLOW_CHECK_MS;
    log_due_calls(server, now, "Slow");
}

void rpc_report_stuck(struct rpc_server *server)
{
    log_due_calls(server, INT64_MAX, "Stuck");
}
