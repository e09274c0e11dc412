#include "common/base/deadline.h"

int64_t clock_monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct deadline deadline_never(void)
{
    return (struct deadline){DEADLINE_NEVER};
}

struct deadline deadline_in_ms(int64_t ms)
{
    int64_t now = clock_monotonic_ms();

    if (ms >= DEADLINE_NEVER - now)
        return deadline_never();
    return (struct deadline){ms > 0 ? now + ms : now};
}

int64_t deadline_remaining_ms(struct deadline deadline)
{
    if (deadline.at_ms == DEADLINE_NEVER)
        return INT64_MAX;
    int64_t remaining = deadline.at_ms - clock_monotonic_ms();
    return remaining > 0 ? remaining : 0;
}

bool deadline_has_passed(struct deadline deadline)
{
    return deadline_remaining_ms(deadline) == 0;
}

struct deadline deadline_earlier(struct deadline a, struct deadline b)
{
    return a.at_ms < b.at_ms ? a : b;
}

struct timespec deadline_timespec(struct deadline deadline)
{
    if (deadline.at_ms == DEADLINE_NEVER)
        return (struct timespec){.tv_sec = INT32_MAX};
    return (struct timespec){.tv_sec = deadline.at_ms / 1000,
                             .tv_nsec = deadline.at_ms % 1000 * 1000000};
}
