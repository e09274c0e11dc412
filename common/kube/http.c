#include "common/kube/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

#define IDLE_CHANNELS_MAX 4
#define CONNECT_TIMEOUT_MS 10000L
#define KEEPALIVE_S 30L
/* How soon a cancelled call is noticed. */
#define POLL_SLICE_MS 250

struct channel {
    struct channel *next;
    CURLM *multi; /* owns the connection, which outlives one request */
    CURL *easy;
};

struct http_pool {
    pthread_mutex_t lock;
    struct channel *idle;
    unsigned idle_count;
};

static void start_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        abort();
}

struct http_pool *http_pool_new(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct http_pool *pool = xcalloc(1, sizeof(*pool));

    pthread_once(&once, start_curl);
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

static void channel_free(struct channel *channel)
{
    curl_easy_cleanup(channel->easy);
    curl_multi_cleanup(channel->multi);
    free(channel);
}

void http_pool_free(struct http_pool *pool)
{
    if (!pool)
        return;
    while (pool->idle) {
        struct channel *channel = pool->idle;

        pool->idle = channel->next;
        channel_free(channel);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static struct channel *take_channel(struct http_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct channel *channel = pool->idle;
    if (channel) {
        pool->idle = channel->next;
        pool->idle_count--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (channel)
        return channel;
    channel = xcalloc(1, sizeof(*channel));
    channel->multi = curl_multi_init();
    channel->easy = curl_easy_init();
    if (!channel->multi || !channel->easy)
        abort(); /* out of memory */
    return channel;
}

static void give_channel(struct http_pool *pool, struct channel *channel)
{
    curl_easy_reset(channel->easy); /* forgets the token; keeps the connection */
    pthread_mutex_lock(&pool->lock);
    bool keep = pool->idle_count < IDLE_CHANNELS_MAX;
    if (keep) {
        channel->next = pool->idle;
        pool->idle = channel;
        pool->idle_count++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!keep)
        channel_free(channel);
}

/* --- one request --- */

/* What the callbacks of a transfer need. */
struct transfer {
    const struct http_request *request;
    struct http_response *response;
    CURL *easy;
    struct error *err; /* set by a callback that ended the transfer */
    char reason[CURL_ERROR_SIZE];
    struct curl_slist *headers;
    struct curl_slist *connect_to;
};

static size_t on_body(char *bytes, size_t size, size_t count, void *object)
{
    struct transfer *transfer = object;
    struct text *body = &transfer->response->body;
    size_t length = size * count;
    long status = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->request->chunk && status == 200) {
        int result =
            transfer->request->chunk(transfer->request->object, bytes, length, transfer->err);
        return result < 0 ? 0 : length;
    }
    text_add_bytes(body, bytes, length);
    if (!body->truncated)
        return length;
    error_set(transfer->err, STATUS_INTERNAL, "the answer is larger than %zu bytes", body->limit);
    transfer->err->sys_errno = EMSGSIZE;
    return 0;
}

static void set_tls(CURL *easy, const struct kube_config *config,
                    const struct kube_credentials *credentials)
{
    const char *ca = credentials->ca_pem;
    const char *certificate = credentials->certificate_pem;
    const struct secret *key = &credentials->key_pem;
    struct curl_blob blob = {.flags = CURL_BLOB_COPY};

    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
    if (ca[0] != '\0') {
        blob.data = (void *)(uintptr_t)ca;
        blob.len = strlen(ca);
        curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL); /* this CA and no other */
    }
    if (certificate[0] != '\0' && secret_is_set(key)) {
        blob.data = (void *)(uintptr_t)certificate;
        blob.len = strlen(certificate);
        curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &blob);
        blob.data = (void *)(uintptr_t)secret_reveal(key);
        blob.len = key->length;
        curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &blob);
    }
    if (secret_is_set(&credentials->token)) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, secret_reveal(&credentials->token));
    }
}

/* https://HOST:PORT/... becomes https://NAME/..., connected to HOST:PORT: the certificate is then
 * checked against NAME. */
static void set_url(struct transfer *transfer)
{
    const struct http_request *request = transfer->request;
    const char *name = request->config->tls_server_name;
    CURL *easy = transfer->easy;
    _cleanup_free_ char *renamed = NULL;

    const char *host = strstr(request->url, "://");
    if (name && host) {
        const char *path = host + 3 + strcspn(host + 3, "/");
        _cleanup_free_ char *address = xstrndup(host + 3, (size_t)(path - host - 3));
        const char *colon = strrchr(address, ':');
        bool has_port = colon && !strchr(colon, ']');
        _cleanup_free_ char *connect_to = xasprintf("::%s%s", address, has_port ? "" : ":443");

        transfer->connect_to = curl_slist_append(NULL, connect_to);
        renamed = xasprintf("https://%s%s", name, path);
        curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer->connect_to);
    }
    curl_easy_setopt(easy, CURLOPT_URL, renamed ? renamed : request->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (request->config->proxy_url)
        curl_easy_setopt(easy, CURLOPT_PROXY, request->config->proxy_url);
}

static void set_body(struct transfer *transfer)
{
    const struct http_request *request = transfer->request;
    CURL *easy = transfer->easy;

    transfer->headers = curl_slist_append(NULL, "Accept: application/json");
    transfer->headers = curl_slist_append(transfer->headers, "Expect:");
    if (request->content_type) {
        _cleanup_free_ char *type = xasprintf("Content-Type: %s", request->content_type);

        transfer->headers = curl_slist_append(transfer->headers, type);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request->body));
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
}

static void set_options(struct transfer *transfer)
{
    CURL *easy = transfer->easy;

    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->reason);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "cephzone");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    set_tls(easy, transfer->request->config, transfer->request->credentials);
    set_url(transfer);
    set_body(transfer);
}

/* Moves bytes until the answer is complete. */
static int drive_transfer(struct channel *channel, const struct call *call,
                          struct deadline deadline, CURLcode *result, struct error *err)
{
    struct deadline end = deadline_earlier(call->deadline, deadline);
    int running = 1;
    int left = 0;

    while (running) {
        int64_t slice = deadline_remaining_ms(end);

        if (call_check(call, err) < 0)
            return -1;
        if (deadline_has_passed(deadline))
            return error_set(err, STATUS_DEADLINE_EXCEEDED,
                             "the API server did not answer in time");
        if (curl_multi_perform(channel->multi, &running) != CURLM_OK)
            return error_set(err, STATUS_INTERNAL, "libcurl cannot go on");
        if (slice > POLL_SLICE_MS)
            slice = POLL_SLICE_MS;
        if (running)
            curl_multi_poll(channel->multi, NULL, 0, (int)slice, NULL);
    }
    const CURLMsg *message = curl_multi_info_read(channel->multi, &left);
    *result = message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_FAILED_INIT;
    return 0;
}

static enum status status_of_failure(CURLcode code)
{
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_BAD_FUNCTION_ARGUMENT: /* a key that is none (curl 8) */
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return STATUS_UNAUTHENTICATED;
    default:
        return STATUS_UNAVAILABLE;
    }
}

static bool is_before_sending(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
           code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
           code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
           code == CURLE_BAD_FUNCTION_ARGUMENT || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_URL_MALFORMAT;
}

static int finish_transfer(struct transfer *transfer, CURLcode code)
{
    struct http_response *response = transfer->response;
    curl_off_t retry_after = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &response->status);
    curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_after);
    response->retry_after_ms = retry_after > 0 && retry_after < 86400 ? retry_after * 1000 : -1;
    response->maybe_seen = !is_before_sending(code);
    if (transfer->err->message)
        return -1; /* a callback knows why */
    if (code == CURLE_OK)
        return 0;
    return error_set(transfer->err, status_of_failure(code), "%s",
                     transfer->reason[0] ? transfer->reason : curl_easy_strerror(code));
}

int http_perform(struct http_pool *pool, struct call *call, const struct http_request *request,
                 struct http_response *response, struct error *err)
{
    struct channel *channel = take_channel(pool);
    struct transfer transfer = {
        .request = request, .response = response, .easy = channel->easy, .err = err};
    CURLcode code = CURLE_OK;

    response->body.limit = request->limit;
    response->retry_after_ms = -1;
    set_options(&transfer);
    curl_multi_add_handle(channel->multi, channel->easy);
    int result = drive_transfer(channel, call, request->deadline, &code, err);
    if (result == 0)
        result = finish_transfer(&transfer, code);
    else
        response->maybe_seen = true;
    curl_multi_remove_handle(channel->multi, channel->easy);
    curl_slist_free_all(transfer.headers);
    curl_slist_free_all(transfer.connect_to);
    give_channel(pool, channel);
    return result;
}

void http_response_done(struct http_response *response)
{
    if (response->body.chars)
        explicit_bzero(response->body.chars, response->body.length);
    text_done(&response->body);
}
