#include "programs/cephcsi/liveness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/rpc/client.h"
#include "common/rpc/http_server.h"
#include "common/rpc/message.h"

#include "cephzone.pb-c.h"
#include "csi.pb-c.h"

struct liveness {
    struct rpc_client *client;
    struct metrics *metrics;
    struct metric *alive;
    int64_t timeout_ms;
    atomic_bool healthy;
};

static int ask_driver(struct liveness *liveness, const char *path, const ProtobufCMessage *request,
                      const ProtobufCMessageDescriptor *response, ProtobufCMessage **reply,
                      struct error *err)
{
    return rpc_client_call(liveness->client,
                           &(struct rpc_request){
                               .path = path,
                               .message = request,
                               .response = response,
                               .deadline = deadline_in_ms(liveness->timeout_ms),
                           },
                           reply, err);
}

/* The driver's own report. Other drivers do not have it: UNIMPLEMENTED. */
static int fetch_report(struct liveness *liveness, ProtobufCMessage **reply, struct error *err)
{
    const Cephzone__V1__GetReportRequest request = CEPHZONE__V1__GET_REPORT_REQUEST__INIT;

    return ask_driver(liveness, "/cephzone.v1.Health/GetReport", &request.base,
                      &cephzone__v1__get_report_response__descriptor, reply, err);
}

static void probe_driver(struct liveness *liveness)
{
    const Csi__V1__ProbeRequest request = CSI__V1__PROBE_REQUEST__INIT;
    _cleanup_(message_freep) ProtobufCMessage *reply = NULL;
    _cleanup_error_ struct error err = {0};
    bool healthy = ask_driver(liveness, "/csi.v1.Identity/Probe", &request.base,
                              &csi__v1__probe_response__descriptor, &reply, &err) == 0;
    bool before = atomic_exchange(&liveness->healthy, healthy);

    metric_set(liveness->alive, healthy);
    if (!healthy)
        log_error(NULL, "the driver does not answer: %s: %s", status_name(err.status), err.message);
    else if (!before)
        log_info(NULL, "the driver answers");
}

static void answer_healthz(void *object, struct http_reply *reply)
{
    struct liveness *liveness = object;

    reply->status = atomic_load(&liveness->healthy) ? 200 : 503;
    text_add(&reply->body, reply->status == 200 ? "ok\n" : "the driver does not answer Probe\n");
}

static void answer_readyz(void *object, struct http_reply *reply)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_(message_freep) ProtobufCMessage *message = NULL;

    if (fetch_report(object, &message, &err) < 0) {
        reply->status = 503;
        text_addf(&reply->body, "trouble driver: %s: %s\n", status_name(err.status), err.message);
        return;
    }
    const Cephzone__V1__GetReportResponse *report =
        (const Cephzone__V1__GetReportResponse *)message;
    for (size_t i = 0; i < report->n_conditions; i++) {
        const Cephzone__V1__Condition *condition = report->conditions[i];
        long long age_s = (long long)(time(NULL) - condition->since_unix_seconds);

        if (condition->healthy) {
            text_addf(&reply->body, "ok      %s\n", condition->subject);
            continue;
        }
        reply->status = 503;
        text_addf(&reply->body, "trouble %s, for %lld s: %s\n", condition->subject, age_s,
                  condition->message);
    }
}

static void answer_metrics(void *object, struct http_reply *reply)
{
    struct liveness *liveness = object;
    _cleanup_error_ struct error err = {0};
    _cleanup_(message_freep) ProtobufCMessage *message = NULL;

    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_print(liveness->metrics, &reply->body);
    if (fetch_report(liveness, &message, &err) == 0)
        text_add(&reply->body, ((const Cephzone__V1__GetReportResponse *)message)->metrics);
}

/* Probes until a signal arrives. */
static int watch_driver(struct liveness *liveness, const struct options *options,
                        const sigset_t *signals, struct error *err)
{
    const char *address = getenv("POD_IP");
    const struct http_route routes[] = {
        {"/healthz", answer_healthz, liveness},
        {"/readyz", answer_readyz, liveness},
        {options->metrics_path, answer_metrics, liveness},
    };
    const struct timespec wait = {options->poll_ms / 1000, options->poll_ms % 1000 * 1000000};
    _cleanup_(http_server_freep) struct http_server *http = NULL;

    if (rpc_client_new(options->endpoint, &liveness->client, err) < 0 ||
        http_server_new(address ? address : "", (uint16_t)options->metrics_port, routes,
                        ARRAY_LENGTH(routes), &http, err) < 0)
        return -1;
    log_info(NULL, "serving health and metrics on port %d", http_server_port(http));
    do
        probe_driver(liveness);
    while (sigtimedwait(signals, NULL, &wait) < 0);
    return 0;
}

int liveness_run(const struct options *options, const sigset_t *signals)
{
    _cleanup_error_ struct error err = {0};
    struct liveness liveness = {.metrics = metrics_new(), .timeout_ms = options->timeout_ms};
    const struct metric_spec alive = {
        .kind = METRIC_GAUGE, .name = "csi_liveness", .help = "1 while the driver answers Probe."};

    liveness.alive = metrics_get(metrics_register(liveness.metrics, &alive), NULL);
    int result = watch_driver(&liveness, options, signals, &err);
    if (result < 0)
        log_error(NULL, "cannot watch '%s': %s", options->endpoint, err.message);
    rpc_client_free(liveness.client);
    metrics_free(liveness.metrics);
    return result < 0 ? 1 : 0;
}
