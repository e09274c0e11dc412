#pragma once

/*
 * What every test program includes: cmocka, the headers it wants, and tests that register
 * themselves. tests/test.c has main(), which prints how long each took. With TEST_ONLY='*pattern*'
 * in the environment only some of them run.
 *
 *     TEST(full_domain_is_resource_exhausted)
 *     {
 *         assert_int_equal(...);
 *     }
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

/* Defines and registers a test; tests run in the order of the file. Further members of struct
 * CMUnitTest may follow the name: TEST(name, .setup_func = set_up, .teardown_func = tear_down). */
#define TEST(name_, ...)                                                                           \
    static void name_(void **state);                                                               \
    __attribute__((constructor)) static void register_##name_(void)                                \
    {                                                                                              \
        test_add((struct CMUnitTest){.name = #name_, .test_func = name_, ##__VA_ARGS__});          \
    }                                                                                              \
    static void name_(__attribute__((unused)) void **state)

/* What runs before the first and after the last test of the program; either may be NULL. */
#define TEST_GROUP(setup, teardown)                                                                \
    __attribute__((constructor)) static void register_group(void)                                  \
    {                                                                                              \
        test_set_group(setup, teardown);                                                           \
    }

/* For a program whose tests make things that outlive them: what removes all of it. It runs after a
 * test that failed, and only then, so that no leak is hidden; then the group is torn down and set
 * up again. The next test starts as if it were the first. */
#define TEST_CLEANUP(function)                                                                     \
    __attribute__((constructor)) static void register_##function(void)                             \
    {                                                                                              \
        test_set_cleanup(function);                                                                \
    }

/* The two major versions of cmocka spell this differently. */
#define assert_between(value, low, high)                                                           \
    do {                                                                                           \
        long long value_ = (long long)(value);                                                     \
        if (value_ < (long long)(low) || value_ > (long long)(high))                               \
            fail_msg("%s is %lld, not between %s and %s", #value, value_, #low, #high);            \
    } while (0)

/* Registers a test that is made at run time, from a table or a file. Its name is not copied. */
void test_add(struct CMUnitTest test);

/* For a function that calls test_add() for each case. It runs when main() begins. */
#define TEST_CASES(function)                                                                       \
    __attribute__((constructor)) static void register_##function(void)                             \
    {                                                                                              \
        test_add_cases(function);                                                                  \
    }

void test_add_cases(void (*add)(void));
void test_set_group(CMFixtureFunction setup, CMFixtureFunction teardown);
void test_set_cleanup(void (*clean_up)(void));

/* Waits until the condition, which is looked at every few milliseconds, is true. How fast that is
 * says nothing; the bound, two minutes, only ends a hang, and the test. */
#define wait_until(condition)                                                                      \
    do {                                                                                           \
        struct test_wait wait_ = {0};                                                              \
        while (!(condition))                                                                       \
            if (!test_wait_more(&wait_))                                                           \
                fail_msg("never true: %s", #condition);                                            \
    } while (0)

/* For a loop that has more to say at its end: pauses, for 2 ms at first and 100 ms at last. False
 * after two minutes. */
struct test_wait {
    int64_t since_ms;
    int64_t pause_ms;
};
bool test_wait_more(struct test_wait *wait);

/* A program that starts itself with arguments to be something else than a test defines this. */
__attribute__((weak)) int test_child(int argc, char **argv);
