/*
 * Snapshots of images at the end of long chains of clones: every call that reports one says the
 * same of it, and what CreateVolume does with it is what they say.
 */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/controller_steps.h"

static void fill_request(struct create_request *request)
{
    strmap_set(&request->parameters, "pool", "rbd");
    strmap_set(&request->parameters, "imageFeatures", "layering,exclusive-lock");
}

static void add_pool(struct world *world)
{
    fake_ceph_add_pool(world->fake, "rbd", 3);
}

static const struct world_setup SETUP = {.name = "RBD",
                                         .backend = &RBD_BACKEND,
                                         .access = ACCESS_TYPE_BLOCK,
                                         .fill_request = fill_request,
                                         .world_init = add_pool};
#define STAGED WITH_STAGE(SETUP)

/* --- the calls that report a snapshot --- */

static int create_snapshot(struct stage *stage, const char *source, struct snapshot *snapshot,
                           struct error *err)
{
    _cleanup_(snapshot_request_done) struct snapshot_request request = {
        .name = xstrdup("moment"), .source_handle = xstrdup(source)};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateSnapshot", deadline_never());
    int result =
        controller_create_snapshot(&stage->process.controller, &call, &request, snapshot, err);
    call_done(&call);
    return result;
}

static int get_snapshot(struct stage *stage, const char *handle, struct snapshot *snapshot,
                        struct error *err)
{
    _cleanup_(handle_request_done) struct handle_request request = {.handle = xstrdup(handle)};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "GetSnapshot", deadline_never());
    int result =
        controller_get_snapshot(&stage->process.controller, &call, &request, snapshot, err);
    call_done(&call);
    return result;
}

/* All snapshots, or that with @handle; there is one. */
static int list_snapshot(struct stage *stage, const char *handle, struct snapshot *snapshot,
                         struct error *err)
{
    _cleanup_(list_request_done) struct list_request request = {
        .token = xstrdup(""),
        .source_handle = xstrdup(""),
        .snapshot_handle = xstrdup(handle ? handle : ""),
    };
    _cleanup_(snapshot_list_done) struct snapshot_list list = {0};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "ListSnapshots", deadline_never());
    int result = controller_list_snapshots(&stage->process.controller, &call, &request, &list, err);
    call_done(&call);
    if (result == 0) {
        assert_int_equal(list.count, 1);
        *snapshot = list.items[0];
    }
    return result;
}

/* Whether CreateVolume makes a volume from it now; else it must be ABORTED. */
static bool is_restored(struct stage *stage, const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (process_create_volume(&stage->process, "restored", GIB, SOURCE_SNAPSHOT, handle, NULL,
                              &err) == 0)
        return true;
    assert_int_equal(err.status, STATUS_ABORTED);
    return false;
}

/* @source is a clone, so that a snapshot of it has two ancestors. */
static void make_chain(struct stage *stage, char *source)
{
    _cleanup_error_ struct error err = {0};
    char first[VOLUME_ID_LENGTH_MAX + 1];

    if (process_create_volume(&stage->process, "first", GIB, SOURCE_NONE, NULL, first, &err) < 0 ||
        process_create_volume(&stage->process, "second", GIB, SOURCE_VOLUME, first, source, &err) <
            0)
        fail_msg("%s", err.message);
}

static void assert_all_say(struct stage *stage, const char *source, bool ready)
{
    struct snapshot created = {0};
    struct snapshot got = {0};
    struct snapshot found = {0};
    struct snapshot listed = {0};
    _cleanup_error_ struct error err = {0};

    if (create_snapshot(stage, source, &created, &err) < 0 ||
        get_snapshot(stage, created.handle, &got, &err) < 0 ||
        list_snapshot(stage, created.handle, &found, &err) < 0 ||
        list_snapshot(stage, NULL, &listed, &err) < 0)
        fail_msg("%s", err.message);
    print_message("created %d, got %d, found %d, listed %d\n", created.ready, got.ready,
                  found.ready, listed.ready);
    assert_int_equal(created.ready, ready);
    assert_int_equal(got.ready, ready);
    assert_int_equal(found.ready, ready);
    assert_int_equal(listed.ready, ready);
    assert_int_equal(is_restored(stage, created.handle), ready);
}

static void check_limit(struct stage *stage, unsigned hard_depth, bool ready)
{
    char source[VOLUME_ID_LENGTH_MAX + 1];

    make_chain(stage, source);
    stage->process.controller.limits = (struct clone_limits){hard_depth, hard_depth, 450, 250};
    assert_all_say(stage, source, ready);
    tasks_run_here(stage->process.controller.tasks);
    assert_all_say(stage, source, true);
}

/* --- tests --- */

TEST(snapshot_below_the_hard_limit_is_ready, STAGED)
{
    check_limit(*state, 4, true);
}

/* With the volume that would be made from it, the chain has the forbidden length. */
TEST(snapshot_just_below_the_hard_limit_is_not_ready_before_it_is_detached, STAGED)
{
    check_limit(*state, 3, false);
}

TEST(snapshot_at_the_hard_limit_is_not_ready_before_it_is_detached, STAGED)
{
    check_limit(*state, 2, false);
}

/* Who waits for a snapshot asks for it only; the driver that began to detach it may be gone. */
TEST(snapshot_that_is_waited_for_becomes_ready_after_a_restart, STAGED)
{
    struct stage *stage = *state;
    struct snapshot snapshot = {0};
    _cleanup_error_ struct error err = {0};
    char source[VOLUME_ID_LENGTH_MAX + 1];

    make_chain(stage, source);
    for (int by_list = 0; by_list < 2; by_list++) {
        stage->process.controller.limits = (struct clone_limits){2, 2, 450, 250};
        assert_int_equal(create_snapshot(stage, source, &snapshot, &err), 0);
        stage_restart(stage);
        stage->process.controller.limits = (struct clone_limits){2, 2, 450, 250};
        int result = by_list ? list_snapshot(stage, snapshot.handle, &snapshot, &err)
                             : get_snapshot(stage, snapshot.handle, &snapshot, &err);
        assert_int_equal(result, 0);
        assert_false(snapshot.ready);
        tasks_run_here(stage->process.controller.tasks);
        assert_int_equal(get_snapshot(stage, snapshot.handle, &snapshot, &err), 0);
        assert_true(snapshot.ready);
        assert_int_equal(process_call_with_handle(&stage->process, snapshot.handle,
                                                  "DeleteSnapshot", controller_delete_snapshot,
                                                  &err),
                         0);
    }
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
