#include "common/base/columns.h"
#include "common/base/memory.h"
#include "tests/test.h"

static void assert_table(const char *const *cells, size_t count, const char *wanted)
{
    _cleanup_columns_ struct columns columns = {.count = 3, .right = 1 << 1};
    _cleanup_text_ struct text out = TEXT_INIT(4096);

    for (size_t i = 0; i < count; i++)
        columns_add(&columns, cells[i]);
    columns_print(&columns, &out);
    assert_string_equal(text_chars(&out), wanted);
}

TEST(columns_are_as_wide_as_they_need_to_be)
{
    static const char *const cells[] = {"NAME", "N",         "REMARK", "a",   "1000",
                                        "",     "long name", "7",      "full"};

    assert_table(cells, ARRAY_LENGTH(cells),
                 "NAME          N  REMARK\n"
                 "a          1000\n"
                 "long name     7  full\n");
}

TEST(nothing_is_nothing)
{
    static const char *const blank[] = {"", "", ""};

    assert_table(NULL, 0, "");
    assert_table(blank, ARRAY_LENGTH(blank), "\n");
}

TEST(empty_cells_are_dashes_where_that_was_asked_for)
{
    static const char *const titles[] = {"NAME", "ZONE", "N"};
    _cleanup_columns_ struct columns columns = {.right = 1 << 2, .has_dashes = true};
    _cleanup_text_ struct text out = TEXT_INIT(4096);

    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    columns_add(&columns, "");
    columns_add(&columns, NULL);
    columns_take(&columns, xstrdup("12"));
    columns_print(&columns, &out);
    assert_string_equal(text_chars(&out), "NAME  ZONE   N\n"
                                          "-     -     12\n");
}

TEST(columns_count_characters_not_bytes)
{
    static const char *const cells[] = {"NAME", "N", "REMARK", "größe", "1", "ja"};

    assert_table(cells, ARRAY_LENGTH(cells),
                 "NAME   N  REMARK\n"
                 "größe  1  ja\n");
}
