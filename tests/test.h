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

/* A program that starts itself with arguments to be something else than a test defines this. */
__attribute__((weak)) int test_child(int argc, char **argv);
