#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Runs @count pieces of work on @callers threads and prints how long they took:
 *
 *   create       callers  8  count  400  rate  171.2 /s  p50   42.1 ms  p99   88.0 ms  failed 0
 *
 * @work gets the number of the piece and returns non-zero if it failed.
 */
struct timing {
    const char *title;
    size_t count;
    size_t callers;
    int (*work)(void *object, size_t index, size_t caller);
    void *object;
    unsigned pause_ms; /* how long a caller rests after each piece; not counted */
};

/* Returns the number of failures. */
size_t timing_run(const struct timing *timing);
