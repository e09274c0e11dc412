#pragma once

#include <stdbool.h>
#include <time.h>

#include "common/base/cleanup.h"

/*
 * Whether something that the driver watches is in order, since when, and if not why: one line of
 * the health report. The owner's mutex protects it.
 */
struct condition {
    char *fault;  /* NULL while it is in order */
    time_t since; /* of the fault, or of there being none; 0 before the first check */
};

/* What a check changed, for those who log it: each piece of news once. */
enum condition_news {
    CONDITION_UNCHANGED,
    CONDITION_FAULT, /* a fault, or another than before */
    CONDITION_MENDED,
};

/* @fault is copied; NULL: all is well. One fault after another is one outage: since stays. */
enum condition_news condition_note(struct condition *condition, const char *fault);

/* For the report: false, with the reason in @message (caller frees, "" if there is none). */
bool condition_is_healthy(const struct condition *condition, char **message, time_t *since);
void condition_done(struct condition *condition);
