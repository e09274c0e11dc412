#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/string_list.h"

static void items_keep_their_order(void **state)
{
    _cleanup_string_list_ struct string_list list = {0};

    (void)state;
    string_list_add(&list, "b");
    string_list_add(&list, "a");
    string_list_add(&list, "b");
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0], "b");
    assert_string_equal(list.items[1], "a");
    assert_string_equal(list.items[2], "b");
}

static void item_may_come_from_the_list_itself(void **state)
{
    _cleanup_string_list_ struct string_list list = {0};

    (void)state;
    string_list_add(&list, "a");
    for (int i = 0; i < 100; i++)
        string_list_add(&list, list.items[0]);
    assert_string_equal(list.items[100], "a");
}

static void only_items_that_were_added_are_there(void **state)
{
    _cleanup_string_list_ struct string_list list = {0};

    (void)state;
    assert_false(string_list_has(&list, ""));
    string_list_add(&list, "zone-a");
    assert_true(string_list_has(&list, "zone-a"));
    assert_false(string_list_has(&list, "zone"));
    assert_false(string_list_has(&list, "Zone-A"));
}

static void emptied_list_is_usable(void **state)
{
    _cleanup_string_list_ struct string_list list = {0};

    (void)state;
    string_list_add(&list, "a");
    string_list_done(&list);
    string_list_done(&list);
    assert_int_equal(list.count, 0);
    string_list_add(&list, "b");
    assert_string_equal(list.items[0], "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_keep_their_order),
        cmocka_unit_test(item_may_come_from_the_list_itself),
        cmocka_unit_test(only_items_that_were_added_are_there),
        cmocka_unit_test(emptied_list_is_usable),
    };

    return cmocka_run_group_tests_name("string_list", tests, NULL, NULL);
}
