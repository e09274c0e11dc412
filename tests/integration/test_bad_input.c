/* What a confused or hostile caller sends: a precise status and message, in time, and no secret in
 * the log. */
#include <signal.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"
#include "tests/integration/harness.h"

#include "csi.pb-c.h"
#include "tests/test.h"

static struct driver_process driver;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

struct bad_call {
    const char *title;
    struct harness_call call;
    enum status status;
    const char *message; /* part of it */
};

#define CAPABILITY                                                                                 \
    "\"volume_capabilities\":[{\"block\":{},\"access_mode\":{\"mode\":\"SINGLE_NODE_WRITER\"}}]"

static void check(const struct bad_call *bad)
{
    _cleanup_error_ struct error err = {0};

    print_message("  %s\n", bad->title);
    assert_int_equal(harness_call(&driver, &bad->call, NULL, &err), -1);
    if (err.status != bad->status || !strstr(err.message, bad->message))
        fail_msg("got %s: %s", status_name(err.status), err.message);
}

TEST(refused_requests_say_why)
{
    const struct bad_call cases[] = {
        {"no name",
         {.method = "CreateVolume", .request = "{" CAPABILITY "}"},
         STATUS_INVALID_ARGUMENT,
         "name is missing"},
        {"no capability",
         {.method = "CreateVolume", .request = "{\"name\":\"x\"}"},
         STATUS_INVALID_ARGUMENT,
         "volume_capabilities is missing"},
        {"capability without type",
         {.method = "CreateVolume",
          .request = "{\"name\":\"x\",\"volume_capabilities\":[{\"access_mode\":{\"mode\":1}}]}"},
         STATUS_INVALID_ARGUMENT,
         "volume_capabilities[0] has neither block nor mount"},
        {"no clusterID",
         {.method = "CreateVolume", .request = "{\"name\":\"x\"," CAPABILITY "}"},
         STATUS_INVALID_ARGUMENT,
         "parameter clusterID is missing"},
        {"unknown cluster",
         {.method = "CreateVolume",
          .request = "{\"name\":\"x\"," CAPABILITY
                     ",\"parameters\":{\"clusterID\":\"nowhere\",\"pool\":\"p\"}}"},
         STATUS_INVALID_ARGUMENT,
         "clusterID 'nowhere' is not configured; config.json has '"},
        {"several writing nodes on a file system",
         {.method = "CreateVolume",
          .request = "{\"name\":\"x\",\"volume_capabilities\":[{\"mount\":{},\"access_mode\":{"
                     "\"mode\":\"MULTI_NODE_MULTI_WRITER\"}}],\"parameters\":{\"clusterID\":\"c\","
                     "\"pool\":\"p\"}}"},
         STATUS_INVALID_ARGUMENT,
         "MULTI_NODE_MULTI_WRITER is not possible for a file system"},
        {"limit below required",
         {.method = "CreateVolume",
          .request = "{\"name\":\"x\"," CAPABILITY ",\"capacity_range\":{\"required_bytes\":2000,"
                     "\"limit_bytes\":1000}}"},
         STATUS_OUT_OF_RANGE,
         "no multiple of 512 bytes lies between required_bytes 2000 and limit_bytes 1000"},
        {"misspelt image feature",
         {.method = "CreateVolume",
          .request = "{\"name\":\"x\"," CAPABILITY ",\"parameters\":{\"clusterID\":\"c\",\"pool\":"
                     "\"p\",\"imageFeatures\":\"layering,exclusive_lock\"}}"},
         STATUS_INVALID_ARGUMENT,
         "did you mean 'exclusive-lock'?"},
        {"content source without a type",
         {.method = "CreateVolume",
          .request = "{\"name\":\"x\"," CAPABILITY ",\"volume_content_source\":{}}"},
         STATUS_INVALID_ARGUMENT,
         "volume_content_source has neither snapshot nor volume"},
        {"control character in the name",
         {.method = "CreateVolume", .request = "{\"name\":\"a\\u0007\"," CAPABILITY "}"},
         STATUS_INVALID_ARGUMENT,
         "name has a control character at byte 1"},
        {"no volume id",
         {.method = "DeleteVolume", .request = "{}"},
         STATUS_INVALID_ARGUMENT,
         "volume_id is missing"},
        {"foreign volume id",
         {.method = "ValidateVolumeCapabilities",
          .request = "{\"volume_id\":\"fake-vol-id\"," CAPABILITY "}"},
         STATUS_NOT_FOUND,
         "'fake-vol-id' is not a handle of this driver"},
        {"a method that the driver does not have",
         {.method = "FenceClusterNetwork", .request = "{}"},
         STATUS_UNIMPLEMENTED,
         "FenceClusterNetwork"},
        {"attaching to no node",
         {.method = "ControllerPublishVolume", .request = "{\"volume_id\":\"x\"}"},
         STATUS_INVALID_ARGUMENT,
         "node_id is missing"},
        {"attaching for no use",
         {.method = "ControllerPublishVolume",
          .request = "{\"volume_id\":\"x\",\"node_id\":\"n\"}"},
         STATUS_INVALID_ARGUMENT,
         "volume_capability is missing"},
        {"detaching nothing",
         {.method = "ControllerUnpublishVolume", .request = "{}"},
         STATUS_INVALID_ARGUMENT,
         "volume_id is missing"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check(&cases[i]);
}

TEST(missing_secrets_name_the_key_that_is_missing)
{
    _cleanup_free_ char *request = harness_create_request("x", "common", 1 << 20);

    check(
        &(struct bad_call){"no secrets",
                           {.method = "CreateVolume", .request = request, .without_secrets = true},
                           STATUS_INVALID_ARGUMENT,
                           "secrets: userID is missing"});
}

TEST(unknown_pool_names_it)
{
    _cleanup_free_ char *request = harness_create_request("x", "no-such-pool", 1 << 20);

    check(&(struct bad_call){"unknown pool",
                             {.method = "CreateVolume", .request = request},
                             STATUS_INVALID_ARGUMENT,
                             "no-such-pool"});
}

TEST(wrong_key_is_unauthenticated)
{
    _cleanup_free_ char *request = harness_create_request("x", "common", 1 << 20);

    check(&(struct bad_call){"well-formed but wrong key",
                             {.method = "CreateVolume",
                              .request = request,
                              .key = "AQBDsxFnAAAAABAAxKxZq0pXmQyTqk9nTz0n1g=="},
                             STATUS_UNAUTHENTICATED,
                             "client.csi"});
    check(&(struct bad_call){
        "a key that is none",
        {.method = "CreateVolume", .request = request, .key = "this-is-not-a-ceph-key"},
        STATUS_UNAUTHENTICATED,
        "client.csi"});
}

TEST(unreachable_monitors_are_named_before_the_deadline)
{
    _cleanup_error_ struct error err = {0};
    const char *request =
        "{\"name\":\"x\"," CAPABILITY ",\"parameters\":{\"clusterID\":\"dark\",\"pool\":\"p\"}}";
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *config =
        xasprintf("[{\"clusterID\":\"dark\",\"monitors\":[\"127.0.0.1:1\"]},{\"clusterID\":\"%s\","
                  "\"monitors\":[\"%s\"]}]",
                  cluster->fsid, cluster->monitors);

    harness_write_config(&driver, config);
    /* the last words are the driver's, not the client's: it was in time; a slow one gets more */
    for (int64_t patience_ms = 3000;; patience_ms *= 2) {
        const struct harness_call call = {
            .method = "CreateVolume", .request = request, .timeout_ms = patience_ms, .once = true};

        error_clear(&err);
        assert_int_equal(harness_call(&driver, &call, NULL, &err), -1);
        assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
        if (strstr(err.message, "the monitors of cluster 'dark' (127.0.0.1:1)"))
            break;
        if (patience_ms > 20000)
            fail_msg("%s", err.message);
    }
}

TEST(broken_config_keeps_the_last_good_one_and_is_reported)
{
    _cleanup_error_ struct error err = {0};
    const struct harness_call report = {.method = "GetReport", .request = "{}"};
    json_auto_t *reply = NULL;

    harness_write_config(&driver, "[{\"clusterID\": \"x\",\n  \"monitors\": [}]");
    _cleanup_free_ char *handle =
        harness_create_volume(&driver, "still-works", "common", 1 << 20, &err);
    assert_non_null(handle);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    assert_int_equal(harness_call(&driver, &report, &reply, &err), 0);
    const json_t *condition = json_array_get(json_object_get(reply, "conditions"), 0);
    assert_false(json_is_true(json_object_get(condition, "healthy")));
    assert_non_null(
        strstr(json_string_value(json_object_get(condition, "message")), "line 2, column "));
}

TEST(config_that_never_was_good_asks_for_a_retry)
{
    struct driver_process lost;
    _cleanup_error_ struct error err = {0};

    harness_init(&lost);
    harness_write_config(&lost, "{\"clusters\": 7}");
    harness_start(&lost, NULL);
    lost.once = true;
    assert_null(harness_create_volume(&lost, "x", "common", 1 << 20, &err));
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "config.json"));
    harness_done(&lost);
}

static int create_with(const ProtobufCMessage *request, struct error *err)
{
    _cleanup_(message_freep) ProtobufCMessage *reply = NULL;

    return rpc_client_call(driver.client,
                           &(struct rpc_request){
                               .path = "/csi.v1.Controller/CreateVolume",
                               .message = request,
                               .response = &csi__v1__create_volume_response__descriptor,
                               .deadline = deadline_in_ms(60000),
                           },
                           &reply, err);
}

/* A request with one parameter of @length bytes. */
static int create_padded(size_t length, struct error *err)
{
    Csi__V1__CreateVolumeRequest *request =
        message_new(&csi__v1__create_volume_request__descriptor);
    Csi__V1__CreateVolumeRequest__ParametersEntry *entry =
        message_new(&csi__v1__create_volume_request__parameters_entry__descriptor);

    entry->key = xstrdup("padding");
    entry->value = xcalloc(length + 1, 1);
    memset(entry->value, 'x', length);
    request->name = xstrdup("x");
    request->parameters = xcalloc(1, sizeof(*request->parameters));
    request->parameters[request->n_parameters++] = entry;
    int result = create_with(&request->base, err);
    message_free(&request->base);
    return result;
}

/* A request whose name is these bytes. On the wire a string is the same as bytes, so a message that
 * has bytes as its field 1 can say what a string could not. */
static int create_named(const char *bytes, size_t length, struct error *err)
{
    Google__Protobuf__BytesValue *request = message_new(&google__protobuf__bytes_value__descriptor);

    request->value.data = xmalloc(length);
    request->value.len = length;
    memcpy(request->value.data, bytes, length);
    int result = create_with(&request->base, err);
    message_free(&request->base);
    return result;
}

TEST(oversized_message_is_refused)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(create_padded(5 * 1024 * 1024, &err), -1);
    assert_int_equal(err.status, STATUS_RESOURCE_EXHAUSTED);
    error_clear(&err);
    assert_int_equal(create_padded(300 * 1024, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "parameters"));
}

TEST(invalid_text_is_refused_with_the_field)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *message;
    } cases[] = {
        {"pvc-\xff", 5, "name: is not valid UTF-8"},
        {"pvc-\0hidden", 11, "name: contains a NUL byte"},
        {"\xed\xa0\x80", 3, "name: is not valid UTF-8"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};

        assert_int_equal(create_named(cases[i].bytes, cases[i].length, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s", err.message);
    }
}

TEST(no_secret_reaches_the_log)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = harness_create_volume(&driver, "quiet", "common", 1 << 20, &err);

    assert_non_null(handle);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    _cleanup_free_ char *log = harness_log(&driver);
    assert_non_null(strstr(log, "***stripped***")); /* requests are logged at this level */
    assert_null(strstr(log, harness_cluster()->key));
    assert_null(strstr(log, "this-is-not-a-ceph-key"));
    assert_null(strstr(log, "AQBDsxFnAAAAABAA"));
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
