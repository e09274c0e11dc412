/* What kills the driver or the manager: see kills.h. */

#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/kills.h"
#include "tests/test.h"

#define DELAY_MAX_US 60000

static const char *cut_library(void)
{
    const char *library = getenv("CUT_LIBRARY");

    if (!library)
        fail_msg("CUT_LIBRARY is not set: run this test with 'make integration'");
    return library;
}

/* --- the driver, at a request --- */

static bool has_library; /* the driver that is started next */

void kills_start_driver(const struct cuts_setup *setup)
{
    if (has_library)
        setenv("LD_PRELOAD", cut_library(), 1);
    harness_start(&cuts_driver, setup->flags);
    unsetenv("LD_PRELOAD");
}

static int prepare(const struct cuts_setup *setup)
{
    rpc_init();
    harness_init(&cuts_driver);
    cuts_use_file(&cuts_driver);
    kills_start_driver(setup);
    return 0;
}

int kills_prepare_driver(const struct cuts_setup *setup)
{
    has_library = true;
    return prepare(setup);
}

/* A deletion goes on in the background: until nothing is left that was not there before, or the
 * driver has died over it. */
static void wait_for_background(const struct kills_point *point)
{
    struct test_wait wait = {0};

    for (;;) {
        _cleanup_free_ char *state = cuts_state(point->setup);

        if (strlen(state) <= point->floor || cuts_has_struck() || !test_wait_more(&wait))
            return;
    }
}

bool kills_at_operation(const struct kills_point *point, struct cuts_world *world,
                        struct error *err)
{
    _cleanup_free_ char *order = xasprintf("%u osd-operation", point->number);

    cuts_order(order);
    if (kills_try_step(point->scenario->tested, world, err) == 0 && point->scenario->deletes)
        wait_for_background(point);
    if (!cuts_take_back(&cuts_driver))
        return false;
    kills_start_driver(point->setup);
    return true;
}

/* --- the driver, at any time --- */

struct killer {
    pthread_t thread;
    useconds_t delay_us;
    pid_t pid;
};

static void *kill_later(void *argument)
{
    const struct killer *killer = argument;

    usleep(killer->delay_us);
    kill(killer->pid, SIGKILL);
    return NULL;
}

/* Printed once, so that a run can be repeated with KILL_SEED. */
static useconds_t random_delay_us(void)
{
    static unsigned short numbers[3];

    if (numbers[2] == 0) {
        const unsigned seed = kills_setting("KILL_SEED", (unsigned)getpid());

        print_message("note: KILL_SEED=%u\n", seed);
        memcpy(numbers, &seed, sizeof(seed));
        numbers[2] = 1;
    }
    return (useconds_t)(erand48(numbers) * DELAY_MAX_US);
}

int kills_prepare_plain(const struct cuts_setup *setup)
{
    has_library = false;
    return prepare(setup);
}

bool kills_at_random(const struct kills_point *point, struct cuts_world *world, struct error *err)
{
    struct killer killer = {.delay_us = random_delay_us(), .pid = cuts_driver.pid};

    assert_int_equal(pthread_create(&killer.thread, NULL, kill_later, &killer), 0);
    (void)kills_try_step(point->scenario->tested, world, err);
    pthread_join(killer.thread, NULL);
    assert_int_equal(harness_stop(&cuts_driver, 0, 60000), 128 + SIGKILL);
    kills_start_driver(point->setup);
    return true;
}

/* --- the manager --- */

/* tests/ceph/cluster COMMAND DIR [OPTION] */
static void control_cluster(const char *command, const char *option)
{
    _cleanup_free_ char *conf = xstrdup(getenv("CEPH_CONF"));

    free(harness_run_tool(
        (const char *const[]){"tests/ceph/cluster", command, dirname(conf), option, NULL}));
}

static void start_manager(void)
{
    _cleanup_free_ char *option = xasprintf("--preload=%s", cut_library());

    control_cluster("start-mgr", option);
}

bool kills_revive_manager(void)
{
    const bool died = cuts_has_struck();

    if (died)
        start_manager();
    cuts_order("off");
    return died;
}

int kills_prepare_manager(const struct cuts_setup *setup)
{
    if (kills_prepare_plain(setup) < 0)
        return -1;
    control_cluster("stop-mgr", NULL);
    start_manager();
    return 0;
}

int kills_finish_manager(void **state)
{
    control_cluster("stop-mgr", NULL);
    control_cluster("start-mgr", NULL);
    return cuts_finish(state);
}

struct caller {
    pthread_t thread;
    const struct kills_point *point;
    struct cuts_world *world;
    struct error *err;
    atomic_bool has_ended;
};

static void *make_call(void *argument)
{
    struct caller *caller = argument;

    (void)kills_try_step(caller->point->scenario->tested, caller->world, caller->err);
    atomic_store(&caller->has_ended, true);
    return NULL;
}

/* The driver waits for a manager, so that one has to come back while the call runs. */
bool kills_manager(const struct kills_point *point, struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *order = xasprintf("%u mds-request", point->number);
    struct caller caller = {.point = point, .world = world, .err = err};

    cuts_order(order);
    assert_int_equal(pthread_create(&caller.thread, NULL, make_call, &caller), 0);
    while (!cuts_has_struck() && !atomic_load(&caller.has_ended))
        usleep(5000);
    const bool died = kills_revive_manager();
    pthread_join(caller.thread, NULL);
    return died;
}
