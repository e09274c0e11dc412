/*
 * RBD volumes and their places when something is in the way: no room, a takeover, a rival, or a
 * failure behind what Ceph-CSI left.
 */
#include "controller/place.h"
#include "tests/unit/fixtures/fault_scenario.h"
#include "tests/unit/fixtures/kube.h"
#include "tests/unit/fixtures/rbd_places.h"

/* --- room --- */

TEST(each_cluster_tells_its_own_room, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume near = {0};
    _cleanup_(volume_done) struct volume far = {0};

    two_clusters.tells_room = true;
    places_make_or_fail(stage, &(struct wish){.name = "near", .zone = "zone-b"}, &near);
    places_make_or_fail(stage, &(struct wish){.name = "far", .zone = "zone-c"}, &far);
    places_set_room("pool-c", 0);
    stage_restart(stage);
    places_assert_refused(stage, &(struct wish){.name = "more", .zone = "zone-c"},
                          STATUS_RESOURCE_EXHAUSTED, "pool 'pool-c' (zone=zone-c): full");
}

TEST(without_overcommit_any_room_will_do, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    two_clusters.tells_room = true;
    places_set_room("pool-b", 1);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-b"}, &volume);
    places_assert_refused(
        stage, &(struct wish){.name = "more", .zone = "zone-b", .more = {"overcommit", "1"}},
        STATUS_RESOURCE_EXHAUSTED, "pool 'pool-b' (zone=zone-b): all promised to volumes");
}

TEST(with_overcommit_the_sizes_must_fit, STAGED)
{
    static const struct {
        const char *overcommit;
        long long room;
        size_t fit; /* volumes of 1 GiB */
    } cases[] = {
        {"1", 3 * GIB, 3},       {"2", 2 * GIB - 1, 3},    {"0.5", 4 * GIB, 2},
        {"0.001", 100 * GIB, 0}, {"0.001", 1000 * GIB, 1},
    };
    struct stage *stage = *state;

    two_clusters.tells_room = true;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char handles[4][VOLUME_ID_LENGTH_MAX + 1];

        places_set_room("pool-b", cases[i].room);
        stage_restart(stage);
        for (size_t j = 0; j <= cases[i].fit; j++) {
            _cleanup_free_ char *name = xasprintf("pvc-%zu-%zu", i, j);
            const struct wish wish = {
                .name = name, .zone = "zone-b", .more = {"overcommit", cases[i].overcommit}};
            _cleanup_(volume_done) struct volume volume = {0};

            if (j == cases[i].fit) {
                places_assert_refused(stage, &wish, STATUS_RESOURCE_EXHAUSTED, "zone-b");
                break;
            }
            places_make_or_fail(stage, &wish, &volume);
            memcpy(handles[j], volume.handle, sizeof(volume.handle));
        }
        for (size_t j = 0; j < cases[i].fit; j++)
            places_remove_volume(stage, handles[j]);
    }
    places_assert_nothing_is_left(stage);
}

TEST(growth_is_promised_at_once, STAGED)
{
    struct stage *stage = *state;
    struct wish wish = {.zone = "zone-b", .more = {"overcommit", "1"}};
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    two_clusters.tells_room = true;
    places_set_room("pool-b", 3 * GIB);
    places_make_or_fail(stage, &wish, &volume);
    memcpy(stage->world.volume, volume.handle, sizeof(volume.handle));
    assert_int_equal(step_expand(&stage->process, &stage->world, &err), 0); /* to 3 GiB */
    wish.name = "more";
    places_assert_refused(stage, &wish, STATUS_RESOURCE_EXHAUSTED, "all promised to volumes");
}

/* It knows the sizes only from the volumes that are there. */
TEST(promises_are_known_after_a_restart, STAGED)
{
    struct stage *stage = *state;
    struct wish wish = {.zone = "zone-b", .more = {"overcommit", "0.001"}};
    _cleanup_(volume_done) struct volume volume = {0};

    two_clusters.tells_room = true;
    places_set_room("pool-b", 1000 * GIB);
    places_make_or_fail(stage, &wish, &volume);
    stage_restart(stage);
    wish.name = "more";
    places_assert_refused(stage, &wish, STATUS_RESOURCE_EXHAUSTED, "all promised to volumes");
}

TEST(want_of_room_is_told_on_the_claim, STAGED)
{
    struct stage *stage = *state;
    const struct wish wish = {.zone = "zone-b",
                              .more = {"csi.storage.k8s.io/pvc/name", "data",
                                       "csi.storage.k8s.io/pvc/namespace", "shop"}};
    struct kube_fixture *kube = NULL;
    _cleanup_text_ struct text told = TEXT_INIT(65536);

    assert_int_equal(kube_fixture_make((void **)&kube), 0);
    stage->process.controller.events = events_new(kube->kube, "rbd.csi", "");
    two_clusters.tells_room = true;
    places_set_room("pool-b", 0);
    places_assert_refused(stage, &wish, STATUS_RESOURCE_EXHAUSTED, "full");
    assert_true(events_flush(stage->process.controller.events, 30000));
    fake_kube_dump(kube->fake, &told);
    events_free(TAKE(stage->process.controller.events));
    kube_fixture_free((void **)&kube);
    if (!strstr(text_chars(&told), "VolumeNotPlaced"))
        fail_msg("nothing was told: %s", text_chars(&told));
}

TEST(pool_that_the_monitors_do_not_know_is_named, STAGED)
{
    struct stage *stage = *state;

    two_clusters.tells_room = true;
    places_assert_refused(
        stage,
        &(struct wish){.zone = "zone-b",
                       .pools = "[" IN_B ",{\"poolName\":\"nope\"," IN_ZONE("zone-x") "]"},
        STATUS_INVALID_ARGUMENT, "topologyConstrainedPools[1].poolName: there is no pool 'nope'");
}

TEST(nothing_is_placed_where_others_take_over, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    FILE *file = fopen(two_clusters.takeover_path, "we");

    assert_non_null(file);
    assert_true(fputs("{\"zone-b\": [\"zone-a\"]}", file) >= 0);
    assert_int_equal(fclose(file), 0);
    stage_restart(stage);
    places_assert_refused(stage, &(struct wish){.zone = "zone-b"}, STATUS_RESOURCE_EXHAUSTED,
                          PLACE_TAKEN_OVER);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_int_equal(unlink(two_clusters.takeover_path), 0);
}

/* --- sources and lists --- */

TEST(source_that_is_gone_is_told, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume source = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &source);
    places_remove_volume(stage, source.handle);
    places_assert_refused(
        stage, &(struct wish){.name = "clone", .zone = "zone-a", .source = source.handle},
        STATUS_NOT_FOUND, "");
    places_assert_nothing_is_left(stage);
}

TEST(other_cluster_may_come_first_and_twice, STAGED)
{
    struct stage *stage = *state;
    const char *pools =
        "[" IN_C ",{\"poolName\":\"rbd\",\"clusterID\":\"c2\"," IN_ZONE("zone-d") "," IN_A "]";
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_(volume_done) struct volume again = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-c", .pools = pools}, &volume);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a", .pools = pools}, &again);
    assert_string_equal(again.handle, volume.handle);
}

/* --- rivals and failures --- */

static void claim_first(void *object)
{
    struct ceph_csi *csi = object;

    two_clusters.rival = NULL; /* once */
    ceph_csi_write_name(csi, csi->rbd, "0000000000000017/" UUID);
}

/* Another process claims the name after it was looked for, and chose another zone. */
TEST(rival_who_claims_first_decides_on_the_place, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    two_clusters.rival = claim_first;
    two_clusters.rival_object = &csi;
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_non_null(strstr(volume.handle, UUID));
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-b");
    assert_null(strmap_get(&volume.context, "dataPool"));
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-b");
    ceph_csi_end(&csi);
}

/* Lets each call fail in turn until a creation succeeds undisturbed. */
static void make_through_failures(struct stage *stage, const struct wish *wish,
                                  struct volume *volume)
{
    bool is_over = false;

    for (unsigned n = 1; !is_over; n++) {
        _cleanup_error_ struct error err = {0};

        volume_done(volume);
        fake_ceph_fail_call(stage->world.fake, n, FAKE_FAIL_BEFORE);
        int result = places_make(stage, wish, volume, &err);
        is_over = fake_ceph_fault_is_pending(stage->world.fake);
        fake_ceph_recover(stage->world.fake);
        assert_true(!is_over || result == 0);
    }
}

TEST(attributes_beside_the_name_are_found_in_spite_of_failures, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000017/" UUID);
    ceph_csi_write_attributes(&csi, csi.rbd, false);
    ceph_csi_write_attributes(&csi, csi.pool_b, true);
    make_through_failures(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_non_null(strstr(volume.handle, UUID));
    ceph_csi_end(&csi);
}

TEST(name_that_leads_to_a_lost_pool_is_claimed_anew_in_spite_of_failures, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000063/" UUID);
    make_through_failures(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-a");
    ceph_csi_end(&csi);
}

/* Only the object beside the image says that there may be one. */
TEST(attributes_without_an_object_beside_the_image_are_not_used, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000017/" UUID);
    ceph_csi_write_attributes(&csi, csi.rbd, false);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_holds(stage, "object pool-b//csi.volume.u1 [csi.volname] = pvc-1");
    assert_holds(stage, "object pool-b//csi.volume.u1 [csi.imageid]");
    ceph_csi_end(&csi);
}

/* Where the volume is to be, only the monitors could tell. */
TEST(place_that_cannot_be_recovered_is_a_failure, STAGED)
{
    struct stage *stage = *state;
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, "0000000000000017/" UUID);
    ceph_csi_write_attributes(&csi, csi.pool_b, false);
    places_assert_refused(
        stage, &(struct wish){.zone = "zone-a", .pools = "", .more = {"topologyPools", "auto"}},
        STATUS_INVALID_ARGUMENT, "find the pools of class 'rbd'");
    ceph_csi_end(&csi);
}

/* The other cluster goes away at any moment between the look-up and the claim. */
TEST(cluster_that_goes_away_is_told, STAGED)
{
    struct stage *stage = *state;
    int failures = 0;

    for (int n = 0;; n++, failures++) {
        _cleanup_(volume_done) struct volume volume = {0};
        _cleanup_error_ struct error err = {0};

        two_clusters.far_connections = n;
        if (places_make(stage, &(struct wish){.zone = "zone-c"}, &volume, &err) == 0 &&
            two_clusters.far_connections >= 0)
            break;
        two_clusters.far_connections = -1;
        if (err.message) {
            assert_int_equal(err.status, STATUS_UNAVAILABLE);
            continue;
        }
        /* only the figures were missing; the next one shall be new again */
        places_remove_volume(stage, volume.handle);
    }
    assert_true(failures >= 2);
    two_clusters.far_connections = -1;
}

TEST_GROUP(places_write_config, places_remove_config)
