#include "common/base/backoff.h"

#include <stddef.h>
#include <sys/random.h>

#include "common/base/deadline.h"

int64_t backoff_jitter_ms(int64_t ms)
{
    uint32_t random = 0;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
        random = (uint32_t)clock_monotonic_ms(); /* early in boot; any spread will do */
    return ms - (int64_t)((uint64_t)ms / 2 * random / UINT32_MAX);
}

int64_t backoff_next_ms(struct backoff *backoff)
{
    int64_t wait = backoff->first_ms;

    for (unsigned i = 0; i < backoff->failures && wait < backoff->limit_ms; i++)
        wait *= 2;
    backoff->failures++;
    return backoff_jitter_ms(wait < backoff->limit_ms ? wait : backoff->limit_ms);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}
