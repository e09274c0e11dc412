/* Names and objects of the journal: every kind of leftover, made by hand on the fake, is found;
 * what is safe is repaired. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/fsck.h"

/* --- clean clusters --- */

TEST(clean_cluster_gives_nothing, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    assert_clean(world);
    driver_create_volume(world);
    driver_create_snapshot(world);
    assert_clean(world);
    assert_int_equal(world->report.volumes, 1);
    assert_int_equal(world->report.snapshots, 1);
    assert_int_equal(world->report.images, 2);
    give_pvs(world, world->volume);
    assert_clean(world);
    assert_int_equal(world->report.pvs, 1);
    world->options.scan = false;
    assert_clean(world);
}

TEST(looking_writes_nothing, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_B, NULL);
    _cleanup_free_ char *before = fsck_world_dump(world);
    fsck_world_scan(world);
    _cleanup_free_ char *after = fsck_world_dump(world);
    assert_string_equal(after, before);
    assert_int_equal(world->report.count, 2);
}

TEST(other_instances_are_left_alone, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_name(world, world->rbd, "csi.volumes.other", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    assert_clean(world);
}

/* --- what newer versions write --- */

/* Directories in parts: whoever reads them knows by which rule a name is in which. */
TEST(parts_of_a_directory_are_named_and_left_alone, WITH_FSCK_WORLD)
{
    static const char *const parts[] = {"csi.volumes.default.7", "csi.volumes.default-shard-0a",
                                        "csi.volumes.default_3"};
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        put_name(world, world->rbd, parts[i], "csi.volume.pvc-1", UUID_A);
        put_name(world, world->rbd, parts[i], "csi.volume.pvc-2", UUID_B); /* leads nowhere */
        const struct fsck_finding *finding = assert_finds(world, FSCK_DIRECTORY_PART);
        assert_string_equal(finding->object, parts[i]);
        assert_non_null(strstr(finding->explanation, "2 key(s)"));
        assert_untouched(world);
        remove_object(world, world->rbd, parts[i]);
    }
    assert_finds(world, FSCK_OBJECT_WITHOUT_NAME); /* the part was all that it had */
    put_name(world, world->rbd, "csi.volumes.default2", "csi.volume.pvc-1", UUID_A);
    assert_clean(world); /* another instance's */
}

TEST(unknown_form_of_the_journal_is_named_and_stops_repairs, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(world, world->rbd, "csi.shards.default.0", NULL);
    put_name(world, world->rbd, "csi.shards.default.0", "csi.volume.pvc-1", UUID_A);
    assert_finds(world, FSCK_OBJECT_UNKNOWN);
    assert_untouched(world);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    fsck_world_scan(world);
    assert_int_equal(world->report.count, 2);
    assert_untouched(world);
    remove_object(world, world->rbd, "csi.shards.default.0");
    assert_finds(world, FSCK_OBJECT_WITHOUT_NAME);
    assert_repair_cleans(world, FSCK_FORGET_ENTRY);
}

/* The directory is in another pool, which was not gone through: a part of it may be there. */
TEST(object_whose_directory_was_not_searched_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(
        world, world->rbd, "csi.volume." UUID_A,
        (const char *[]){"csi.volname", "pvc-1", "csi.journalpool", "0000000000000002", NULL});
    string_list_add(&world->pools, "rbd");
    assert_finds(world, FSCK_OBJECT_WITHOUT_NAME);
    assert_untouched(world);
}

TEST(unknown_pool_and_dead_cluster_are_refused, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    _cleanup_error_ struct error err = {0};

    string_list_add(&world->pools, "nope");
    assert_int_equal(fsck_scan(&world->options, &world->call, &world->report, &err), -1);
    assert_non_null(strstr(err.message, "has no pool 'nope'"));
    error_clear(&err);
    fake_ceph_refuse_connect(world->fake, STATUS_DEADLINE_EXCEEDED);
    assert_int_equal(fsck_scan(&world->options, &world->call, &world->report, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    fake_ceph_refuse_connect(world->fake, STATUS_OK);
}

/* --- names --- */

TEST(name_without_object, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    assert_string_equal(assert_finds(world, FSCK_NAME_WITHOUT_OBJECT)->object, "pvc-1");
    assert_repair_cleans(world, FSCK_FORGET_NAME);
}

TEST(young_name_may_be_under_way, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    world->options.min_age_s = 300;
    assert_true(assert_finds(world, FSCK_NAME_WITHOUT_OBJECT)->under_way);
    assert_untouched(world);
}

TEST(name_that_came_to_life_is_left_alone, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    _cleanup_error_ struct error err = {0};
    bool repaired = true;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    assert_finds(world, FSCK_NAME_WITHOUT_OBJECT);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    _cleanup_free_ char *before = fsck_world_dump(world);
    fsck_must(
        fsck_repair(&world->options, &world->call, &world->report.findings[0], &repaired, &err),
        &err);
    assert_false(repaired);
    _cleanup_free_ char *after = fsck_world_dump(world);
    assert_string_equal(after, before);
}

TEST(name_without_pool, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1",
             "0000000000000063/" UUID_A);
    assert_finds(world, FSCK_NAME_WITHOUT_POOL);
    assert_repair_cleans(world, FSCK_FORGET_NAME);
}

TEST(broken_name, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.snaps.default", "csi.snap.snapshot-1", "rubbish");
    assert_finds(world, FSCK_NAME_BROKEN);
    assert_untouched(world);
}

TEST(name_that_leads_to_another, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-else",
             uuid_of_volume(world));
    assert_int_equal(assert_finds(world, FSCK_NAME_MISMATCH)->severity, FSCK_ERROR);
    assert_untouched(world);
}

TEST(name_in_two_pools, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_volume(world, world->rbd, "pvc-1", UUID_A);
    put_volume(world, world->ssd, "pvc-1", UUID_B);
    assert_finds(world, FSCK_NAME_IN_TWO_POOLS);
    assert_untouched(world);
}

/* --- objects --- */

TEST(empty_object_without_name, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(world, world->rbd, "csi.volume." UUID_A, NULL);
    assert_finds(world, FSCK_OBJECT_WITHOUT_NAME);
    assert_repair_cleans(world, FSCK_FORGET_ENTRY);
}

TEST(young_object_may_be_under_way, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(world, world->rbd, "csi.volume." UUID_A, NULL);
    world->options.min_age_s = 300;
    assert_true(assert_finds(world, FSCK_OBJECT_WITHOUT_NAME)->under_way);
    assert_untouched(world);
}

TEST(object_of_cut_deletion, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(world, world->rbd, "csi.snap." UUID_A,
               (const char *[]){"csi.snapname", "snapshot-1", "csi.imageid", "gone", NULL});
    assert_finds(world, FSCK_OBJECT_WITHOUT_NAME);
    assert_repair_cleans(world, FSCK_FORGET_ENTRY);
}

TEST(object_without_name_but_with_image_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    put_image(world, world->rbd, "csi-vol-" UUID_A);
    assert_int_equal(assert_finds(world, FSCK_OBJECT_WITHOUT_NAME)->severity, FSCK_ERROR);
    assert_untouched(world);
}

TEST(empty_object_with_an_image_of_any_prefix_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    put_object(world, world->rbd, "csi.volume." UUID_A, NULL);
    put_image(world, world->rbd, "mine-" UUID_A);
    assert_finds(world, FSCK_OBJECT_WITHOUT_NAME);
    assert_untouched(world);
}

TEST(empty_entry, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A, NULL);
    assert_finds(world, FSCK_ENTRY_EMPTY);
    assert_repair_cleans(world, FSCK_FORGET_ENTRY);
}

TEST(cut_creation_without_image, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    assert_int_equal(assert_finds(world, FSCK_OBJECT_WITHOUT_IMAGE)->severity, FSCK_WARNING);
    assert_repair_cleans(world, FSCK_FORGET_ENTRY);
}

TEST(finished_volume_without_image_needs_the_pvs, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", "csi.imageid", "gone", NULL});
    assert_int_equal(assert_finds(world, FSCK_OBJECT_WITHOUT_IMAGE)->severity, FSCK_ERROR);
    assert_untouched(world);
    give_pvs(world, NULL);
    assert_finds(world, FSCK_OBJECT_WITHOUT_IMAGE);
    assert_repair_cleans(world, FSCK_FORGET_ENTRY);
}

TEST(image_moved_to_the_trash_by_somebody_keeps_its_entry, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    _cleanup_free_ char *image = image_of_volume(world);
    trash_image(world, world->rbd, image);
    give_pvs(world, NULL);
    fsck_world_scan(world);
    assert_int_equal(world->report.count, 2);
    assert_int_equal(world->report.findings[0].kind, FSCK_OBJECT_WITHOUT_IMAGE);
    assert_int_equal(world->report.findings[1].kind, FSCK_TRASH_WITHOUT_KEY);
    assert_untouched(world);
}

TEST(unfinished_volume, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", NULL});
    put_image(world, world->rbd, "csi-vol-" UUID_A);
    assert_string_equal(assert_finds(world, FSCK_ENTRY_UNFINISHED)->handle, HANDLE(UUID_A));
    assert_untouched(world);
}

TEST(image_id_differs, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    _cleanup_free_ char *object = NULL;

    driver_create_volume(world);
    object = xasprintf("csi.volume.%s", uuid_of_volume(world));
    set_attribute(world, object, "csi.imageid", "other");
    assert_finds(world, FSCK_IMAGE_ID_DIFFERS);
    assert_untouched(world);
}

TEST(snapshot_without_source_is_a_note, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    driver_create_volume(world);
    driver_create_snapshot(world);
    driver_delete_volume(world);
    tasks_run_here(world->controller.tasks);
    fsck_world_scan(world);
    bool found = false;
    for (size_t i = 0; i < world->report.count; i++) {
        assert_int_equal(world->report.findings[i].severity, FSCK_NOTE);
        found = found || world->report.findings[i].kind == FSCK_SNAPSHOT_WITHOUT_SOURCE;
    }
    assert_true(found);
    assert_untouched(world);
}

TEST(group_with_missing_member, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.groups.default", "csi.volume.group.g-1", UUID_A);
    put_object(world, world->rbd, "csi.volume.group." UUID_A,
               (const char *[]){"csi.volname", "g-1", "csi.groupname", "csi-vol-group-" UUID_A,
                                HANDLE(UUID_B), "csi-snap-" UUID_B, NULL});
    assert_finds(world, FSCK_GROUP_INCOMPLETE);
    assert_untouched(world);
    assert_int_equal(world->report.groups, 1);
}

/* --- entries split over two pools --- */

static void put_split(struct fsck_world *world)
{
    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-1",
             "0000000000000002/" UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A,
               (const char *[]){"csi.volname", "pvc-1", "csi.imagename", ("mine-" UUID_A),
                                "csi.imageid", "fa4e00000001", NULL});
    put_object(world, world->ssd, "csi.volume." UUID_A, NULL);
    put_image(world, world->ssd, "mine-" UUID_A);
}

TEST(split_entry_is_a_note, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_split(world);
    assert_int_equal(assert_finds(world, FSCK_SPLIT_ENTRY)->severity, FSCK_NOTE);
    assert_untouched(world);
    give_pvs(world, "0001-0002-c1-0000000000000002-" UUID_A);
    assert_finds(world, FSCK_SPLIT_ENTRY);
}

TEST(half_entry, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_split(world);
    remove_object(world, world->ssd, "csi.volume." UUID_A);
    fsck_world_scan(world); /* the image is still there: nothing to repair */
    assert_untouched(world);
    trash_image(world, world->ssd, "mine-" UUID_A);
    fsck_world_scan(world); /* and may come back from the trash */
    assert_untouched(world);
    _cleanup_error_ struct error err = {0};
    fsck_must(
        world->ssd->ops->trash_remove(world->ssd, &world->call, "fa4e00000001", NULL, NULL, &err),
        &err);
    assert_finds(world, FSCK_HALF_ENTRY);
    assert_repair_cleans(world, FSCK_FORGET_ENTRY);
}

/* --- what a driver is at --- */

/* Repairs the only finding, and returns whether that was done. */
static bool repair_only_finding(struct fsck_world *world)
{
    _cleanup_error_ struct error err = {0};
    bool repaired = false;

    fsck_must(
        fsck_repair(&world->options, &world->call, &world->report.findings[0], &repaired, &err),
        &err);
    return repaired;
}

static struct ceph_work *begin_work(struct fsck_world *world, const char *uuid)
{
    _cleanup_error_ struct error err = {0};
    struct ceph_work *work = NULL;

    fsck_must(world->rbd->ops->work_begin(world->rbd, &world->call, "csi.volumes.default", uuid,
                                          &work, &err),
              &err);
    return work;
}

TEST(name_that_a_driver_is_about_to_use_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-7", UUID_A);
    struct ceph_work *work = begin_work(world, UUID_A);
    assert_finds(world, FSCK_NAME_WITHOUT_OBJECT);
    assert_false(repair_only_finding(world));
    ceph_work_end(work);
    assert_true(repair_only_finding(world));
}

TEST(entry_that_a_driver_is_making_stays, WITH_FSCK_WORLD)
{
    struct fsck_world *world = *state;
    static const char *const attributes[] = {
        "csi.volname", "pvc-7", "csi.imagename", ("csi-vol-" UUID_A), "cephzone.makers",
        "5100",        NULL};

    put_name(world, world->rbd, "csi.volumes.default", "csi.volume.pvc-7", UUID_A);
    put_object(world, world->rbd, "csi.volume." UUID_A, attributes);
    struct ceph_work *work = begin_work(world, UUID_A);
    assert_finds(world, FSCK_OBJECT_WITHOUT_IMAGE);
    assert_false(repair_only_finding(world));
    ceph_work_end(work);
    assert_true(repair_only_finding(world));
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
