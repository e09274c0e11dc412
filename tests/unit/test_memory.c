#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"

static void nothing_can_be_allocated(void **state)
{
    (void)state;
    _cleanup_free_ char *none = xmalloc(0);
    _cleanup_free_ char *no_items = xcalloc(0, 8);
    _cleanup_free_ char *shrunk = xreallocarray(xmalloc(8), 0, 8);
    assert_non_null(none);
    assert_non_null(no_items);
    assert_non_null(shrunk);
}

static void cleared_memory_is_zero(void **state)
{
    static const char zeroes[64] = {0};

    (void)state;
    _cleanup_free_ char *memory = xcalloc(8, 8);
    assert_memory_equal(memory, zeroes, sizeof(zeroes));
}

static void resized_array_keeps_its_content(void **state)
{
    int *numbers = xreallocarray(NULL, 2, sizeof(*numbers));

    (void)state;
    numbers[0] = 1;
    numbers[1] = 2;
    numbers = xreallocarray(numbers, 1000, sizeof(*numbers));
    numbers[999] = 3;
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 2);
    free(numbers);
}

static void strings_are_copied(void **state)
{
    (void)state;
    _cleanup_free_ char *whole = xstrdup("volume");
    _cleanup_free_ char *part = xstrndup("volume", 3);
    _cleanup_free_ char *more = xstrndup("volume", 100);
    assert_string_equal(whole, "volume");
    assert_string_equal(part, "vol");
    assert_string_equal(more, "volume");
}

static void text_is_formatted_at_any_length(void **state)
{
    (void)state;
    _cleanup_free_ char *text = xasprintf("%s-%05000d", "x", 7);
    assert_int_equal(strlen(text), 5002);
    assert_string_equal(text + 4999, "007");
}

static void taking_leaves_null_behind(void **state)
{
    _cleanup_free_ char *from = xstrdup("a");

    (void)state;
    _cleanup_free_ char *to = TAKE(from);
    assert_null(from);
    assert_string_equal(to, "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_can_be_allocated),
        cmocka_unit_test(cleared_memory_is_zero),
        cmocka_unit_test(resized_array_keeps_its_content),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(text_is_formatted_at_any_length),
        cmocka_unit_test(taking_leaves_null_behind),
    };

    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
