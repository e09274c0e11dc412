#pragma once

/* For tests that look at one process in one world, without faults. */
#include "tests/unit/test_faults_fixture.h"

/* A world with one process in it. */
struct stage {
    struct world world;
    struct process process;
};

static inline int stage_make(void **state)
{
    struct stage *stage = xcalloc(1, sizeof(*stage));

    world_init(&stage->world);
    process_start(&stage->process, stage->world.fake);
    *state = stage;
    return 0;
}

static inline int stage_free(void **state)
{
    struct stage *stage = *state;

    process_end(&stage->process);
    assert_int_equal(fake_ceph_open_handles(stage->world.fake), 0);
    world_free(&stage->world);
    free(stage);
    return 0;
}

#define STAGED .setup_func = stage_make, .teardown_func = stage_free

/* As after a restart: nothing is known of rooms and volumes. */
static inline void restart(struct stage *stage)
{
    process_end(&stage->process);
    process_start(&stage->process, stage->world.fake);
}

static inline void assert_holds(struct stage *stage, const char *text)
{
    _cleanup_free_ char *all = dump(&stage->world);

    if (!strstr(all, text))
        fail_msg("'%s' is not in\n%s", text, all);
}

static inline void assert_holds_not(struct stage *stage, const char *text)
{
    _cleanup_free_ char *all = dump(&stage->world);

    if (strstr(all, text))
        fail_msg("'%s' is in\n%s", text, all);
}
