#pragma once

/* Two drivers on one cluster, asked for the same at once. */

/* What the drivers make. */
struct race_kind {
    const char *const *flags;           /* of the drivers, as for harness_start() */
    char *(*request)(const char *name); /* CreateVolume as JSON; caller frees */
    void (*assert_empties)(void);       /* fails unless nothing of it is left, or soon */
};

/* A test program's main(). */
int races_run(const struct race_kind *kind);
