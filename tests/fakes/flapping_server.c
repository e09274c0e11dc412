#include "tests/fakes/flapping_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define CONNECTIONS_MAX 64
#define HEAD_LIMIT ((size_t)64 * 1024)
#define BODY_LIMIT ((size_t)4 * 1024 * 1024)

struct flapping_connection {
    struct flapping_server *server;
    pthread_t thread;
    int fd;
    bool is_used;
    bool has_ended; /* the thread can be joined */
    bool closes;
    struct text buffer; /* read and not used yet */
};

struct flapping_server {
    flapping_answer_fn *answer;
    void *object;
    int fd;
    char *url;
    pthread_t thread;
    pthread_mutex_t lock;
    bool stopping;
    unsigned requests;
    unsigned connections;
    struct flapping_connection slots[CONNECTIONS_MAX];
};

/* --- reading --- */

static bool read_more(struct flapping_connection *connection)
{
    char bytes[4096];
    ssize_t count = TEMP_FAILURE_RETRY(recv(connection->fd, bytes, sizeof(bytes), 0));

    if (count <= 0)
        return false;
    text_add_bytes(&connection->buffer, bytes, (size_t)count);
    return !connection->buffer.truncated;
}

/* Takes the first @length bytes out of the buffer. Caller frees. */
static char *take(struct flapping_connection *connection, size_t length)
{
    struct text *buffer = &connection->buffer;
    char *taken = xstrndup(text_chars(buffer), length);

    memmove(buffer->chars, buffer->chars + length, buffer->length - length + 1);
    buffer->length -= length;
    return taken;
}

/* The value of a header in a head. Caller frees. */
static char *header(const char *head, const char *name)
{
    const char *at = strcasestr(head, name);

    if (!at)
        return xstrdup("");
    at += strlen(name);
    at += strspn(at, " ");
    return xstrndup(at, strcspn(at, "\r\n"));
}

static void parse_head(const char *head, struct flapping_request *request)
{
    size_t method = strcspn(head, " ");
    const char *path = head + method + 1;
    size_t path_length = strcspn(path, "? ");
    const char *query = path + path_length + (path[path_length] == '?');

    request->method = xstrndup(head, method);
    request->path = xstrndup(path, path_length);
    request->query = xstrndup(query, strcspn(query, " "));
    request->token = header(head, "\r\nAuthorization: Bearer ");
    request->content_type = header(head, "\r\nContent-Type:");
}

static void request_done(struct flapping_request *request)
{
    free(request->method);
    free(request->path);
    free(request->query);
    free(request->token);
    free(request->content_type);
    free(request->body);
}

static bool read_request(struct flapping_connection *connection, struct flapping_request *request)
{
    const char *end = NULL;

    while (!(end = strstr(text_chars(&connection->buffer), "\r\n\r\n")))
        if (!read_more(connection))
            return false;
    _cleanup_free_ char *head =
        take(connection, (size_t)(end - text_chars(&connection->buffer)) + 4);
    parse_head(head, request);
    _cleanup_free_ char *length = header(head, "\r\nContent-Length:");
    size_t body = strtoul(length, NULL, 10);
    while (connection->buffer.length < body)
        if (!read_more(connection))
            return false;
    request->body = body > 0 ? take(connection, body) : xstrdup("");
    return true;
}

/* --- writing --- */

bool flapping_raw(struct flapping_connection *connection, const char *bytes, size_t length)
{
    while (length > 0 && connection->fd >= 0) {
        ssize_t sent = TEMP_FAILURE_RETRY(send(connection->fd, bytes, length, MSG_NOSIGNAL));

        if (sent <= 0) {
            connection->closes = true;
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return connection->fd >= 0;
}

static bool send_text(struct flapping_connection *connection, const char *chars)
{
    return flapping_raw(connection, chars, strlen(chars));
}

bool flapping_answer(struct flapping_connection *connection, int status, const char *headers,
                     const char *body)
{
    _cleanup_free_ char *answer =
        xasprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%sContent-Length: "
                  "%zu\r\n\r\n%s",
                  status, headers, strlen(body), body);

    return send_text(connection, answer);
}

bool flapping_begin_chunks(struct flapping_connection *connection, int status)
{
    _cleanup_free_ char *head = xasprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                                          "Transfer-Encoding: chunked\r\n\r\n",
                                          status);

    return send_text(connection, head);
}

bool flapping_chunk(struct flapping_connection *connection, const char *bytes, size_t length)
{
    _cleanup_free_ char *size = xasprintf("%zx\r\n", length);

    return send_text(connection, size) && flapping_raw(connection, bytes, length) &&
           send_text(connection, "\r\n");
}

bool flapping_end_chunks(struct flapping_connection *connection)
{
    return send_text(connection, "0\r\n\r\n");
}

void flapping_close(struct flapping_connection *connection)
{
    connection->closes = true;
}

void flapping_stay_silent(struct flapping_connection *connection)
{
    struct pollfd gone = {.fd = connection->fd, .events = POLLRDHUP};

    poll(&gone, 1, 30000);
    connection->closes = true;
}

/* Lock held by nobody: the connection's thread alone changes its descriptor. */
static void end(struct flapping_connection *connection)
{
    pthread_mutex_lock(&connection->server->lock);
    int fd = connection->fd;
    connection->fd = -1;
    pthread_mutex_unlock(&connection->server->lock);
    if (fd >= 0)
        close(fd);
}

void flapping_reset(struct flapping_connection *connection)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    if (connection->fd >= 0)
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    end(connection);
}

/* --- life --- */

static bool serve_one(struct flapping_connection *connection)
{
    struct flapping_server *server = connection->server;
    struct flapping_request request = {0};
    bool read = read_request(connection, &request);

    if (read) {
        pthread_mutex_lock(&server->lock);
        request.number = ++server->requests;
        pthread_mutex_unlock(&server->lock);
        server->answer(server->object, &request, connection);
    }
    request_done(&request);
    return read && connection->fd >= 0 && !connection->closes;
}

static void *serve(void *object)
{
    struct flapping_connection *connection = object;

    while (serve_one(connection))
        ;
    end(connection);
    text_done(&connection->buffer);
    pthread_mutex_lock(&connection->server->lock);
    connection->has_ended = true;
    pthread_mutex_unlock(&connection->server->lock);
    return NULL;
}

/* Lock held. NULL if there is no free slot. */
static struct flapping_connection *free_slot(struct flapping_server *server)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct flapping_connection *slot = &server->slots[i];

        if (slot->is_used && slot->has_ended) {
            pthread_join(slot->thread, NULL);
            slot->is_used = false;
        }
        if (!slot->is_used)
            return slot;
    }
    return NULL;
}

static void start(struct flapping_server *server, int fd)
{
    const int yes = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    pthread_mutex_lock(&server->lock);
    struct flapping_connection *slot = server->stopping ? NULL : free_slot(server);
    if (slot) {
        *slot = (struct flapping_connection){.server = server,
                                             .fd = fd,
                                             .is_used = true,
                                             .buffer = TEXT_INIT(HEAD_LIMIT + BODY_LIMIT)};
        server->connections++;
        if (pthread_create(&slot->thread, NULL, serve, slot) != 0)
            abort();
    }
    pthread_mutex_unlock(&server->lock);
    if (!slot)
        close(fd);
}

static void *accept_all(void *object)
{
    struct flapping_server *server = object;

    for (;;) {
        int fd = TEMP_FAILURE_RETRY(accept4(server->fd, NULL, NULL, SOCK_CLOEXEC));

        if (fd < 0)
            return NULL; /* shut down */
        start(server, fd);
    }
}

struct flapping_server *flapping_server_new(flapping_answer_fn *answer, void *object)
{
    struct flapping_server *server = xcalloc(1, sizeof(*server));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);

    server->answer = answer;
    server->object = object;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(server->fd, CONNECTIONS_MAX) < 0 ||
        getsockname(server->fd, (struct sockaddr *)&address, &length) < 0)
        abort();
    server->url = xasprintf("http://127.0.0.1:%u", ntohs(address.sin_port));
    pthread_mutex_init(&server->lock, NULL);
    if (pthread_create(&server->thread, NULL, accept_all, server) != 0)
        abort();
    return server;
}

void flapping_server_free(struct flapping_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (server->slots[i].is_used && server->slots[i].fd >= 0)
            shutdown(server->slots[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (server->slots[i].is_used)
            pthread_join(server->slots[i].thread, NULL);
    pthread_mutex_destroy(&server->lock);
    free(server->url);
    free(server);
}

const char *flapping_server_url(const struct flapping_server *server)
{
    return server->url;
}

unsigned flapping_server_requests(struct flapping_server *server)
{
    pthread_mutex_lock(&server->lock);
    unsigned requests = server->requests;
    pthread_mutex_unlock(&server->lock);
    return requests;
}

unsigned flapping_server_connections(struct flapping_server *server)
{
    pthread_mutex_lock(&server->lock);
    unsigned connections = server->connections;
    pthread_mutex_unlock(&server->lock);
    return connections;
}

/* --- queries --- */

static char *decode(const char *chars, size_t length)
{
    char *decoded = xcalloc(1, length + 1);
    size_t written = 0;

    for (size_t i = 0; i < length; i++) {
        if (chars[i] == '%' && length - i > 2) {
            const char digits[] = {chars[i + 1], chars[i + 2], '\0'};

            decoded[written++] = (char)strtoul(digits, NULL, 16);
            i += 2;
        } else {
            decoded[written++] = chars[i];
        }
    }
    return decoded;
}

char *flapping_query(const struct flapping_request *request, const char *key)
{
    size_t length = strlen(key);

    for (const char *at = request->query; *at; at += at[0] == '&') {
        size_t pair = strcspn(at, "&");

        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return decode(at + length + 1, pair - length - 1);
        at += pair;
    }
    return NULL;
}
