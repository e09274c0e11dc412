/*
 * Threads that take volumes through their lives, all at once on one driver, while the main thread
 * replaces config.json and reads the metrics. Every call must succeed, if need be after a retry, a
 * volume must be in every listing exactly once, and nothing may be left. Under ThreadSanitizer,
 * which sees the driver too, this is what its locks are tested with.
 */
#include "tests/integration/storm.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/config_churn.h"
#include "tests/integration/liveness_process.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define PAGE 5
#define PAUSE_US 10000

static struct driver_process driver;
static struct liveness_process liveness;

struct storm {
    char *shared; /* the volume that all of them grow */
    atomic_size_t running;
};

struct caller {
    pthread_t thread;
    struct storm *storm;
    size_t number;
    size_t calls;
    struct error err;
};

/* --- one caller --- */

/* Steals @request. The reply, which the caller frees, or NULL with the caller's error set. */
static json_t *call(struct caller *caller, const char *method, json_t *request)
{
    _cleanup_free_ char *text = json_dumps(request, 0);
    json_t *reply = NULL;

    json_decref(request);
    caller->calls++;
    if (harness_call(&driver, &(struct harness_call){.method = method, .request = text}, &reply,
                     &caller->err) < 0)
        (void)error_wrap(&caller->err, "%s %s", method, text);
    return reply;
}

static int call_for_status(struct caller *caller, const char *method, json_t *request)
{
    json_auto_t *reply = call(caller, method, request);

    return reply ? 0 : -1;
}

static char *call_for_handle(struct caller *caller, const char *method, json_t *request,
                             const char *object, const char *field)
{
    json_auto_t *reply = call(caller, method, request);

    return reply
               ? xstrdup(json_string_value(json_object_get(json_object_get(reply, object), field)))
               : NULL;
}

static char *create_volume(struct caller *caller, const char *name, const char *snapshot)
{
    _cleanup_free_ char *text = STORM_KIND.request(name, snapshot);

    return call_for_handle(caller, "CreateVolume", json_loads(text, 0, NULL), "volume",
                           "volume_id");
}

static int delete_volume(struct caller *caller, const char *handle)
{
    return call_for_status(caller, "DeleteVolume", json_pack("{s:s}", "volume_id", handle));
}

static int expand(struct caller *caller, const char *handle, long long size_bytes)
{
    return call_for_status(caller, "ControllerExpandVolume",
                           json_pack("{s:s, s:{s:I}}", "volume_id", handle, "capacity_range",
                                     "required_bytes", (json_int_t)size_bytes));
}

static size_t count_handle(const json_t *page, const char *handle)
{
    size_t found = 0;
    size_t i = 0;
    const json_t *entry = NULL;

    json_array_foreach(json_object_get(page, "entries"), i, entry)
    {
        const json_t *volume = json_object_get(entry, "volume");

        found += strcmp(json_string_value(json_object_get(volume, "volume_id")), handle) == 0;
    }
    return found;
}

/* All pages, while others come and go between them. */
static int find_in_listing(struct caller *caller, const char *handle)
{
    _cleanup_free_ char *token = xstrdup("");
    size_t found = 0;

    while (token) {
        json_auto_t *page =
            call(caller, "ListVolumes",
                 json_pack("{s:i, s:s}", "max_entries", PAGE, "starting_token", token));

        if (!page)
            return -1;
        found += count_handle(page, handle);
        const char *next = json_string_value(json_object_get(page, "next_token"));
        free(token);
        token = next && next[0] ? xstrdup(next) : NULL;
    }
    if (found != 1)
        return error_set(&caller->err, STATUS_INTERNAL, "'%s' is %zu times in the listing", handle,
                         found);
    return 0;
}

/* What changes nothing. */
static int look_around(struct caller *caller, const char *handle)
{
    _cleanup_free_ char *text = STORM_KIND.request("unused", NULL);
    json_auto_t *request = json_loads(text, 0, NULL);

    if (call_for_status(caller, "ControllerGetVolume", json_pack("{s:s}", "volume_id", handle)) <
            0 ||
        call_for_status(caller, "GetCapacity",
                        json_pack("{s:O}", "parameters", json_object_get(request, "parameters"))) <
            0 ||
        call_for_status(caller, "ValidateVolumeCapabilities",
                        json_pack("{s:s, s:O}", "volume_id", handle, "volume_capabilities",
                                  json_object_get(request, "volume_capabilities"))) < 0)
        return -1;
    return find_in_listing(caller, handle);
}

static int restore(struct caller *caller, const char *name, const char *snapshot)
{
    _cleanup_free_ char *restored_name = xasprintf("%s-restored", name);
    _cleanup_free_ char *handle = create_volume(caller, restored_name, snapshot);

    return handle ? delete_volume(caller, handle) : -1;
}

static int take_snapshot(struct caller *caller, const char *name, const char *source)
{
    _cleanup_free_ char *handle = call_for_handle(
        caller, "CreateSnapshot", json_pack("{s:s, s:s}", "name", name, "source_volume_id", source),
        "snapshot", "snapshot_id");

    if (!handle ||
        call_for_status(caller, "ListSnapshots", json_pack("{s:s}", "snapshot_id", handle)) < 0 ||
        (STORM_KIND.restores && restore(caller, name, handle) < 0))
        return -1;
    return call_for_status(caller, "DeleteSnapshot", json_pack("{s:s}", "snapshot_id", handle));
}

static int live_a_volume(struct caller *caller, size_t round)
{
    _cleanup_free_ char *name = xasprintf("storm-%zu-%zu", caller->number, round);
    _cleanup_free_ char *handle = create_volume(caller, name, NULL);

    if (!handle || look_around(caller, handle) < 0 || take_snapshot(caller, name, handle) < 0 ||
        expand(caller, handle, 8 * MIB) < 0 ||
        expand(caller, caller->storm->shared, (long long)(round + 2) * 4 * MIB) < 0)
        return -1;
    return delete_volume(caller, handle);
}

static void *run_caller(void *object)
{
    struct caller *caller = object;

    for (size_t round = 0; round < STORM_KIND.rounds; round++)
        if (live_a_volume(caller, round) < 0)
            break;
    atomic_fetch_sub(&caller->storm->running, 1);
    return NULL;
}

/* --- the storm --- */

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    _cleanup_free_ char *keyring = xasprintf("%s/keyring", driver.folder);
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", keyring);
    zones_write_keyring(keyring);
    const char *extra[8] = {flag};
    for (size_t i = 0; STORM_KIND.flags[i]; i++)
        extra[1 + i] = STORM_KIND.flags[i];
    harness_start(&driver, extra);
    liveness_start(&liveness, &driver);
    return 0;
}

static int stop_driver(void **state)
{
    _cleanup_free_ char *keyring = xasprintf("%s/keyring", driver.folder);

    (void)state;
    unlink(keyring);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

/* A look at the health makes the driver look at its configuration: none of them is missed. */
static void read_report(void)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *reply = NULL;

    if (harness_call(&driver, &(struct harness_call){.method = "GetReport", .request = "{}"},
                     &reply, &err) < 0)
        fail_msg("GetReport: %s", err.message);
    assert_non_null(strstr(json_string_value(json_object_get(reply, "metrics")), "csi_rpc_total"));
}

static size_t count_in_log(const char *part)
{
    _cleanup_fclose_ FILE *file = fopen(driver.log_path, "re");
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    size_t count = 0;

    assert_non_null(file);
    while (getline(&line, &size, file) > 0)
        count += strstr(line, part) != NULL;
    return count;
}

static void let_them_loose(struct storm *storm, struct caller *callers, struct config_churn *churn)
{
    atomic_init(&storm->running, STORM_KIND.threads);
    for (size_t i = 0; i < STORM_KIND.threads; i++) {
        callers[i] = (struct caller){.storm = storm, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]), 0);
    }
    while (atomic_load(&storm->running) > 0 || churn->count < config_churn_round()) {
        config_churn_next(churn);
        read_report();
        liveness_assert_answers(&liveness, "/metrics", "200", "csi_rpc_total");
        usleep(PAUSE_US);
    }
    for (size_t i = 0; i < STORM_KIND.threads; i++)
        pthread_join(callers[i].thread, NULL);
}

static size_t count_calls(struct caller *callers)
{
    size_t calls = 0;

    for (size_t i = 0; i < STORM_KIND.threads; i++) {
        if (callers[i].err.message)
            fail_msg("thread %zu: %s: %s", i, status_name(callers[i].err.status),
                     callers[i].err.message);
        calls += callers[i].calls;
    }
    return calls;
}

TEST(no_call_fails_in_a_storm_of_calls_and_configurations)
{
    _cleanup_free_ struct caller *callers = xcalloc(STORM_KIND.threads, sizeof(*callers));
    struct config_churn churn = {.driver = &driver};
    struct caller first = {0};
    struct storm storm = {.shared = create_volume(&first, "storm-shared", NULL)};
    const int64_t began_ms = clock_monotonic_ms();

    if (!storm.shared)
        fail_msg("%s", first.err.message);
    let_them_loose(&storm, callers, &churn);
    const int64_t took_ms = clock_monotonic_ms() - began_ms;
    config_churn_done(&churn);
    size_t calls = count_calls(callers);
    if (delete_volume(&first, storm.shared) < 0)
        fail_msg("%s", first.err.message);
    free(storm.shared);
    liveness_assert_answers(&liveness, "/readyz", "200", "ok      file ");
    liveness_stop(&liveness);
    STORM_KIND.assert_empties();
    assert_int_equal(harness_stop(&driver, SIGTERM, 120000), 0);
    size_t reads = count_in_log("cluster(s) from ");
    assert_true(reads > config_churn_round() / 2);
    /* a broken one leaves the one before in force, also for calls that would come again */
    assert_true(count_in_log("keeping the last good configuration") > 0);
    assert_int_equal(count_in_log("the driver has no cluster configuration"), 0);
    print_message("figure: %zu calls of %zu threads in %.1f s; of %zu configurations the driver "
                  "read %zu good ones\n",
                  calls, STORM_KIND.threads, (double)took_ms / 1000, churn.count, reads);
}

TEST_GROUP(start_driver, stop_driver)
