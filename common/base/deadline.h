#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A point on the monotonic clock by which something has to be done. Any thread. */
struct deadline {
    int64_t at_ms; /* CLOCK_MONOTONIC; DEADLINE_NEVER for none */
};

#define DEADLINE_NEVER INT64_MAX

int64_t clock_monotonic_ms(void);

struct deadline deadline_never(void);
/* A negative time has passed already. */
struct deadline deadline_in_ms(int64_t ms);
/* 0 when it has passed, never negative; INT64_MAX for none. */
int64_t deadline_remaining_ms(struct deadline deadline);
bool deadline_has_passed(struct deadline deadline);
/* The earlier of the two. */
struct deadline deadline_earlier(struct deadline a, struct deadline b);
/* For pthread_cond_clockwait(CLOCK_MONOTONIC). */
struct timespec deadline_timespec(struct deadline deadline);
