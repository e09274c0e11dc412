#include "common/rpc/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"

#define CONNECTION_LIMIT 64
#define CONNECTION_TIMEOUT_S 30
#define CONNECTION_MEMORY_BYTES (16 * 1024)
#define LISTEN_BACKLOG 64
#define BODY_LIMIT (16 << 20)

static const char TEXT_PLAIN[] = "text/plain; charset=utf-8";

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_route *routes;
    size_t count;
    uint16_t port;
};

/* An address of any family, which says which of the members is in use. */
union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *text, uint16_t port, union address *address, socklen_t *length,
                         struct error *err)
{
    *address = (union address){0};
    if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(port);
        *length = sizeof(address->v4);
        return 0;
    }
    if (inet_pton(AF_INET6, text[0] ? text : "::", &address->v6.sin6_addr) == 1) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons(port);
        *length = sizeof(address->v6);
        return 0;
    }
    return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not an IP address", text);
}

/* The listening socket, or a negative error number. */
static int listen_on(const union address *address, socklen_t length)
{
    const int yes = 1;
    const int no = 0;
    _cleanup_close_ int fd =
        socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
        return -errno;
    if (address->any.sa_family == AF_INET6 && /* "" means all addresses, IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) < 0)
        return -errno;
    if (bind(fd, &address->any, length) < 0 || listen(fd, LISTEN_BACKLOG) < 0)
        return -errno;
    return TAKE_FD(fd);
}

static int open_socket(const char *text, uint16_t port, int *fd, struct error *err)
{
    union address address;
    socklen_t length = 0;

    if (parse_address(text, port, &address, &length, err) < 0)
        return -1;
    int result = listen_on(&address, length);
    if (result == -EAFNOSUPPORT && text[0] == '\0') { /* a kernel without IPv6 */
        if (parse_address("0.0.0.0", port, &address, &length, err) < 0)
            return -1;
        result = listen_on(&address, length);
    }
    if (result < 0) {
        error_set_errno(err, result, "listen on address '%s', port %u", text, port);
        return error_recode(err, STATUS_UNAVAILABLE);
    }
    *fd = result;
    return 0;
}

static uint16_t port_of(int fd)
{
    union address address = {0};
    socklen_t length = sizeof(address);

    getsockname(fd, &address.any, &length);
    /* the port is at the same place in both */
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static void fill_reply(const struct http_server *server, const char *method, const char *path,
                       struct http_reply *reply)
{
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        reply->status = MHD_HTTP_METHOD_NOT_ALLOWED;
        text_add(&reply->body, "method not allowed\n");
        return;
    }
    for (size_t i = 0; i < server->count; i++) {
        if (strcmp(server->routes[i].path, path) == 0) {
            server->routes[i].answer(server->routes[i].object, reply);
            return;
        }
    }
    reply->status = MHD_HTTP_NOT_FOUND;
    text_add(&reply->body, "not found\n");
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct http_reply *reply)
{
    size_t length = reply->body.length;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, text_take(&reply->body), MHD_RESPMEM_MUST_FREE);

    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    return result;
}

/* Called when the headers are there, and again for the body and at its end. The first call must not
 * answer unless the connection shall end, so what is served is answered at the last one. */
static enum MHD_Result on_request(void *argument, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    static char started;
    struct http_reply reply = {
        .status = MHD_HTTP_OK, .body = TEXT_INIT(BODY_LIMIT), .content_type = TEXT_PLAIN};

    (void)version;
    (void)upload;
    if (!*state) {
        *state = &started;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0; /* read and forgotten */
        return MHD_YES;
    }
    fill_reply(argument, method, path, &reply);
    if (reply.body.truncated) {
        text_done(&reply.body);
        reply.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        reply.content_type = TEXT_PLAIN;
        text_add(&reply.body, "the answer is too long\n");
    }
    return send_reply(connection, &reply);
}

__attribute__((format(printf, 2, 0))) static void log_line(void *argument, const char *fmt,
                                                           va_list args)
{
    _cleanup_free_ char *line = xvasprintf(fmt, args);

    (void)argument;
    log_v(4, NULL, "HTTP server: %s", line); /* mostly about peers that went away */
}

int http_server_new(const char *address, uint16_t port, const struct http_route *routes,
                    size_t count, struct http_server **out, struct error *err)
{
    _cleanup_(http_server_freep) struct http_server *server = xcalloc(1, sizeof(*server));
    _cleanup_close_ int fd = -1;

    if (open_socket(address, port, &fd, err) < 0)
        return -1;
    server->port = port_of(fd);
    server->routes = xcalloc(count, sizeof(*routes));
    server->count = count;
    memcpy(server->routes, routes, count * sizeof(*routes));
    /* the daemon closes the socket, and also does so in most cases when it cannot start */
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, server,
        MHD_OPTION_EXTERNAL_LOGGER, log_line, NULL, MHD_OPTION_LISTEN_SOCKET, TAKE_FD(fd),
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTION_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_END);
    if (!server->daemon)
        return error_set(err, STATUS_INTERNAL, "start HTTP server on port %u", server->port);
    *out = TAKE(server);
    return 0;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    free(server->routes);
    free(server);
}
