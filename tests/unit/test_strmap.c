#include "common/base/memory.h"
#include "common/base/strmap.h"
#include "tests/test.h"

TEST(value_is_found_by_key)
{
    _cleanup_strmap_ struct strmap map = {0};

    strmap_set(&map, "pool", "rbd");
    strmap_set(&map, "clusterID", "c1");
    assert_string_equal(strmap_get(&map, "pool"), "rbd");
    assert_string_equal(strmap_get(&map, "clusterID"), "c1");
    assert_null(strmap_get(&map, "Pool"));
    assert_null(strmap_get(&map, ""));
}

TEST(empty_map_has_nothing)
{
    _cleanup_strmap_ struct strmap map = {0};

    assert_null(strmap_get(&map, "pool"));
    assert_false(strmap_has(&map, "pool"));
    strmap_remove(&map, "pool");
    assert_int_equal(map.count, 0);
}

TEST(second_value_replaces_the_first)
{
    _cleanup_strmap_ struct strmap map = {0};

    strmap_set(&map, "pool", "a");
    strmap_set(&map, "pool", "b");
    assert_int_equal(map.count, 1);
    assert_string_equal(strmap_get(&map, "pool"), "b");
}

TEST(value_may_come_from_the_map_itself)
{
    _cleanup_strmap_ struct strmap map = {0};

    strmap_set(&map, "a", "value");
    strmap_set(&map, "a", strmap_get(&map, "a"));
    strmap_set(&map, "b", strmap_get(&map, "a"));
    assert_string_equal(strmap_get(&map, "a"), "value");
    assert_string_equal(strmap_get(&map, "b"), "value");
}

TEST(copies_do_not_follow_their_source)
{
    _cleanup_strmap_ struct strmap map = {0};
    char key[] = "key";
    char value[] = "value";

    strmap_set(&map, key, value);
    key[0] = 'x';
    value[0] = 'x';
    assert_string_equal(strmap_get(&map, "key"), "value");
}

TEST(entries_are_sorted_by_key)
{
    static const char *const keys[] = {"m", "z", "a", "aa", "b", "", "Z", "y"};
    _cleanup_strmap_ struct strmap map = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
        strmap_set(&map, keys[i], "x");
    assert_int_equal(map.count, ARRAY_LENGTH(keys));
    for (size_t i = 1; i < map.count; i++)
        assert_true(strcmp(map.entries[i - 1].key, map.entries[i].key) < 0);
}

TEST(thousand_keys_are_all_found)
{
    _cleanup_strmap_ struct strmap map = {0};

    for (int i = 0; i < 1000; i++) {
        _cleanup_free_ char *key = xasprintf("key-%d", i * 7919 % 1000);

        strmap_set(&map, key, key);
    }
    assert_int_equal(map.count, 1000);
    for (int i = 0; i < 1000; i++) {
        _cleanup_free_ char *key = xasprintf("key-%d", i);

        assert_string_equal(strmap_get(&map, key), key);
    }
}

TEST(fallback_stands_in_for_missing_and_empty)
{
    _cleanup_strmap_ struct strmap map = {0};

    strmap_set(&map, "empty", "");
    strmap_set(&map, "full", "x");
    assert_string_equal(strmap_get_or(&map, "missing", "d"), "d");
    assert_string_equal(strmap_get_or(&map, "empty", "d"), "d");
    assert_string_equal(strmap_get_or(&map, "full", "d"), "x");
    assert_null(strmap_get_or(&map, "missing", NULL));
    assert_true(strmap_has(&map, "empty"));
}

TEST(removing_leaves_the_others)
{
    _cleanup_strmap_ struct strmap map = {0};

    strmap_set(&map, "a", "1");
    strmap_set(&map, "b", "2");
    strmap_set(&map, "c", "3");
    strmap_remove(&map, "b");
    strmap_remove(&map, "nothing");
    assert_int_equal(map.count, 2);
    assert_null(strmap_get(&map, "b"));
    assert_string_equal(strmap_get(&map, "a"), "1");
    assert_string_equal(strmap_get(&map, "c"), "3");
}

TEST(merged_entries_win)
{
    _cleanup_strmap_ struct strmap map = {0};
    _cleanup_strmap_ struct strmap more = {0};

    strmap_set(&map, "a", "old");
    strmap_set(&map, "b", "kept");
    strmap_set(&more, "a", "new");
    strmap_set(&more, "c", "added");
    strmap_merge(&map, &more);
    assert_int_equal(map.count, 3);
    assert_string_equal(strmap_get(&map, "a"), "new");
    assert_string_equal(strmap_get(&map, "b"), "kept");
    assert_string_equal(strmap_get(&map, "c"), "added");
    assert_int_equal(more.count, 2);
}

TEST(equality_does_not_depend_on_the_order_of_adding)
{
    _cleanup_strmap_ struct strmap a = {0};
    _cleanup_strmap_ struct strmap b = {0};

    assert_true(strmap_is_equal(&a, &b));
    strmap_set(&a, "x", "1");
    assert_false(strmap_is_equal(&a, &b));
    strmap_set(&b, "y", "2");
    assert_false(strmap_is_equal(&a, &b));
    strmap_set(&a, "y", "2");
    strmap_set(&b, "x", "1");
    assert_true(strmap_is_equal(&a, &b));
    strmap_set(&b, "x", "other");
    assert_false(strmap_is_equal(&a, &b));
}

TEST(map_is_usable_after_being_emptied)
{
    _cleanup_strmap_ struct strmap map = {0};

    strmap_set(&map, "a", "1");
    strmap_done(&map);
    assert_int_equal(map.count, 0);
    strmap_done(&map);
    strmap_set(&map, "b", "2");
    assert_string_equal(strmap_get(&map, "b"), "2");
}
