/*
 * Creations that are interrupted before each of their steps, on clusters in memory: afterwards no
 * name leads to something half-made, which Ceph-CSI would refuse.
 */
#include "controller/settle_names.h"

#include "common/base/tasks.h"
#include "common/ceph/ceph_ops.h"
#include "common/ceph/on_disk.h"
#include "tests/unit/fixtures/backends.h"
#include "tests/unit/fixtures/cluster_config.h"

#define ON_RBD WITH_STAGE(RBD_SETUP)
#define ON_CEPHFS WITH_STAGE(CEPHFS_SETUP)
#define CALLS_MAX 200

static void run_step(struct stage *stage, step *run)
{
    _cleanup_error_ struct error err = {0};

    if (run(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
}

static void settle(struct stage *stage, bool apply, struct settle_report *report)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    const struct string_list all = {0};
    const struct settle_options options = {"c1", &credentials, &all, apply, false};
    _cleanup_error_ struct error err = {0};
    struct call call;

    set_credentials(&credentials);
    call_init(&call, 99, "settle", deadline_never());
    if (settle_names(&stage->process.controller, &call, &options, report, &err) < 0)
        fail_msg("%s", err.message);
    call_done(&call);
    tasks_run_here(stage->process.controller.tasks);
}

/* Interrupts @run before its @n-th call; false if it has fewer. */
static bool interrupt(struct stage *stage, step *run, unsigned n)
{
    struct fake_ceph *fake = stage->world.fake;
    _cleanup_error_ struct error err = {0};

    fake_ceph_fail_call(fake, n, FAKE_CRASH_BEFORE);
    int result = run(&stage->process, &stage->world, &err);
    fake_ceph_recover(fake);
    stage_restart(stage);
    return result < 0;
}

/* What was listed is released, and nothing is left to list. */
static void assert_settles(struct stage *stage, unsigned n)
{
    _cleanup_settle_report_ struct settle_report found = {0};
    _cleanup_settle_report_ struct settle_report released = {0};
    _cleanup_settle_report_ struct settle_report left = {0};
    _cleanup_free_ char *before = world_dump(&stage->world);

    settle(stage, false, &found);
    _cleanup_free_ char *after = world_dump(&stage->world);
    assert_string_equal(after, before); /* a list writes nothing */
    settle(stage, true, &released);
    settle(stage, false, &left);
    if (released.count != found.count || left.count != 0)
        fail_msg("call %u: %zu found, %zu released, %zu left: %s", n, found.count, released.count,
                 left.count, before);
    for (size_t i = 0; i < released.count; i++) {
        assert_int_equal(found.names[i].state, SETTLE_FOUND);
        assert_int_equal(released.names[i].state, SETTLE_RELEASED);
    }
}

/* @run makes something new beside what @first has made; @undo deletes it. */
static void interrupt_everywhere(const struct world_setup *setup, step *first, step *run,
                                 step *undo)
{
    unsigned settled = 0;

    for (unsigned n = 1; n < CALLS_MAX; n++) {
        void *state = (void *)(uintptr_t)setup;

        stage_make(&state);
        struct stage *stage = state;
        if (first)
            run_step(stage, first);
        run_step(stage, run); /* once, so that there are directories */
        run_step(stage, undo);
        tasks_run_here(stage->process.controller.tasks);
        _cleanup_free_ char *clean = world_dump(&stage->world);
        bool interrupted = interrupt(stage, run, n);
        _cleanup_settle_report_ struct settle_report half = {0};
        settle(stage, false, &half);
        assert_settles(stage, n);
        if (half.count > 0) { /* then nothing at all is left */
            _cleanup_free_ char *after = world_dump(&stage->world);

            assert_string_equal(after, clean);
            settled++;
        }
        run_step(stage, run); /* the name can be used, whatever happened */
        stage_free(&state);
        if (!interrupted) {
            assert_true(settled >= 2);
            return;
        }
    }
    fail_msg("the operation has no end");
}

TEST(RBD_volume_is_released_wherever_it_was_interrupted)
{
    interrupt_everywhere(&RBD_SETUP, NULL, step_create_volume, step_delete_volume);
}

TEST(CephFS_volume_is_released_wherever_it_was_interrupted)
{
    interrupt_everywhere(&CEPHFS_SETUP, NULL, step_create_volume, step_delete_volume);
}

TEST(RBD_snapshot_is_released_wherever_it_was_interrupted)
{
    interrupt_everywhere(&RBD_SETUP, step_create_volume, step_create_snapshot,
                         step_delete_snapshot);
}

TEST(CephFS_snapshot_is_released_wherever_it_was_interrupted)
{
    interrupt_everywhere(&CEPHFS_SETUP, step_create_volume, step_create_snapshot,
                         step_delete_snapshot);
}

TEST(RBD_clone_is_released_wherever_it_was_interrupted)
{
    interrupt_everywhere(&RBD_SETUP, step_create_volume, step_clone, step_delete_second);
}

/* --- what stays --- */

/* Another client of the cluster, in the pool with the journal. */
struct rival {
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
};

static void rival_begin(struct rival *rival, struct stage *stage)
{
    struct ceph *ceph = fake_ceph_as_other(stage->world.fake);
    _cleanup_secret_ struct secret key = {0};
    const struct ceph_target target = {"c1", "mon", "csi", &key};
    _cleanup_error_ struct error err = {0};

    secret_set(&key, "AQB");
    call_init(&rival->call, 7, "CreateVolume", deadline_never());
    assert_int_equal(ceph->ops->connect(ceph, &rival->call, &target, &rival->cluster, &err), 0);
    assert_int_equal(
        rival->cluster->ops->pool_open(rival->cluster, &rival->call, "rbd", "", &rival->pool, &err),
        0);
}

static void rival_end(struct rival *rival)
{
    ceph_pool_close(rival->pool);
    ceph_disconnect(rival->cluster);
    call_done(&rival->call);
}

static const struct journal VOLUMES = {JOURNAL_VOLUME, "default"};

TEST(name_that_a_driver_is_about_to_write_stays, ON_RBD)
{
    struct stage *stage = *state;
    struct rival rival = {0};
    struct journal_ref ref;
    struct ceph_work *work = NULL;
    bool fresh = false;
    _cleanup_error_ struct error err = {0};
    _cleanup_settle_report_ struct settle_report busy = {0};
    _cleanup_settle_report_ struct settle_report idle = {0};

    rival_begin(&rival, stage);
    assert_int_equal(journal_claim(&VOLUMES, &rival.call, rival.pool, "pvc-9", rival.pool->id, &ref,
                                   &fresh, &err),
                     0);
    assert_int_equal(rival.pool->ops->work_begin(rival.pool, &rival.call, JOURNAL_VOLUMES "default",
                                                 ref.uuid.chars, &work, &err),
                     0);
    settle(stage, true, &busy);
    assert_int_equal(busy.count, 1);
    assert_int_equal(busy.names[0].state, SETTLE_BUSY);
    assert_holds(stage, "[csi.volume.pvc-9]");
    ceph_work_end(work);
    settle(stage, true, &idle);
    assert_int_equal(idle.names[0].state, SETTLE_RELEASED);
    assert_string_equal(idle.names[0].name, "pvc-9");
    assert_holds_not(stage, "[csi.volume.pvc-9]");
    rival_end(&rival);
}

/* It has neither the image's id nor a mark of ours: Ceph-CSI knows how to go on. */
TEST(what_ceph_csi_began_stays, ON_RBD)
{
    struct stage *stage = *state;
    struct rival rival = {0};
    struct journal_ref ref;
    bool fresh = false;
    _cleanup_error_ struct error err = {0};
    _cleanup_settle_report_ struct settle_report report = {0};

    rival_begin(&rival, stage);
    assert_int_equal(journal_claim(&VOLUMES, &rival.call, rival.pool, "pvc-9", rival.pool->id, &ref,
                                   &fresh, &err),
                     0);
    _cleanup_journal_entry_ struct journal_entry entry = {
        .uuid = ref.uuid,
        .request_name = xstrdup("pvc-9"),
        .image_name = xasprintf(IMAGE_PREFIX_VOLUME "%s", ref.uuid.chars),
        .journal_pool_id = -1,
    };
    assert_int_equal(journal_write(&VOLUMES, &rival.call, rival.pool, &entry, &err), 0);
    settle(stage, true, &report);
    assert_int_equal(report.count, 0);
    assert_int_equal(report.foreign, 1);
    assert_holds(stage, "[csi.volume.pvc-9]");
    rival_end(&rival);
}

TEST(complete_volume_stays, ON_RBD)
{
    _cleanup_settle_report_ struct settle_report report = {0};

    run_step(*state, step_create_volume);
    _cleanup_free_ char *before = world_dump(&((struct stage *)*state)->world);
    settle(*state, true, &report);
    _cleanup_free_ char *after = world_dump(&((struct stage *)*state)->world);
    assert_int_equal(report.count, 0);
    assert_int_equal(report.looked, 1);
    assert_string_equal(after, before);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
