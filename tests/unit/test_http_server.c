#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/http_server.h"
#include "tests/test.h"

static void answer_text(void *object, struct http_reply *reply)
{
    text_add(&reply->body, object);
}

static void answer_unready(void *object, struct http_reply *reply)
{
    (void)object;
    reply->status = 503;
    reply->content_type = "application/json";
    text_add(&reply->body, "{}");
}

static void answer_nothing(void *object, struct http_reply *reply)
{
    (void)object;
    (void)reply;
}

static void answer_too_much(void *object, struct http_reply *reply)
{
    (void)object;
    text_add(&reply->body, "x");
    reply->body.truncated = true;
}

static char healthy[] = "healthy\n";

static const struct http_route routes[] = {
    {"/healthz", answer_text, healthy},
    {"/readyz", answer_unready, NULL},
    {"/empty", answer_nothing, NULL},
    {"/long", answer_too_much, NULL},
};

static struct http_server *start(const char *address)
{
    struct http_server *server = NULL;
    _cleanup_error_ struct error err = {0};

    if (http_server_new(address, 0, routes, ARRAY_LENGTH(routes), &server, &err) < 0)
        fail_msg("%s", err.message);
    return server;
}

/* Sends @request to the server and reads until the connection ends. Caller frees. */
static char *exchange(const struct http_server *server, const char *request)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(http_server_port(server))};
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);
    char piece[1024];
    ssize_t length = 0;

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    while ((length = recv(fd, piece, sizeof(piece), 0)) > 0)
        text_add_bytes(&text, piece, (size_t)length);
    return text_take(&text);
}

#define TAIL " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

TEST(requests_are_answered_by_route)
{
    static const struct {
        const char *request;
        const char *first_line;
        const char *header;
        const char *body;
    } cases[] = {
        {"GET /healthz" TAIL, "HTTP/1.1 200 ", "text/plain; charset=utf-8", "healthy\n"},
        {"GET /healthz?verbose=1" TAIL, "HTTP/1.1 200 ", "text/plain", "healthy\n"},
        {"HEAD /healthz" TAIL, "HTTP/1.1 200 ", "Content-Length: 8", ""},
        {"GET /readyz" TAIL, "HTTP/1.1 503 ", "application/json", "{}"},
        {"GET /empty" TAIL, "HTTP/1.1 200 ", "Content-Length: 0", ""},
        {"GET /long" TAIL, "HTTP/1.1 500 ", "text/plain", "the answer is too long\n"},
        {"GET /" TAIL, "HTTP/1.1 404 ", "text/plain", "not found\n"},
        {"GET /healthz/" TAIL, "HTTP/1.1 404 ", "text/plain", "not found\n"},
        {"DELETE /healthz" TAIL, "HTTP/1.1 405 ", "Allow: GET, HEAD", "method not allowed\n"},
        {"POST /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
         "HTTP/1.1 405 ", "Allow: GET, HEAD", "method not allowed\n"},
    };
    _cleanup_(http_server_freep) struct http_server *server = start("127.0.0.1");

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *answer = exchange(server, cases[i].request);
        char *body = strstr(answer, "\r\n\r\n");

        assert_non_null(body);
        assert_true(text_has_prefix(answer, cases[i].first_line));
        assert_non_null(strstr(answer, cases[i].header));
        assert_string_equal(body + 4, cases[i].body);
    }
}

TEST(no_address_means_all)
{
    _cleanup_(http_server_freep) struct http_server *server = start("");
    _cleanup_free_ char *answer = exchange(server, "GET /healthz" TAIL);

    assert_true(text_has_prefix(answer, "HTTP/1.1 200 "));
}

TEST(taken_port_is_unavailable)
{
    _cleanup_(http_server_freep) struct http_server *first = start("127.0.0.1");
    struct http_server *second = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        http_server_new("127.0.0.1", http_server_port(first), routes, 1, &second, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "Address already in use"));
}

TEST(name_is_not_an_address)
{
    struct http_server *server = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(http_server_new("localhost", 0, routes, 1, &server, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
}

TEST(server_ends_with_an_open_connection)
{
    struct http_server *server = start("127.0.0.1");
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(http_server_port(server))};
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    http_server_free(server);
}
