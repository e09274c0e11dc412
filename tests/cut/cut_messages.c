/*
 * Preloaded into a process that uses Ceph's libraries, counts the requests that it sends to OSDs
 * ("osd-operation") and to metadata servers ("mds-request"), and kills it before the one that the
 * order names: see cut_order.h. So an operation of librbd or of a manager's module is interrupted
 * at each of its own steps, whichever interface of librados it takes.
 *
 * Ceph's messenger hands all it sends to sendmsg(). A connection begins with a banner, then come
 * frames: a preamble of 32 bytes with the lengths of up to four segments, the segments, checksums.
 * In a frame with a message the first segment is the message's header. A connection that is
 * encrypted, as those to monitors are, is not understood and left alone. Each request that counts
 * begins a sendmsg() of its own, so that those before it are sent when the process dies: what is
 * sent of a longer one ends there, and the messenger sends the rest next.
 */
#include <dlfcn.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cut/cut_order.h"

#define BANNER "ceph v2\n" /* the length of its rest follows, in two bytes */
#define BANNER_SIZE (sizeof(BANNER) - 1 + 2)
#define PREAMBLE_SIZE 32
#define SEGMENTS_MAX 4
#define TAG_MESSAGE 17
#define TAG_LAST 32
#define TYPE_OFFSET (PREAMBLE_SIZE + 16) /* behind sequence and transaction number */
#define HEAD_SIZE (TYPE_OFFSET + 2)
#define CRC_SIZE 4
#define EPILOGUE_SIZE (1 + 3 * CRC_SIZE) /* of frames with more than one segment */
#define CONNECTIONS_MAX 4096
#define VECTOR_MAX 1024

enum part { PART_BANNER, PART_HEAD, PART_BODY, PART_FOREIGN };

/* How far a connection is. The descriptor's owner alone uses it, so that there is no lock. */
struct connection {
    size_t have;   /* of the head */
    uint64_t left; /* of the body */
    enum part part;
    bool counted; /* the frame whose head is not sent yet; it may be offered again */
    unsigned char head[HEAD_SIZE]; /* of the banner or frame */
};

static struct connection connections[CONNECTIONS_MAX]; /* by descriptor */

static uint16_t read16(const unsigned char *bytes)
{
    uint16_t number = 0;

    memcpy(&number, bytes, sizeof(number));
    return le16toh(number);
}

static uint32_t read32(const unsigned char *bytes)
{
    uint32_t number = 0;

    memcpy(&number, bytes, sizeof(number));
    return le32toh(number);
}

/* The length of a frame from its preamble; 0 if that is none. */
static uint64_t frame_size(const unsigned char *preamble)
{
    const unsigned segments = preamble[1];
    uint64_t size = PREAMBLE_SIZE + (segments > 1 ? EPILOGUE_SIZE : 0);

    if (preamble[0] == 0 || preamble[0] > TAG_LAST || segments == 0 || segments > SEGMENTS_MAX)
        return 0;
    for (unsigned i = 0; i < segments; i++) {
        const uint32_t length = read32(preamble + 2 + (size_t)i * 6);

        size += length + (i == 0 && length > 0 ? CRC_SIZE : 0);
    }
    return size;
}

/* How much of a banner or frame has to be known before one can go on. */
static size_t head_size(const struct connection *connection)
{
    if (connection->part == PART_BANNER)
        return BANNER_SIZE;
    return connection->have >= PREAMBLE_SIZE && connection->head[0] == TAG_MESSAGE ? HEAD_SIZE
                                                                                   : PREAMBLE_SIZE;
}

/* The head is complete: what follows? */
static void begin_body(struct connection *connection)
{
    const uint64_t size = connection->part == PART_BANNER
                              ? BANNER_SIZE + read16(connection->head + BANNER_SIZE - 2)
                              : frame_size(connection->head);
    const bool is_known = connection->part == PART_BANNER
                              ? memcmp(connection->head, BANNER, BANNER_SIZE - 2) == 0
                              : size >= connection->have;

    connection->part = is_known ? PART_BODY : PART_FOREIGN;
    connection->left = is_known ? size - connection->have : 0;
}

/* Takes bytes that are sent; returns how many, at least one, and fewer where a part ends. */
static size_t follow(struct connection *connection, const unsigned char *bytes, size_t length)
{
    if (connection->part == PART_FOREIGN)
        return length;
    if (connection->part == PART_BODY && connection->left > 0) {
        const size_t taken = length < connection->left ? length : (size_t)connection->left;

        connection->left -= taken;
        return taken;
    }
    if (connection->part == PART_BODY) {
        connection->part = PART_HEAD;
        connection->have = 0;
    }
    connection->head[connection->have++] = bytes[0];
    if (connection->have == head_size(connection))
        begin_body(connection);
    return 1;
}

/* The kind of a frame whose head is complete; NULL if it does not count. */
static const char *request_kind(const struct connection *connection)
{
    if (connection->have != HEAD_SIZE)
        return NULL;
    switch (read16(connection->head + TYPE_OFFSET)) {
    case 42:
        return "osd-operation";
    case 24:
        return "mds-request";
    default:
        return NULL;
    }
}

/* Where in a message the walk through it is. */
struct walk {
    struct connection *connection;
    size_t offset;
    size_t frame; /* where the current frame began; 0 if before this message */
};

/* Goes through a piece of the message; ends at the first request that counts and was not counted
 * yet, and returns its kind. */
static const char *walk_piece(struct walk *walk, const unsigned char *bytes, size_t length)
{
    struct connection *connection = walk->connection;

    for (size_t at = 0; at < length;) {
        const enum part before = connection->part;
        const size_t taken = follow(connection, bytes + at, length - at);

        if (connection->part == PART_HEAD && connection->have == 1)
            walk->frame = walk->offset;
        at += taken;
        walk->offset += taken;
        if (before != PART_HEAD || connection->part != PART_BODY)
            continue;
        const char *kind = request_kind(connection);
        if (kind && !connection->counted)
            return kind;
        connection->counted = false;
    }
    return NULL;
}

/* Follows the first @limit bytes, up to a request that counts; *@begin is where it begins. */
static const char *walk_message(struct connection *connection, const struct msghdr *message,
                                size_t limit, size_t *begin)
{
    struct walk walk = {.connection = connection};
    const char *kind = NULL;

    for (size_t i = 0; i < message->msg_iovlen && walk.offset < limit && !kind; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        const size_t left = limit - walk.offset;

        kind = walk_piece(&walk, piece->iov_base, piece->iov_len < left ? piece->iov_len : left);
    }
    *begin = walk.frame;
    return kind;
}

/* --- the calls that are intercepted --- */

static ssize_t send_really(int fd, const struct msghdr *message, int flags)
{
    static ssize_t (*next)(int, const struct msghdr *, int);

    if (!next)
        next = (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    return next(fd, message, flags);
}

/* Sends no more than the first @limit bytes. */
static ssize_t send_beginning(int fd, const struct msghdr *message, int flags, size_t limit)
{
    struct iovec pieces[VECTOR_MAX];
    struct msghdr beginning = *message;
    size_t count = 0;

    for (; count < message->msg_iovlen && count < VECTOR_MAX && limit > 0; count++) {
        pieces[count] = message->msg_iov[count];
        if (pieces[count].iov_len > limit)
            pieces[count].iov_len = limit;
        limit -= pieces[count].iov_len;
    }
    beginning.msg_iov = pieces;
    beginning.msg_iovlen = count;
    return send_really(fd, &beginning, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (fd < 0 || fd >= CONNECTIONS_MAX)
        return send_really(fd, message, flags);
    struct connection *connection = &connections[fd];
    struct connection ahead = *connection;
    size_t begin = 0;
    const char *kind = walk_message(&ahead, message, SIZE_MAX, &begin);

    if (kind && begin == 0) {
        cut_point(kind, 1);
        connection->counted = true;
        ahead = *connection;
        kind = walk_message(&ahead, message, SIZE_MAX, &begin);
    }
    const ssize_t sent =
        kind ? send_beginning(fd, message, flags, begin) : send_really(fd, message, flags);
    if (sent > 0)
        walk_message(connection, message, (size_t)sent, &begin);
    return sent;
}

/* The next connection with this descriptor begins with a banner. */
int close(int fd)
{
    static int (*next)(int);

    if (!next)
        next = (int (*)(int))dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd < CONNECTIONS_MAX)
        connections[fd] = (struct connection){0};
    return next(fd);
}
