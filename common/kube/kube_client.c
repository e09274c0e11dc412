#include "common/kube/kube_client.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/kube/api_error.h"
#include "common/kube/http.h"
#include "common/kube/kube.h"
#include "common/kube/watch_stream.h"

#define TRIES_MAX 5
#define TRY_TIMEOUT_MS 30000
#define RESPONSE_LIMIT ((size_t)16 * 1024 * 1024)
#define FIRST_PAUSE_MS 100
#define PAUSE_MAX_MS 5000
/* If the server asks for a longer pause, the caller gets the error instead. */
#define RETRY_AFTER_MAX_MS 60000
/* How much longer than the server we wait for the end of a watch. */
#define WATCH_GRACE_MS 15000

struct kube_client {
    struct kube base;
    struct kube_config config;
    struct http_pool *pool;
};

struct api_request {
    const char *method;
    const char *path;
    const char *query; /* NULL or "?limit=..." */
    const json_t *body;
    struct watch_stream *stream; /* NULL: the answer is one object */
    int64_t timeout_ms;          /* of one try; 0: TRY_TIMEOUT_MS */
};

static struct kube_client *client_of(struct kube *kube)
{
    return (struct kube_client *)kube; /* base is its first member */
}

static int name_request(struct error *err, const struct api_request *request)
{
    return error_wrap(err, "%s %s", request->method, request->path);
}

static int feed_stream(void *object, const char *bytes, size_t length, struct error *err)
{
    return watch_stream_feed(object, bytes, length, err);
}

static int send_once(struct kube_client *client, struct call *call,
                     const struct api_request *request, struct http_response *response,
                     struct error *err)
{
    _cleanup_kube_credentials_ struct kube_credentials credentials = {0};
    _cleanup_free_ char *url = xasprintf("%s%s%s", client->config.server, request->path,
                                         request->query ? request->query : "");
    _cleanup_free_ char *body = request->body ? json_dumps(request->body, JSON_COMPACT) : NULL;
    const char *type =
        strcmp(request->method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";

    if (kube_credentials_read(&client->config, &credentials, err) < 0)
        return -1;
    const struct http_request http = {
        .method = request->method,
        .url = url,
        .content_type = body ? type : NULL,
        .body = body,
        .config = &client->config,
        .credentials = &credentials,
        .deadline = deadline_in_ms(request->timeout_ms > 0 ? request->timeout_ms : TRY_TIMEOUT_MS),
        .limit = RESPONSE_LIMIT,
        .chunk = request->stream ? feed_stream : NULL,
        .object = request->stream,
    };
    if (http_perform(client->pool, call, &http, response, err) < 0)
        return name_request(err, request);
    if (response->status >= 200 && response->status <= 299)
        return 0;
    _cleanup_free_ char *name = xasprintf("%s %s", request->method, request->path);
    return api_error_set(err, name, response->status, &response->body);
}

/* Whether another try may help and cannot do harm. */
static bool is_worth_repeating(const struct api_request *request,
                               const struct http_response *response, const struct error *err)
{
    if (response->status == 429)
        return true;
    if (err->status == STATUS_CANCELLED || err->status == STATUS_UNAUTHENTICATED)
        return false;
    if (response->status == 0 && !response->maybe_seen)
        return true;
    if (response->status == 503 && response->retry_after_ms >= 0)
        return true; /* shutting down, or not up yet: it did nothing */
    if (strcmp(request->method, "POST") == 0)
        return false;
    return err->status == STATUS_UNAVAILABLE || err->status == STATUS_DEADLINE_EXCEEDED;
}

/* The pause before the next try; -1 when the call ends before. */
static int64_t next_pause(const struct call *call, const struct http_response *response,
                          struct backoff *backoff)
{
    int64_t pause = backoff_next_ms(backoff);

    if (response->retry_after_ms > pause)
        pause = response->retry_after_ms;
    if (pause > RETRY_AFTER_MAX_MS || pause >= deadline_remaining_ms(call->deadline))
        return -1;
    return pause;
}

/* A complete answer that is no JSON was truncated by a proxy, or is not from Kubernetes. */
static int decode_answer(const struct api_request *request, const struct http_response *response,
                         json_t **answer, struct error *err)
{
    if (json_load_large(text_chars(&response->body), response->body.length, "answer", answer, err) <
        0) {
        error_recode(err, STATUS_UNAVAILABLE);
        return name_request(err, request);
    }
    if (json_is_object(*answer))
        return 0;
    json_decref(TAKE(*answer));
    error_set(err, STATUS_UNAVAILABLE, "the answer is not an object");
    return name_request(err, request);
}

/* Tries until there is an answer or another try cannot help. @wanted may be NULL. */
static int send_request(struct kube *kube, struct call *call, const struct api_request *request,
                        json_t **wanted, struct error *err)
{
    struct backoff backoff = BACKOFF_INIT(FIRST_PAUSE_MS, PAUSE_MAX_MS);

    call_stage(call, "waiting {age} for the API server to answer %s %s", request->method,
               request->path);
    for (unsigned try = 1;; try++) {
        _cleanup_(http_response_done) struct http_response response = {0};
        _cleanup_error_ struct error ended = {0};
        json_auto_t *answer = NULL;

        if (send_once(client_of(kube), call, request, &response, err) == 0 &&
            decode_answer(request, &response, &answer, err) == 0) {
            if (wanted)
                *wanted = TAKE(answer);
            return 0;
        }
        if (try == TRIES_MAX || !is_worth_repeating(request, &response, err))
            return -1;
        int64_t pause = next_pause(call, &response, &backoff);
        if (pause < 0 || call_pause(call, pause, &ended) < 0)
            return -1; /* with the error of the last try */
        log_v(4, call, "again in a moment: %s", err->message);
        error_clear(err);
    }
}

static int client_get(struct kube *kube, struct call *call, const char *path, json_t **item,
                      struct error *err)
{
    const struct api_request request = {.method = "GET", .path = path};

    return send_request(kube, call, &request, item, err);
}

/* --- collections --- */

/* Adds "&key=value" with the value escaped; NULL adds nothing. */
static void add_query(struct text *query, const char *key, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    if (!value)
        return;
    text_addf(query, "%c%s=", query->length > 0 ? '&' : '?', key);
    for (; *value; value++) {
        if (strchr(plain, *value))
            text_add_bytes(query, value, 1);
        else
            text_addf(query, "%%%02X", (unsigned char)*value);
    }
}

static void add_select(struct text *query, const struct kube_select *select)
{
    add_query(query, "labelSelector", select->labels);
    add_query(query, "fieldSelector", select->fields);
}

static int take_page(const char *path, json_t *list, struct kube_page *page, struct error *err)
{
    json_t *items = json_object_get(list, "items");
    const char *version = kube_resource_version(list);
    const char *next = kube_text(list, "metadata", "continue", NULL);

    if ((!json_is_array(items) && !json_is_null(items)) || version[0] == '\0')
        return error_set(err, STATUS_UNAVAILABLE, "GET %s: the answer is not a list", path);
    page->items = json_is_array(items) ? json_incref(items) : json_array();
    page->resource_version = xstrdup(version);
    page->next = next[0] ? xstrdup(next) : NULL;
    return 0;
}

static int client_list_page(struct kube *kube, struct call *call, const char *path,
                            const struct kube_list_options *options, struct kube_page *page,
                            struct error *err)
{
    _cleanup_text_ struct text query = TEXT_INIT(16384);
    _cleanup_free_ char *limit = options->limit > 0 ? xasprintf("%u", options->limit) : NULL;
    json_auto_t *list = NULL;

    add_select(&query, &options->select);
    add_query(&query, "limit", limit);
    add_query(&query, "continue", options->position);
    const struct api_request request = {.method = "GET", .path = path, .query = text_chars(&query)};
    if (send_request(kube, call, &request, &list, err) < 0)
        return -1;
    return take_page(path, list, page, err);
}

/* A watch is not repeated here: no event may be delivered twice. */
static int client_watch(struct kube *kube, struct call *call, const char *path,
                        const struct kube_watch_options *options, struct error *err)
{
    _cleanup_text_ struct text query = TEXT_INIT(16384);
    _cleanup_free_ char *timeout = xasprintf("%u", options->timeout_s);
    _cleanup_(watch_stream_done) struct watch_stream stream =
        WATCH_STREAM_INIT("watch", options->event, options->object);
    _cleanup_(http_response_done) struct http_response response = {0};

    add_query(&query, "watch", "1");
    add_query(&query, "allowWatchBookmarks", "true");
    add_query(&query, "resourceVersion", options->resource_version);
    add_query(&query, "timeoutSeconds", timeout);
    add_select(&query, &options->select);
    const struct api_request request = {.method = "GET",
                                        .path = path,
                                        .query = text_chars(&query),
                                        .stream = &stream,
                                        .timeout_ms =
                                            (int64_t)options->timeout_s * 1000 + WATCH_GRACE_MS};
    call_stage(call, "watching %s for {age}", path);
    return send_once(client_of(kube), call, &request, &response, err);
}

/* --- writing --- */

static int client_create(struct kube *kube, struct call *call, const char *path, const json_t *item,
                         json_t **created, struct error *err)
{
    const struct api_request request = {.method = "POST", .path = path, .body = item};

    return send_request(kube, call, &request, created, err);
}

static int client_update(struct kube *kube, struct call *call, const char *path, const json_t *item,
                         json_t **result, struct error *err)
{
    const struct api_request request = {.method = "PUT", .path = path, .body = item};

    return send_request(kube, call, &request, result, err);
}

static int client_patch(struct kube *kube, struct call *call, const char *path,
                        const json_t *changes, json_t **result, struct error *err)
{
    const struct api_request request = {.method = "PATCH", .path = path, .body = changes};

    return send_request(kube, call, &request, result, err);
}

static int client_remove(struct kube *kube, struct call *call, const char *path,
                         const struct kube_preconditions *preconditions, struct error *err)
{
    json_auto_t *body = json_pack("{s:s, s:s, s:s}", "apiVersion", "v1", "kind", "DeleteOptions",
                                  "propagationPolicy", "Background");
    const struct api_request request = {.method = "DELETE", .path = path, .body = body};

    if (preconditions)
        json_object_set_new(body, "preconditions",
                            json_pack("{s:s*, s:s*}", "uid", preconditions->uid, "resourceVersion",
                                      preconditions->resource_version));
    return send_request(kube, call, &request, NULL, err);
}

static void client_free(struct kube *kube)
{
    struct kube_client *client = client_of(kube);

    http_pool_free(client->pool);
    kube_config_done(&client->config);
    free(client);
}

struct kube *kube_client_new(struct kube_config *config)
{
    static const struct kube_ops ops = {.get = client_get,
                                        .list_page = client_list_page,
                                        .watch = client_watch,
                                        .create = client_create,
                                        .update = client_update,
                                        .patch = client_patch,
                                        .remove = client_remove,
                                        .free = client_free};
    struct kube_client *client = xcalloc(1, sizeof(*client));

    client->base.ops = &ops;
    client->config = *config;
    *config = (struct kube_config){0};
    client->pool = http_pool_new();
    return &client->base;
}
