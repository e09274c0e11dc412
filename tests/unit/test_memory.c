#include <malloc.h>

#include "common/base/memory.h"
#include "tests/test.h"

TEST(nothing_can_be_allocated)
{
    _cleanup_free_ char *none = xmalloc(0);
    _cleanup_free_ char *no_items = xcalloc(0, 8);
    _cleanup_free_ char *shrunk = xreallocarray(xmalloc(8), 0, 8);
    assert_non_null(none);
    assert_non_null(no_items);
    assert_non_null(shrunk);
}

TEST(cleared_memory_is_zero)
{
    static const char zeroes[64] = {0};

    _cleanup_free_ char *memory = xcalloc(8, 8);
    assert_memory_equal(memory, zeroes, sizeof(zeroes));
}

TEST(resized_array_keeps_its_content)
{
    int *numbers = xreallocarray(NULL, 2, sizeof(*numbers));

    numbers[0] = 1;
    numbers[1] = 2;
    numbers = xreallocarray(numbers, 1000, sizeof(*numbers));
    numbers[999] = 3;
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 2);
    free(numbers);
}

TEST(pointers_are_freed_together)
{
    enum { LARGE = 50000, LARGER = 100000 }; /* what is small stays in the thread's cache */
    size_t before = mallinfo2().uordblks;
    char *first = xmalloc(LARGE);
    char *second = xmalloc(LARGER);

    assert_true(mallinfo2().uordblks >= before + LARGE + LARGER || before == 0);
    free_all(first, NULL, second);
    assert_int_equal(mallinfo2().uordblks, before);
}

TEST(appended_elements_are_zero_and_stay)
{
    struct item {
        int number;
        const char *name;
    } *items = NULL;
    size_t count = 0;

    for (int i = 0; i < 100; i++) {
        struct item *item = array_add(items, count);

        assert_int_equal(item->number, 0);
        assert_null(item->name);
        *item = (struct item){i, "named"};
    }
    assert_int_equal(count, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(items[i].number, i);
    free(items);
}

TEST(strings_are_copied)
{
    _cleanup_free_ char *whole = xstrdup("volume");
    _cleanup_free_ char *part = xstrndup("volume", 3);
    _cleanup_free_ char *more = xstrndup("volume", 100);
    assert_string_equal(whole, "volume");
    assert_string_equal(part, "vol");
    assert_string_equal(more, "volume");
}

TEST(text_is_formatted_at_any_length)
{
    _cleanup_free_ char *text = xasprintf("%s-%05000d", "x", 7);
    assert_int_equal(strlen(text), 5002);
    assert_string_equal(text + 4999, "007");
}

TEST(taking_leaves_null_behind)
{
    _cleanup_free_ char *from = xstrdup("a");

    _cleanup_free_ char *to = TAKE(from);
    assert_null(from);
    assert_string_equal(to, "a");
}
