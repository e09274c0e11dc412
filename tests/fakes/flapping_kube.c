#include "tests/fakes/flapping_kube.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/kube.h"

enum fault {
    FAULT_NONE,
    FAULT_RESET_BEFORE,
    FAULT_RESET_AFTER,
    FAULT_TRUNCATED,
    FAULT_FOREIGN,
    FAULT_EXPIRED,
    FAULT_UNAVAILABLE,
    FAULT_UNAUTHENTICATED,
    FAULT_CUT,
    FAULT_COUNT,
};

/* A cheap hash of the request's number: spread enough. */
static enum fault fault_of(const struct flapping_kube *flapping, unsigned number)
{
    uint32_t hash = (number + flapping->seed * 7919U) * 2654435761U;

    hash ^= hash >> 15;
    if (hash % 1000 >= __atomic_load_n(&flapping->permille, __ATOMIC_RELAXED))
        return FAULT_NONE;
    return 1 + hash / 1000 % (FAULT_COUNT - 1);
}

static int http_status(enum status status)
{
    switch (status) {
    case STATUS_NOT_FOUND:
        return 404;
    case STATUS_ALREADY_EXISTS:
    case STATUS_ABORTED:
        return 409;
    case STATUS_OUT_OF_RANGE:
        return 410;
    case STATUS_PERMISSION_DENIED:
        return 403;
    default:
        return 503;
    }
}

static json_t *status_object(enum status status, const char *message)
{
    return json_pack("{s:s, s:s, s:s, s:i}", "kind", "Status", "reason",
                     status == STATUS_ALREADY_EXISTS ? "AlreadyExists" : "Whatever", "message",
                     message, "code", http_status(status));
}

static void answer_object(struct flapping_connection *connection, int status, const json_t *object,
                          enum fault fault)
{
    _cleanup_free_ char *body = json_dumps(object, JSON_COMPACT);

    if (fault == FAULT_RESET_AFTER) {
        flapping_reset(connection);
    } else if (fault == FAULT_TRUNCATED) { /* HTTP is right, JSON is not */
        body[strlen(body) / 2] = '\0';
        flapping_answer(connection, status, "", body);
    } else if (fault == FAULT_CUT) { /* fewer bytes than announced */
        _cleanup_free_ char *head =
            xasprintf("HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n", status, strlen(body));

        flapping_raw(connection, head, strlen(head));
        flapping_raw(connection, body, strlen(body) / 2);
        flapping_close(connection);
    } else {
        flapping_answer(connection, status, "", body);
    }
}

static void answer_result(struct flapping_connection *connection, int result, json_t *object,
                          const struct error *err, enum fault fault)
{
    json_auto_t *status = result < 0 ? status_object(err->status, err->message) : NULL;

    answer_object(connection, result < 0 ? http_status(err->status) : 200,
                  result < 0 ? status : object, fault);
}

/* --- requests --- */

struct exchange {
    struct flapping_kube *flapping;
    const struct flapping_request *request;
    struct flapping_connection *connection;
    enum fault fault;
    struct kube *kube;
    struct call call;
};

static void list(struct exchange *exchange)
{
    _cleanup_free_ char *limit = flapping_query(exchange->request, "limit");
    _cleanup_free_ char *position = flapping_query(exchange->request, "continue");
    _cleanup_free_ char *labels = flapping_query(exchange->request, "labelSelector");
    _cleanup_free_ char *fields = flapping_query(exchange->request, "fieldSelector");
    const struct kube_list_options options = {
        {labels, fields}, limit ? (unsigned)strtoul(limit, NULL, 10) : 0, position};
    _cleanup_(kube_page_done) struct kube_page page = {0};
    _cleanup_error_ struct error err = {0};
    json_auto_t *object = NULL;

    int result = exchange->kube->ops->list_page(exchange->kube, &exchange->call,
                                                exchange->request->path, &options, &page, &err);
    if (result == 0)
        object =
            json_pack("{s:s, s:{s:s, s:s*}, s:O}", "kind", "List", "metadata", "resourceVersion",
                      page.resource_version, "continue", page.next, "items", page.items);
    answer_result(exchange->connection, result, object, &err, exchange->fault);
}

static int send_event(void *object, enum kube_event_kind kind, json_t *item, struct error *err)
{
    static const char *const kinds[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct exchange *exchange = object;
    json_auto_t *event = json_pack("{s:s, s:O}", "type", kinds[kind], "object", item);
    _cleanup_free_ char *json = json_dumps(event, JSON_COMPACT);
    _cleanup_free_ char *line = xasprintf("%s\n", json);
    size_t half = strlen(line) / 2;

    if (!flapping_chunk(exchange->connection, line, half))
        return error_set(err, STATUS_CANCELLED, "the client has gone");
    if (exchange->fault == FAULT_CUT)
        return error_set(err, STATUS_CANCELLED, "the connection was cut");
    if (!flapping_chunk(exchange->connection, line + half, strlen(line) - half))
        return error_set(err, STATUS_CANCELLED, "the client has gone");
    return 0;
}

static void watch(struct exchange *exchange)
{
    _cleanup_free_ char *version = flapping_query(exchange->request, "resourceVersion");
    _cleanup_free_ char *fields = flapping_query(exchange->request, "fieldSelector");
    const struct kube_watch_options options = {.select = {NULL, fields},
                                               .resource_version = version,
                                               .timeout_s = 1,
                                               .event = send_event,
                                               .object = exchange};
    _cleanup_error_ struct error err = {0};

    if (!flapping_begin_chunks(exchange->connection, 200))
        return;
    int result = exchange->kube->ops->watch(exchange->kube, &exchange->call,
                                            exchange->request->path, &options, &err);
    if (result < 0 && err.status == STATUS_OUT_OF_RANGE) {
        json_auto_t *status = status_object(err.status, err.message);
        json_auto_t *event = json_pack("{s:s, s:O}", "type", "ERROR", "object", status);
        _cleanup_free_ char *json = json_dumps(event, JSON_COMPACT);
        _cleanup_free_ char *line = xasprintf("%s\n", json);

        flapping_chunk(exchange->connection, line, strlen(line));
    }
    if (err.status == STATUS_CANCELLED)
        flapping_reset(exchange->connection);
    else
        flapping_end_chunks(exchange->connection);
}

static bool is_object_path(const char *path)
{
    const char *last = strrchr(path, '/') + 1;
    static const char *const collections[] = {"nodes",
                                              "events",
                                              "leases",
                                              "pods",
                                              "secrets",
                                              "csinodes",
                                              "configmaps",
                                              "persistentvolumes",
                                              "csidrivers",
                                              "persistentvolumeclaims",
                                              "storageclasses",
                                              "volumeattachments",
                                              "csistoragecapacities"};

    for (size_t i = 0; i < ARRAY_LENGTH(collections); i++)
        if (strcmp(last, collections[i]) == 0)
            return false;
    return true;
}

static void change(struct exchange *exchange)
{
    const struct kube_ops *ops = exchange->kube->ops;
    const char *method = exchange->request->method;
    const char *path = exchange->request->path;
    json_auto_t *body = json_loads(exchange->request->body, 0, NULL);
    json_auto_t *object = NULL;
    _cleanup_error_ struct error err = {0};
    int result = 0;

    if (strcmp(method, "POST") == 0)
        result = ops->create(exchange->kube, &exchange->call, path, body, &object, &err);
    else if (strcmp(method, "PUT") == 0)
        result = ops->update(exchange->kube, &exchange->call, path, body, &object, &err);
    else if (strcmp(method, "PATCH") == 0)
        result = ops->patch(exchange->kube, &exchange->call, path, body, &object, &err);
    else if (strcmp(method, "DELETE") == 0)
        result = ops->remove(exchange->kube, &exchange->call, path, NULL, &err);
    else
        result = ops->get(exchange->kube, &exchange->call, path, &object, &err);
    if (!object)
        object = json_pack("{s:s}", "kind", "Status");
    answer_result(exchange->connection, result, object, &err, exchange->fault);
}

/* True if the fault was the whole answer. */
static bool suffer(const struct exchange *exchange)
{
    static const struct {
        int status;
        const char *headers;
        const char *body;
    } answers[FAULT_COUNT] = {
        [FAULT_FOREIGN] = {200, "", "<html>not Kubernetes</html>"},
        [FAULT_EXPIRED] = {410, "", "{\"kind\":\"Status\",\"message\":\"gone\",\"code\":410}"},
        [FAULT_UNAVAILABLE] = {503, "Connection: close\r\n", "busy"},
        [FAULT_UNAUTHENTICATED] = {401, "", "{\"kind\":\"Status\",\"message\":\"who?\"}"},
    };

    if (exchange->fault == FAULT_RESET_BEFORE) {
        flapping_reset(exchange->connection);
        return true;
    }
    if (answers[exchange->fault].status == 0)
        return false;
    flapping_answer(exchange->connection, answers[exchange->fault].status,
                    answers[exchange->fault].headers, answers[exchange->fault].body);
    return true;
}

static void respond(void *object, const struct flapping_request *request,
                    struct flapping_connection *connection)
{
    struct flapping_kube *flapping = object;
    struct exchange exchange = {flapping,
                                request,
                                connection,
                                fault_of(flapping, request->number),
                                fake_kube_as_kube(flapping->fake),
                                {0}};
    _cleanup_free_ char *watching = flapping_query(request, "watch");

    if (flapping->token && strcmp(flapping->token, request->token) != 0)
        exchange.fault = FAULT_UNAUTHENTICATED;
    if (suffer(&exchange))
        return;
    call_init(&exchange.call, request->number, "request", deadline_in_ms(30000));
    if (watching)
        watch(&exchange);
    else if (strcmp(request->method, "GET") == 0 && !is_object_path(request->path))
        list(&exchange);
    else
        change(&exchange);
    call_done(&exchange.call);
}

void flapping_kube_start(struct flapping_kube *flapping, struct fake_kube *fake)
{
    flapping->fake = fake;
    flapping->server = flapping_server_new(respond, flapping);
}

void flapping_kube_stop(struct flapping_kube *flapping)
{
    flapping_server_free(flapping->server);
}
