/* --type=liveness beside a real driver, and the cephzone tool against it. */
#include <signal.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/liveness_process.h"
#include "tests/test.h"

static struct driver_process driver;
static struct liveness_process liveness;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
    liveness_start(&liveness, &driver);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    liveness_stop(&liveness);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

static void assert_answers(const char *path, const char *status, const char *part)
{
    liveness_assert_answers(&liveness, path, status, part);
}

TEST(healthy_driver_is_alive_and_ready)
{
    assert_answers("/healthz", "200", "ok");
    assert_answers("/readyz", "200", "ok      file ");
    assert_answers("/metrics", "200", "csi_liveness 1");
    assert_answers("/metrics", "200", "csi_rpc_total{method=\"Probe\",status=\"OK\"}");
    assert_answers("/nothing", "404", "");
}

TEST(broken_config_shows_in_readyz_but_probe_stays_ok)
{
    _cleanup_free_ char *good = xasprintf("[{\"clusterID\":\"%s\",\"monitors\":[\"%s\"]}]",
                                          harness_cluster()->fsid, harness_cluster()->monitors);

    harness_write_config(&driver, "[{\"clusterID\": 7}]");
    assert_answers("/readyz", "503", "clusterID: expected a string, found a number");
    assert_answers("/healthz", "200", "ok");
    harness_write_config(&driver, good);
    assert_answers("/readyz", "200", "ok      file ");
}

TEST(unreachable_cluster_shows_in_readyz)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *request = harness_create_request("x", "common", 1 << 20);
    _cleanup_free_ char *config = xasprintf(
        "[{\"clusterID\":\"%s\",\"monitors\":[\"127.0.0.1:1\"]}]", harness_cluster()->fsid);

    harness_write_config(&driver, config);
    /* a slow one may not come as far as the monitors in the time that it has */
    for (int64_t patience_ms = 2000; !err.message || !strstr(err.message, "the monitors of");
         patience_ms *= 2) {
        const struct harness_call call = {
            .method = "CreateVolume", .request = request, .timeout_ms = patience_ms, .once = true};

        assert_true(patience_ms < 100000);
        error_clear(&err);
        assert_int_equal(harness_call(&driver, &call, NULL, &err), -1);
    }
    assert_answers("/readyz", "503", "trouble cluster ");
    assert_answers("/healthz", "200", "ok");
}

TEST(dead_driver_is_not_alive)
{
    assert_int_equal(harness_stop(&driver, SIGKILL, 120000), 128 + SIGKILL);
    assert_answers("/healthz", "503", "does not answer");
    assert_answers("/readyz", "503", "trouble driver");
    assert_answers("/metrics", "200", "csi_liveness 0");
    harness_start(&driver, NULL); /* over the stale socket */
    assert_answers("/healthz", "200", "ok");
}

static void run_tool(const char *const *arguments, int code, const char *part)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_free_ char *endpoint = xasprintf("--endpoint=%s", driver.endpoint);
    const char *argv[8] = {getenv("CEPHZONE"), "call", endpoint};

    for (size_t i = 0; arguments[i]; i++)
        argv[3 + i] = arguments[i];
    const struct subprocess spec = {.argv = argv, .deadline = deadline_in_ms(120000)};
    assert_int_equal(subprocess_run(&spec, &result, &err), 0);
    assert_int_equal(result.exit_code, code);
    const char *text = code ? text_chars(&result.errors) : text_chars(&result.output);
    if (!strstr(text, part))
        fail_msg("wanted '%s', got %s", part, text);
}

TEST(tool_calls_the_driver_and_explains_mistakes)
{
    run_tool((const char *[]){"--field=name", "GetPluginInfo", NULL}, 0, "rbd.csi.ceph.com\n");
    run_tool((const char *[]){"GetPluginInfos", NULL}, 2, "did you mean 'GetPluginInfo'?");
    run_tool((const char *[]){"--fields=x", "Probe", NULL}, 2, "did you mean");
    run_tool((const char *[]){NULL}, 2, "one METHOD");
    run_tool((const char *[]){"CreateVolume", "{\"nam\": 1}", NULL}, 1, "nam");
    run_tool((const char *[]){"CreateVolume", "{", NULL}, 1, "line 1");
    run_tool((const char *[]){"CreateVolume", NULL}, 1,
             "CreateVolume: INVALID_ARGUMENT: name is missing");
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
