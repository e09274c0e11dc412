/*
 * Holds csi.proto and pluginregistration.proto to the published contracts.
 *
 * The figures and the tables below describe the contract, they do not come from our files: a slip
 * in a .proto file (a number, a forgotten field, a secret without its mark) fails here and not on a
 * cluster. protobuf-c keeps neither options nor streaming at run time; therefore csi.proto is read
 * from the descriptor set that protoc wrote, CSI_DESC_PATH.
 */
#include <stdbool.h>

#include "csiaddons_fence.pb-c.h"
#include "csiaddons_identity.pb-c.h"
#include "csiaddons_reclaimspace.pb-c.h"
#include "google/protobuf/descriptor.pb-c.h"
#include "pluginregistration.pb-c.h"
#include "tests/test.h"

#ifndef CSI_DESC_PATH
#define CSI_DESC_PATH "build/proto/csi.desc"
#endif

#define PACKAGE "csi.v1"
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Numbers of the custom options; protobuf-c knows no extension and keeps them as unknown fields. */
enum { OPTION_SECRET = 1059, OPTION_ALPHA = 1060 };

enum { DESCRIPTOR_SET_MAX_BYTES = 1024 * 1024 };

/* The generated names are too long to read a line with. */
typedef Google__Protobuf__FileDescriptorSet file_set;
typedef Google__Protobuf__FileDescriptorProto file_descriptor;
typedef Google__Protobuf__DescriptorProto message_descriptor;
typedef Google__Protobuf__FieldDescriptorProto field_descriptor;
typedef Google__Protobuf__EnumDescriptorProto enum_descriptor;
typedef Google__Protobuf__ServiceDescriptorProto service_descriptor;
typedef Google__Protobuf__MethodDescriptorProto method_descriptor;

/* What a file holds, nested elements included, entry types of maps left out. */
struct totals {
    size_t messages, fields, enums, enum_values;
    size_t secrets; /* fields with csi_secret */
    size_t alpha_messages, alpha_fields, alpha_enums, alpha_enum_values;
};

/* True if bool option @number is set to true; @options may be NULL. */
static bool option_is_set(const ProtobufCMessage *options, uint32_t number)
{
    if (options == NULL)
        return false;
    for (unsigned i = 0; i < options->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &options->unknown_fields[i];

        if (field->tag == number)
            return field->wire_type == PROTOBUF_C_WIRE_TYPE_VARINT && field->len == 1 &&
                   field->data[0] == 1;
    }
    return false;
}

/* The options pointer of any descriptor as base message, NULL kept. */
#define OPTIONS_OF(descriptor)                                                                     \
    ((descriptor)->options == NULL ? NULL : (const ProtobufCMessage *)&(descriptor)->options->base)

static bool is_map_entry(const message_descriptor *message)
{
    return message->options != NULL && message->options->map_entry;
}

static void count_enum(const enum_descriptor *enumeration, struct totals *totals)
{
    totals->enums++;
    totals->alpha_enums += option_is_set(OPTIONS_OF(enumeration), OPTION_ALPHA);
    totals->enum_values += enumeration->n_value;
    for (size_t i = 0; i < enumeration->n_value; i++)
        totals->alpha_enum_values += option_is_set(OPTIONS_OF(enumeration->value[i]), OPTION_ALPHA);
}

static void count_message(const message_descriptor *message, struct totals *totals)
{
    if (is_map_entry(message))
        return;
    totals->messages++;
    totals->alpha_messages += option_is_set(OPTIONS_OF(message), OPTION_ALPHA);
    totals->fields += message->n_field;
    for (size_t i = 0; i < message->n_field; i++) {
        totals->secrets += option_is_set(OPTIONS_OF(message->field[i]), OPTION_SECRET);
        totals->alpha_fields += option_is_set(OPTIONS_OF(message->field[i]), OPTION_ALPHA);
    }
    for (size_t i = 0; i < message->n_enum_type; i++)
        count_enum(message->enum_type[i], totals);
    for (size_t i = 0; i < message->n_nested_type; i++)
        count_message(message->nested_type[i], totals);
}

static struct totals count_file(const file_descriptor *file)
{
    struct totals totals = {0};

    for (size_t i = 0; i < file->n_enum_type; i++)
        count_enum(file->enum_type[i], &totals);
    for (size_t i = 0; i < file->n_message_type; i++)
        count_message(file->message_type[i], &totals);
    return totals;
}

/* True if the @length bytes at @part are exactly @name. */
static bool part_is(const char *part, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(part, name, length) == 0;
}

static const message_descriptor *find_in(message_descriptor *const *messages, size_t count,
                                         const char *part, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (part_is(part, length, messages[i]->name))
            return messages[i];
    return NULL;
}

/* The message of dotted name @path, of which only @length bytes count; NULL if there is none. */
static const message_descriptor *find_message(const file_descriptor *file, const char *path,
                                              size_t length)
{
    const char *end = path + length;
    const message_descriptor *message = NULL;

    for (const char *part = path; part < end;) {
        const char *dot = memchr(part, '.', (size_t)(end - part));
        size_t part_length = (size_t)((dot == NULL ? end : dot) - part);

        message = message == NULL
                      ? find_in(file->message_type, file->n_message_type, part, part_length)
                      : find_in(message->nested_type, message->n_nested_type, part, part_length);
        if (message == NULL)
            return NULL;
        part += part_length + 1;
    }
    return message;
}

/* The enum of dotted name @path; NULL if there is none. */
static const enum_descriptor *find_enum(const file_descriptor *file, const char *path)
{
    const char *dot = strrchr(path, '.');
    enum_descriptor *const *enums = file->enum_type;
    size_t count = file->n_enum_type;

    if (dot != NULL) {
        const message_descriptor *parent = find_message(file, path, (size_t)(dot - path));

        if (parent == NULL)
            return NULL;
        enums = parent->enum_type;
        count = parent->n_enum_type;
        path = dot + 1;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(enums[i]->name, path) == 0)
            return enums[i];
    return NULL;
}

static const service_descriptor *find_service(const file_descriptor *file, const char *name)
{
    for (size_t i = 0; i < file->n_service; i++)
        if (strcmp(file->service[i]->name, name) == 0)
            return file->service[i];
    return NULL;
}

static const field_descriptor *find_field(const file_descriptor *file, const char *path,
                                          const char *name)
{
    const message_descriptor *message = find_message(file, path, strlen(path));

    if (message == NULL)
        return NULL;
    for (size_t i = 0; i < message->n_field; i++)
        if (strcmp(message->field[i]->name, name) == 0)
            return message->field[i];
    return NULL;
}

/* Fails the test. cmocka's own functions are not marked as not returning, which analysers miss. */
static _Noreturn void fail_missing(const char *kind, const char *parent, const char *name)
{
    fail_msg("no %s '%s.%s'", kind, parent, name);
    abort();
}

/* Reads and unpacks CSI_DESC_PATH. NULL, with a message on stderr, if that fails. */
static file_set *read_descriptor_set(void)
{
    FILE *file = fopen(CSI_DESC_PATH, "rbe");
    uint8_t *bytes = NULL;
    size_t length = 0;
    file_set *set = NULL;

    if (file == NULL) {
        fprintf(stderr, "open '%s': %m\n", CSI_DESC_PATH);
        return NULL;
    }
    bytes = malloc(DESCRIPTOR_SET_MAX_BYTES);
    if (bytes != NULL)
        length = fread(bytes, 1, DESCRIPTOR_SET_MAX_BYTES, file);
    fclose(file);
    if (length > 0 && length < DESCRIPTOR_SET_MAX_BYTES)
        set = google__protobuf__file_descriptor_set__unpack(NULL, length, bytes);
    free(bytes);
    if (set == NULL)
        fprintf(stderr, "'%s' holds no descriptor set of usual size\n", CSI_DESC_PATH);
    return set;
}

/* csi.proto, the last file of @set: protoc puts imports before the file that asks for them. */
static const file_descriptor *csi_file(const file_set *set)
{
    return set->file[set->n_file - 1];
}

static int open_descriptor_set(void **state)
{
    file_set *set = read_descriptor_set();

    *state = set;
    if (set == NULL)
        return -1;
    if (set->n_file == 0 || csi_file(set)->package == NULL ||
        strcmp(csi_file(set)->package, PACKAGE) != 0) {
        fprintf(stderr, "'%s' does not end with package '%s'\n", CSI_DESC_PATH, PACKAGE);
        return -1;
    }
    return 0;
}

static int free_descriptor_set(void **state)
{
    google__protobuf__file_descriptor_set__free_unpacked(*state, NULL);
    return 0;
}

/* That of 1.13, and what 1.12 had more: a message of two fields, three fields, two enum values. */
TEST(csi_has_as_many_elements_as_the_specification)
{
    const file_descriptor *csi = csi_file(*state);
    const struct totals totals = count_file(csi);
    size_t rpcs = 0;

    for (size_t i = 0; i < csi->n_service; i++)
        rpcs += csi->service[i]->n_method;
    assert_int_equal(totals.messages, 105);
    assert_int_equal(totals.fields, 221);
    assert_int_equal(totals.enums, 10);
    assert_int_equal(totals.enum_values, 59);
    assert_int_equal(csi->n_service, 5);
    assert_int_equal(rpcs, 36);
    assert_int_equal(csi->n_extension, 7);
    assert_string_equal(csi->syntax, "proto3");
}

TEST(csi_options_have_their_numbers)
{
    static const struct {
        const char *name, *extendee;
        int number;
    } options[] = {
        {"alpha_enum", ".google.protobuf.EnumOptions", OPTION_ALPHA},
        {"alpha_enum_value", ".google.protobuf.EnumValueOptions", OPTION_ALPHA},
        {"csi_secret", ".google.protobuf.FieldOptions", OPTION_SECRET},
        {"alpha_field", ".google.protobuf.FieldOptions", OPTION_ALPHA},
        {"alpha_message", ".google.protobuf.MessageOptions", OPTION_ALPHA},
        {"alpha_method", ".google.protobuf.MethodOptions", OPTION_ALPHA},
        {"alpha_service", ".google.protobuf.ServiceOptions", OPTION_ALPHA},
    };
    const file_descriptor *csi = csi_file(*state);

    assert_int_equal(csi->n_extension, LENGTH(options));
    for (size_t i = 0; i < LENGTH(options); i++) {
        const field_descriptor *found = NULL;

        for (size_t j = 0; j < csi->n_extension; j++)
            if (strcmp(csi->extension[j]->name, options[i].name) == 0)
                found = csi->extension[j];
        if (found == NULL)
            fail_missing("option", PACKAGE, options[i].name);
        assert_string_equal(found->extendee, options[i].extendee);
        assert_int_equal(found->number, options[i].number);
        assert_int_equal(found->type, GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BOOL);
    }
}

/* Fails unless csi_secret is on the fields of @message named "secrets" and on no others, at all
 * depths. */
static void check_secret_marks(const message_descriptor *message)
{
    for (size_t i = 0; i < message->n_field; i++) {
        const field_descriptor *field = message->field[i];
        bool named = strcmp(field->name, "secrets") == 0;

        if (option_is_set(OPTIONS_OF(field), OPTION_SECRET) != named)
            fail_msg("%s.%s: csi_secret is %s", message->name, field->name,
                     named ? "missing" : "out of place");
    }
    for (size_t i = 0; i < message->n_nested_type; i++)
        check_secret_marks(message->nested_type[i]);
}

TEST(secrets_fields_and_no_others_are_marked_secret)
{
    const file_descriptor *csi = csi_file(*state);

    for (size_t i = 0; i < csi->n_message_type; i++)
        check_secret_marks(csi->message_type[i]);
    assert_int_equal(count_file(csi).secrets, 22);
}

TEST(alpha_elements_are_those_of_the_specification)
{
    static const char *const messages[] = {
        "ControllerGetVolumeRequest",
        "ControllerGetVolumeResponse",
        "GetSnapshotRequest",
        "GetSnapshotResponse",
        "VolumeCondition",
        "VolumeHealth",
        "ControllerListVolumeHealthRequest",
        "ControllerListVolumeHealthResponse",
        "ControllerGetVolumeHealthRequest",
        "ControllerGetVolumeHealthResponse",
        "NodeGetVolumeHealthRequest",
        "NodeGetVolumeHealthResponse",
        "NodeGetStorageHealthRequest",
        "NodeGetStorageHealthResponse",
    };
    static const struct {
        const char *message, *field;
    } fields[] = {
        {"ListVolumesResponse.VolumeStatus", "volume_condition"},
        {"GetCapacityResponse", "minimum_volume_size"},
        {"NodeGetVolumeStatsResponse", "volume_condition"},
        {"NodeExpandVolumeRequest", "secrets"},
        {"CreateSnapshotRequest", "accessibility_requirements"},
        {"Snapshot", "accessible_topology"},
    };
    const file_descriptor *csi = csi_file(*state);
    const struct totals totals = count_file(csi);

    for (size_t i = 0; i < LENGTH(messages); i++) {
        const message_descriptor *message = find_message(csi, messages[i], strlen(messages[i]));

        if (message == NULL || !option_is_set(OPTIONS_OF(message), OPTION_ALPHA))
            fail_msg("'%s' is not alpha", messages[i]);
    }
    for (size_t i = 0; i < LENGTH(fields); i++) {
        const field_descriptor *field = find_field(csi, fields[i].message, fields[i].field);

        if (field == NULL || !option_is_set(OPTIONS_OF(field), OPTION_ALPHA))
            fail_msg("'%s.%s' is not alpha", fields[i].message, fields[i].field);
    }
    assert_int_equal(totals.alpha_messages, LENGTH(messages));
    assert_int_equal(totals.alpha_fields, LENGTH(fields));
    assert_int_equal(totals.alpha_enums, 0);
    assert_int_equal(totals.alpha_enum_values, 14);
}

TEST(services_have_their_rpcs)
{
    static const struct {
        const char *name;
        size_t rpcs, alpha_rpcs;
        bool alpha;
    } services[] = {
        {"Identity", 3, 0, false},        {"Controller", 17, 4, false},
        {"GroupController", 4, 0, false}, {"SnapshotMetadata", 2, 0, true},
        {"Node", 10, 2, false},
    };
    const file_descriptor *csi = csi_file(*state);

    for (size_t i = 0; i < LENGTH(services); i++) {
        const service_descriptor *service = find_service(csi, services[i].name);
        size_t alpha_rpcs = 0;

        if (service == NULL)
            fail_missing("service", PACKAGE, services[i].name);
        for (size_t j = 0; j < service->n_method; j++)
            alpha_rpcs += option_is_set(OPTIONS_OF(service->method[j]), OPTION_ALPHA);
        assert_int_equal(service->n_method, services[i].rpcs);
        assert_int_equal(alpha_rpcs, services[i].alpha_rpcs);
        assert_int_equal(option_is_set(OPTIONS_OF(service), OPTION_ALPHA), services[i].alpha);
    }
}

/* Fails unless @type is "." PACKAGE "." @rpc @suffix. */
static void check_rpc_type(const char *type, const char *rpc, const char *suffix)
{
    char expected[128];

    snprintf(expected, sizeof(expected), ".%s.%s%s", PACKAGE, rpc, suffix);
    assert_string_equal(type, expected);
}

TEST(every_rpc_has_request_and_response_of_its_name)
{
    const file_descriptor *csi = csi_file(*state);

    for (size_t i = 0; i < csi->n_service; i++) {
        const service_descriptor *service = csi->service[i];

        for (size_t j = 0; j < service->n_method; j++) {
            const method_descriptor *rpc = service->method[j];

            check_rpc_type(rpc->input_type, rpc->name, "Request");
            check_rpc_type(rpc->output_type, rpc->name, "Response");
        }
    }
}

TEST(only_snapshot_metadata_streams_and_only_answers)
{
    const file_descriptor *csi = csi_file(*state);

    for (size_t i = 0; i < csi->n_service; i++) {
        const service_descriptor *service = csi->service[i];
        bool streams = strcmp(service->name, "SnapshotMetadata") == 0;

        for (size_t j = 0; j < service->n_method; j++) {
            assert_false(service->method[j]->client_streaming);
            assert_int_equal(service->method[j]->server_streaming, streams);
        }
    }
}

#define TYPE(name) GOOGLE__PROTOBUF__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_##name

/* Fields that are easy to get wrong: late numbers, gaps in the order of use, near namesakes. */
TEST(fields_have_their_numbers_and_types)
{
    static const struct {
        const char *message, *field;
        int number;
        Google__Protobuf__FieldDescriptorProto__Type type;
    } fields[] = {
        {"GetPluginInfoResponse", "manifest", 3, TYPE(MESSAGE)},
        {"PluginCapability", "volume_expansion", 2, TYPE(MESSAGE)},
        {"PluginCapability.Service", "type", 1, TYPE(ENUM)},
        {"ProbeResponse", "ready", 1, TYPE(MESSAGE)},
        {"CreateVolumeRequest", "secrets", 5, TYPE(MESSAGE)},
        {"CreateVolumeRequest", "volume_content_source", 6, TYPE(MESSAGE)},
        {"CreateVolumeRequest", "accessibility_requirements", 7, TYPE(MESSAGE)},
        {"CreateVolumeRequest", "mutable_parameters", 8, TYPE(MESSAGE)},
        {"VolumeContentSource.VolumeSource", "volume_id", 1, TYPE(STRING)},
        {"VolumeCapability", "access_mode", 3, TYPE(MESSAGE)},
        {"VolumeCapability.MountVolume", "volume_mount_group", 3, TYPE(STRING)},
        {"CapacityRange", "limit_bytes", 2, TYPE(INT64)},
        {"Volume", "capacity_bytes", 1, TYPE(INT64)},
        {"Volume", "volume_id", 2, TYPE(STRING)},
        {"Volume", "accessible_topology", 5, TYPE(MESSAGE)},
        {"TopologyRequirement", "preferred", 2, TYPE(MESSAGE)},
        {"ControllerPublishVolumeRequest", "readonly", 4, TYPE(BOOL)},
        {"ValidateVolumeCapabilitiesRequest", "mutable_parameters", 6, TYPE(MESSAGE)},
        {"ValidateVolumeCapabilitiesResponse.Confirmed", "mutable_parameters", 4, TYPE(MESSAGE)},
        {"ListVolumesRequest", "max_entries", 1, TYPE(INT32)},
        {"ControllerModifyVolumeRequest", "mutable_parameters", 3, TYPE(MESSAGE)},
        {"GetCapacityRequest", "accessible_topology", 3, TYPE(MESSAGE)},
        {"GetCapacityResponse", "minimum_volume_size", 3, TYPE(MESSAGE)},
        {"Snapshot", "ready_to_use", 5, TYPE(BOOL)},
        {"Snapshot", "group_snapshot_id", 6, TYPE(STRING)},
        {"ControllerExpandVolumeRequest", "volume_capability", 4, TYPE(MESSAGE)},
        {"NodeStageVolumeRequest", "staging_target_path", 3, TYPE(STRING)},
        {"NodePublishVolumeRequest", "target_path", 4, TYPE(STRING)},
        {"NodePublishVolumeRequest", "volume_context", 8, TYPE(MESSAGE)},
        {"VolumeUsage", "unit", 4, TYPE(ENUM)},
        {"NodeGetInfoResponse", "max_volumes_per_node", 2, TYPE(INT64)},
        {"NodeGetInfoResponse", "accessible_topology", 3, TYPE(MESSAGE)},
        {"NodeExpandVolumeRequest", "volume_capability", 5, TYPE(MESSAGE)},
        {"VolumeGroupSnapshot", "creation_time", 3, TYPE(MESSAGE)},
        {"GetMetadataDeltaRequest", "max_results", 4, TYPE(INT32)},
        {"CreateSnapshotRequest", "accessibility_requirements", 5, TYPE(MESSAGE)},
        {"Snapshot", "accessible_topology", 7, TYPE(MESSAGE)},
        {"ListVolumesResponse.VolumeStatus", "volume_condition", 2, TYPE(MESSAGE)},
        {"ControllerGetVolumeResponse.VolumeStatus", "volume_condition", 2, TYPE(MESSAGE)},
        {"NodeGetVolumeStatsResponse", "volume_condition", 2, TYPE(MESSAGE)},
        {"VolumeHealth", "volume_id", 1, TYPE(STRING)},
        {"VolumeHealth", "health_statuses", 2, TYPE(MESSAGE)},
        {"VolumeHealth.VolumeHealthEntry", "status", 1, TYPE(ENUM)},
        {"VolumeHealth.VolumeHealthEntry", "reason", 2, TYPE(STRING)},
        {"VolumeHealth.VolumeHealthEntry", "message", 3, TYPE(STRING)},
        {"ControllerListVolumeHealthRequest", "secrets", 3, TYPE(MESSAGE)},
        {"ControllerListVolumeHealthResponse", "next_token", 2, TYPE(STRING)},
        {"ControllerGetVolumeHealthRequest", "secrets", 2, TYPE(MESSAGE)},
        {"NodeGetVolumeHealthRequest", "volume_publish_path", 2, TYPE(STRING)},
        {"NodeGetVolumeHealthRequest", "staging_target_path", 3, TYPE(STRING)},
    };
    const file_descriptor *csi = csi_file(*state);

    for (size_t i = 0; i < LENGTH(fields); i++) {
        const field_descriptor *field = find_field(csi, fields[i].message, fields[i].field);

        if (field == NULL)
            fail_missing("field", fields[i].message, fields[i].field);
        if (field->number != fields[i].number || field->type != fields[i].type)
            fail_msg("%s.%s: number %d type %d instead of %d, %d", fields[i].message,
                     fields[i].field, field->number, (int)field->type, fields[i].number,
                     (int)fields[i].type);
    }
}

TEST(enum_values_have_their_numbers)
{
    static const struct {
        const char *enumeration, *name;
        int number;
    } values[] = {
        {"PluginCapability.Service.Type", "VOLUME_ACCESSIBILITY_CONSTRAINTS", 2},
        {"PluginCapability.Service.Type", "SNAPSHOT_METADATA_SERVICE", 4},
        {"PluginCapability.VolumeExpansion.Type", "ONLINE", 1},
        {"VolumeCapability.AccessMode.Mode", "MULTI_NODE_MULTI_WRITER", 5},
        {"VolumeCapability.AccessMode.Mode", "SINGLE_NODE_MULTI_WRITER", 7},
        {"ControllerServiceCapability.RPC.Type", "EXPAND_VOLUME", 9},
        {"ControllerServiceCapability.RPC.Type", "SINGLE_NODE_MULTI_WRITER", 13},
        {"ControllerServiceCapability.RPC.Type", "GET_SNAPSHOT", 15},
        {"ControllerServiceCapability.RPC.Type", "VOLUME_CONDITION", 11},
        {"ControllerServiceCapability.RPC.Type", "GET_VOLUME_HEALTH", 16},
        {"ControllerServiceCapability.RPC.Type", "LIST_VOLUME_HEALTH", 17},
        {"NodeServiceCapability.RPC.Type", "VOLUME_CONDITION", 4},
        {"NodeServiceCapability.RPC.Type", "GET_VOLUME_HEALTH", 7},
        {"NodeServiceCapability.RPC.Type", "GET_STORAGE_HEALTH", 8},
        {"PluginCapability.Service.Type", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS", 5},
        {"VolumeHealthErrorType", "DATA_LOSS", 3},
        {"VolumeHealthErrorType", "INACCESSIBLE", 2},
        {"StorageHealthErrorType", "STORAGE_UNREACHABLE", 2},
        {"NodeServiceCapability.RPC.Type", "EXPAND_VOLUME", 3},
        {"NodeServiceCapability.RPC.Type", "VOLUME_MOUNT_GROUP", 6},
        {"VolumeUsage.Unit", "INODES", 2},
        {"GroupControllerServiceCapability.RPC.Type", "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT", 1},
        {"BlockMetadataType", "VARIABLE_LENGTH", 2},
    };
    const file_descriptor *csi = csi_file(*state);

    for (size_t i = 0; i < LENGTH(values); i++) {
        const enum_descriptor *enumeration = find_enum(csi, values[i].enumeration);
        int number = -1;

        if (enumeration == NULL)
            fail_missing("enum", PACKAGE, values[i].enumeration);
        for (size_t j = 0; j < enumeration->n_value; j++)
            if (strcmp(enumeration->value[j]->name, values[i].name) == 0)
                number = enumeration->value[j]->number;
        if (number != values[i].number)
            fail_msg("%s.%s is %d instead of %d", values[i].enumeration, values[i].name, number,
                     values[i].number);
    }
}

TEST(registration_messages_have_their_numbers)
{
    static const struct {
        const ProtobufCMessageDescriptor *message;
        const char *field;
        uint32_t number;
        ProtobufCType type;
        ProtobufCLabel label;
    } fields[] = {
        {&pluginregistration__plugin_info__descriptor, "type", 1, PROTOBUF_C_TYPE_STRING,
         PROTOBUF_C_LABEL_NONE},
        {&pluginregistration__plugin_info__descriptor, "name", 2, PROTOBUF_C_TYPE_STRING,
         PROTOBUF_C_LABEL_NONE},
        {&pluginregistration__plugin_info__descriptor, "endpoint", 3, PROTOBUF_C_TYPE_STRING,
         PROTOBUF_C_LABEL_NONE},
        {&pluginregistration__plugin_info__descriptor, "supported_versions", 4,
         PROTOBUF_C_TYPE_STRING, PROTOBUF_C_LABEL_REPEATED},
        {&pluginregistration__registration_status__descriptor, "plugin_registered", 1,
         PROTOBUF_C_TYPE_BOOL, PROTOBUF_C_LABEL_NONE},
        {&pluginregistration__registration_status__descriptor, "error", 2, PROTOBUF_C_TYPE_STRING,
         PROTOBUF_C_LABEL_NONE},
    };

    for (size_t i = 0; i < LENGTH(fields); i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(fields[i].message, fields[i].field);

        if (field == NULL)
            fail_missing("field", fields[i].message->name, fields[i].field);
        assert_int_equal(field->id, fields[i].number);
        assert_int_equal(field->type, fields[i].type);
        assert_int_equal(field->label, fields[i].label);
    }
    assert_int_equal(pluginregistration__plugin_info__descriptor.n_fields, 4);
    assert_int_equal(pluginregistration__registration_status__descriptor.n_fields, 2);
}

TEST(registration_service_has_the_unversioned_name)
{
    const ProtobufCServiceDescriptor *service = &pluginregistration__registration__descriptor;

    assert_string_equal(service->name, "pluginregistration.Registration");
    assert_int_equal(service->n_methods, 2);
    assert_string_equal(service->methods[0].name, "GetInfo");
    assert_string_equal(service->methods[1].name, "NotifyRegistrationStatus");
}

/* What csi-addons' sidecar sends and expects, as far as it is served. */
TEST(addons_messages_have_their_numbers)
{
    static const struct {
        const ProtobufCMessageDescriptor *message;
        const char *field;
        uint32_t number;
    } fields[] = {
        {&identity__get_identity_response__descriptor, "name", 1},
        {&identity__get_identity_response__descriptor, "vendor_version", 2},
        {&identity__get_capabilities_response__descriptor, "capabilities", 1},
        {&identity__capability__descriptor, "service", 1},
        {&identity__capability__descriptor, "reclaim_space", 2},
        {&identity__capability__descriptor, "network_fence", 3},
        {&identity__capability__network_fence__descriptor, "type", 1},
        {&identity__probe_response__descriptor, "ready", 1},
        {&fence__fence_cluster_network_request__descriptor, "parameters", 1},
        {&fence__fence_cluster_network_request__descriptor, "secrets", 2},
        {&fence__fence_cluster_network_request__descriptor, "cidrs", 3},
        {&fence__unfence_cluster_network_request__descriptor, "parameters", 1},
        {&fence__unfence_cluster_network_request__descriptor, "secrets", 2},
        {&fence__unfence_cluster_network_request__descriptor, "cidrs", 3},
        {&fence__list_cluster_fence_request__descriptor, "parameters", 1},
        {&fence__list_cluster_fence_request__descriptor, "secrets", 2},
        {&fence__list_cluster_fence_response__descriptor, "cidrs", 1},
        {&fence__get_fence_clients_request__descriptor, "parameters", 1},
        {&fence__get_fence_clients_request__descriptor, "secrets", 2},
        {&fence__get_fence_clients_response__descriptor, "clients", 1},
        {&fence__client_details__descriptor, "id", 1},
        {&fence__client_details__descriptor, "addresses", 2},
        {&fence__cidr__descriptor, "cidr", 1},
        {&reclaimspace__controller_reclaim_space_request__descriptor, "volume_id", 1},
        {&reclaimspace__controller_reclaim_space_request__descriptor, "parameters", 2},
        {&reclaimspace__controller_reclaim_space_request__descriptor, "secrets", 3},
        {&reclaimspace__controller_reclaim_space_response__descriptor, "pre_usage", 1},
        {&reclaimspace__controller_reclaim_space_response__descriptor, "post_usage", 2},
        {&reclaimspace__storage_consumption__descriptor, "usage_bytes", 1},
        {&reclaimspace__node_reclaim_space_request__descriptor, "volume_id", 1},
        {&reclaimspace__node_reclaim_space_request__descriptor, "volume_path", 2},
        {&reclaimspace__node_reclaim_space_request__descriptor, "staging_target_path", 3},
        {&reclaimspace__node_reclaim_space_request__descriptor, "volume_capability", 4},
        {&reclaimspace__node_reclaim_space_request__descriptor, "secrets", 5},
        {&reclaimspace__node_reclaim_space_response__descriptor, "pre_usage", 1},
        {&reclaimspace__node_reclaim_space_response__descriptor, "post_usage", 2},
    };

    for (size_t i = 0; i < LENGTH(fields); i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(fields[i].message, fields[i].field);

        if (field == NULL)
            fail_missing("field", fields[i].message->name, fields[i].field);
        assert_int_equal(field->id, fields[i].number);
    }
    assert_string_equal(identity__identity__descriptor.name, "identity.Identity");
    assert_string_equal(fence__fence_controller__descriptor.name, "fence.FenceController");
    assert_int_equal(fence__fence_controller__descriptor.n_methods, 4);
    assert_int_equal(IDENTITY__CAPABILITY__SERVICE__TYPE__NODE_SERVICE, 2);
    assert_int_equal(IDENTITY__CAPABILITY__NETWORK_FENCE__TYPE__GET_CLIENTS_TO_FENCE, 2);
    assert_string_equal(reclaimspace__reclaim_space_controller__descriptor.name,
                        "reclaimspace.ReclaimSpaceController");
    assert_string_equal(reclaimspace__reclaim_space_node__descriptor.name,
                        "reclaimspace.ReclaimSpaceNode");
    assert_int_equal(IDENTITY__CAPABILITY__RECLAIM_SPACE__TYPE__OFFLINE, 1);
    assert_int_equal(IDENTITY__CAPABILITY__RECLAIM_SPACE__TYPE__ONLINE, 2);
}

TEST_GROUP(open_descriptor_set, free_descriptor_set)
