#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "tests/test.h"

/* The enums are cast from one to the other. */
#define SAME_MODE(name)                                                                            \
    _Static_assert(                                                                                \
        (int)ACCESS_##name == (int)CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__##name, #name)
SAME_MODE(UNKNOWN);
SAME_MODE(SINGLE_NODE_WRITER);
SAME_MODE(SINGLE_NODE_READER_ONLY);
SAME_MODE(MULTI_NODE_READER_ONLY);
SAME_MODE(MULTI_NODE_SINGLE_WRITER);
SAME_MODE(MULTI_NODE_MULTI_WRITER);
SAME_MODE(SINGLE_NODE_SINGLE_WRITER);
SAME_MODE(SINGLE_NODE_MULTI_WRITER);

/* For a pointer to a message of any type: all begin with the base. */
static void cleanup_message(void *pointer)
{
    message_free(*(void **)pointer);
}

#define _cleanup_message_ _cleanup_(cleanup_message)

/* The message as a peer gets it: packed and unpacked again. Caller frees with message_free(). */
static void *sent_to_peer(const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);
    _cleanup_free_ uint8_t *bytes = xmalloc(length + 1);

    assert_int_equal(protobuf_c_message_pack(message, bytes), length);
    ProtobufCMessage *received =
        protobuf_c_message_unpack(message->descriptor, NULL, length, bytes);
    assert_non_null(received);
    return received;
}

/* A request from its JSON form. Caller frees with message_free(). */
static Csi__V1__CreateVolumeRequest *create_request(const char *json)
{
    json_auto_t *value = json_loads(json, 0, NULL);
    ProtobufCMessage *message = NULL;
    _cleanup_error_ struct error err = {0};

    assert_non_null(value);
    if (message_parse_json(&csi__v1__create_volume_request__descriptor, value, &message, &err) < 0)
        fail_msg("%s", err.message);
    return (Csi__V1__CreateVolumeRequest *)(void *)message;
}

/* --- maps --- */

TEST(map_is_read_from_its_entries)
{
    _cleanup_message_ Csi__V1__CreateVolumeRequest *request = create_request(
        "{\"parameters\": {\"pool\": \"rbd\", \"clusterID\": \"c1\", \"empty\": \"\"}}");
    _cleanup_strmap_ struct strmap map = {0};

    wire_get_map(request->n_parameters, request->parameters, &map);
    assert_int_equal(map.count, 3);
    assert_string_equal(strmap_get(&map, "pool"), "rbd");
    assert_string_equal(strmap_get(&map, "clusterID"), "c1");
    assert_string_equal(strmap_get(&map, "empty"), "");
}

TEST(map_without_entries_is_empty)
{
    _cleanup_strmap_ struct strmap map = {0};

    wire_get_map(0, NULL, &map);
    assert_int_equal(map.count, 0);
}

/* A request from its packed form. Caller frees with message_free(). */
static Csi__V1__CreateVolumeRequest *unpacked_request(const char *bytes, size_t length)
{
    ProtobufCMessage *message = protobuf_c_message_unpack(
        &csi__v1__create_volume_request__descriptor, NULL, length, (const uint8_t *)bytes);

    assert_non_null(message);
    return (Csi__V1__CreateVolumeRequest *)(void *)message;
}

TEST(of_equal_keys_the_last_entry_wins)
{
    static const char bytes[] = "\x22\x0d\x0a\x04pool\x12\x05"
                                "first"
                                "\x22\x06\x0a\x01k\x12\x01v"
                                "\x22\x0c\x0a\x04pool\x12\x04last";
    _cleanup_message_ Csi__V1__CreateVolumeRequest *request =
        unpacked_request(bytes, sizeof(bytes) - 1);
    _cleanup_strmap_ struct strmap map = {0};

    assert_int_equal(request->n_parameters, 3);
    wire_get_map(request->n_parameters, request->parameters, &map);
    assert_int_equal(map.count, 2);
    assert_string_equal(strmap_get(&map, "pool"), "last");
}

/* A field at its default is not sent, so an entry may come without key, value or both. */
TEST(entry_without_key_or_value_has_empty_ones)
{
    static const char bytes[] = "\x22\x00"                /* parameters: nothing at all */
                                "\x22\x03\x0a\x01k"       /* no value */
                                "\x2a\x03\x12\x01s"       /* secrets: no key */
                                "\x2a\x08\x0a\x06userID"; /* no value */
    _cleanup_message_ Csi__V1__CreateVolumeRequest *request =
        unpacked_request(bytes, sizeof(bytes) - 1);
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_strmap_ struct strmap map = {0};

    assert_int_equal(request->n_parameters, 2);
    assert_int_equal(request->n_secrets, 2);
    wire_get_map(request->n_parameters, request->parameters, &map);
    assert_int_equal(map.count, 2);
    assert_string_equal(strmap_get(&map, ""), "");
    assert_string_equal(strmap_get(&map, "k"), "");
    wire_get_credentials(request->n_secrets, request->secrets, &credentials);
    assert_null(credentials.user);
    assert_false(secret_is_set(&credentials.key));
}

TEST(written_map_is_read_back_by_the_peer)
{
    _cleanup_message_ Csi__V1__Volume *volume = message_new(&csi__v1__volume__descriptor);
    _cleanup_strmap_ struct strmap context = {0};
    _cleanup_strmap_ struct strmap received = {0};

    strmap_set(&context, "pool", "rbd");
    strmap_set(&context, "imageName", "csi-vol-1");
    strmap_set(&context, "empty", "");
    strmap_set(&context, "", "no key");
    strmap_set(&context, "umlaut", "z\xc3\xbcrich");
    volume->volume_context = wire_put_map(&csi__v1__volume__volume_context_entry__descriptor,
                                          &context, &volume->n_volume_context);
    assert_int_equal(volume->n_volume_context, 5);
    _cleanup_message_ Csi__V1__Volume *peer = sent_to_peer(&volume->base);
    wire_get_map(peer->n_volume_context, peer->volume_context, &received);
    assert_true(strmap_is_equal(&context, &received));
}

TEST(empty_map_is_written_as_none)
{
    _cleanup_message_ Csi__V1__Volume *volume = message_new(&csi__v1__volume__descriptor);
    const struct strmap context = {0};

    volume->n_volume_context = 42;
    volume->volume_context = wire_put_map(&csi__v1__volume__volume_context_entry__descriptor,
                                          &context, &volume->n_volume_context);
    assert_int_equal(volume->n_volume_context, 0);
    assert_int_equal(protobuf_c_message_get_packed_size(&volume->base), 0);
}

TEST(map_of_any_entry_type_is_copied)
{
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_strmap_ struct strmap received = {0};
    _cleanup_message_ Csi__V1__Topology *topology = message_new(&csi__v1__topology__descriptor);

    strmap_set(&segments, "topology.kubernetes.io/zone", "zone-a");
    topology->segments = wire_put_map(&csi__v1__topology__segments_entry__descriptor, &segments,
                                      &topology->n_segments);
    wire_get_map(topology->n_segments, topology->segments, &received);
    assert_true(strmap_is_equal(&segments, &received));
    strmap_set(&segments, "topology.kubernetes.io/zone", "zone-b");
    assert_string_equal(topology->segments[0]->value, "zone-a");
}

/* --- credentials --- */

TEST(credentials_are_picked_from_the_secrets)
{
    _cleanup_message_ Csi__V1__CreateVolumeRequest *request = create_request(
        "{\"secrets\": {\"userID\": \"rbd\", \"userKey\": \"AQD==\", \"other\": \"x\"}}");
    _cleanup_credentials_ struct credentials credentials = {0};

    wire_get_credentials(request->n_secrets, request->secrets, &credentials);
    assert_string_equal(credentials.user, "rbd");
    assert_string_equal(secret_reveal(&credentials.key), "AQD==");
}

TEST(credentials_outlive_the_request)
{
    Csi__V1__CreateVolumeRequest *request =
        create_request("{\"secrets\": {\"key\": \"AQD==\", \"adminId\": \"kube\"}}");
    _cleanup_credentials_ struct credentials credentials = {0};

    wire_get_credentials(request->n_secrets, request->secrets, &credentials);
    message_free(&request->base);
    assert_string_equal(credentials.user, "kube");
    assert_string_equal(secret_reveal(&credentials.key), "AQD==");
}

TEST(request_without_secrets_gives_no_credentials)
{
    _cleanup_credentials_ struct credentials credentials = {0};

    wire_get_credentials(0, NULL, &credentials);
    assert_null(credentials.user);
    assert_false(secret_is_set(&credentials.key));
}

/* --- capabilities --- */

/* The capabilities of a request, from their JSON form. */
static void get_capabilities(const char *json, struct capability_list *list)
{
    _cleanup_free_ char *text = xasprintf("{\"volume_capabilities\": %s}", json);
    _cleanup_message_ Csi__V1__CreateVolumeRequest *request = create_request(text);

    wire_get_capabilities(request->n_volume_capabilities, request->volume_capabilities, list);
}

TEST(mount_capability_is_read_whole)
{
    _cleanup_(capability_list_done) struct capability_list list = {0};

    get_capabilities("[{\"access_mode\": {\"mode\": \"MULTI_NODE_READER_ONLY\"},"
                     "  \"mount\": {\"fs_type\": \"xfs\", \"volume_mount_group\": \"1000\","
                     "              \"mount_flags\": [\"noatime\", \"\", \"discard\"]}}]",
                     &list);
    assert_int_equal(list.count, 1);
    const struct volume_capability *item = &list.items[0];
    assert_int_equal(item->type, ACCESS_TYPE_MOUNT);
    assert_int_equal(item->mode, ACCESS_MULTI_NODE_READER_ONLY);
    assert_string_equal(item->fs_type, "xfs");
    assert_string_equal(item->mount_group, "1000");
    assert_int_equal(item->mount_flags.count, 3);
    assert_string_equal(item->mount_flags.items[0], "noatime");
    assert_string_equal(item->mount_flags.items[1], "");
    assert_string_equal(item->mount_flags.items[2], "discard");
}

TEST(mount_capability_without_details_has_empty_ones)
{
    _cleanup_(capability_list_done) struct capability_list list = {0};

    get_capabilities("[{\"access_mode\": {\"mode\": \"SINGLE_NODE_WRITER\"}, \"mount\": {}}]",
                     &list);
    assert_int_equal(list.items[0].type, ACCESS_TYPE_MOUNT);
    assert_string_equal(list.items[0].fs_type, "");
    assert_string_equal(list.items[0].mount_group, "");
    assert_int_equal(list.items[0].mount_flags.count, 0);
}

TEST(block_capability_is_read)
{
    _cleanup_(capability_list_done) struct capability_list list = {0};

    get_capabilities("[{\"access_mode\": {\"mode\": \"MULTI_NODE_MULTI_WRITER\"}, \"block\": {}}]",
                     &list);
    assert_int_equal(list.items[0].type, ACCESS_TYPE_BLOCK);
    assert_int_equal(list.items[0].mode, ACCESS_MULTI_NODE_MULTI_WRITER);
    assert_null(list.items[0].fs_type);
    assert_int_equal(list.items[0].mount_flags.count, 0);
}

TEST(what_a_capability_leaves_out_stays_unknown)
{
    _cleanup_(capability_list_done) struct capability_list list = {0};

    get_capabilities("[{}, {\"access_mode\": {}}, {\"block\": {}},"
                     " {\"access_mode\": {\"mode\": 99}, \"mount\": {}}]",
                     &list);
    assert_int_equal(list.count, 4);
    assert_int_equal(list.items[0].type, ACCESS_TYPE_NONE);
    assert_int_equal(list.items[0].mode, ACCESS_UNKNOWN);
    assert_int_equal(list.items[1].type, ACCESS_TYPE_NONE);
    assert_int_equal(list.items[1].mode, ACCESS_UNKNOWN);
    assert_int_equal(list.items[2].type, ACCESS_TYPE_BLOCK);
    assert_int_equal(list.items[2].mode, ACCESS_UNKNOWN);
    assert_int_equal(list.items[3].mode, 99);
}

TEST(no_capabilities_are_an_empty_list)
{
    _cleanup_(capability_list_done) struct capability_list list = {0};
    _cleanup_error_ struct error err = {0};

    wire_get_capabilities(0, NULL, &list);
    assert_int_equal(list.count, 0);
    assert_int_equal(capability_list_check(&list, &err), -1);
}

static void assert_equal(const struct volume_capability *a, const struct volume_capability *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(!a->fs_type, !b->fs_type);
    if (a->fs_type) {
        assert_string_equal(a->fs_type, b->fs_type);
        assert_string_equal(a->mount_group, b->mount_group);
    }
    assert_int_equal(a->mount_flags.count, b->mount_flags.count);
    for (size_t i = 0; i < a->mount_flags.count; i++)
        assert_string_equal(a->mount_flags.items[i], b->mount_flags.items[i]);
}

TEST(written_capability_is_read_back_by_the_peer)
{
    static const char *const forms[] = {
        "\"block\": {}",
        "\"mount\": {}",
        "\"mount\": {\"fs_type\": \"ext4\"}",
        "\"mount\": {\"volume_mount_group\": \"0\"}",
        "\"mount\": {\"fs_type\": \"xfs\", \"mount_flags\": [\"noatime\", \"nouuid\"]}",
    };

    for (int mode = ACCESS_SINGLE_NODE_WRITER; mode <= ACCESS_SINGLE_NODE_MULTI_WRITER; mode++) {
        for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
            _cleanup_free_ char *json =
                xasprintf("[{\"access_mode\": {\"mode\": %d}, %s}]", mode, forms[i]);
            _cleanup_(capability_list_done) struct capability_list list = {0};
            _cleanup_(volume_capability_done) struct volume_capability received = {0};

            get_capabilities(json, &list);
            _cleanup_message_ Csi__V1__VolumeCapability *message =
                wire_put_capability(&list.items[0]);
            _cleanup_message_ Csi__V1__VolumeCapability *peer = sent_to_peer(&message->base);
            wire_get_capability(peer, &received);
            assert_int_equal(received.mode, mode);
            assert_equal(&list.items[0], &received);
        }
    }
}

/* --- sizes --- */

TEST(range_is_read)
{
    _cleanup_message_ Csi__V1__CreateVolumeRequest *request =
        create_request("{\"capacity_range\": {\"required_bytes\": 1073741824,"
                       " \"limit_bytes\": 9223372036854775807}}");
    struct capacity_range range = {7, 7};

    wire_get_range(request->capacity_range, &range);
    assert_true(range.required_bytes == 1073741824);
    assert_true(range.limit_bytes == INT64_MAX);
}

TEST(negative_range_is_read_as_it_is)
{
    Csi__V1__CapacityRange message = CSI__V1__CAPACITY_RANGE__INIT;
    struct capacity_range range = {7, 7};

    message.required_bytes = -1;
    message.limit_bytes = INT64_MIN;
    wire_get_range(&message, &range);
    assert_true(range.required_bytes == -1);
    assert_true(range.limit_bytes == INT64_MIN);
}

TEST(no_range_is_one_without_limits)
{
    struct capacity_range range = {7, 7};

    wire_get_range(NULL, &range);
    assert_true(range.required_bytes == 0);
    assert_true(range.limit_bytes == 0);
}

/* --- health --- */

TEST(health_has_an_entry_if_something_is_wrong)
{
    _cleanup_message_ Csi__V1__VolumeHealth *well =
        wire_put_health("v1", CSI__V1__VOLUME_HEALTH_ERROR_TYPE__INACCESSIBLE, "Gone", NULL);
    _cleanup_message_ Csi__V1__VolumeHealth *ill = wire_put_health(
        "v2", CSI__V1__VOLUME_HEALTH_ERROR_TYPE__INACCESSIBLE, "Gone", "it has gone");
    _cleanup_message_ Csi__V1__VolumeHealth *sent = sent_to_peer(&ill->base);

    assert_string_equal(well->volume_id, "v1");
    assert_int_equal(well->n_health_statuses, 0);
    assert_string_equal(sent->volume_id, "v2");
    assert_int_equal(sent->n_health_statuses, 1);
    assert_int_equal(sent->health_statuses[0]->status,
                     CSI__V1__VOLUME_HEALTH_ERROR_TYPE__INACCESSIBLE);
    assert_string_equal(sent->health_statuses[0]->reason, "Gone");
    assert_string_equal(sent->health_statuses[0]->message, "it has gone");
}
