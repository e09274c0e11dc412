/* CreateVolume, DeleteVolume and ValidateVolumeCapabilities of the real driver on a real Ceph. */
#include <pthread.h>
#include <signal.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)

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

TEST(created_volume_is_an_image_in_its_pool)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = harness_create_volume(&driver, "pvc-1", "zone-b", 5 * MIB, &err);

    assert_non_null(handle);
    const char *uuid = handle + strlen(handle) - 36;
    _cleanup_free_ char *contents = harness_pool_contents("zone-b");
    _cleanup_free_ char *image = xasprintf("key zone-b//rbd_directory name_csi-vol-%s\n", uuid);
    _cleanup_free_ char *object = xasprintf("object zone-b//csi.volume.%s\n", uuid);
    assert_non_null(strstr(contents, image));
    assert_non_null(strstr(contents, object));
    assert_non_null(strstr(contents, "key zone-b//csi.volumes.default csi.volume.pvc-1\n"));
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties("zone-b");
}

TEST(same_request_twice_is_one_volume)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *first = harness_create_volume(&driver, "twice", "common", MIB, &err);
    _cleanup_free_ char *second = harness_create_volume(&driver, "twice", "common", MIB, &err);

    assert_string_equal(first, second);
    assert_int_equal(harness_delete_volume(&driver, first, &err), 0);
    assert_int_equal(harness_delete_volume(&driver, first, &err), 0);
    harness_assert_pool_empties("common");
}

TEST(same_name_with_another_size_already_exists)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = harness_create_volume(&driver, "grown", "common", MIB, &err);

    assert_null(harness_create_volume(&driver, "grown", "common", 2 * MIB, &err));
    assert_int_equal(err.status, STATUS_ALREADY_EXISTS);
    assert_non_null(strstr(err.message, "1048576"));
    error_clear(&err);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
}

TEST(response_has_rounded_size_and_context)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *request = harness_create_request("sized", "zone-a", 600 * MIB + 1);
    json_auto_t *reply = NULL;

    assert_int_equal(
        harness_call(&driver, &(struct harness_call){.method = "CreateVolume", .request = request},
                     &reply, &err),
        0);
    const json_t *volume = json_object_get(reply, "volume");
    const json_t *context = json_object_get(volume, "volume_context");
    assert_int_equal(json_integer_value(json_object_get(volume, "capacity_bytes")), 601 * MIB);
    assert_string_equal(json_string_value(json_object_get(context, "pool")), "zone-a");
    assert_string_equal(json_string_value(json_object_get(context, "journalPool")), "zone-a");
    assert_string_equal(json_string_value(json_object_get(context, "clusterID")),
                        harness_cluster()->fsid);
    assert_true(
        text_has_prefix(json_string_value(json_object_get(context, "imageName")), "csi-vol-"));
    assert_int_equal(harness_delete_volume(
                         &driver, json_string_value(json_object_get(volume, "volume_id")), &err),
                     0);
}

/* A source of a kind that a newer specification may have is no reason for an empty volume. */
TEST(content_source_of_unknown_type_makes_no_volume)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *plain = harness_create_request("sourceless", "common", MIB);
    json_auto_t *request = json_loads(plain, 0, NULL);

    json_object_set_new(request, "volume_content_source", json_object());
    _cleanup_free_ char *text = json_dumps(request, 0);
    assert_int_equal(harness_call(&driver,
                                  &(struct harness_call){.method = "CreateVolume", .request = text},
                                  NULL, &err),
                     -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    harness_assert_pool_empties("common");
}

/* As csi-attacher does it: without secrets, more than once, and for what has gone meanwhile. */
TEST(volume_is_attached_and_detached)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = harness_create_volume(&driver, "attached", "common", MIB, &err);
    assert_non_null(handle);
    _cleanup_free_ char *attach =
        xasprintf("{\"volume_id\":\"%s\",\"node_id\":\"node-1\",\"volume_capability\":{\"mount\":"
                  "{},\"access_mode\":{\"mode\":\"SINGLE_NODE_WRITER\"}}}",
                  handle);
    _cleanup_free_ char *detach =
        xasprintf("{\"volume_id\":\"%s\",\"node_id\":\"node-1\"}", handle);
    const struct harness_call calls[] = {
        {.method = "ControllerPublishVolume", .request = attach, .without_secrets = true},
        {.method = "ControllerPublishVolume", .request = attach},
        {.method = "ControllerUnpublishVolume", .request = detach, .without_secrets = true},
        {.method = "ControllerUnpublishVolume", .request = detach},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
        if (harness_call(&driver, &calls[i], NULL, &err) < 0)
            fail_msg("%s", err.message);
    if (harness_delete_volume(&driver, handle, &err) < 0 ||
        harness_call(&driver, &calls[2], NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(harness_call(&driver, &calls[1], NULL, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}

TEST(existing_volume_is_confirmed_and_missing_one_not_found)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = harness_create_volume(&driver, "checked", "common", MIB, &err);
    _cleanup_free_ char *request =
        xasprintf("{\"volume_id\":\"%s\",\"volume_capabilities\":[{\"mount\":{},\"access_mode\":{"
                  "\"mode\":\"SINGLE_NODE_WRITER\"}}]}",
                  handle);
    json_auto_t *reply = NULL;
    const struct harness_call call = {.method = "ValidateVolumeCapabilities", .request = request};

    assert_int_equal(harness_call(&driver, &call, &reply, &err), 0);
    assert_non_null(json_object_get(json_object_get(reply, "confirmed"), "volume_capabilities"));
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    assert_int_equal(harness_call(&driver, &call, NULL, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}

/* --- many at once, and a driver that is told to end meanwhile --- */

#define CALLERS 50

struct caller {
    pthread_t thread;
    char name[32];
    char *handle;
    struct error err;
};

static void *create_one(void *object)
{
    struct caller *caller = object;
    _cleanup_free_ char *request = harness_create_request(caller->name, "zone-c", 4 * MIB);
    const struct harness_call call = {.method = "CreateVolume", .request = request, .once = true};
    json_auto_t *reply = NULL;

    if (harness_call(&driver, &call, &reply, &caller->err) == 0)
        caller->handle = xstrdup(
            json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id")));
    return NULL;
}

static void start_callers(struct caller *callers)
{
    for (size_t i = 0; i < CALLERS; i++) {
        snprintf(callers[i].name, sizeof(callers[i].name), "cut-%zu", i);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, create_one, &callers[i]), 0);
    }
}

static bool status_asks_for_a_retry(enum status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_CANCELLED ||
           status == STATUS_DEADLINE_EXCEEDED || status == STATUS_ABORTED;
}

static size_t join_callers(struct caller *callers)
{
    size_t answered = 0;

    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].handle)
            answered++;
        else
            assert_true(status_asks_for_a_retry(callers[i].err.status));
    }
    return answered;
}

/* The first volumes are there. */
static bool has_begun(void)
{
    _cleanup_free_ char *contents = harness_pool_contents("zone-c");

    return strstr(contents, " name_csi-vol-");
}

/* Ends the driver amid 50 creations, starts it again and repeats them. */
static void check_sigterm(void)
{
    struct caller callers[CALLERS] = {0};
    _cleanup_error_ struct error err = {0};

    start_callers(callers);
    wait_until(has_begun()); /* some are done, some run, some wait for a worker */
    assert_int_equal(kill(driver.pid, SIGTERM), 0);
    size_t answered = join_callers(callers);
    assert_int_equal(harness_stop(&driver, 0, 120000), 0);
    print_message("note: %zu of %d calls were answered before the end\n", answered, CALLERS);
    harness_start(&driver, NULL);
    for (size_t i = 0; i < CALLERS; i++) {
        _cleanup_free_ char *handle =
            harness_create_volume(&driver, callers[i].name, "zone-c", 4 * MIB, &err);

        assert_non_null(handle);
        if (callers[i].handle)
            assert_string_equal(handle, callers[i].handle);
        assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
        free(callers[i].handle);
        error_clear(&callers[i].err);
    }
    harness_assert_pool_empties("zone-c");
}

TEST(sigterm_amid_creates_lets_them_end)
{
    check_sigterm();
}

TEST(creates_cut_by_a_short_drain_are_continued)
{
    assert_int_equal(harness_stop(&driver, SIGTERM, 120000), 0);
    harness_start(&driver, (const char *[]){"--draintimeout=1ms", NULL});
    check_sigterm();
}

TEST(two_calls_for_one_name_at_once_make_one_volume)
{
    struct caller callers[8] = {0};
    _cleanup_free_ char *handle = NULL;
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++) {
        snprintf(callers[i].name, sizeof(callers[i].name), "same-name");
        assert_int_equal(pthread_create(&callers[i].thread, NULL, create_one, &callers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++)
        pthread_join(callers[i].thread, NULL);
    handle = harness_create_volume(&driver, "same-name", "zone-c", 4 * MIB, &err);
    assert_non_null(handle);
    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++) {
        if (callers[i].handle) {
            assert_string_equal(callers[i].handle, handle);
            free(callers[i].handle);
            continue;
        }
        assert_int_equal(callers[i].err.status, STATUS_ABORTED);
        assert_non_null(strstr(callers[i].err.message, "CreateVolume 'same-name' has been "));
        error_clear(&callers[i].err);
    }
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties("zone-c");
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
