/*
 * RBD's operations with the driver killed before each request that it, or librbd on its behalf,
 * sends to an OSD: see kills.h. KILL_STRIDE=1 takes every point of every operation.
 */

#include "tests/integration/kills.h"
#include "tests/integration/steps.h"
#include "tests/test.h"

/* In CI some operations are killed at every that many points. */
#define USUAL_STRIDE 40

static void check(const struct cuts_scenario *scenario, unsigned usual_stride)
{
    const struct kills_plan plan = {.strike = kills_at_operation,
                                    .clean_up = steps_clean_up,
                                    .stride = kills_setting("KILL_STRIDE", usual_stride)};

    kills_check(&STEPS_RBD, scenario, &plan);
}

TEST(creation_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CreateVolume",
                                  .tested = step_create,
                                  .after = {step_delete}},
          1);
}

TEST(clone_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CreateVolume from a volume",
                                  .before = {step_create},
                                  .tested = step_clone,
                                  .after = {step_delete_second, step_delete}},
          USUAL_STRIDE);
}

TEST(restore_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CreateVolume from a snapshot",
                                  .before = {step_create, step_snapshot},
                                  .tested = step_restore,
                                  .after = {step_delete_snapshot, step_delete, step_delete_second}},
          USUAL_STRIDE);
}

TEST(snapshot_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CreateSnapshot",
                                  .before = {step_create},
                                  .tested = step_snapshot,
                                  .after = {step_delete, step_delete_snapshot}},
          USUAL_STRIDE);
}

TEST(group_snapshot_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CreateVolumeGroupSnapshot",
                                  .before = {step_create, step_create_second},
                                  .tested = step_group_snapshot,
                                  .after = {step_delete_group, step_delete, step_delete_second}},
          USUAL_STRIDE);
}

TEST(expansion_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "ControllerExpandVolume",
                                  .before = {step_create},
                                  .tested = step_expand,
                                  .after = {step_delete}},
          USUAL_STRIDE);
}

TEST(deletion_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "DeleteVolume",
                                  .before = {step_create},
                                  .tested = step_delete,
                                  .deletes = true},
          USUAL_STRIDE);
}

TEST(snapshot_deletion_survives_a_kill_at_every_request)
{
    check(&(struct cuts_scenario){.title = "DeleteSnapshot",
                                  .before = {step_create, step_snapshot},
                                  .tested = step_delete_snapshot,
                                  .deletes = true,
                                  .after = {step_delete}},
          USUAL_STRIDE);
}

static int prepare(void **state)
{
    (void)state;
    return kills_prepare_driver(&STEPS_RBD);
}

TEST_GROUP(prepare, cuts_finish)
TEST_CLEANUP(steps_clean_up)
