/*
 * The life of one unary call on the server.
 *
 *   armed ─► NEW ─► accepted: two batches start,
 *                     one that ends with the call (CLOSED) and so reports cancellation,
 *                     one that receives the request (RECEIVED) ─► queue ─► worker ─► answer ─► SENT
 *
 * The poller thread gets all events and never runs a handler: while it sat in one, no call would
 * arrive and no cancellation be noticed. Each event owns one reference to the call.
 */
#include <assert.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/sanitizer.h"
#include "common/rpc/core.h"
#include "common/rpc/server_internal.h"

static_assert((int)STATUS_OK == GRPC_STATUS_OK && (int)STATUS_CANCELLED == GRPC_STATUS_CANCELLED &&
                  (int)STATUS_UNKNOWN == GRPC_STATUS_UNKNOWN &&
                  (int)STATUS_INVALID_ARGUMENT == GRPC_STATUS_INVALID_ARGUMENT &&
                  (int)STATUS_DEADLINE_EXCEEDED == GRPC_STATUS_DEADLINE_EXCEEDED &&
                  (int)STATUS_NOT_FOUND == GRPC_STATUS_NOT_FOUND &&
                  (int)STATUS_ALREADY_EXISTS == GRPC_STATUS_ALREADY_EXISTS &&
                  (int)STATUS_PERMISSION_DENIED == GRPC_STATUS_PERMISSION_DENIED &&
                  (int)STATUS_RESOURCE_EXHAUSTED == GRPC_STATUS_RESOURCE_EXHAUSTED &&
                  (int)STATUS_FAILED_PRECONDITION == GRPC_STATUS_FAILED_PRECONDITION &&
                  (int)STATUS_ABORTED == GRPC_STATUS_ABORTED &&
                  (int)STATUS_OUT_OF_RANGE == GRPC_STATUS_OUT_OF_RANGE &&
                  (int)STATUS_UNIMPLEMENTED == GRPC_STATUS_UNIMPLEMENTED &&
                  (int)STATUS_INTERNAL == GRPC_STATUS_INTERNAL &&
                  (int)STATUS_UNAVAILABLE == GRPC_STATUS_UNAVAILABLE &&
                  (int)STATUS_DATA_LOSS == GRPC_STATUS_DATA_LOSS &&
                  (int)STATUS_UNAUTHENTICATED == GRPC_STATUS_UNAUTHENTICATED,
              "enum status has gRPC's numbers");

/* The status message travels as a header, where all but plain ASCII takes three bytes, and a client
 * that is built on core refuses more than 8 KiB of headers: it would report that instead of the
 * real status. */
#define STATUS_HEADER_LIMIT 4096

static void request_free(ProtobufCMessage *request)
{
    protobuf_c_message_free_unpacked(request, message_allocator());
}
DEFINE_CLEANUP(ProtobufCMessage, request_free)

/* False if no more calls are to be served. The list holds no reference, so whoever looks at it may
 * meet a call that is about to go: see try_ref() in server_report.c. */
static bool list_add(struct rpc_call *call)
{
    struct rpc_server *server = call->server;

    pthread_mutex_lock(&server->lock);
    call->is_listed = !server->is_draining;
    if (call->is_listed) {
        call->next = server->calls;
        call->pointer = &server->calls;
        if (call->next)
            call->next->pointer = &call->next;
        server->calls = call;
    }
    pthread_mutex_unlock(&server->lock);
    return call->is_listed;
}

static void list_remove(struct rpc_call *call)
{
    struct rpc_server *server = call->server;

    pthread_mutex_lock(&server->lock);
    *call->pointer = call->next;
    if (call->next)
        call->next->pointer = call->pointer;
    if (!server->calls)
        pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

void rpc_call_unref(struct rpc_call *call)
{
    if (atomic_fetch_sub(&call->refs, 1) != 1)
        return;
    grpc_byte_buffer_destroy(call->in); /* NULL is fine */
    grpc_byte_buffer_destroy(call->out);
    grpc_metadata_array_destroy(&call->metadata);
    grpc_call_details_destroy(&call->details);
    if (call->core)
        grpc_call_unref(call->core);
    if (call->is_listed)
        list_remove(call); /* after this core may be taken down */
    if (call->bound)
        call_done(&call->call);
    free(call);
}

static void start_batch(struct rpc_call *call, const grpc_op *ops, size_t count,
                        struct rpc_tag *tag)
{
    atomic_fetch_add(&call->refs, 1);
    tsan_release(tag);
    grpc_call_error result = grpc_call_start_batch(call->core, ops, count, tag, NULL);
    if (result != GRPC_CALL_OK) { /* our mistake: a wrong sequence of operations */
        log_error(&call->call, "gRPC refused a batch: %s", grpc_call_error_to_string(result));
        abort();
    }
}

void rpc_call_arm(struct rpc_server *server)
{
    struct rpc_call *call = xcalloc(1, sizeof(*call));

    call->server = server;
    atomic_init(&call->refs, 1);
    call->on_new = (struct rpc_tag){EVENT_NEW, call};
    call->on_received = (struct rpc_tag){EVENT_RECEIVED, call};
    call->on_closed = (struct rpc_tag){EVENT_CLOSED, call};
    call->on_sent = (struct rpc_tag){EVENT_SENT, call};
    grpc_call_details_init(&call->details);
    grpc_metadata_array_init(&call->metadata);
    tsan_release(&call->on_new);
    if (grpc_server_request_call(server->core, &call->core, &call->details, &call->metadata,
                                 server->queue, server->queue, &call->on_new) != GRPC_CALL_OK)
        abort(); /* our mistake: wrong queue */
}

/* What of @message fits, without half a character at its end, and as valid UTF-8, on which some
 * clients insist. */
static grpc_slice status_text(const char *message)
{
    size_t space = STATUS_HEADER_LIMIT;
    size_t length = 0;

    while (message[length]) {
        size_t cost =
            message[length] < ' ' || message[length] > '~' || message[length] == '%' ? 3 : 1;

        if (cost > space)
            break;
        space -= cost;
        length++;
    }
    while (length > 0 && (message[length] & 0xc0) == 0x80)
        length--;
    grpc_slice slice = grpc_slice_from_copied_buffer(message, length);
    bool is_utf8 = text_is_utf8(message, length);
    uint8_t *bytes = GRPC_SLICE_START_PTR(slice);
    for (size_t i = 0; i < length && !is_utf8; i++)
        if (bytes[i] >= 0x80)
            bytes[i] = '?';
    return slice;
}

/* Ends the call: with @err, or with @reply if that is NULL. Worker or poller; once per call. */
static void answer_call(struct rpc_call *call, const struct error *err,
                        const ProtobufCMessage *reply)
{
    grpc_slice text = status_text(err ? err->message : "");
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    size_t count = 1;

    rpc_report_end(call, err, reply);
    if (!err) {
        call->out = core_pack(reply);
        ops[count].op = GRPC_OP_SEND_MESSAGE;
        ops[count++].data.send_message.send_message = call->out;
    }
    ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[count].data.send_status_from_server.status =
        err ? (grpc_status_code)err->status : GRPC_STATUS_OK;
    ops[count++].data.send_status_from_server.status_details = &text;
    start_batch(call, ops, count, &call->on_sent);
    grpc_slice_unref(text); /* core has its own copy by now */
}

static int decode_request(struct rpc_call *call, ProtobufCMessage **request, struct error *err)
{
    const ProtobufCMessageDescriptor *type = call->bound->method->request;
    grpc_slice packed;

    if (!call->in) /* core has answered already if it was too large */
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "no request has come, or one of more than %zu bytes",
                         MESSAGE_LIMITS_DEFAULT.total_bytes);
    if (!core_read(call->in, &packed))
        return error_set(err, STATUS_INTERNAL, "the request cannot be read");
    uint8_t *bytes = GRPC_SLICE_START_PTR(packed);
    size_t length = GRPC_SLICE_LENGTH(packed);
    int result = message_check(type, bytes, length, NULL, err);
    if (result == 0) {
        *request = protobuf_c_message_unpack(type, message_allocator(), length, bytes);
        if (!*request)
            result =
                error_set(err, STATUS_INVALID_ARGUMENT, "request is not a valid %s", type->name);
    }
    explicit_bzero(bytes, length); /* our copy: secrets */
    grpc_slice_unref(packed);
    return result;
}

static int run_handler(struct rpc_call *call, const ProtobufCMessage *request,
                       ProtobufCMessage *reply, struct error *err)
{
    const struct bound_method *bound = call->bound;
    struct rpc_server *server = call->server;
    const unsigned most = server->options.workers / 2;
    int result = -1;

    if (!bound->method->slow)
        return bound->method->handle(bound->object, &call->call, request, reply, err);
    if (atomic_fetch_add(&server->slow_calls, 1) < most)
        result = bound->method->handle(bound->object, &call->call, request, reply, err);
    else
        error_set(err, STATUS_ABORTED, "%u calls that may take long are running already; retry",
                  most);
    atomic_fetch_sub(&server->slow_calls, 1);
    return result;
}

static int serve_call(struct rpc_call *call, ProtobufCMessage **reply, struct error *err)
{
    _cleanup_(request_freep) ProtobufCMessage *request = NULL;

    if (call_check(&call->call, err) < 0) /* it may have waited for long */
        return -1;
    if (decode_request(call, &request, err) < 0)
        return -1;
    const char *subject = message_subject(request);
    if (subject)
        call_set_request_id(&call->call, subject);
    call_stage(&call->call, "running for {age}");
    rpc_report_request(call, request);
    *reply = message_new(call->bound->method->response);
    int result = run_handler(call, request, *reply, err);
    assert(result == 0 || err->message);
    return result;
}

/* Worker; has the reference of EVENT_RECEIVED. */
static void run_call(struct worker_job *job)
{
    struct rpc_call *call = (void *)((char *)job - offsetof(struct rpc_call, job));
    _cleanup_(message_freep) ProtobufCMessage *reply = NULL;
    _cleanup_error_ struct error err = {0};

    if (serve_call(call, &reply, &err) < 0)
        answer_call(call, &err, NULL);
    else
        answer_call(call, NULL, reply);
    rpc_call_unref(call);
}

static const struct bound_method *find_method(const struct rpc_server *server, grpc_slice path)
{
    for (size_t i = 0; i < server->method_count; i++)
        if (grpc_slice_str_cmp(path, server->methods[i].method->path) == 0)
            return &server->methods[i];
    return &server->unknown;
}

static struct deadline deadline_of(const grpc_call_details *details)
{
    gpr_timespec at = details->deadline;

    if (gpr_time_cmp(at, gpr_inf_future(at.clock_type)) == 0)
        return deadline_never();
    return deadline_in_ms(gpr_time_to_millis(gpr_time_sub(at, gpr_now(at.clock_type))));
}

static void accept_call(struct rpc_call *call)
{
    struct rpc_server *server = call->server;
    grpc_op watch = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    grpc_op receive = {.op = GRPC_OP_RECV_MESSAGE};
    _cleanup_error_ struct error err = {0};

    call->bound = find_method(server, call->details.method);
    call_init(&call->call, ++server->last_id, call->bound->name, deadline_of(&call->details));
    call->call.cancelled = &call->cancelled;
    rpc_report_start(call);
    watch.data.recv_close_on_server.cancelled = &call->core_cancelled;
    start_batch(call, &watch, 1, &call->on_closed);
    if (!call->bound->method) {
        char *path = grpc_slice_to_c_string(call->details.method);

        error_set(&err, STATUS_UNIMPLEMENTED, "this process does not serve %s", path);
        gpr_free(path);
        answer_call(call, &err, NULL);
    } else if (!list_add(call)) {
        error_set(&err, STATUS_UNAVAILABLE, "this process is ending; repeat the call");
        answer_call(call, &err, NULL);
    } else {
        receive.data.recv_message.recv_message = &call->in;
        start_batch(call, &receive, 1, &call->on_received);
    }
}

/* Hands the call with one reference to a worker, or answers it. */
static void enqueue_call(struct rpc_call *call)
{
    struct rpc_server *server = call->server;
    struct worker_pool *pool = call->bound->method->quick ? server->quick_workers : server->workers;
    _cleanup_error_ struct error err = {0};

    call->job.run = run_call;
    call_stage(&call->call, "waiting {age} for a free worker");
    if (worker_pool_submit(pool, &call->job, &err) < 0) {
        answer_call(call, &err, NULL);
        rpc_call_unref(call);
    }
}

void rpc_call_on_event(struct rpc_tag *tag, bool success)
{
    struct rpc_call *call = tag->call;

    switch (tag->event) {
    case EVENT_NEW:
        if (success) { /* else the server is shutting down */
            rpc_call_arm(call->server);
            accept_call(call);
        }
        break;
    case EVENT_RECEIVED:
        enqueue_call(call);
        return;
    case EVENT_CLOSED:
        if (call->core_cancelled)
            atomic_store(&call->cancelled, true);
        break;
    case EVENT_SENT: /* success is false when the client has gone: not our error */
    case EVENT_SHUTDOWN:
        break;
    }
    rpc_call_unref(call);
}
