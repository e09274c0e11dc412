/* Clones that are to become independent of their source, on clusters in memory. */
#include "controller/rbd/flatten.h"

#include "controller/rbd/purge.h"
#include "tests/unit/fixtures/fault_scenario.h"
#include "tests/unit/fixtures/rbd_places.h"

static void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

static int create_in(struct process *process, const char *zone, const char *name,
                     const char *source, char *handle, struct error *err)
{
    places_next_zone = zone;
    return process_create_volume(process, name, GIB, source ? SOURCE_VOLUME : SOURCE_NONE, source,
                                 handle, err);
}

static int make_source(struct process *process, struct world *world, struct error *err)
{
    return create_in(process, "zone-a", "pvc-source", NULL, world->volume, err);
}

static int copy_source(struct process *process, struct world *world, struct error *err)
{
    return create_in(process, "zone-b", "pvc-copy", world->volume, world->second, err);
}

static void fill_request(struct create_request *request)
{
    PLACES_SETUP.fill_request(request);
    strmap_set(&request->parameters, "crossPoolRestore", "copy");
}

static struct world_setup copying;
#define COPYING WITH_STAGE(copying)

static int write_config(void **state)
{
    copying = PLACES_SETUP;
    copying.name = "RBD with crossPoolRestore: copy";
    copying.fill_request = fill_request;
    return places_write_config(state);
}

/* A copy whose flattening has not begun. */
static void begin_copy(struct stage *stage)
{
    _cleanup_error_ struct error err = {0};

    must(make_source(&stage->process, &stage->world, &err), &err);
    tasks_run_here(stage->process.controller.tasks);
    must(copy_source(&stage->process, &stage->world, &err), &err);
    assert_holds(stage, "parent pool-a//");
}

/* Some call that leads to the pool of the copy. */
static void use_pool(struct stage *stage)
{
    _cleanup_error_ struct error err = {0};

    must(create_in(&stage->process, "zone-b", "pvc-other", NULL, NULL, &err), &err);
    tasks_run_here(stage->process.controller.tasks);
}

static void assert_metric(struct stage *stage, const char *line)
{
    const struct controller *controller = &stage->process.controller;
    struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text text = TEXT_INIT(65536);

    purger_register(controller->purger, controller->tasks, metrics);
    metrics_print(metrics, &text);
    metrics_free(metrics);
    if (!strstr(text.chars, line))
        fail_msg("not '%s' but\n%s", line, text.chars);
}

TEST(copy_that_a_restart_interrupted_goes_on, COPYING)
{
    struct stage *stage = *state;

    begin_copy(stage);
    stage_restart(stage);
    use_pool(stage);
    assert_holds_not(stage, "parent pool-a//");
    assert_holds_not(stage, "cephzone.flatten.");
}

TEST(copy_that_failed_once_is_tried_again, COPYING)
{
    struct stage *stage = *state;
    struct tasks *tasks = stage->process.controller.tasks;

    begin_copy(stage);
    fake_ceph_count_connections(stage->world.fake, true);
    fake_ceph_refuse_connect(stage->world.fake, STATUS_DEADLINE_EXCEEDED);
    tasks_run_here(tasks);
    assert_holds(stage, "parent pool-a//");
    assert_metric(stage, "\ncsi_flatten_failed 1\n");
    assert_metric(stage, "\ncsi_flatten_pending 0\n");
    fake_ceph_refuse_connect(stage->world.fake, STATUS_OK);
    tasks_run_here(tasks);
    assert_holds_not(stage, "parent pool-a//");
    assert_holds_not(stage, "cephzone.flatten.");
    assert_metric(stage, "\ncsi_flatten_failed 0\n");
    assert_metric(stage, "\ncsi_flatten_oldest_seconds 0\n");
}

TEST(copy_survives_every_fault)
{
    scenario_check(&(struct scenario){.title = "CreateVolume from a volume in another pool",
                                      .before = {make_source},
                                      .tested = copy_source},
                   &copying);
}

TEST(deleted_copy_is_not_flattened, COPYING)
{
    struct stage *stage = *state;

    begin_copy(stage);
    places_remove_volume(stage, stage->world.second);
    assert_holds_not(stage, "cephzone.flatten.");
    assert_int_equal(tasks_count(stage->process.controller.tasks, "flatten").failed, 0);
}

/* The volume was deleted while no driver ran; another image has its name. */
TEST(key_of_a_lost_image_is_dropped, COPYING)
{
    struct stage *stage = *state;
    struct ceph_csi csi;
    _cleanup_error_ struct error err = {0};

    ceph_csi_begin(&csi, stage);
    must(csi.pool_b->ops->omap_add(csi.pool_b, &csi.call, "csi.volumes.default",
                                   "cephzone.flatten.0123", "csi-vol-" UUID, &err),
         &err);
    ceph_csi_end(&csi);
    use_pool(stage);
    assert_holds_not(stage, "cephzone.flatten.");
}

struct overlap {
    struct tasks *tasks;
    unsigned begun; /* flattens that could have run beside the call */
    bool was_called;
};

static void look_for_flatten(void *object)
{
    struct overlap *overlap = object;

    overlap->begun = tasks_count(overlap->tasks, "flatten").pending;
    overlap->was_called = true;
}

/* Clones the clone of a volume with a soft limit that both reach. */
static void clone_long_chain(struct stage *stage, const char *watched, struct overlap *overlap,
                             struct error *err)
{
    struct process *process = &stage->process;
    struct world *world = &stage->world;

    process->controller.limits = (struct clone_limits){8, 2, 450, 250};
    must(make_source(process, world, err), err);
    must(create_in(process, "zone-a", "pvc-middle", world->volume, world->second, err), err);
    *overlap = (struct overlap){.tasks = process->controller.tasks};
    look_for_flatten(overlap);
    assert_int_equal(overlap->begun, 0);
    overlap->was_called = false;
    fake_ceph_interrupt_before(world->fake, watched, look_for_flatten, overlap);
    must(create_in(process, "zone-a", "pvc-last", world->second, NULL, err), err);
    assert_true(overlap->was_called);
}

/* The flatten of a source must not run while that is cloned, and is not forgotten either. */
static void check_order(struct stage *stage, const char *watched)
{
    _cleanup_error_ struct error err = {0};
    struct overlap overlap;

    clone_long_chain(stage, watched, &overlap, &err);
    assert_int_equal(overlap.begun, 0);
    assert_int_equal(tasks_count(overlap.tasks, "flatten").pending, 1);
    tasks_run_here(overlap.tasks);
    assert_int_equal(tasks_count(overlap.tasks, "flatten").failed, 0);
}

TEST(source_of_a_long_chain_is_not_flattened_before_its_snapshot, COPYING)
{
    check_order(*state, "snapshot_create");
}

TEST(source_of_a_long_chain_is_not_flattened_before_its_clone, COPYING)
{
    check_order(*state, "image_clone");
}

/* What is built on a copy before it is one reads from the other pool through it. */
TEST(clone_of_an_unfinished_copy_becomes_one_as_well, COPYING)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    begin_copy(stage);
    must(create_in(&stage->process, "zone-b", "pvc-clone", stage->world.second, NULL, &err), &err);
    tasks_run_here(stage->process.controller.tasks);
    assert_holds_not(stage, "parent pool-a//");
    assert_holds_not(stage, "cephzone.flatten.");
}

static int snapshot_copy(struct process *process, struct world *world, struct error *err)
{
    char source[sizeof(world->volume)];

    memcpy(source, world->volume, sizeof(source));
    memcpy(world->volume, world->second, sizeof(source));
    int result = step_create_snapshot(process, world, err);
    memcpy(world->volume, source, sizeof(source));
    return result;
}

TEST(snapshot_of_an_unfinished_copy_becomes_one_as_well, COPYING)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    begin_copy(stage);
    must(snapshot_copy(&stage->process, &stage->world, &err), &err);
    stage_restart(stage);
    use_pool(stage);
    assert_holds_not(stage, "parent pool-a//");
    assert_holds_not(stage, "cephzone.flatten.");
}

TEST(copy_goes_on_with_the_newest_key, COPYING)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    begin_copy(stage);
    fake_ceph_rotate_key(stage->world.fake, "NEW");
    steps_use_key("NEW");
    must(create_in(&stage->process, "zone-a", "pvc-new", NULL, NULL, &err), &err);
    steps_use_key(NULL);
    tasks_run_here(stage->process.controller.tasks);
    assert_holds_not(stage, "parent pool-a//");
    assert_holds_not(stage, "cephzone.flatten.");
}

TEST_GROUP(write_config, places_remove_config)
