#include "common/base/cleanup.h"
#include "common/base/deadline.h"
#include "tests/test.h"

TEST(never_does_not_pass)
{
    struct deadline never = deadline_never();

    assert_false(deadline_has_passed(never));
    assert_true(deadline_remaining_ms(never) == INT64_MAX);
}

TEST(deadline_in_the_future_has_not_passed)
{
    int64_t before = clock_monotonic_ms();
    struct deadline deadline = deadline_in_ms(3600000);
    int64_t after = clock_monotonic_ms();

    assert_true(before + 3600000 <= deadline.at_ms);
    assert_true(deadline.at_ms <= after + 3600000);
    assert_false(deadline_has_passed(deadline));
    before = clock_monotonic_ms();
    int64_t remaining = deadline_remaining_ms(deadline);
    after = clock_monotonic_ms();
    assert_true(deadline.at_ms - after <= remaining);
    assert_true(remaining <= deadline.at_ms - before);
}

TEST(deadline_now_or_before_has_passed)
{
    assert_true(deadline_has_passed(deadline_in_ms(0)));
    assert_true(deadline_has_passed(deadline_in_ms(-5000)));
    assert_int_equal(deadline_remaining_ms(deadline_in_ms(-5000)), 0);
}

TEST(enormous_time_is_never)
{
    assert_true(deadline_in_ms(INT64_MAX).at_ms == DEADLINE_NEVER);
    assert_true(deadline_in_ms(INT64_MAX - 1).at_ms == DEADLINE_NEVER);
}

TEST(earlier_of_two_is_chosen)
{
    struct deadline soon = deadline_in_ms(1000);
    struct deadline late = deadline_in_ms(2000);

    assert_true(deadline_earlier(soon, late).at_ms == soon.at_ms);
    assert_true(deadline_earlier(late, soon).at_ms == soon.at_ms);
    assert_true(deadline_earlier(soon, deadline_never()).at_ms == soon.at_ms);
    assert_true(deadline_earlier(deadline_never(), deadline_never()).at_ms == DEADLINE_NEVER);
}

TEST(timespec_is_the_same_moment)
{
    struct timespec at = deadline_timespec((struct deadline){1234567});

    assert_int_equal(at.tv_sec, 1234);
    assert_int_equal(at.tv_nsec, 567000000);
}

TEST(timespec_of_never_is_far_and_valid)
{
    struct timespec at = deadline_timespec(deadline_never());

    assert_true(at.tv_sec > clock_monotonic_ms() / 1000 + 86400);
    assert_between(at.tv_nsec, 0, 999999999);
}

static int64_t kernel_ms(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whatever the kernel said before and says after: between the two. */
TEST(clock_is_the_monotonic_one_in_milliseconds)
{
    for (int i = 0; i < 1000; i++) {
        int64_t before = kernel_ms();
        int64_t now = clock_monotonic_ms();
        int64_t after = kernel_ms();

        assert_true(before <= now);
        assert_true(now <= after);
    }
}
