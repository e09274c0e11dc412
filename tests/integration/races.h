#pragma once

/* Two drivers on one cluster, asked for the same at once: the tests are in races.c. */

/* What the drivers make. */
struct race_kind {
    const char *const *flags;           /* of the drivers, as for harness_start() */
    char *(*request)(const char *name); /* CreateVolume as JSON; caller frees */
    void (*assert_empties)(void);       /* fails unless nothing of it is left, or soon */
    void (*clean_up)(void);             /* after a failed test */
};

/* Each test program defines its own. */
extern const struct race_kind RACE_KIND;
