/*
 * RBD volumes and their places: where a volume and its name go, how a retry finds them whatever
 * zone it is asked for in, and what Ceph-CSI left.
 */
#include "tests/unit/fixtures/fault_scenario.h"
#include "tests/unit/fixtures/rbd_places.h"

/* --- where volumes go --- */

TEST(zone_decides_on_the_pool_and_the_name_stays_with_the_class, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-b"}, &volume);
    assert_holds(stage, "image pool-b//csi-vol-u1");
    assert_holds(stage, "object rbd//csi.volumes.default [csi.volume.pvc-1] = 0000000000000017/u1");
    assert_holds(stage, "object pool-b//csi.volume.u1 [csi.journalpool] = 0000000000000003");
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-b");
    assert_string_equal(strmap_get(&volume.context, "journalPool"), "rbd");
    assert_null(strmap_get(&volume.context, "dataPool"));
    assert_int_equal(volume.segments.count, 1);
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-b");
    places_remove_volume(stage, volume.handle);
    places_assert_nothing_is_left(stage);
}

TEST(retry_in_another_zone_is_the_same_volume, STAGED)
{
    static const char *const zones[] = {"zone-a", "zone-b", "zone-c"};
    static const char *const homes[] = {"rbd", ""};
    struct stage *stage = *state;

    for (size_t i = 0; i < 18; i++) {
        const char *first = zones[i % 3];
        const char *second = zones[i / 3 % 3];
        const char *home = homes[i / 9];
        _cleanup_(volume_done) struct volume volume = {0};
        _cleanup_(volume_done) struct volume again = {0};

        print_message("'%s': %s, then %s\n", home, first, second);
        places_make_or_fail(stage, &(struct wish){.zone = first, .pool = home}, &volume);
        places_make_or_fail(stage, &(struct wish){.zone = second, .pool = home}, &again);
        assert_string_equal(again.handle, volume.handle);
        assert_true(strmap_is_equal(&again.segments, &volume.segments));
        assert_string_equal(strmap_get(&again.segments, PREFIX "zone"), first);
        assert_true(strmap_is_equal(&again.context, &volume.context));
        places_remove_volume(stage, volume.handle);
        places_assert_nothing_is_left(stage);
    }
}

TEST(class_without_a_pool_keeps_names_beside_images, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-a", .pool = ""}, &volume);
    assert_holds(stage, "object pool-a//csi.volumes.default [csi.volume.pvc-1] = u1");
    assert_holds_not(stage, "csi.journalpool");
    assert_string_equal(strmap_get(&volume.context, "dataPool"), "data-a");
    assert_string_equal(strmap_get(&volume.context, "journalPool"), "pool-a");
}

TEST(class_whose_pool_is_the_place_has_all_in_one, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-b", .pool = "pool-b"}, &volume);
    assert_holds(stage, "object pool-b//csi.volumes.default [csi.volume.pvc-1] = u1");
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-b");
}

/* Nobody else need be asked for the name. */
TEST(list_of_one_pool_will_do, STAGED)
{
    struct stage *stage = *state;
    static const struct wish wishes[] = {
        {.name = "same", .zone = "zone-b", .pool = "pool-b", .pools = "[" IN_B "]"},
        {.name = "other", .zone = "zone-b", .pools = "[" IN_B "]"},
        {.name = "none", .zone = "zone-b", .pool = "", .pools = "[" IN_B "]"},
        {.name = "far", .zone = "zone-c", .pools = "[" IN_C "]"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(wishes); i++) {
        _cleanup_(volume_done) struct volume volume = {0};
        _cleanup_(volume_done) struct volume again = {0};

        places_make_or_fail(stage, &wishes[i], &volume);
        places_make_or_fail(stage, &wishes[i], &again);
        assert_string_equal(again.handle, volume.handle);
    }
}

TEST(place_in_another_cluster_has_the_name_too, STAGED)
{
    struct stage *stage = *state;
    struct stage c2 = places_in_c2(stage);
    _cleanup_(volume_done) struct volume volume = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-c"}, &volume);
    assert_holds(&c2, "object pool-c//csi.volumes.default [csi.volume.pvc-1] = u1");
    assert_holds(&c2, "image pool-c//csi-vol-u1");
    assert_holds_not(stage, "csi.volume.");
    assert_non_null(strstr(volume.handle, "-c2-000000000000001f-"));
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-c");
}

/* The first of the list is the only one in its cluster. */
TEST(name_in_the_cluster_of_the_first_pool_is_found, STAGED)
{
    struct stage *stage = *state;
    struct wish wish = {.zone = "zone-c", .pool = "", .pools = "[" IN_C "," IN_A "]"};
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_(volume_done) struct volume again = {0};

    places_make_or_fail(stage, &wish, &volume);
    wish.zone = "zone-a";
    places_make_or_fail(stage, &wish, &again);
    assert_string_equal(again.handle, volume.handle);
    places_remove_volume(stage, volume.handle);
    places_assert_nothing_is_left(stage);
}

TEST(refusal_names_the_volume, STAGED)
{
    places_assert_refused(*state, &(struct wish){.name = "pvc-lost", .pool = "nowhere"},
                          STATUS_INVALID_ARGUMENT, "create volume 'pvc-lost': ");
}

TEST(without_a_requirement_the_class_decides, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume plain = {0};
    _cleanup_(volume_done) struct volume chosen = {0};

    places_make_or_fail(stage, &(struct wish){.name = "plain"}, &plain);
    assert_string_equal(strmap_get(&plain.context, "pool"), "rbd");
    assert_int_equal(plain.segments.count, 0);
    places_make_or_fail(stage, &(struct wish){.name = "chosen", .more = {"poolSelection", "first"}},
                        &chosen);
    assert_string_equal(strmap_get(&chosen.context, "pool"), "pool-a");
    assert_string_equal(strmap_get(&chosen.context, "dataPool"), "data-a");
}

TEST(missing_pool_is_the_fault_of_the_class, STAGED)
{
    struct stage *stage = *state;
    const char *nowhere = "[{\"poolName\":\"nowhere\"," IN_ZONE("zone-a") "]";

    places_assert_refused(stage, &(struct wish){.pool = "nope"}, STATUS_INVALID_ARGUMENT, "'nope'");
    places_assert_refused(stage, &(struct wish){.zone = "zone-a", .pool = "nope"},
                          STATUS_INVALID_ARGUMENT, "'nope'");
    places_assert_refused(stage, &(struct wish){.zone = "zone-a", .pools = nowhere},
                          STATUS_INVALID_ARGUMENT, "'nowhere'");
    places_assert_refused(stage, &(struct wish){.zone = "zone-a", .pools = nowhere, .pool = ""},
                          STATUS_INVALID_ARGUMENT, "'nowhere'");
    places_assert_refused(stage, &(struct wish){.zone = "zone-x"}, STATUS_RESOURCE_EXHAUSTED,
                          "elsewhere");
    places_assert_nothing_is_left(stage);
}

TEST(clone_stays_in_the_pool_of_its_source, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume source = {0};
    _cleanup_(volume_done) struct volume clone = {0};
    _cleanup_(volume_done) struct volume copy = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &source);
    places_make_or_fail(
        stage, &(struct wish){.name = "clone", .zone = "zone-a", .source = source.handle}, &clone);
    places_assert_refused(stage,
                          &(struct wish){.name = "copy", .zone = "zone-b", .source = source.handle},
                          STATUS_RESOURCE_EXHAUSTED, "not the pool of the source");
    places_assert_refused(stage,
                          &(struct wish){.name = "far", .zone = "zone-c", .source = source.handle},
                          STATUS_RESOURCE_EXHAUSTED, "in another cluster than the source");
    places_make_or_fail(stage,
                        &(struct wish){.name = "copy",
                                       .zone = "zone-b",
                                       .source = source.handle,
                                       .more = {"crossPoolRestore", "copy"}},
                        &copy);
    assert_string_equal(strmap_get(&copy.context, "pool"), "pool-b");
}

/* --- what others left --- */

/* Ceph-CSI from 3.11 on has the name beside the image. */
TEST(name_beside_the_image_is_found, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.pool_b, UUID);
    ceph_csi_write_attributes(&csi, csi.pool_b, false);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_non_null(strstr(volume.handle, UUID));
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-b");
    assert_string_equal(strmap_get(&volume.context, "journalPool"), "pool-b");
    assert_null(strmap_get(&volume.context, "dataPool"));
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-b");
    places_remove_volume(stage, volume.handle);
    places_assert_nothing_is_left(stage);
    ceph_csi_end(&csi);
}

/* Ceph-CSI 3.0 to 3.10 had an empty object beside the image, and the attributes beside the name. */
TEST(attributes_beside_the_name_are_found, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000017/" UUID);
    ceph_csi_write_attributes(&csi, csi.rbd, false);
    ceph_csi_write_attributes(&csi, csi.pool_b, true);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_non_null(strstr(volume.handle, UUID));
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-b");
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-b");
    assert_holds(stage, "object rbd//csi.volume.u1 [csi.imageid]");
    assert_holds_not(stage, "object pool-b//csi.volume.u1 [csi.imageid]");
    ceph_csi_end(&csi);
}

TEST(same_name_with_other_parameters_already_exists, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    places_assert_refused(stage,
                          &(struct wish){.zone = "zone-a", .more = {"imageFeatures", "layering"}},
                          STATUS_ALREADY_EXISTS, "parameters");
}

/* The name was claimed and the process died; or it made the object and died then. */
TEST(entry_without_attributes_is_filled, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000017/" UUID);
    ceph_csi_write_attributes(&csi, csi.pool_b, true);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-b");
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-b");
    assert_holds(stage, "object pool-b//csi.volume.u1 [csi.volname] = pvc-1");
    assert_holds(stage, "object pool-b//csi.volume.u1 [cephzone.segments]");
    ceph_csi_end(&csi);
}

TEST(name_that_leads_to_a_lost_pool_is_claimed_anew, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000063/" UUID);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_null(strstr(volume.handle, UUID));
    ceph_csi_end(&csi);
}

TEST(entry_of_another_name_is_not_ours, STAGED)
{
    struct stage *stage = *state;
    struct ceph_csi csi;
    _cleanup_strmap_ struct strmap other = {0};
    _cleanup_error_ struct error err = {0};

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000017/" UUID);
    strmap_set(&other, "csi.volname", "pvc-2");
    assert_int_equal(
        csi.pool_b->ops->object_create(csi.pool_b, &csi.call, "csi.volume." UUID, &other, &err), 0);
    places_assert_refused(stage, &(struct wish){.zone = "zone-b"}, STATUS_DATA_LOSS, "'pvc-2'");
    ceph_csi_end(&csi);
}

/* Two processes continue the same reservation: who writes the entry last uses that of the other. */
TEST(entry_that_another_process_wrote_first_is_used, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    two_clusters.is_late = true;
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_holds(stage, "image pool-a//csi-vol-u1");
}

/* It could have a name only that Ceph-CSI wrote. Where names are beside the images it may be ours.
 */
TEST(pool_that_does_not_answer_stops_only_classes_without_a_pool, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    two_clusters.silent_pool = "pool-b";
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    places_assert_refused(stage, &(struct wish){.name = "other", .zone = "zone-a", .pool = ""},
                          STATUS_UNAVAILABLE, "pool 'pool-b' does not answer");
    two_clusters.silent_pool = "pool-c";
    places_assert_refused(stage, &(struct wish){.name = "other", .zone = "zone-a"},
                          STATUS_UNAVAILABLE, "pool 'pool-c' does not answer");
    assert_holds_not(stage, "csi.volume.other");
}

/* --- faults --- */

/* Each try is asked for in the next zone of c1, whose calls fail. */
static int create_wandering(struct process *process, struct world *world, struct error *err)
{
    int result =
        process_create_volume(process, "pvc-1", GIB, SOURCE_NONE, NULL, world->volume, err);

    places_next_zone = strcmp(places_next_zone, "zone-a") == 0 ? "zone-b" : "zone-a";
    return result;
}

TEST(creation_survives_every_fault)
{
    scenario_check(
        &(struct scenario){.title = "CreateVolume in a zone", .tested = step_create_volume},
        &PLACES_SETUP);
}

TEST(retry_in_another_zone_leaves_one_volume)
{
    scenario_check(&(struct scenario){.title = "CreateVolume, retried in another zone",
                                      .tested = create_wandering,
                                      .after = {step_delete_volume},
                                      .ends_empty = true},
                   &PLACES_SETUP);
}

TEST_GROUP(places_write_config, places_remove_config)
