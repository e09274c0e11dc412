#include "tests/integration/races.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define CALLERS 12
#define ROUNDS 10

static struct driver_process drivers[2];

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    for (size_t i = 0; i < ARRAY_LENGTH(drivers); i++) {
        harness_init(&drivers[i]);
        harness_start(&drivers[i], RACE_KIND.flags);
    }
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(drivers); i++)
        harness_done(&drivers[i]);
    rpc_shutdown();
    return 0;
}

struct caller {
    pthread_t thread;
    struct driver_process *driver;
    const char *method;
    const char *request;
    const char *object;
    const char *field;
    char *handle;
    struct error err;
};

static void *call(void *object)
{
    struct caller *caller = object;
    json_auto_t *reply = NULL;
    const struct harness_call call = {.method = caller->method, .request = caller->request};

    if (harness_call(caller->driver, &call, &reply, &caller->err) == 0 && caller->object)
        caller->handle = xstrdup(json_string_value(
            json_object_get(json_object_get(reply, caller->object), caller->field)));
    return NULL;
}

static char *create(struct driver_process *driver, const char *name)
{
    _cleanup_free_ char *request = RACE_KIND.request(name);
    struct caller caller = {.driver = driver,
                            .method = "CreateVolume",
                            .request = request,
                            .object = "volume",
                            .field = "volume_id"};

    call(&caller);
    if (!caller.handle)
        fail_msg("%s", caller.err.message);
    return caller.handle;
}

/* A deletion may see the other driver at work as a client that uses the image. */
static bool met_the_other_driver(const char *method, const struct error *err)
{
    return strcmp(method, "DeleteVolume") == 0 && err->status == STATUS_FAILED_PRECONDITION &&
           strstr(err->message, "is in use by client");
}

/* Sends @request twelve times at once, six to each driver, and returns the one handle that all
 * answers agree on. Whoever is told that another is at it asks again. */
static char *race(const char *method, const char *request, const char *object, const char *field)
{
    struct caller callers[CALLERS] = {0};
    char *handle = NULL;

    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.driver = &drivers[i % 2],
                                     .method = method,
                                     .request = request,
                                     .object = object,
                                     .field = field};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    for (size_t i = 0; i < CALLERS; i++) {
        struct caller *caller = &callers[i];

        if (caller->err.message) {
            if (!met_the_other_driver(method, &caller->err))
                fail_msg("%s: %s", status_name(caller->err.status), caller->err.message);
            error_clear(&caller->err);
            continue;
        }
        if (handle && caller->handle)
            assert_string_equal(caller->handle, handle);
        if (handle || !caller->handle)
            free(caller->handle);
        else
            handle = caller->handle;
    }
    return handle;
}

TEST(twelve_creations_of_one_name_are_one_volume)
{
    _cleanup_error_ struct error err = {0};

    for (int round = 0; round < ROUNDS; round++) {
        _cleanup_free_ char *name = xasprintf("race-%d", round);
        _cleanup_free_ char *request = RACE_KIND.request(name);
        _cleanup_free_ char *handle = race("CreateVolume", request, "volume", "volume_id");

        assert_non_null(handle);
        _cleanup_free_ char *again = create(&drivers[round % 2], name);
        assert_string_equal(again, handle);
        assert_int_equal(harness_delete_volume(&drivers[0], handle, &err), 0);
        RACE_KIND.assert_empties();
    }
}

TEST(twelve_deletions_of_one_volume_leave_nothing)
{
    _cleanup_error_ struct error err = {0};

    for (int round = 0; round < ROUNDS; round++) {
        _cleanup_free_ char *handle = create(&drivers[0], "race-deleted");
        _cleanup_free_ char *request = xasprintf("{\"volume_id\":\"%s\"}", handle);

        race("DeleteVolume", request, NULL, NULL);
        assert_int_equal(harness_delete_volume(&drivers[1], handle, &err), 0);
        RACE_KIND.assert_empties();
    }
}

TEST(twelve_snapshots_of_one_name_are_one_snapshot)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *volume = create(&drivers[0], "race-source");
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"race-snapshot\",\"source_volume_id\":\"%s\"}", volume);
    _cleanup_free_ char *handle = race("CreateSnapshot", request, "snapshot", "snapshot_id");

    assert_non_null(handle);
    _cleanup_free_ char *removal = xasprintf("{\"snapshot_id\":\"%s\"}", handle);
    assert_int_equal(
        harness_call(&drivers[1],
                     &(struct harness_call){.method = "DeleteSnapshot", .request = removal}, NULL,
                     &err),
        0);
    assert_int_equal(harness_delete_volume(&drivers[1], volume, &err), 0);
    RACE_KIND.assert_empties();
}

static void clean_up(void)
{
    RACE_KIND.clean_up();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(clean_up)
