#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/base/deadline.h"

static void never_does_not_pass(void **state)
{
    struct deadline never = deadline_never();

    (void)state;
    assert_false(deadline_has_passed(never));
    assert_true(deadline_remaining_ms(never) == INT64_MAX);
}

static void deadline_in_the_future_has_not_passed(void **state)
{
    struct deadline deadline = deadline_in_ms(60000);

    (void)state;
    assert_false(deadline_has_passed(deadline));
    assert_in_range(deadline_remaining_ms(deadline), 50000, 60000);
}

static void deadline_now_or_before_has_passed(void **state)
{
    (void)state;
    assert_true(deadline_has_passed(deadline_in_ms(0)));
    assert_true(deadline_has_passed(deadline_in_ms(-5000)));
    assert_int_equal(deadline_remaining_ms(deadline_in_ms(-5000)), 0);
}

static void enormous_time_is_never(void **state)
{
    (void)state;
    assert_true(deadline_in_ms(INT64_MAX).at_ms == DEADLINE_NEVER);
    assert_true(deadline_in_ms(INT64_MAX - 1).at_ms == DEADLINE_NEVER);
}

static void earlier_of_two_is_chosen(void **state)
{
    struct deadline soon = deadline_in_ms(1000);
    struct deadline late = deadline_in_ms(2000);

    (void)state;
    assert_true(deadline_earlier(soon, late).at_ms == soon.at_ms);
    assert_true(deadline_earlier(late, soon).at_ms == soon.at_ms);
    assert_true(deadline_earlier(soon, deadline_never()).at_ms == soon.at_ms);
    assert_true(deadline_earlier(deadline_never(), deadline_never()).at_ms == DEADLINE_NEVER);
}

static void timespec_is_the_same_moment(void **state)
{
    struct timespec at = deadline_timespec((struct deadline){1234567});

    (void)state;
    assert_int_equal(at.tv_sec, 1234);
    assert_int_equal(at.tv_nsec, 567000000);
}

static void timespec_of_never_is_far_and_valid(void **state)
{
    struct timespec at = deadline_timespec(deadline_never());

    (void)state;
    assert_true(at.tv_sec > clock_monotonic_ms() / 1000 + 86400);
    assert_in_range(at.tv_nsec, 0, 999999999);
}

static void clock_does_not_go_back(void **state)
{
    int64_t before = clock_monotonic_ms();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_monotonic_ms();

        assert_true(now >= before);
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_does_not_pass),
        cmocka_unit_test(deadline_in_the_future_has_not_passed),
        cmocka_unit_test(deadline_now_or_before_has_passed),
        cmocka_unit_test(enormous_time_is_never),
        cmocka_unit_test(earlier_of_two_is_chosen),
        cmocka_unit_test(timespec_is_the_same_moment),
        cmocka_unit_test(timespec_of_never_is_far_and_valid),
        cmocka_unit_test(clock_does_not_go_back),
    };

    return cmocka_run_group_tests_name("deadline", tests, NULL, NULL);
}
