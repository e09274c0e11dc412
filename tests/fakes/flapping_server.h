#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/cleanup.h"

/*
 * An HTTP/1.1 server on loopback that answers as badly as a test wants: it reads requests properly,
 * and the test's function writes the answer, byte by byte if need be, or resets the connection.
 *
 * One thread per connection, at most 64. No TLS.
 */
struct flapping_server;
struct flapping_connection;

/* Borrowed until the answer function returns. */
struct flapping_request {
    char *method;
    char *path;  /* without the query */
    char *query; /* behind the '?'; "" if there is none */
    char *token; /* of "Authorization: Bearer"; "" if there is none */
    char *content_type;
    char *body;
    unsigned number; /* counts all requests from 1 */
};

typedef void flapping_answer_fn(void *object, const struct flapping_request *request,
                                struct flapping_connection *connection);

/* Aborts when it cannot listen. */
struct flapping_server *flapping_server_new(flapping_answer_fn *answer, void *object);
/* Ends all connections. */
void flapping_server_free(struct flapping_server *server);
DEFINE_CLEANUP(struct flapping_server, flapping_server_free)
/* "http://127.0.0.1:PORT". Borrowed. */
const char *flapping_server_url(const struct flapping_server *server);
unsigned flapping_server_requests(struct flapping_server *server);
/* Connections that were made, ever. */
unsigned flapping_server_connections(struct flapping_server *server);

/* The value of a key in a query, decoded; NULL if it is not there. Caller frees. */
char *flapping_query(const struct flapping_request *request, const char *key);

/* --- answers; false: the client has gone --- */

/* A whole answer of type JSON. @headers are lines that end with "\r\n", or "". */
bool flapping_answer(struct flapping_connection *connection, int status, const char *headers,
                     const char *body);
/* The head of an answer whose body comes in chunks. */
bool flapping_begin_chunks(struct flapping_connection *connection, int status);
bool flapping_chunk(struct flapping_connection *connection, const char *bytes, size_t length);
bool flapping_end_chunks(struct flapping_connection *connection);
/* Any bytes. */
bool flapping_raw(struct flapping_connection *connection, const char *bytes, size_t length);
/* Says nothing until the client goes away, half a minute at most. */
void flapping_stay_silent(struct flapping_connection *connection);
/* No more keep-alive: the connection ends after this answer. */
void flapping_close(struct flapping_connection *connection);
/* The connection ends now, with a reset. */
void flapping_reset(struct flapping_connection *connection);
