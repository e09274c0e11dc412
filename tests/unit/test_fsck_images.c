/* Images, trash and Kubernetes' volumes: what the journal does not know is found; what may hold
 * data is left alone. */
#include <errno.h>

#include "common/base/text.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/fsck.h"

/* --- images --- */

TEST(image_without_journal, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_image(world, world->rbd, "mine-" UUID_A);
    put_image(world, world->rbd, "an-image-of-somebody");
    assert_string_equal(assert_finds(world, FSCK_IMAGE_WITHOUT_JOURNAL)->object, "mine-" UUID_A);
    assert_untouched(world);
    give_pvs(world, world->volume);
    world->pv.handle = (char *)(uintptr_t) "mine-" UUID_A; /* a static PV */
    fsck_world_scan(world);
    for (size_t i = 0; i < world->report.count; i++)
        assert_int_not_equal(world->report.findings[i].kind, FSCK_IMAGE_WITHOUT_JOURNAL);
}

TEST(temp_image_without_volume, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_image(world, world->rbd, "csi-vol-" UUID_A "-temp");
    put_snapshot(world, "csi-vol-" UUID_A "-temp", "csi-vol-" UUID_A);
    assert_finds(world, FSCK_TEMP_WITHOUT_VOLUME);
    assert_int_equal(world->report.findings[0].repair.action, FSCK_DISCARD_IMAGE);
    fsck_world_repair(world);
    assert_finds(world, FSCK_PURGE_PENDING);
}

struct pools_case {
    const char *answer;
    bool may_have_volumes;
};

static struct pools_case manager_pools[] = {
    {"[{\"pool_name\":\"x\"},{\"pool_name\":\".mgr\",\"application_metadata\":{\"mgr\":{}}}]",
     false},
    {"[{\"pool_name\":\".mgr\",\"application_metadata\":{\"mgr\":{},\"rbd\":{}}}]", true},
    {"[{\"pool_name\":\".mgr\",\"application_metadata\":{\"cephfs\":{}}}]", true},
    {"[{\"pool_name\":\".mgr\",\"application_metadata\":{}}]", true},
    {"[{\"pool_name\":\"x\",\"application_metadata\":{\"mgr\":{}}}]", true},
    {"no JSON", true},
};

static int answer_pools(void *object, const char *command, struct text *reply)
{
    const struct pools_case *pools = object;

    assert_non_null(strstr(command, "osd pool ls"));
    text_add(reply, pools->answer);
    return 0;
}

TEST(pool_of_another_application_need_not_be_readable, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    unsigned call = 0;

    driver_create_volume(world);
    fake_ceph_add_pool(world->fake, ".mgr", 9);
    put_image(world, world->rbd, "csi-vol-" UUID_A "-temp");
    do { /* the directories of all pools are read first */
        fake_ceph_fail_call_with(world->fake, ++call, -EPERM);
        fsck_world_scan(world);
        assert_int_equal(world->report.unreadable.count, 1);
    } while (strcmp(world->report.unreadable.items[0], "c1/.mgr") != 0);
    assert_int_equal(world->report.findings[0].repair.action, FSCK_NO_REPAIR);

    for (size_t i = 0; i < ARRAY_LENGTH(manager_pools); i++) {
        fake_ceph_answer_mon(world->fake, answer_pools, &manager_pools[i]);
        fake_ceph_fail_call_with(world->fake, call, -EPERM);
        assert_finds(world, FSCK_TEMP_WITHOUT_VOLUME);
        assert_int_equal(world->report.unreadable.count, manager_pools[i].may_have_volumes);
        assert_int_equal(world->report.findings[0].repair.action,
                         manager_pools[i].may_have_volumes ? FSCK_NO_REPAIR : FSCK_DISCARD_IMAGE);
    }
}

TEST(temp_image_of_a_volume_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_volume(world, world->rbd, "pvc-1", UUID_A);
    put_image(world, world->rbd, "csi-vol-" UUID_A "-temp");
    put_snapshot(world, "csi-vol-" UUID_A "-temp", "csi-vol-" UUID_A);
    assert_clean(world);
}

/* librbd was interrupted, and the journal's part was removed by hand. */
TEST(remnant_of_an_image, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_image(world, world->rbd, "csi-vol-" UUID_A);
    fake_ceph_cut_image(world->fake, "rbd", "csi-vol-" UUID_A);
    assert_string_equal(assert_finds(world, FSCK_IMAGE_REMNANT)->object, "csi-vol-" UUID_A);
    assert_int_equal(world->report.findings[0].repair.action, FSCK_DISCARD_IMAGE);
    fsck_world_repair(world);
    assert_finds(world, FSCK_PURGE_PENDING);
}

/* Its entry is there: the retry of the creation, or a deletion, removes it. */
TEST(remnant_of_an_unfinished_volume_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    static const char *const attributes[] = {"csi.volname", "pvc-7", "csi.imagename",
                                             ("csi-vol-" UUID_A), NULL};

    driver_create_volume(world);
    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-7", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A, attributes);
    put_image(world, world->rbd, "csi-vol-" UUID_A);
    fake_ceph_cut_image(world->fake, "rbd", "csi-vol-" UUID_A);
    assert_finds(world, FSCK_ENTRY_UNFINISHED);
    assert_untouched(world);
}

TEST(used_temp_image_is_not_discarded, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    _cleanup_error_ struct error err = {0};
    bool repaired = false;

    driver_create_volume(world);
    put_image(world, world->rbd, "csi-vol-" UUID_A "-temp");
    fake_ceph_set_watcher(world->fake, "rbd", "csi-vol-" UUID_A "-temp", "10.0.0.1:0/1");
    assert_finds(world, FSCK_TEMP_WITHOUT_VOLUME);
    assert_int_equal(
        fsck_repair(&world->options, &world->call, &world->report.findings[0], &repaired, &err),
        -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_false(repaired);
}

TEST(mirrored_temp_image_is_not_discarded, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    _cleanup_error_ struct error err = {0};
    bool repaired = false;

    driver_create_volume(world);
    put_image(world, world->rbd, "csi-vol-" UUID_A "-temp");
    put_snapshot(world, "csi-vol-" UUID_A "-temp", "csi-vol-" UUID_A);
    fake_ceph_mirror(world->fake, "rbd", "csi-vol-" UUID_A "-temp", true);
    assert_finds(world, FSCK_TEMP_WITHOUT_VOLUME);
    assert_int_equal(
        fsck_repair(&world->options, &world->call, &world->report.findings[0], &repaired, &err),
        -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_false(repaired);
}

TEST(leftover_cut, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    _cleanup_free_ char *image = image_of_volume(world);
    put_snapshot(world, image, "csi-snap-" UUID_A);
    assert_finds(world, FSCK_LEFTOVER_CUT);
    assert_repair_cleans(world, FSCK_REMOVE_CUT);
}

TEST(cut_of_a_creation_under_way_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    _cleanup_free_ char *image = image_of_volume(world);
    put_snapshot(world, image, "csi-snap-" UUID_A);
    put_name(world, world->rbd, "csi.snaps.default", "csi.snap.snapshot-1", UUID_A);
    put_object(world, world->rbd, "csi.snap." UUID_A,
               (const char *[]){"csi.snapname", "snapshot-1", "csi.source", image, NULL});
    world->options.min_age_s = 300;
    fsck_world_scan(world);
    assert_int_equal(world->report.count, 2);
    assert_int_equal(world->report.findings[0].kind, FSCK_OBJECT_WITHOUT_IMAGE);
    assert_int_equal(world->report.findings[1].kind, FSCK_LEFTOVER_CUT);
    assert_untouched(world);
}

TEST(cut_of_a_clone_that_is_made_in_another_pool_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    _cleanup_error_ struct error err = {0};
    bool repaired = true;

    driver_create_volume(world);
    _cleanup_free_ char *image = image_of_volume(world);
    put_snapshot(world, image, "csi-vol-" UUID_A);
    assert_finds(world, FSCK_LEFTOVER_CUT);
    put_name(world, world->ssd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->ssd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    fsck_must(
        fsck_repair(&world->options, &world->call, &world->report.findings[0], &repaired, &err),
        &err);
    assert_false(repaired);
    world->options.min_age_s = 300;
    fsck_world_scan(world);
    assert_int_equal(world->report.count, 2);
    assert_untouched(world);
    string_list_add(&world->pools, "rbd"); /* its object is not read, its name is */
    assert_true(assert_finds(world, FSCK_LEFTOVER_CUT)->under_way);
    assert_untouched(world);
}

TEST(snapshots_of_others_stay, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    _cleanup_free_ char *image = image_of_volume(world);
    put_snapshot(world, image, "before-upgrade");
    assert_clean(world);
    put_snapshot(world, image, "backup-" UUID_A);
    assert_finds(world, FSCK_LEFTOVER_CUT);
    assert_untouched(world);
}

/* --- trash --- */

TEST(trash_without_key_is_never_touched, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_image(world, world->rbd, "csi-vol-" UUID_A);
    trash_image(world, world->rbd, "csi-vol-" UUID_A);
    put_image(world, world->rbd, "somebody's");
    trash_image(world, world->rbd, "somebody's");
    assert_finds(world, FSCK_TRASH_WITHOUT_KEY);
    assert_untouched(world);
}

TEST(purge_keys, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    driver_delete_volume(world);
    assert_int_equal(assert_finds(world, FSCK_PURGE_PENDING)->severity, FSCK_NOTE);
    assert_untouched(world);
    tasks_run_here(world->controller.tasks);
    assert_clean(world);
    put_name(world, world->rbd, "csi.volumes.default",
             "cephzone.purge.0000000000000001.fa4e0000dead", "csi-vol-" UUID_A);
    assert_finds(world, FSCK_PURGE_WITHOUT_TRASH);
    assert_repair_cleans(world, FSCK_FORGET_PURGE);
    put_name(world, world->rbd, "csi.volumes.default", "cephzone.purge.rubbish", "x");
    assert_finds(world, FSCK_NAME_BROKEN);
    assert_untouched(world);
}

#define DEAD_KEY "0000000000000001.fa4e0000dead"

struct purging {
    struct fsck_world *world;
    int looks;
};

/* What a driver does next that has just taken the image out of the trash. */
static void end_purge(void *object)
{
    struct purging *purging = object;
    struct ceph_pool *rbd = purging->world->rbd;
    _cleanup_error_ struct error err = {0};
    bool removed = false;

    purging->looks++;
    if (purging->looks == 3)
        assert_int_equal(rbd->ops->omap_remove_if(rbd, &purging->world->call, "csi.volumes.default",
                                                  "cephzone.purge." DEAD_KEY, "csi-vol-" UUID_A,
                                                  NULL, &removed, &err),
                         0);
    else
        fake_ceph_interrupt_before(purging->world->fake, "omap_get", end_purge, purging);
}

TEST(purge_that_goes_on_is_not_reported, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    struct purging purging = {.world = world};

    put_name(world, world->rbd, "csi.volumes.default", "cephzone.purge." DEAD_KEY,
             "csi-vol-" UUID_A);
    fake_ceph_interrupt_before(world->fake, "omap_get", end_purge, &purging);
    assert_clean(world);
    assert_int_equal(purging.looks, 3);
}

TEST(purge_of_a_driver_that_has_just_said_so_is_not_reported, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    _cleanup_free_ char *now = xasprintf("%s %lld000", UUID_B, (long long)time(NULL));

    put_name(world, world->rbd, "csi.volumes.default", "cephzone.purge." DEAD_KEY,
             "csi-vol-" UUID_A);
    put_name(world, world->rbd, "csi.volumes.default", "cephzone.purging." DEAD_KEY, now);
    assert_clean(world);
    set_attribute(world, "csi.volumes.default", "cephzone.purging." DEAD_KEY, UUID_B " 1");
    assert_finds(world, FSCK_PURGE_WITHOUT_TRASH);
}

TEST(copies_that_are_not_finished, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    _cleanup_free_ char *image = image_of_volume(world);
    put_name(world, world->rbd, "csi.volumes.default", "cephzone.flatten.fa4e0000dead", image);
    assert_clean(world); /* of an earlier image: the driver drops it */
    put_name(world, world->rbd, "csi.volumes.default", "cephzone.flatten.fa4e00000001", image);
    assert_int_equal(assert_finds(world, FSCK_FLATTEN_PENDING)->severity, FSCK_NOTE);
    assert_untouched(world);
}

/* --- Kubernetes --- */

TEST(pv_without_volume_comes_first, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_B);
    give_pvs(world, HANDLE(UUID_A));
    fsck_world_scan(world);
    assert_int_equal(world->report.count, 3);
    assert_int_equal(world->report.findings[0].kind, FSCK_PV_WITHOUT_VOLUME);
    assert_int_equal(world->report.findings[0].severity, FSCK_DATA_LOSS);
    assert_string_equal(world->report.findings[0].object, "pv-1");
    assert_int_equal(world->report.findings[1].kind, FSCK_NAME_WITHOUT_OBJECT);
    assert_int_equal(world->report.findings[2].kind, FSCK_VOLUME_WITHOUT_PV);
}

TEST(pv_whose_image_is_gone, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    _cleanup_free_ char *image = image_of_volume(world);
    trash_image(world, world->rbd, image);
    give_pvs(world, world->volume);
    fsck_world_scan(world);
    assert_int_equal(world->report.findings[0].kind, FSCK_PV_WITHOUT_VOLUME);
    assert_non_null(strstr(world->report.findings[0].explanation, "rbd trash restore"));
    assert_untouched(world);
}

TEST(volume_without_pv, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    give_pvs(world, NULL);
    assert_string_equal(assert_finds(world, FSCK_VOLUME_WITHOUT_PV)->handle, world->volume);
    assert_untouched(world);
    world->options.pvs_taken = time(NULL) - 60; /* the volume is younger than the dump */
    assert_clean(world);
}

TEST(retained_pv_is_a_note, WITH_FSCK_WORLD)
{
    static char policy[] = "Retain";
    static char phase[] = "Released";
    struct fsck_world *world = *state;

    driver_create_volume(world);
    give_pvs(world, world->volume);
    world->pv.reclaim_policy = policy;
    world->pv.phase = phase;
    assert_int_equal(assert_finds(world, FSCK_PV_RETAINED)->severity, FSCK_NOTE);
}

TEST(pvs_of_other_clusters_are_not_looked_at, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    give_pvs(world, "0001-0002-c2-0000000000000001-" UUID_A);
    assert_finds(world, FSCK_VOLUME_WITHOUT_PV);
    assert_int_equal(world->report.pvs_unchecked, 1);
}

/* --- what happens meanwhile --- */

/* Whichever call fails: no crash, no leak, an error that says why or a report. */
TEST(every_failing_call_is_survived, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    driver_create_snapshot(world);
    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_B, NULL);
    put_image(world, world->rbd, "csi-vol-" UUID_A "-temp");
    unsigned n = 1;
    for (;; n++) {
        _cleanup_error_ struct error err = {0};

        fsck_report_done(&world->report);
        fake_ceph_fail_call(world->fake, n, FAKE_FAIL_BEFORE);
        int result = fsck_scan(&world->options, &world->call, &world->report, &err);
        if (fake_ceph_fault_is_pending(world->fake)) {
            fake_ceph_recover(world->fake);
            assert_int_equal(result, 0);
            break;
        }
        assert_int_equal(result, -1);
        assert_non_null(err.message);
    }
    assert_true(n > 10);
    assert_true(world->report.count >= 2);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
