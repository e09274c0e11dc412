#include "common/base/string_list.h"
#include "tests/test.h"

TEST(items_keep_their_order)
{
    _cleanup_string_list_ struct string_list list = {0};

    string_list_add(&list, "b");
    string_list_add(&list, "a");
    string_list_add(&list, "b");
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0], "b");
    assert_string_equal(list.items[1], "a");
    assert_string_equal(list.items[2], "b");
}

TEST(item_may_come_from_the_list_itself)
{
    _cleanup_string_list_ struct string_list list = {0};

    string_list_add(&list, "a");
    for (int i = 0; i < 100; i++)
        string_list_add(&list, list.items[0]);
    assert_string_equal(list.items[100], "a");
}

TEST(only_items_that_were_added_are_there)
{
    _cleanup_string_list_ struct string_list list = {0};

    assert_false(string_list_has(&list, ""));
    string_list_add(&list, "zone-a");
    assert_true(string_list_has(&list, "zone-a"));
    assert_false(string_list_has(&list, "zone"));
    assert_false(string_list_has(&list, "Zone-A"));
}

TEST(emptied_list_is_usable)
{
    _cleanup_string_list_ struct string_list list = {0};

    string_list_add(&list, "a");
    string_list_done(&list);
    string_list_done(&list);
    assert_int_equal(list.count, 0);
    string_list_add(&list, "b");
    assert_string_equal(list.items[0], "b");
}
