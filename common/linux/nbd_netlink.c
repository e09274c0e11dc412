/*
 * Talks to the kernel's nbd driver over generic netlink, for what rbd-nbd cannot do.
 *
 * It tells the kernel when its image grows, but leaves out the identifier that the device was made
 * with, and kernels since 5.14 then refuse. It is in sysfs, so we send the whole message. And it
 * disconnects a device only if it sees the process that serves it.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/nbd-netlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/host_internal.h"

#define MESSAGE_MAX 4096
#define IDENTIFIER_MAX 1024
#define ANSWER_SECONDS 10
#define ATTRIBUTES (NLMSG_HDRLEN + GENL_HDRLEN) /* where they begin */

struct message {
    _Alignas(struct nlmsghdr) char bytes[MESSAGE_MAX];
    size_t length;
};

static struct nlmsghdr *header_of(struct message *message)
{
    return (struct nlmsghdr *)(void *)message->bytes;
}

static void message_begin(struct message *message, uint16_t type, uint8_t command)
{
    const struct genlmsghdr generic = {.cmd = command, .version = 1};

    *message = (struct message){.length = ATTRIBUTES};
    *header_of(message) =
        (struct nlmsghdr){.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK};
    memcpy(message->bytes + NLMSG_HDRLEN, &generic, sizeof(generic));
}

/* All that is added fits: numbers, and texts of at most IDENTIFIER_MAX. */
static void message_add(struct message *message, uint16_t type, const void *value, size_t size)
{
    const struct nlattr attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type};

    memcpy(message->bytes + message->length, &attribute, sizeof(attribute));
    memcpy(message->bytes + message->length + NLA_HDRLEN, value, size);
    message->length += NLA_ALIGN(NLA_HDRLEN + size);
}

/* Sends @message and receives the answer into it: 0 or a negative errno. */
static int exchange_message(int fd, struct message *message)
{
    const struct nlmsghdr *header = header_of(message);

    header_of(message)->nlmsg_len = (uint32_t)message->length;
    if (send(fd, message->bytes, message->length, 0) < 0)
        return -errno;
    ssize_t got = recv(fd, message->bytes, sizeof(message->bytes), 0);
    if (got < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    message->length = (size_t)got;
    if (message->length < NLMSG_HDRLEN || header->nlmsg_len > message->length)
        return -EPROTO;
    if (header->nlmsg_type != NLMSG_ERROR)
        return 0;
    int number = 0; /* the errno, 0 for done */
    if (message->length < NLMSG_HDRLEN + sizeof(number))
        return -EPROTO;
    memcpy(&number, message->bytes + NLMSG_HDRLEN, sizeof(number));
    return number;
}

/* Generic netlink gives each family a number when its module is loaded. */
static int find_family(int fd, uint16_t *family)
{
    struct message message;
    struct nlattr attribute;

    message_begin(&message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
    message_add(&message, CTRL_ATTR_FAMILY_NAME, NBD_GENL_FAMILY_NAME,
                sizeof(NBD_GENL_FAMILY_NAME));
    header_of(&message)->nlmsg_flags = NLM_F_REQUEST; /* the answer is enough */
    int result = exchange_message(fd, &message);
    if (result < 0)
        return result;
    for (size_t at = ATTRIBUTES; at + NLA_HDRLEN + sizeof(*family) <= message.length;
         at += NLA_ALIGN(attribute.nla_len)) {
        memcpy(&attribute, message.bytes + at, sizeof(attribute));
        if (attribute.nla_len < NLA_HDRLEN)
            return -EPROTO;
        if (attribute.nla_type == CTRL_ATTR_FAMILY_ID) {
            memcpy(family, message.bytes + at + NLA_HDRLEN, sizeof(*family));
            return 0;
        }
    }
    return -EPROTO;
}

/* Sends a command about the device @index, to which the caller has added what it needs. */
static int send_command(struct message *message)
{
    const struct timeval timeout = {.tv_sec = ANSWER_SECONDS};
    _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    uint16_t family = 0;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
        return -errno;
    int result = find_family(fd, &family);
    if (result < 0)
        return result;
    header_of(message)->nlmsg_type = family;
    return exchange_message(fd, message);
}

static int parse_index(const char *device, uint32_t *index, struct error *err)
{
    uint64_t number = 0;

    if (!text_has_prefix(device, "/dev/nbd") ||
        text_parse_u64(device + strlen("/dev/nbd"), &number, err) < 0 || number > UINT32_MAX) {
        error_clear(err);
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no nbd device", device);
    }
    *index = (uint32_t)number;
    return 0;
}

static int nbd_resize(struct host *host, const char *device, uint64_t size_bytes, struct error *err)
{
    _cleanup_free_ char *path = xasprintf("/sys/block/%s/backend", device + strlen("/dev/"));
    _cleanup_free_ char *identifier = NULL;
    struct message message;
    uint32_t index = 0;

    if (parse_index(device, &index, err) < 0 ||
        host->ops->sysfs_read(host, path, &identifier, err) < 0)
        return -1;
    if (identifier && strlen(identifier) >= IDENTIFIER_MAX)
        return error_set(err, STATUS_INTERNAL, "the identifier of '%s' is too long", device);
    message_begin(&message, 0, NBD_CMD_RECONFIGURE);
    message_add(&message, NBD_ATTR_INDEX, &index, sizeof(index));
    message_add(&message, NBD_ATTR_SIZE_BYTES, &size_bytes, sizeof(size_bytes));
    if (identifier && identifier[0])
        message_add(&message, NBD_ATTR_BACKEND_IDENTIFIER, identifier, strlen(identifier) + 1);
    int result = send_command(&message);
    if (result < 0)
        return error_set_errno(err, result, "tell '%s' its size of %llu bytes over netlink", device,
                               (unsigned long long)size_bytes);
    return 0;
}

static int nbd_disconnect(struct host *host, const char *device, struct error *err)
{
    struct message message;
    uint32_t index = 0;

    (void)host;
    if (parse_index(device, &index, err) < 0)
        return -1;
    message_begin(&message, 0, NBD_CMD_DISCONNECT);
    message_add(&message, NBD_ATTR_INDEX, &index, sizeof(index));
    int result = send_command(&message);
    if (result < 0)
        return error_set_errno(err, result, "disconnect '%s' over netlink", device);
    return 0;
}

void nbd_netlink_register(struct host_ops *ops)
{
    ops->nbd_resize = nbd_resize;
    ops->nbd_disconnect = nbd_disconnect;
}
