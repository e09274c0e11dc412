#include "tests/test.h"

#include <errno.h>
#include <fnmatch.h>
#include <time.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"

#define PATIENCE_MS 120000

/* All of it is filled by constructors, before there is a second thread. */
static struct {
    struct CMUnitTest *tests;
    size_t count;
    void (*add_cases)(void);
    CMFixtureFunction setup;
    CMFixtureFunction teardown;
    void (*clean_up)(void);
} program;

void test_add(struct CMUnitTest test)
{
    program.tests = xreallocarray(program.tests, program.count + 1, sizeof(*program.tests));
    program.tests[program.count++] = test;
}

void test_add_cases(void (*add)(void))
{
    program.add_cases = add;
}

void test_set_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    program.setup = setup;
    program.teardown = teardown;
}

void test_set_cleanup(void (*clean_up)(void))
{
    program.clean_up = clean_up;
}

bool test_wait_more(struct test_wait *wait)
{
    const int64_t now_ms = clock_monotonic_ms();

    if (wait->since_ms == 0)
        *wait = (struct test_wait){.since_ms = now_ms, .pause_ms = 1};
    if (now_ms - wait->since_ms >= PATIENCE_MS)
        return false;
    wait->pause_ms = wait->pause_ms >= 50 ? 100 : 2 * wait->pause_ms;
    nanosleep(&(struct timespec){.tv_nsec = wait->pause_ms * 1000000}, NULL);
    return true;
}

/* --- how long each test takes, and what follows a failure --- */

static struct {
    const struct CMUnitTest *next; /* as they were registered */
    const struct CMUnitTest *test; /* the one that runs */
    struct timespec start;
    bool has_ended; /* its function has returned: no assertion has left it */
} run;

static int begin_test(void **state)
{
    run.test = run.next++;
    run.has_ended = false;
    clock_gettime(CLOCK_MONOTONIC, &run.start);
    return run.test->setup_func ? run.test->setup_func(state) : 0;
}

static void call_test(void **state)
{
    run.test->test_func(state);
    run.has_ended = true;
}

static int start_anew(void **state)
{
    program.clean_up();
    if (program.teardown && program.teardown(state) != 0)
        return -1;
    return program.setup ? program.setup(state) : 0;
}

static int end_test(void **state)
{
    int result = run.test->teardown_func ? run.test->teardown_func(state) : 0;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds =
        (double)(now.tv_sec - run.start.tv_sec) + (double)(now.tv_nsec - run.start.tv_nsec) / 1e9;
    printf("time: %.3f %s\n", seconds, run.test->name);
    if (!run.has_ended && program.clean_up && start_anew(state) != 0)
        return -1;
    return result;
}

/* cmocka's own filter would make begin_test() lose count. */
static void drop_tests_but(const char *pattern)
{
    size_t kept = 0;

    for (size_t i = 0; i < program.count; i++)
        if (fnmatch(pattern, program.tests[i].name, 0) == 0)
            program.tests[kept++] = program.tests[i];
    program.count = kept;
}

static int run_program(void)
{
    struct CMUnitTest *timed = xcalloc(program.count, sizeof(*timed));

    for (size_t i = 0; i < program.count; i++) {
        timed[i] = program.tests[i];
        timed[i].setup_func = begin_test;
        timed[i].test_func = call_test;
        timed[i].teardown_func = end_test;
    }
    run.next = program.tests;
    int failed = _cmocka_run_group_tests(program_invocation_short_name, timed, program.count,
                                         program.setup, program.teardown);
    free(timed);
    return failed;
}

int main(int argc, char **argv)
{
    const char *only = getenv("TEST_ONLY");

    if (argc > 1 && test_child)
        return test_child(argc, argv);
    if (program.add_cases)
        program.add_cases();
    if (only)
        drop_tests_but(only);
    if (program.count == 0) {
        fprintf(stderr, "%s: there is no test%s%s\n", program_invocation_short_name,
                only ? " like " : "", only ? only : "");
        return 1;
    }
    int failed = run_program();
    free(program.tests);
    return failed;
}
