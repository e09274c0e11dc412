#include "tests/unit/fixtures/standing_clock.h"

#include "common/base/condition.h"
#include "common/base/memory.h"
#include "tests/test.h"

static void check(const struct condition *condition, const char *fault, time_t since)
{
    _cleanup_free_ char *message = NULL;
    time_t told = 0;

    assert_int_equal(condition_is_healthy(condition, &message, &told), fault == NULL);
    assert_string_equal(message, fault ? fault : "");
    assert_int_equal(told, since);
}

TEST(each_piece_of_news_is_told_once)
{
    struct condition condition = {0};
    const time_t start = now;

    assert_int_equal(condition_note(&condition, NULL), CONDITION_UNCHANGED);
    check(&condition, NULL, start);
    now += 10;
    assert_int_equal(condition_note(&condition, "a"), CONDITION_FAULT);
    now += 10;
    assert_int_equal(condition_note(&condition, "a"), CONDITION_UNCHANGED);
    assert_int_equal(condition_note(&condition, "b"), CONDITION_FAULT);
    check(&condition, "b", start + 10); /* one outage */
    assert_int_equal(condition_note(&condition, NULL), CONDITION_MENDED);
    check(&condition, NULL, start + 20);
    now += 10;
    assert_int_equal(condition_note(&condition, NULL), CONDITION_UNCHANGED);
    check(&condition, NULL, start + 20);
    condition_done(&condition);
}

TEST(fault_at_the_first_look_counts_from_then)
{
    struct condition condition = {0};

    assert_int_equal(condition_note(&condition, "a"), CONDITION_FAULT);
    check(&condition, "a", now);
    condition_done(&condition);
}
