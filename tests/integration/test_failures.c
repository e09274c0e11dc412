/* Parts of the cluster are down: what does not need them goes on, what does fails in time and with
 * a status that asks for a retry, and afterwards all is well. */
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/ceph/ceph.h"
#include "common/rpc/rpc.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define DEAD_POOL "zone-a" /* on OSD 0 alone */
#define LIVE_POOL "zone-b"
#define POOL_GROUPS 8 /* tests/ceph/lib.sh */
#define DEAD_CALLS 100
#define ROUNDS 3      /* of each kind, in turn */
#define LIVE_CALLS 30 /* in one round, at most */
#define ROUND_MS                                                                                   \
    2500 /* a pool that hangs refuses those who wait for a place after three seconds               \
          */
#define DEADLINE_MS 8000
#define MIB (1024LL * 1024)

static struct driver_process driver;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, (const char *[]){"--cephtimeout=5s", "--draintimeout=2s", NULL});
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

/* tests/ceph/cluster COMMAND DIR [NUMBER] */
static void cluster(const char *command, const char *number)
{
    _cleanup_free_ char *conf = xstrdup(getenv("CEPH_CONF"));
    const char *argv[] = {"tests/ceph/cluster", command, dirname(conf), number, NULL};
    const struct subprocess spec = {.argv = argv, .deadline = deadline_in_ms(600000)};
    _cleanup_error_ struct error err = {0};

    if (subprocess_check(&spec, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

struct caller {
    pthread_t thread;
    char name[32];
    char *handle;
    struct error err;
};

static void *create_in_dead_pool(void *object)
{
    struct caller *caller = object;
    _cleanup_free_ char *request = harness_create_request(caller->name, DEAD_POOL, 4 * MIB);

    harness_call(
        &driver,
        &(struct harness_call){
            .method = "CreateVolume", .request = request, .timeout_ms = DEADLINE_MS, .once = true},
        NULL, &caller->err);
    return NULL;
}

struct samples {
    int64_t us[ROUNDS * LIVE_CALLS];
    size_t count;
};

static int compare_times(const void *a, const void *b)
{
    return (int)(*(const int64_t *)a - *(const int64_t *)b);
}

static double median_ms(struct samples *samples)
{
    qsort(samples->us, samples->count, sizeof(samples->us[0]), compare_times);
    int64_t median_us = samples->us[samples->count / 2];
    return (double)median_us / 1000;
}

static int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* One round: creates and deletes volumes in the live pool, one after the other. */
static void measure_live_pool(struct samples *samples)
{
    struct deadline end = deadline_in_ms(ROUND_MS);

    for (int i = 0; i < LIVE_CALLS && !deadline_has_passed(end); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *name = xasprintf("live-%d", i);
        int64_t began_us = clock_us();
        _cleanup_free_ char *handle =
            harness_create_volume(&driver, name, LIVE_POOL, 4 * MIB, &err);

        if (!handle)
            fail_msg("a create in the live pool failed: %s", err.message);
        samples->us[samples->count++] = clock_us() - began_us;
        assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    }
}

static bool asks_for_a_retry(enum status status)
{
    return status == STATUS_DEADLINE_EXCEEDED || status == STATUS_UNAVAILABLE ||
           status == STATUS_ABORTED || status == STATUS_CANCELLED;
}

/* Measures while DEAD_CALLS calls wait for the dead pool; each must end in time and ask for a
 * retry. */
static void measure_beside_dead_pool(struct samples *samples)
{
    struct caller *callers = xcalloc(DEAD_CALLS, sizeof(*callers));

    for (size_t i = 0; i < DEAD_CALLS; i++) {
        snprintf(callers[i].name, sizeof(callers[i].name), "dead-%zu", i);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, create_in_dead_pool, &callers[i]),
                         0);
    }
    measure_live_pool(samples);
    for (size_t i = 0; i < DEAD_CALLS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_non_null(callers[i].err.message);
        if (!asks_for_a_retry(callers[i].err.status))
            fail_msg("%s: %s", status_name(callers[i].err.status), callers[i].err.message);
        error_clear(&callers[i].err);
    }
    free(callers);
}

/* Before each round the pool is empty: the removal of what the round before has deleted takes as
 * much of the OSD's time as the creates do. Quiet rounds and others take turns, so that other work
 * on the machine meets both; those with all OSDs up can only come first. */
TEST(dead_pool_does_not_hold_up_others)
{
    struct samples up = {0};
    struct samples quiet = {0};
    struct samples beside = {0};

    measure_live_pool(&(struct samples){0}); /* the first calls of a driver are slower */
    for (int i = 0; i < ROUNDS; i++) {
        harness_assert_pool_empties(LIVE_POOL);
        measure_live_pool(&up);
    }
    cluster("stop-osd", "0");
    for (int i = 0; i < ROUNDS; i++) {
        harness_assert_pool_empties(LIVE_POOL);
        measure_live_pool(&quiet);
        harness_assert_pool_empties(LIVE_POOL);
        measure_beside_dead_pool(&beside);
    }
    double up_ms = median_ms(&up);
    double quiet_ms = median_ms(&quiet);
    double beside_ms = median_ms(&beside);
    print_message("figure: creates in a live pool: p50 %.1f ms with all OSDs up, %.1f ms with that "
                  "of another pool stopped, %.1f ms while %d calls wait for that pool: %.2f and "
                  "%.2f times\n",
                  up_ms, quiet_ms, beside_ms, DEAD_CALLS, beside_ms / up_ms, beside_ms / quiet_ms);
    cluster("start-osd", "0");
}

TEST(calls_that_failed_are_continued_when_the_pool_is_back)
{
    for (size_t i = 0; i < DEAD_CALLS; i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *name = xasprintf("dead-%zu", i);
        _cleanup_free_ char *handle =
            harness_create_volume(&driver, name, DEAD_POOL, 4 * MIB, &err);

        if (!handle) /* it was made again until OSD and driver had settled */
            fail_msg("%s", err.message);
        assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    }
    harness_assert_pool_empties(DEAD_POOL);
    harness_assert_pool_empties(LIVE_POOL);
}

/* One that is not over in time is waited for once more. */
static bool has_settled(struct ceph_pool *pool, struct call *call)
{
    _cleanup_error_ struct error err = {0};

    if (pool->ops->pool_settle(pool, call, POOL_GROUPS, 1, &err) == 0)
        return true;
    if (err.status != STATUS_DEADLINE_EXCEEDED)
        fail_msg("%s", err.message);
    return false;
}

/* The pool of the dead OSD has none left, the common one some that are served and some that are
 * not. */
TEST(groups_without_osds_do_not_keep_a_pool_from_settling)
{
    static const char *const pools[] = {DEAD_POOL, "common", LIVE_POOL};
    struct ceph *ceph = ceph_new(&(struct ceph_options){
        .connect_timeout_ms = 30000, .mon_op_timeout_ms = 30000, .osd_op_timeout_ms = 30000});
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};
    struct ceph_cluster *connection = NULL;
    struct call call;

    secret_set(&key, harness_cluster()->key);
    const struct ceph_target target = {"c1", harness_cluster()->monitors, harness_cluster()->user,
                                       &key};
    call_init(&call, 1, "Test", deadline_in_ms(240000));
    assert_int_equal(ceph->ops->connect(ceph, &call, &target, &connection, &err), 0);
    cluster("stop-osd", "0");
    for (size_t i = 0; i < ARRAY_LENGTH(pools); i++) {
        _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

        assert_int_equal(ceph->ops->pool_open(connection, &call, pools[i], "", &pool, &err), 0);
        wait_until(has_settled(pool, &call));
    }
    cluster("start-osd", "0");
    ceph_disconnect(connection);
    call_done(&call);
    assert_true(ceph_free(ceph));
}

TEST(deletion_does_not_need_the_mgr)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle =
        harness_create_volume(&driver, "without-mgr", LIVE_POOL, 4 * MIB, &err);

    if (!handle)
        fail_msg("%s", err.message);
    cluster("stop-mgr", NULL);
    int result = harness_delete_volume(&driver, handle, &err);
    harness_assert_pool_empties(LIVE_POOL);
    cluster("start-mgr", NULL);
    if (result < 0)
        fail_msg("%s", err.message);
}

/* Daemons that a test had stopped come back; those that run stay. */
static void clean_up(void)
{
    _cleanup_free_ char *conf = xstrdup(getenv("CEPH_CONF"));
    _cleanup_free_ char *line = xasprintf("for daemon in 'start-osd %1$s 0' 'start-mgr %1$s'; do"
                                          " tests/ceph/cluster $daemon >&2 || :; done",
                                          dirname(conf));

    free(harness_run_tool((const char *const[]){"bash", "-c", line, NULL}));
    harness_clean_up();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(clean_up)
