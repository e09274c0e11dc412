/*
 * The operations of a backend with the driver killed at random times: see kills.h. KILLS is how
 * many times each, KILL_SEED repeats a run.
 */
#include "tests/integration/random_kills.h"

#include "tests/integration/kills.h"
#include "tests/integration/steps.h"
#include "tests/test.h"

#define USUAL_KILLS 10

static void check(const struct cuts_scenario *scenario)
{
    const struct kills_plan plan = {.strike = kills_at_random,
                                    .clean_up = steps_clean_up,
                                    .count = kills_setting("KILLS", USUAL_KILLS)};

    kills_check(steps_setup(), scenario, &plan);
}

TEST(creation_survives_random_kills)
{
    check(&(struct cuts_scenario){
        .title = "CreateVolume at random", .tested = step_create, .after = {step_delete}});
}

TEST(clone_survives_random_kills)
{
    check(&(struct cuts_scenario){.title = "CreateVolume from a volume at random",
                                  .before = {step_create},
                                  .tested = step_clone,
                                  .after = {step_check_copy, step_delete_second, step_delete}});
}

TEST(restore_survives_random_kills)
{
    check(&(struct cuts_scenario){
        .title = "CreateVolume from a snapshot at random",
        .before = {step_create, step_snapshot},
        .tested = step_restore,
        .after = {step_check_copy, step_delete_second, step_delete_snapshot, step_delete}});
}

TEST(snapshot_survives_random_kills)
{
    check(&(struct cuts_scenario){.title = "CreateSnapshot at random",
                                  .before = {step_create},
                                  .tested = step_snapshot,
                                  .after = {step_delete_snapshot, step_delete}});
}

TEST(deletion_survives_random_kills)
{
    check(&(struct cuts_scenario){
        .title = "DeleteVolume at random", .before = {step_create}, .tested = step_delete});
}

static int prepare(void **state)
{
    (void)state;
    steps_use(RANDOM_KILLS_SETUP);
    return kills_prepare_plain(RANDOM_KILLS_SETUP);
}

TEST_GROUP(prepare, cuts_finish)
TEST_CLEANUP(steps_clean_up)
