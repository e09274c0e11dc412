/*
 * csi-bench: creates, snapshots and deletes volumes through any CSI endpoint and prints rates and
 * latencies, and the resident memory of the server (--pid) before, during and after.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/flags.h"
#include "common/base/json.h"
#include "common/base/memory.h"
#include "common/rpc/client.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"
#include "tests/bench/timing.h"

#include "csi.pb-c.h"

struct bench {
    const char *endpoint;
    const char *secrets_path;
    const char *parameters_path;
    const char *prefix;
    const char *phases;
    const char *access;
    int64_t count;
    int64_t callers;
    int64_t size_bytes;
    int64_t rounds;
    int64_t pid;
    struct rpc_client *client;
    json_t *secrets;
    json_t *parameters;
    char **handles;
    char **snapshots;
    int64_t round;
};

static const ProtobufCMessageDescriptor *message_type(const char *method, bool response)
{
    const ProtobufCMethodDescriptor *descriptor =
        protobuf_c_service_descriptor_get_method_by_name(&csi__v1__controller__descriptor, method);

    return response ? descriptor->output : descriptor->input;
}

/* Takes @request over. The answer as JSON, or NULL after printing why not. */
static json_t *call(struct bench *bench, const char *method, json_t *request)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_(message_freep) ProtobufCMessage *message = NULL;
    _cleanup_(message_freep) ProtobufCMessage *answer = NULL;
    _cleanup_free_ char *path = xasprintf("/csi.v1.Controller/%s", method);
    _cleanup_text_ struct text text = TEXT_INIT(1024 * 1024);

    json_object_set(request, "secrets", bench->secrets);
    int result = message_parse_json(message_type(method, false), request, &message, &err);
    json_decref(request);
    if (result == 0)
        result = rpc_client_call(bench->client,
                                 &(struct rpc_request){
                                     .path = path,
                                     .message = message,
                                     .response = message_type(method, true),
                                     .deadline = deadline_in_ms(120000),
                                 },
                                 &answer, &err);
    if (result < 0) {
        fprintf(stderr, "%s: %s: %s\n", method, status_name(err.status), err.message);
        return NULL;
    }
    message_print_json(answer, &text);
    return json_loads(text_chars(&text), 0, NULL);
}

static int create_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    _cleanup_free_ char *name =
        xasprintf("%s-%lld-%zu", bench->prefix, (long long)bench->round, index);

    (void)caller;
    json_auto_t *reply =
        call(bench, "CreateVolume",
             json_pack("{s:s, s:{s:I}, s:[{s:{s:s}, s:{}}], s:O}", "name", name, "capacity_range",
                       "required_bytes", (json_int_t)bench->size_bytes, "volume_capabilities",
                       "access_mode", "mode", "SINGLE_NODE_WRITER", bench->access, "parameters",
                       bench->parameters));
    if (!reply)
        return -1;
    bench->handles[index] =
        xstrdup(json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id")));
    return 0;
}

static int snapshot_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    _cleanup_free_ char *name =
        xasprintf("%s-s-%lld-%zu", bench->prefix, (long long)bench->round, index);

    (void)caller;
    json_auto_t *reply = call(bench, "CreateSnapshot",
                              json_pack("{s:s, s:s}", "name", name, "source_volume_id",
                                        bench->handles[index] ? bench->handles[index] : ""));
    if (!reply)
        return -1;
    bench->snapshots[index] = xstrdup(
        json_string_value(json_object_get(json_object_get(reply, "snapshot"), "snapshot_id")));
    return 0;
}

static int drop_snapshot(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;

    (void)caller;
    if (!bench->snapshots[index])
        return -1;
    json_auto_t *reply =
        call(bench, "DeleteSnapshot", json_pack("{s:s}", "snapshot_id", bench->snapshots[index]));
    free(bench->snapshots[index]);
    bench->snapshots[index] = NULL;
    return reply ? 0 : -1;
}

static int delete_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;

    (void)caller;
    if (!bench->handles[index])
        return -1;
    json_auto_t *reply =
        call(bench, "DeleteVolume", json_pack("{s:s}", "volume_id", bench->handles[index]));
    free(bench->handles[index]);
    bench->handles[index] = NULL;
    return reply ? 0 : -1;
}

static void print_memory(const struct bench *bench, const char *when)
{
    _cleanup_free_ char *path = xasprintf("/proc/%lld/status", (long long)bench->pid);
    _cleanup_fclose_ FILE *file = bench->pid ? fopen(path, "re") : NULL;
    char line[256];

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            printf("%-14s resident %8.1f MB\n", when, strtod(line + 6, NULL) / 1000);
}

static const struct {
    const char *name;
    int (*work)(void *object, size_t index, size_t caller);
} PHASES[] = {
    {"create", create_one},
    {"snapshot", snapshot_one},
    {"unsnapshot", drop_snapshot},
    {"delete", delete_one},
};

static size_t run_round(struct bench *bench)
{
    size_t failed = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(PHASES); i++) {
        if (!strstr(bench->phases, PHASES[i].name))
            continue;
        failed += timing_run(&(struct timing){PHASES[i].name, (size_t)bench->count,
                                              (size_t)bench->callers, PHASES[i].work, bench});
        print_memory(bench, PHASES[i].name);
    }
    return failed;
}

static int run(struct bench *bench, struct error *err)
{
    if (json_load_path(bench->secrets_path, JSON_TEXT_LIMIT, &bench->secrets, err) < 0 ||
        json_load_path(bench->parameters_path, JSON_TEXT_LIMIT, &bench->parameters, err) < 0 ||
        rpc_client_new(bench->endpoint, &bench->client, err) < 0)
        return -1;
    bench->handles = xcalloc((size_t)bench->count, sizeof(char *));
    bench->snapshots = xcalloc((size_t)bench->count, sizeof(char *));
    print_memory(bench, "before");
    size_t failed = 0;
    for (bench->round = 0; bench->round < bench->rounds; bench->round++)
        failed += run_round(bench);
    print_memory(bench, "after");
    return failed ? error_set(err, STATUS_INTERNAL, "%zu calls failed", failed) : 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {
        .endpoint = "unix:///csi/csi.sock",
        .secrets_path = "secrets.json",
        .parameters_path = "parameters.json",
        .prefix = "bench",
        .phases = "create,delete",
        .access = "block",
        .count = 100,
        .callers = 1,
        .size_bytes = 1 << 30,
        .rounds = 1,
    };
    const struct flag flags[] = {
        {"endpoint", FLAG_STRING, &bench.endpoint, "URL", "CSI socket"},
        {"secrets", FLAG_STRING, &bench.secrets_path, "FILE", "secrets as a JSON object"},
        {"parameters", FLAG_STRING, &bench.parameters_path, "FILE", "class parameters, JSON"},
        {"prefix", FLAG_STRING, &bench.prefix, NULL, "of the request names"},
        {"phases", FLAG_STRING, &bench.phases, NULL, "of create,snapshot,unsnapshot,delete"},
        {"access", FLAG_STRING, &bench.access, NULL, "block or mount"},
        {"count", FLAG_INT, &bench.count, NULL, "volumes per round"},
        {"callers", FLAG_INT, &bench.callers, NULL, "calls at once"},
        {"size", FLAG_INT, &bench.size_bytes, "BYTES", "of each volume"},
        {"rounds", FLAG_INT, &bench.rounds, NULL, "how often to repeat all phases"},
        {"pid", FLAG_INT, &bench.pid, NULL, "of the server, to watch its memory"},
    };
    _cleanup_error_ struct error err = {0};
    int next = 0;

    if (flags_parse(flags, ARRAY_LENGTH(flags), argc, argv, &next, &err) < 0 || next != argc ||
        bench.count < 1 || bench.callers < 1) {
        fprintf(stderr, "csi-bench: %s\n", err.message ? err.message : "bad arguments");
        flags_print_usage(stderr, flags, ARRAY_LENGTH(flags));
        return 2;
    }
    rpc_init();
    int result = run(&bench, &err);
    if (result < 0)
        fprintf(stderr, "csi-bench: %s\n", err.message);
    rpc_client_free(bench.client);
    rpc_shutdown();
    json_decref(bench.secrets);
    json_decref(bench.parameters);
    free(bench.handles);
    free(bench.snapshots);
    return result < 0;
}
