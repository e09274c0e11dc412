#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/base/columns.h"
#include "common/base/memory.h"

static void assert_table(const char *const *cells, size_t count, const char *wanted)
{
    _cleanup_columns_ struct columns columns = {.count = 3, .right = 1 << 1};
    _cleanup_text_ struct text out = TEXT_INIT(4096);

    for (size_t i = 0; i < count; i++)
        columns_add(&columns, cells[i]);
    columns_print(&columns, &out);
    assert_string_equal(text_chars(&out), wanted);
}

static void columns_are_as_wide_as_they_need_to_be(void **state)
{
    static const char *const cells[] = {"NAME", "N",         "REMARK", "a",   "1000",
                                        "",     "long name", "7",      "full"};

    (void)state;
    assert_table(cells, ARRAY_LENGTH(cells),
                 "NAME          N  REMARK\n"
                 "a          1000\n"
                 "long name     7  full\n");
}

static void nothing_is_nothing(void **state)
{
    static const char *const blank[] = {"", "", ""};

    (void)state;
    assert_table(NULL, 0, "");
    assert_table(blank, ARRAY_LENGTH(blank), "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_they_need_to_be),
        cmocka_unit_test(nothing_is_nothing),
    };

    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
