#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "csi.pb-c.h"
#include "tests/test.h"

#define CREATE &csi__v1__create_volume_request__descriptor

static json_t *json_of(const char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);

    if (!json)
        fail_msg("%s: %s", text, where.text);
    return json;
}

struct round_trip {
    const ProtobufCMessageDescriptor *type;
    const char *in;
    const char *out; /* NULL: as it came in */
};

static const struct round_trip round_trips[] = {
    {CREATE, "{}", NULL},
    {CREATE, "{\"name\":\"pvc-1\"}", NULL},
    {CREATE, "{\"name\":\"\",\"parameters\":{},\"volume_capabilities\":[]}", "{}"},
    {CREATE, "{\"name\":null,\"capacity_range\":null}", "{}"},
    {CREATE, "{\"name\":\"\\\"a\\\\b\\n\\t\\u0001\\u007f ü\\u0085\"}", NULL},
    {CREATE, "{\"capacity_range\":{}}", NULL},
    {CREATE,
     "{\"capacity_range\":{\"required_bytes\":9007199254740993,"
     "\"limit_bytes\":9223372036854775807}}",
     NULL},
    {CREATE,
     "{\"capacity_range\":{\"required_bytes\":\"-5\",\"limit_bytes\":\"9007199254740993\"}}",
     "{\"capacity_range\":{\"required_bytes\":-5,\"limit_bytes\":9007199254740993}}"},
    {CREATE, "{\"parameters\":{\"clusterID\":\"c1\",\"pool\":\"\"}}", NULL},
    {CREATE,
     "{\"volume_capabilities\":[{\"mount\":{\"fs_type\":\"ext4\"},"
     "\"access_mode\":{\"mode\":\"SINGLE_NODE_WRITER\"}},{\"block\":{}}]}",
     NULL},
    {CREATE, "{\"volume_capabilities\":[{\"access_mode\":{\"mode\":1}}]}",
     "{\"volume_capabilities\":[{\"access_mode\":{\"mode\":\"SINGLE_NODE_WRITER\"}}]}"},
    {CREATE, "{\"volume_capabilities\":[{\"access_mode\":{\"mode\":999}}]}", NULL},
    {CREATE,
     "{\"accessibility_requirements\":{\"requisite\":[{\"segments\":{\"zone\":\"a\"}}],"
     "\"preferred\":[{}]}}",
     NULL},
    {CREATE, "{\"secrets\":{\"userID\":\"admin\",\"userKey\":\"hidden\"}}",
     "{\"secrets\":\"***stripped***\"}"},
    {CREATE, "{\"volume_capabilities\":[{\"mount\":{\"mount_flags\":[\"hidden\"]}}]}",
     "{\"volume_capabilities\":[{\"mount\":{\"mount_flags\":\"***stripped***\"}}]}"},
    {&csi__v1__probe_response__descriptor, "{\"ready\":true}", NULL},
    {&csi__v1__probe_response__descriptor, "{\"ready\":false}", NULL},
    {&csi__v1__probe_response__descriptor, "{\"ready\":{\"value\":true}}", "{\"ready\":true}"},
    {&csi__v1__get_capacity_response__descriptor,
     "{\"available_capacity\":1,\"maximum_volume_size\":0}", NULL},
    {&csi__v1__create_snapshot_response__descriptor,
     "{\"snapshot\":{\"size_bytes\":1,\"creation_time\":\"2026-01-31T12:34:56Z\","
     "\"ready_to_use\":true}}",
     NULL},
    {&csi__v1__create_snapshot_response__descriptor,
     "{\"snapshot\":{\"creation_time\":\"1969-12-31T23:59:59.5Z\"}}",
     "{\"snapshot\":{\"creation_time\":\"1969-12-31T23:59:59.500000000Z\"}}"},
    {&csi__v1__create_snapshot_response__descriptor,
     "{\"snapshot\":{\"creation_time\":{\"seconds\":0}}}",
     "{\"snapshot\":{\"creation_time\":\"1970-01-01T00:00:00Z\"}}"},
    {&csi__v1__create_snapshot_response__descriptor,
     "{\"snapshot\":{\"creation_time\":{\"seconds\":9223372036854775807}}}", NULL},
    {&google__protobuf__double_value__descriptor, "0.5", NULL},
    {&google__protobuf__double_value__descriptor, "3", NULL},
    {&google__protobuf__float_value__descriptor, "0.25", NULL},
    {&google__protobuf__int32_value__descriptor, "-2147483648", NULL},
    {&google__protobuf__uint32_value__descriptor, "4294967295", NULL},
    {&google__protobuf__uint64_value__descriptor, "\"18446744073709551615\"",
     "18446744073709551615"},
    {&google__protobuf__string_value__descriptor, "\"\"", NULL},
    {&google__protobuf__bool_value__descriptor, "false", NULL},
};

static char *print(const ProtobufCMessage *message)
{
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

    message_print_json(message, &text);
    return text_take(&text);
}

TEST(json_and_messages_turn_into_each_other)
{
    for (size_t i = 0; i < ARRAY_LENGTH(round_trips); i++) {
        const struct round_trip *c = &round_trips[i];
        _cleanup_(message_freep) ProtobufCMessage *message = NULL;
        _cleanup_error_ struct error err = {0};
        json_auto_t *json = json_of(c->in);

        if (message_parse_json(c->type, json, &message, &err) < 0)
            fail_msg("%s: %s", c->in, err.message);
        _cleanup_free_ char *out = print(message);
        assert_string_equal(out, c->out ? c->out : c->in);
    }
}

TEST(parsed_messages_survive_the_wire)
{
    for (size_t i = 0; i < ARRAY_LENGTH(round_trips); i++) {
        const struct round_trip *c = &round_trips[i];
        _cleanup_(message_freep) ProtobufCMessage *message = NULL;
        _cleanup_error_ struct error err = {0};
        json_auto_t *json = json_of(c->in);

        assert_int_equal(message_parse_json(c->type, json, &message, &err), 0);
        size_t length = protobuf_c_message_get_packed_size(message);
        _cleanup_free_ uint8_t *bytes = xmalloc(length);
        protobuf_c_message_pack(message, bytes);
        assert_int_equal(message_check(c->type, bytes, length, NULL, &err), 0);
        _cleanup_(message_freep) ProtobufCMessage *again =
            protobuf_c_message_unpack(c->type, NULL, length, bytes);
        assert_non_null(again);
        _cleanup_free_ char *out = print(again);
        assert_string_equal(out, c->out ? c->out : c->in);
    }
}

TEST(wrong_json_is_refused_with_its_place)
{
    static const struct {
        const ProtobufCMessageDescriptor *type;
        const char *in;
        const char *error;
    } cases[] = {
        {CREATE, "[]", "expected an object, found an array"},
        {CREATE, "{\"nmae\":\"x\"}",
         "CreateVolumeRequest has no field 'nmae'; did you mean 'name'?"},
        {CREATE, "{\"xyz\":\"x\"}", "CreateVolumeRequest has no field 'xyz'"},
        {CREATE, "{\"name\":5}", "name: expected a string, found a number"},
        {CREATE, "{\"name\":\"a\\u0000b\"}", "name: contains a NUL byte"},
        {CREATE, "{\"parameters\":[]}", "parameters: expected an object, found an array"},
        {CREATE, "{\"parameters\":{\"a\":\"x\",\"pool\":true}}",
         "parameters.pool: expected a string, found a boolean"},
        {CREATE, "{\"volume_capabilities\":{}}",
         "volume_capabilities: expected an array, found an object"},
        {CREATE, "{\"volume_capabilities\":[{},{\"access_mode\":{\"moed\":1}}]}",
         "volume_capabilities[1].access_mode: has no field 'moed'; did you mean 'mode'?"},
        {CREATE, "{\"volume_capabilities\":[{\"access_mode\":{\"mode\":\"SINGLE_NODE_WRITR\"}}]}",
         "volume_capabilities[0].access_mode.mode: 'SINGLE_NODE_WRITR' is not a "
         "csi.v1.VolumeCapability.AccessMode.Mode; did you mean 'SINGLE_NODE_WRITER'?"},
        {CREATE, "{\"volume_capabilities\":[{\"access_mode\":{\"mode\":1.5}}]}",
         "volume_capabilities[0].access_mode.mode: expected the name of a value, found a number "
         "with a fraction"},
        {CREATE, "{\"volume_capabilities\":[{\"block\":{},\"mount\":{}}]}",
         "volume_capabilities[0].mount: excludes another field that is given too"},
        {CREATE, "{\"volume_capabilities\":[null]}",
         "volume_capabilities[0]: expected an object, found null"},
        {CREATE, "{\"capacity_range\":{\"required_bytes\":1.5}}",
         "capacity_range.required_bytes: expected a whole number, found a number with a fraction"},
        {CREATE, "{\"capacity_range\":{\"required_bytes\":\"1Gi\"}}",
         "capacity_range.required_bytes: '1Gi' is not a whole number"},
        {&csi__v1__probe_response__descriptor, "{\"ready\":1}",
         "ready: expected true or false, found a number"},
        {&csi__v1__create_snapshot_response__descriptor,
         "{\"snapshot\":{\"creation_time\":\"yesterday\"}}",
         "snapshot.creation_time: expected a time like 2026-01-31T12:00:00Z"},
        {&google__protobuf__int32_value__descriptor, "2147483648", "is out of range"},
        {&google__protobuf__uint32_value__descriptor, "-1", "is out of range"},
        {&google__protobuf__uint32_value__descriptor, "4294967296", "is out of range"},
        {&google__protobuf__float_value__descriptor, "1e300", "is out of range"},
        {&google__protobuf__double_value__descriptor, "\"x\"", "expected a number, found a string"},
        {&google__protobuf__bytes_value__descriptor, "\"x\"", "bytes cannot be given as JSON"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        ProtobufCMessage *message = NULL;
        _cleanup_error_ struct error err = {0};
        json_auto_t *json = json_of(cases[i].in);

        assert_int_equal(message_parse_json(cases[i].type, json, &message, &err), -1);
        assert_string_equal(err.message, cases[i].error);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_null(message);
    }
}

TEST(print_is_cut_at_the_texts_limit)
{
    _cleanup_(message_freep) ProtobufCMessage *message = NULL;
    _cleanup_text_ struct text text = TEXT_INIT(30);
    _cleanup_error_ struct error err = {0};
    json_auto_t *json = json_of("{\"name\":\"pvc-1\",\"parameters\":{\"a\":\"b\",\"c\":\"d\"}}");

    assert_int_equal(message_parse_json(CREATE, json, &message, &err), 0);
    message_print_json(message, &text);
    assert_true(text.truncated);
    assert_string_equal(text_chars(&text), "{\"name\":\"pvc-1\",\"parameters\":{");
}

TEST(print_copes_with_what_is_not_utf8)
{
    Csi__V1__CreateVolumeRequest request;
    char name[] = "a\xff\xc3";

    csi__v1__create_volume_request__init(&request);
    request.name = name;
    _cleanup_free_ char *out = print(&request.base);
    assert_string_equal(out, "{\"name\":\"a\\ufffd\\ufffd\"}");
}

TEST(bytes_print_as_their_number)
{
    Google__Protobuf__BytesValue bytes = GOOGLE__PROTOBUF__BYTES_VALUE__INIT;
    uint8_t content[] = {1, 2, 3};

    bytes.value = (ProtobufCBinaryData){sizeof(content), content};
    _cleanup_free_ char *out = print(&bytes.base);
    assert_string_equal(out, "\"(3 bytes)\"");
}
