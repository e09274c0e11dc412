#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Many callers at once on one driver whose configuration is replaced all the time: the test is in
 * storm.c. */

struct storm_kind {
    const char *const *flags; /* of the driver, behind those of harness_start(); NULL-terminated */
    size_t threads;
    size_t rounds; /* of each thread; a round is the life of a volume */
    /* CreateVolume as JSON, from the snapshot with that handle unless it is NULL; caller frees */
    char *(*request)(const char *name, const char *snapshot);
    bool restores; /* make volumes of snapshots; CephFS copies them, which takes long */
    void (*assert_empties)(void); /* fails unless nothing of it is left, or soon */
};

/* Each test program defines its own. */
extern const struct storm_kind STORM_KIND;
