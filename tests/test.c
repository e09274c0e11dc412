#include "tests/test.h"

#include <errno.h>

#include "common/base/memory.h"

/* All of it is filled by constructors, before there is a second thread. */
static struct {
    struct CMUnitTest *tests;
    size_t count;
    void (*add_cases)(void);
    CMFixtureFunction setup;
    CMFixtureFunction teardown;
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

int main(int argc, char **argv)
{
    const char *only = getenv("TEST_ONLY");

    if (argc > 1 && test_child)
        return test_child(argc, argv);
    /* tests/run takes the time of each test from the moment at which its lines come */
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (program.add_cases)
        program.add_cases();
    if (program.count == 0) {
        fprintf(stderr, "%s: there are no tests in it\n", program_invocation_short_name);
        return 1;
    }
    if (only)
        cmocka_set_test_filter(only);
    int failed = _cmocka_run_group_tests(program_invocation_short_name, program.tests,
                                         program.count, program.setup, program.teardown);
    free(program.tests);
    return failed;
}
