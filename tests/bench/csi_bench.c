/*
 * csi-bench: creates, snapshots, stages, publishes and deletes volumes through any CSI endpoint and
 * prints rates and latencies, and the resident memory of the server (--pid) before, during and
 * after.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/rpc/client.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"
#include "tests/bench/timing.h"

#include "csi.pb-c.h"

struct volume {
    char *handle; /* NULL: not created */
    json_t *context;
    char *snapshot;
};

struct bench {
    const char *endpoint;
    const char *secrets_path;
    const char *parameters_path;
    const char *prefix;
    const char *phases;
    const char *stop_before; /* "": nowhere */
    const char *fs_type;     /* "": block volumes */
    const char *staging;     /* folders that exist, for what is staged and published */
    const char *targets;
    int64_t count;
    int64_t step; /* so many volumes between two looks at the memory */
    int64_t callers;
    int64_t pause_ms;
    int64_t size_bytes;
    int64_t rounds;
    int64_t pid;
    struct rpc_client *client;
    json_t *secrets;
    json_t *parameters;
    struct volume *volumes;
    size_t first; /* of the step */
    int64_t round;
};

static const ProtobufCServiceDescriptor *service_of(const char *method)
{
    return strncmp(method, "Node", 4) == 0 ? &csi__v1__node__descriptor
                                           : &csi__v1__controller__descriptor;
}

static const ProtobufCMessageDescriptor *message_type(const char *method, bool response)
{
    const ProtobufCMethodDescriptor *descriptor =
        protobuf_c_service_descriptor_get_method_by_name(service_of(method), method);

    return response ? descriptor->output : descriptor->input;
}

/* Takes @request over. The answer as JSON, or NULL after printing why not. */
static json_t *call(struct bench *bench, const char *method, json_t *request)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_(message_freep) ProtobufCMessage *message = NULL;
    _cleanup_(message_freep) ProtobufCMessage *answer = NULL;
    _cleanup_free_ char *path = xasprintf("/%s/%s", service_of(method)->name, method);
    _cleanup_text_ struct text text = TEXT_INIT(1024 * 1024);

    if (protobuf_c_message_descriptor_get_field_by_name(message_type(method, false), "secrets"))
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

static struct volume *volume_at(struct bench *bench, size_t index)
{
    return &bench->volumes[bench->first + index];
}

static json_t *capability(const struct bench *bench)
{
    json_t *capability = json_pack("{s:{s:s}}", "access_mode", "mode", "SINGLE_NODE_WRITER");

    json_object_set_new(capability, bench->fs_type[0] ? "mount" : "block",
                        bench->fs_type[0] ? json_pack("{s:s}", "fs_type", bench->fs_type)
                                          : json_object());
    return capability;
}

static int create_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    struct volume *volume = volume_at(bench, index);
    _cleanup_free_ char *name =
        xasprintf("%s-%lld-%zu", bench->prefix, (long long)bench->round, bench->first + index);

    (void)caller;
    json_auto_t *reply =
        call(bench, "CreateVolume",
             json_pack("{s:s, s:{s:I}, s:[o], s:O}", "name", name, "capacity_range",
                       "required_bytes", (json_int_t)bench->size_bytes, "volume_capabilities",
                       capability(bench), "parameters", bench->parameters));
    if (!reply)
        return -1;
    const json_t *created = json_object_get(reply, "volume");
    volume->handle = xstrdup(json_string_value(json_object_get(created, "volume_id")));
    volume->context = json_incref(json_object_get(created, "volume_context"));
    return 0;
}

static int snapshot_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    struct volume *volume = volume_at(bench, index);
    _cleanup_free_ char *name =
        xasprintf("%s-s-%lld-%zu", bench->prefix, (long long)bench->round, bench->first + index);

    (void)caller;
    json_auto_t *reply = call(bench, "CreateSnapshot",
                              json_pack("{s:s, s:s}", "name", name, "source_volume_id",
                                        volume->handle ? volume->handle : ""));
    if (!reply)
        return -1;
    volume->snapshot = xstrdup(
        json_string_value(json_object_get(json_object_get(reply, "snapshot"), "snapshot_id")));
    return 0;
}

static int drop_snapshot(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    struct volume *volume = volume_at(bench, index);

    (void)caller;
    if (!volume->snapshot)
        return -1;
    json_auto_t *reply =
        call(bench, "DeleteSnapshot", json_pack("{s:s}", "snapshot_id", volume->snapshot));
    free(volume->snapshot);
    volume->snapshot = NULL;
    return reply ? 0 : -1;
}

/* Where a volume is staged or published beneath @folder. Caller frees. */
static char *path_in(const char *folder, const struct bench *bench, size_t index)
{
    return xasprintf("%s/%s-%zu", folder, bench->prefix, bench->first + index);
}

static int stage_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    const struct volume *volume = volume_at(bench, index);
    _cleanup_free_ char *staging = path_in(bench->staging, bench, index);

    (void)caller;
    if (!volume->handle || mkdir(staging, 0750) < 0)
        return -1;
    json_auto_t *reply = call(bench, "NodeStageVolume",
                              json_pack("{s:s, s:s, s:o, s:O}", "volume_id", volume->handle,
                                        "staging_target_path", staging, "volume_capability",
                                        capability(bench), "volume_context", volume->context));
    return reply ? 0 : -1;
}

static int publish_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    const struct volume *volume = volume_at(bench, index);
    _cleanup_free_ char *staging = path_in(bench->staging, bench, index);
    _cleanup_free_ char *target = path_in(bench->targets, bench, index);

    (void)caller;
    if (!volume->handle)
        return -1;
    json_auto_t *reply =
        call(bench, "NodePublishVolume",
             json_pack("{s:s, s:s, s:s, s:o, s:O}", "volume_id", volume->handle,
                       "staging_target_path", staging, "target_path", target, "volume_capability",
                       capability(bench), "volume_context", volume->context));
    return reply ? 0 : -1;
}

static int unpublish_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    const struct volume *volume = volume_at(bench, index);
    _cleanup_free_ char *target = path_in(bench->targets, bench, index);

    (void)caller;
    if (!volume->handle)
        return -1;
    json_auto_t *reply =
        call(bench, "NodeUnpublishVolume",
             json_pack("{s:s, s:s}", "volume_id", volume->handle, "target_path", target));
    return reply ? 0 : -1;
}

static int unstage_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    const struct volume *volume = volume_at(bench, index);
    _cleanup_free_ char *staging = path_in(bench->staging, bench, index);

    (void)caller;
    if (!volume->handle)
        return -1;
    json_auto_t *reply =
        call(bench, "NodeUnstageVolume",
             json_pack("{s:s, s:s}", "volume_id", volume->handle, "staging_target_path", staging));
    return reply ? rmdir(staging) : -1;
}

static int delete_one(void *object, size_t index, size_t caller)
{
    struct bench *bench = object;
    struct volume *volume = volume_at(bench, index);

    (void)caller;
    if (!volume->handle)
        return -1;
    json_auto_t *reply =
        call(bench, "DeleteVolume", json_pack("{s:s}", "volume_id", volume->handle));
    free(volume->handle);
    volume->handle = NULL;
    json_decref(volume->context);
    volume->context = NULL;
    return reply ? 0 : -1;
}

static void print_memory(const struct bench *bench, const char *when)
{
    _cleanup_free_ char *path = xasprintf("/proc/%lld/status", (long long)bench->pid);
    _cleanup_fclose_ FILE *file = bench->pid ? fopen(path, "re") : NULL;
    char line[256];

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            printf("%-16s resident %8.1f MB\n", when, strtod(line + 6, NULL) / 1000);
}

struct phase {
    const char *name;
    int (*work)(void *object, size_t index, size_t caller);
};

static int ask_capacity(void *object, size_t index, size_t caller)
{
    static const char *const zones[] = {"zone-a", "zone-b", "zone-c"};
    struct bench *bench = object;

    (void)caller;
    json_auto_t *reply =
        call(bench, "GetCapacity",
             json_pack("{s:O, s:{s:{s:s}}}", "parameters", bench->parameters, "accessible_topology",
                       "segments", "topology.rbd.csi.ceph.com/zone",
                       zones[index % ARRAY_LENGTH(zones)]));
    return reply ? 0 : -1;
}

static const struct phase PHASES[] = {
    {"capacity", ask_capacity},    {"create", create_one},   {"snapshot", snapshot_one},
    {"unsnapshot", drop_snapshot}, {"stage", stage_one},     {"publish", publish_one},
    {"unpublish", unpublish_one},  {"unstage", unstage_one}, {"delete", delete_one},
};

/* Whether the name is one of the list: "stage" is not in "unstage". */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
            return true;
    return false;
}

static size_t run_phase(struct bench *bench, const struct phase *phase)
{
    const size_t count = (size_t)bench->count;
    const size_t step = bench->step > 0 ? (size_t)bench->step : count;
    size_t failed = 0;

    for (bench->first = 0; bench->first < count; bench->first += step) {
        size_t left = count - bench->first;
        size_t now = left < step ? left : step;
        _cleanup_free_ char *when = xasprintf("%s %zu", phase->name, bench->first + now);

        failed += timing_run(&(struct timing){phase->name, now, (size_t)bench->callers, phase->work,
                                              bench, (unsigned)bench->pause_ms});
        print_memory(bench, when);
    }
    return failed;
}

/* Until SIGCONT: somebody looks at what is there now. */
static void stop(void)
{
    fflush(stdout);
    raise(SIGSTOP);
}

static size_t run_round(struct bench *bench)
{
    size_t failed = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(PHASES); i++)
        if (is_listed(bench->phases, PHASES[i].name)) {
            if (strcmp(bench->stop_before, PHASES[i].name) == 0)
                stop();
            failed += run_phase(bench, &PHASES[i]);
        }
    return failed;
}

static int run(struct bench *bench, struct error *err)
{
    if (json_load_path(bench->secrets_path, JSON_TEXT_LIMIT, &bench->secrets, err) < 0 ||
        json_load_path(bench->parameters_path, JSON_TEXT_LIMIT, &bench->parameters, err) < 0 ||
        rpc_client_new(bench->endpoint, &bench->client, err) < 0)
        return -1;
    bench->volumes = xcalloc((size_t)bench->count, sizeof(*bench->volumes));
    print_memory(bench, "before");
    size_t failed = 0;
    for (bench->round = 0; bench->round < bench->rounds; bench->round++)
        failed += run_round(bench);
    print_memory(bench, "after");
    return failed ? error_set(err, STATUS_INTERNAL, "%zu calls failed", failed) : 0;
}

static void volumes_free(struct bench *bench)
{
    for (int64_t i = 0; bench->volumes && i < bench->count; i++) {
        free(bench->volumes[i].handle);
        free(bench->volumes[i].snapshot);
        json_decref(bench->volumes[i].context);
    }
    free(bench->volumes);
}

int main(int argc, char **argv)
{
    struct bench bench = {
        .endpoint = "unix:///csi/csi.sock",
        .secrets_path = "secrets.json",
        .parameters_path = "parameters.json",
        .prefix = "bench",
        .phases = "create,delete",
        .stop_before = "",
        .fs_type = "",
        .staging = "/var/lib/kubelet/plugins/kubernetes.io/csi",
        .targets = "/var/lib/kubelet/pods",
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
        {"phases", FLAG_STRING, &bench.phases, NULL,
         "of create,snapshot,unsnapshot,stage,publish,unpublish,unstage,delete,capacity"},
        {"stop-before", FLAG_STRING, &bench.stop_before, "PHASE",
         "stop there, as by SIGSTOP, until SIGCONT"},
        {"fs-type", FLAG_STRING, &bench.fs_type, NULL, "of the volumes; without: block volumes"},
        {"staging", FLAG_STRING, &bench.staging, "DIR", "where volumes are staged"},
        {"targets", FLAG_STRING, &bench.targets, "DIR", "where volumes are published"},
        {"step", FLAG_INT, &bench.step, NULL, "print figures after each so many volumes"},
        {"count", FLAG_INT, &bench.count, NULL, "volumes per round"},
        {"callers", FLAG_INT, &bench.callers, NULL, "calls at once"},
        {"pause", FLAG_DURATION, &bench.pause_ms, NULL, "how long a caller rests after each call"},
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
    volumes_free(&bench);
    return result < 0;
}
