#include "common/rpc/client.h"

#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/rpc/core.h"
#include "common/rpc/endpoint.h"
#include "common/rpc/message.h"

/* A report with all metrics is the largest answer there is. */
#define REPLY_LIMIT (64 << 20)

struct rpc_client {
    grpc_channel *channel;
};

/* One call; belongs to the thread that makes it. */
struct exchange {
    grpc_completion_queue *queue;
    grpc_call *call;
    grpc_byte_buffer *sent;
    grpc_byte_buffer *received;
    grpc_metadata_array initial;
    grpc_metadata_array trailing;
    grpc_status_code status;
    grpc_slice details;
};

int rpc_client_new(const char *endpoint, struct rpc_client **client, struct error *err)
{
    _cleanup_free_ char *path = NULL;

    if (endpoint_parse(endpoint, &path, err) < 0)
        return -1;
    _cleanup_free_ char *target = endpoint_target(path);
    grpc_arg args[] = {
        /* newer versions of core would send the path, which some servers refuse */
        core_string_arg(GRPC_ARG_DEFAULT_AUTHORITY, "localhost"),
        core_integer_arg(GRPC_ARG_ENABLE_RETRIES, 0),
        core_integer_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        core_integer_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        core_integer_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, REPLY_LIMIT),
        core_integer_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100),
        core_integer_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000),
        core_integer_arg(GRPC_ARG_ENABLE_CHANNELZ, 0),
        core_integer_arg(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
    };
    const grpc_channel_args all = {.num_args = ARRAY_LENGTH(args), .args = args};
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    *client = xmalloc(sizeof(**client));
    (*client)->channel = grpc_channel_create(target, credentials, &all);
    grpc_channel_credentials_release(credentials);
    return 0;
}

void rpc_client_free(struct rpc_client *client)
{
    if (!client)
        return;
    grpc_channel_destroy(client->channel);
    free(client);
}

static void exchange_init(struct exchange *exchange, struct rpc_client *client,
                          const struct rpc_request *request)
{
    grpc_slice path = grpc_slice_from_copied_string(request->path);
    gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);

    if (request->deadline.at_ms != DEADLINE_NEVER)
        deadline = gpr_time_add(
            gpr_now(GPR_CLOCK_MONOTONIC),
            gpr_time_from_millis(deadline_remaining_ms(request->deadline), GPR_TIMESPAN));
    /* one queue for each call: threads do not wait for each other */
    exchange->queue = grpc_completion_queue_create_for_pluck(NULL);
    exchange->call = grpc_channel_create_call(client->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                              exchange->queue, path, NULL, deadline, NULL);
    grpc_slice_unref(path);
    exchange->sent = core_pack(request->message);
    grpc_metadata_array_init(&exchange->initial);
    grpc_metadata_array_init(&exchange->trailing);
    exchange->details = grpc_empty_slice();
}

static void exchange_done(struct exchange *exchange)
{
    grpc_byte_buffer_destroy(exchange->sent);
    grpc_byte_buffer_destroy(exchange->received);
    grpc_metadata_array_destroy(&exchange->initial);
    grpc_metadata_array_destroy(&exchange->trailing);
    grpc_slice_unref(exchange->details);
    grpc_call_unref(exchange->call);
    grpc_completion_queue_shutdown(exchange->queue);
    grpc_completion_queue_destroy(exchange->queue);
}

/* Sends the request and waits for the status, which comes in any case. */
static void exchange_run(struct exchange *exchange, bool wait_for_ready)
{
    grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA,
         .flags = wait_for_ready ? GRPC_INITIAL_METADATA_WAIT_FOR_READY : 0},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = exchange->sent},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &exchange->initial},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &exchange->received},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &exchange->trailing,
                                        .status = &exchange->status,
                                        .status_details = &exchange->details}},
    };

    if (grpc_call_start_batch(exchange->call, ops, ARRAY_LENGTH(ops), exchange, NULL) !=
        GRPC_CALL_OK)
        abort(); /* our mistake: a wrong sequence of operations */
    grpc_completion_queue_pluck(exchange->queue, exchange, gpr_inf_future(GPR_CLOCK_MONOTONIC),
                                NULL);
}

int rpc_client_call(struct rpc_client *client, const struct rpc_request *request,
                    ProtobufCMessage **reply, struct error *err)
{
    _cleanup_(exchange_done) struct exchange exchange = {0};
    const ProtobufCMessageDescriptor *type = request->response;
    grpc_slice packed;

    exchange_init(&exchange, client, request);
    exchange_run(&exchange, request->wait_for_ready);
    if (exchange.status != GRPC_STATUS_OK) {
        bool is_known = exchange.status <= GRPC_STATUS_UNAUTHENTICATED;
        char *details = grpc_slice_to_c_string(exchange.details);

        error_set(err, is_known ? (enum status)exchange.status : STATUS_UNKNOWN, "%s", details);
        gpr_free(details);
        return -1;
    }
    if (!exchange.received || !core_read(exchange.received, &packed))
        return error_set(err, STATUS_INTERNAL, "the server sent no %s", type->name);
    ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, GRPC_SLICE_LENGTH(packed),
                                                          GRPC_SLICE_START_PTR(packed));
    grpc_slice_unref(packed);
    if (!message)
        return error_set(err, STATUS_INTERNAL, "the server's answer is not a valid %s", type->name);
    *reply = message;
    return 0;
}
