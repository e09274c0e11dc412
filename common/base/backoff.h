#pragma once

#include <stdint.h>

/*
 * How long to wait before the next try: twice as long each time, up to a limit, and each time a
 * random part of that between one half and all of it, so that a hundred nodes do not come back in
 * the same moment. Belongs to one thread.
 */
struct backoff {
    int64_t first_ms;
    int64_t limit_ms;
    unsigned failures; /* so far, in a row */
};

#define BACKOFF_INIT(first, limit)                                                                 \
    {                                                                                              \
        .first_ms = (first), .limit_ms = (limit)                                                   \
    }

/* Counts one more failure and returns the wait. */
int64_t backoff_next_ms(struct backoff *backoff);
void backoff_reset(struct backoff *backoff);
/* A random number from @ms / 2 to @ms. */
int64_t backoff_jitter_ms(int64_t ms);
