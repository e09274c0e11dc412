/*
 * cephzone call METHOD [REQUEST]: one CSI call, request and answer as JSON; with --batch many, one
 * per line of standard input. Works against any CSI driver; the methods and their messages come
 * from the descriptors of csi.proto.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/rpc/client.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/tool.h"

#include "cephzone.pb-c.h"
#include "csi.pb-c.h"
#include "csiaddons_fence.pb-c.h"
#include "csiaddons_identity.pb-c.h"
#include "csiaddons_reclaimspace.pb-c.h"
#include "csiaddons_replication.pb-c.h"

#define ANSWER_LIMIT (16 * 1024 * 1024)

static const ProtobufCServiceDescriptor *const SERVICES[] = {
    &csi__v1__identity__descriptor,
    &csi__v1__controller__descriptor,
    &csi__v1__group_controller__descriptor,
    &csi__v1__node__descriptor,
    &cephzone__v1__health__descriptor,
    &fence__fence_controller__descriptor,
    &identity__identity__descriptor,
    &reclaimspace__reclaim_space_controller__descriptor,
    &reclaimspace__reclaim_space_node__descriptor,
    &replication__controller__descriptor,
};

struct method {
    const ProtobufCServiceDescriptor *service;
    const ProtobufCMethodDescriptor *rpc;
};

struct call_options {
    const char *endpoint;
    const char *secrets;
    int64_t timeout_ms;
    bool batch;
    struct string_list fields;
    struct string_list arguments; /* METHOD, REQUEST */
};

static int find_method(const char *name, struct method *method, struct error *err)
{
    struct nearest nearest = NEAREST_INIT(name);

    for (size_t s = 0; s < ARRAY_LENGTH(SERVICES); s++) {
        for (unsigned m = 0; m < SERVICES[s]->n_methods; m++) {
            const ProtobufCMethodDescriptor *rpc = &SERVICES[s]->methods[m];

            if (strcmp(rpc->name, name) == 0) {
                *method = (struct method){SERVICES[s], rpc};
                return 0;
            }
            nearest_offer(&nearest, rpc->name);
        }
    }
    error_set(err, STATUS_INVALID_ARGUMENT, "CSI has no method '%s'", name);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

/* @source is JSON, @FILE, or "-" for standard input. */
static int load_request(const char *source, json_t **request, struct error *err)
{
    if (strcmp(source, "-") == 0)
        return json_load_path("/dev/stdin", JSON_TEXT_LIMIT, request, err);
    if (source[0] == '@')
        return json_load_path(source + 1, JSON_TEXT_LIMIT, request, err);
    return json_load_text(source, strlen(source), "request", request, err);
}

/* Secrets come from a file, so that they show neither in the process list nor in a history. Methods
 * that take none get none. */
static int add_secrets(json_t *request, const ProtobufCMessageDescriptor *type, const char *path,
                       struct error *err)
{
    json_t *secrets = NULL;

    if (path[0] == '\0' || !protobuf_c_message_descriptor_get_field_by_name(type, "secrets"))
        return 0;
    if (json_load_path(path, JSON_TEXT_LIMIT, &secrets, err) < 0)
        return -1;
    json_object_set_new(request, "secrets", secrets);
    return 0;
}

/* The value at "volume.volume_context.pool"; a key may itself contain dots. */
static const json_t *find_field(const json_t *value, const char *path)
{
    const char *key = NULL;
    json_t *child = NULL;

    if (path[0] == '\0')
        return value;
    if (json_is_array(value))
        return find_field(json_array_get(value, strtoul(path, NULL, 10)),
                          path + strcspn(path, ".") + (strchr(path, '.') != NULL));
    json_object_foreach((json_t *)(uintptr_t)value, key, child)
    {
        size_t length = strlen(key);

        if (strncmp(path, key, length) != 0 || (path[length] != '.' && path[length] != '\0'))
            continue;
        const json_t *found = find_field(child, path + length + (path[length] == '.'));
        if (found)
            return found;
    }
    return NULL;
}

static void print_answer(const ProtobufCMessage *answer, const struct string_list *fields)
{
    _cleanup_text_ struct text json = TEXT_INIT(ANSWER_LIMIT);

    message_print_json(answer, &json);
    if (fields->count == 0) {
        puts(text_chars(&json));
        return;
    }
    json_auto_t *root = json_loads(text_chars(&json), 0, NULL);
    for (size_t i = 0; i < fields->count; i++) {
        const json_t *field = find_field(root, fields->items[i]);
        _cleanup_free_ char *text = json_is_string(field)
                                        ? xstrdup(json_string_value(field))
                                        : json_dumps(field, JSON_COMPACT | JSON_ENCODE_ANY);

        printf("%s%s", i ? "\t" : "", text ? text : "");
    }
    putchar('\n');
}

static int call_method(struct rpc_client *client, const struct call_options *options,
                       const struct method *method, const char *source, struct error *err)
{
    _cleanup_(message_freep) ProtobufCMessage *request = NULL;
    _cleanup_(message_freep) ProtobufCMessage *answer = NULL;
    _cleanup_free_ char *path = xasprintf("/%s/%s", method->service->name, method->rpc->name);
    json_auto_t *json = NULL;

    if (load_request(source, &json, err) < 0 ||
        add_secrets(json, method->rpc->input, options->secrets, err) < 0 ||
        message_parse_json(method->rpc->input, json, &request, err) < 0)
        return -1;
    const struct rpc_request call = {
        .path = path,
        .message = request,
        .response = method->rpc->output,
        .deadline = deadline_in_ms(options->timeout_ms),
    };
    if (rpc_client_call(client, &call, &answer, err) < 0)
        return -1;
    print_answer(answer, &options->fields);
    return 0;
}

/* Arguments of one call. The exit code. */
static int call_single(const struct call_options *options, struct error *err)
{
    const struct string_list *arguments = &options->arguments;
    const char *request = arguments->count > 1 ? arguments->items[1] : "{}";
    _cleanup_(rpc_client_freep) struct rpc_client *client = NULL;
    struct method method = {0};

    if (find_method(arguments->items[0], &method, err) < 0)
        return tool_fail("call", TOOL_USAGE, err);
    if (rpc_client_new(options->endpoint, &client, err) < 0 ||
        call_method(client, options, &method, request, err) < 0) {
        fprintf(stderr, "%s: %s: %s\n", arguments->items[0], status_name(err->status),
                err->message);
        return 1;
    }
    return 0;
}

/* @line is "METHOD" or "METHOD REQUEST" and is changed. The failure is one line of the output. */
static int call_line(struct rpc_client *client, const struct call_options *options, char *line)
{
    _cleanup_error_ struct error err = {0};
    struct method method = {0};
    char *end = line + strcspn(line, " ");
    const char *source = *end ? end + 1 : "{}";

    *end = '\0';
    if (find_method(line, &method, &err) == 0 &&
        call_method(client, options, &method, source, &err) == 0)
        return 0;
    printf("%s: %s: %s\n", line, status_name(err.status), err.message);
    return 1;
}

/* The calls of standard input over one connection, for scripts that make many. Each answer is
 * printed before the next line is read. */
static int call_batch(const struct call_options *options, struct error *err)
{
    _cleanup_(rpc_client_freep) struct rpc_client *client = NULL;
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    int code = 0;

    if (rpc_client_new(options->endpoint, &client, err) < 0)
        return tool_fail("call", 1, err);
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        code |= call_line(client, options, line);
        fflush(stdout);
    }
    return code;
}

static int check_arguments(void *values, struct error *err)
{
    const struct call_options *options = values;
    size_t count = options->arguments.count;

    if (options->batch ? count > 0 : count == 0 || count > 2)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "one METHOD and at most one REQUEST are needed, none with --batch");
    return 0;
}

static int run_calls(void *values)
{
    const struct call_options *options = values;
    _cleanup_error_ struct error err = {0};

    rpc_init();
    int code = options->batch ? call_batch(options, &err) : call_single(options, &err);
    rpc_shutdown();
    return code;
}

static const char HELP[] =
    "Usage: cephzone call METHOD [REQUEST] [flags]\n"
    "       cephzone call --batch [flags] <CALLS\n\n"
    "Calls one CSI method. REQUEST is JSON with csi.proto's field names, @FILE, or - for\n"
    "standard input; {} if left out. The answer is printed as JSON, secrets left out.\n"
    "With --batch each line of standard input is a METHOD and a REQUEST. Each gives one line:\n"
    "the answer, or why the call failed. Exit code: 0 all calls succeeded, 1 one failed, 2 bad\n"
    "command line.\n\n"
    "  cephzone call Probe\n"
    "  cephzone call CreateVolume @request.json --secrets=s.json --field=volume.volume_id\n";

int command_call(int argc, char **argv)
{
    struct call_options options = {.endpoint = "unix:///csi/csi.sock", .timeout_ms = 60000};
    const struct flag flags[] = {
        {"endpoint", FLAG_STRING, &options.endpoint, "URL", "socket of the driver"},
        {"secrets", FLAG_STRING, &options.secrets, "FILE", "JSON file to send as secrets"},
        {"timeout", FLAG_DURATION, &options.timeout_ms, NULL, "deadline of the call"},
        {"field", FLAG_STRING_LIST, &options.fields, "PATH",
         "print only this field of the answer, such as volume.volume_id; several are separated by "
         "tabs"},
        {"batch", FLAG_BOOL, &options.batch, NULL, "read calls from standard input"},
    };
    const struct tool_command command = {.name = "call",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &options,
                                         .arguments = &options.arguments,
                                         .check = check_arguments,
                                         .run = run_calls};

    int code = tool_run(&command, argc, argv);
    string_list_done(&options.fields);
    string_list_done(&options.arguments);
    return code;
}
