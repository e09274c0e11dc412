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
    assert_string_equal(strmap_get(&volume.context, "topologySegments"), PREFIX "zone=zone-b");
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
    assert_string_equal(strmap_get(&volume.context, "clusterID"), "c2");
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

TEST(request_without_a_name_is_refused, STAGED)
{
    places_assert_refused(*state, &(struct wish){.name = ""}, STATUS_INVALID_ARGUMENT, "name");
}

TEST(name_that_another_call_is_at_is_refused_for_now, STAGED)
{
    struct stage *stage = *state;
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 7, "CreateVolume", deadline_never());
    assert_int_equal(operation_begin(stage->process.controller.operations, "name", "pvc-1", &call,
                                     &operation, &err),
                     0);
    places_assert_refused(stage, &(struct wish){.name = "pvc-1"}, STATUS_ABORTED, "CreateVolume");
    operation_end(&operation);
    call_done(&call);
    places_assert_nothing_is_left(stage);
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

/* Each way twice: a retry is the same volume with the same answer. */
TEST(class_says_what_becomes_of_immediate_volumes, STAGED)
{
    static const struct {
        const char *immediate;
        const char *zone; /* NULL: no requirement */
        const char *pool;
        const char *pinned; /* to that zone; NULL: to nothing */
    } cases[] = {
        {"first", NULL, "rbd", NULL},         {"spread", NULL, "pool-a", NULL},
        {"pin", NULL, "pool-a", "zone-a"},    {"first", "zone-b", "pool-b", "zone-b"},
        {"spread", "zone-b", "pool-b", NULL}, {"pin", "zone-b", "pool-b", "zone-b"},
        {"spread", "zone-c", "pool-c", NULL},
    };
    struct stage *stage = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct wish wish = {.zone = cases[i].zone,
                                  .more = {"immediateTopology", cases[i].immediate, NULL}};
        struct wish first = wish;
        _cleanup_(volume_done) struct volume volume = {0};
        _cleanup_(volume_done) struct volume again = {0};

        if (strcmp(cases[i].pool, "rbd") != 0) { /* else poolSelection decides */
            first.more[2] = "poolSelection";
            first.more[3] = "first";
        }
        places_make_or_fail(stage, &first, &volume);
        places_make_or_fail(stage, &first, &again);
        assert_string_equal(strmap_get(&volume.context, "pool"), cases[i].pool);
        assert_int_equal(volume.segments.count, cases[i].pinned ? 1 : 0);
        if (cases[i].pinned)
            assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), cases[i].pinned);
        assert_int_equal(strmap_has(&volume.context, "topologySegments"), cases[i].pinned != NULL);
        assert_string_equal(again.handle, volume.handle);
        assert_true(strmap_is_equal(&again.segments, &volume.segments));
        places_remove_volume(stage, volume.handle);
        places_assert_nothing_is_left(stage);
    }
}

TEST(volume_for_a_place_without_pools_may_be_anywhere, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_(volume_done) struct volume again = {0};
    static const char forged[] = PREFIX "zone=zone-a";
    const struct wish wish = {
        .zone = "zone-x",
        .more = {"unservedDomains", "anywhere", "topologySegments", forged, NULL}};

    places_assert_refused(stage, &(struct wish){.zone = "zone-x"}, STATUS_RESOURCE_EXHAUSTED,
                          "no pool of the class serves the place asked for");
    places_make_or_fail(stage, &wish, &volume);
    places_make_or_fail(stage, &wish, &again);
    assert_int_equal(volume.segments.count, 0);
    assert_string_not_equal(strmap_get(&volume.context, "pool"), "rbd");
    assert_false(strmap_has(&volume.context, "topologySegments")); /* the class has no say in it */
    assert_string_equal(again.handle, volume.handle);
    places_remove_volume(stage, volume.handle);
    places_assert_nothing_is_left(stage);
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

/* A flatten must not put the data of an erasure-coded pool into the replicated one. */
TEST(copies_have_the_data_pool_of_their_source, STAGED)
{
    struct stage *stage = *state;
    struct world *world = &stage->world;
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_(volume_done) struct volume clone = {0};
    _cleanup_error_ struct error err = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    places_make_or_fail(
        stage, &(struct wish){.name = "clone", .zone = "zone-a", .source = volume.handle}, &clone);
    memcpy(world->volume, volume.handle, sizeof(volume.handle));
    memcpy(world->second, clone.handle, sizeof(clone.handle));
    if (step_create_snapshot(&stage->process, world, &err) < 0 ||
        step_create_group(&stage->process, world, &err) < 0)
        fail_msg("%s", err.message);
    _cleanup_free_ char *dump = world_dump(world);
    unsigned images = 0;
    for (const char *line = strstr(dump, "image pool-a//csi-"); line;
         line = strstr(line + 1, "image pool-a//csi-")) {
        const char *end = strchr(line, '\n');
        const char *size = strstr(line, " size=");
        const char *data_pool = strstr(line, " data_pool=data-a");

        if (strstr(line, " id=") > end || !size || size > end)
            continue; /* a snapshot, a piece of metadata */
        if (!data_pool || data_pool > end)
            fail_msg("%s", line);
        images++;
    }
    assert_int_equal(images, 5); /* the volumes, a snapshot of one and a group of both */
}

/* --- clones that no retry can make --- */

TEST(clone_into_a_missing_data_pool_is_refused_for_good, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume source = {0};

    places_make_or_fail(stage, &(struct wish){.pools = ""}, &source);
    places_assert_refused(
        stage,
        &(struct wish){
            .name = "clone", .pools = "", .source = source.handle, .more = {"dataPool", "nowhere"}},
        STATUS_INVALID_ARGUMENT, "there is no data pool 'nowhere'");
    assert_holds_not(stage, "[csi.volume.clone]");
    places_remove_volume(stage, source.handle);
    places_assert_nothing_is_left(stage);
}

static void remove_snapshot(struct stage *stage, const char *image, const char *snapshot)
{
    _cleanup_error_ struct error err = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    if (csi.rbd->ops->snapshot_remove(csi.rbd, &csi.call, image, snapshot, &err) < 0)
        fail_msg("%s", err.message);
    ceph_csi_end(&csi);
}

TEST(restore_from_a_lost_snapshot_is_refused_for_good, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume source = {0};
    _cleanup_error_ struct error err = {0};

    places_make_or_fail(stage, &(struct wish){.pools = ""}, &source);
    memcpy(stage->world.volume, source.handle, sizeof(source.handle));
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    const char *handle = stage->world.snapshot;
    _cleanup_free_ char *image = xasprintf("csi-snap-%s", handle + strlen(handle) - 36);
    remove_snapshot(stage, image, image);
    places_assert_refused(
        stage,
        &(struct wish){.name = "restored", .pools = "", .source = handle, .kind = SOURCE_SNAPSHOT},
        STATUS_FAILED_PRECONDITION, "is gone: it is being deleted, or was removed by hand");
    assert_holds_not(stage, "[csi.volume.restored]");
}

/* The name of the snapshot that the group has taken of the image, before it is cloned. */
static char *find_group_snapshot(struct stage *stage, const char *image)
{
    _cleanup_(image_snapshots_done) struct image_snapshots list = {0};
    _cleanup_error_ struct error err = {0};
    struct ceph_csi csi;
    char *name = NULL;

    ceph_csi_begin(&csi, stage);
    assert_int_equal(csi.rbd->ops->snapshot_list(csi.rbd, &csi.call, image, &list, &err), 0);
    if (list.count == 1 && list.items[0].kind == SNAPSHOT_USER)
        name = xstrdup(list.items[0].name);
    ceph_csi_end(&csi);
    return name;
}

/* The moment is over: it cannot be taken again. */
TEST(group_whose_snapshot_was_lost_is_refused_for_good, STAGED)
{
    struct stage *stage = *state;
    struct world *world = &stage->world;
    _cleanup_(volume_done) struct volume first = {0};
    _cleanup_(volume_done) struct volume second = {0};
    _cleanup_free_ char *snapshot = NULL;

    places_make_or_fail(stage, &(struct wish){.name = "one", .pools = ""}, &first);
    places_make_or_fail(stage, &(struct wish){.name = "two", .pools = ""}, &second);
    memcpy(world->volume, first.handle, sizeof(first.handle));
    memcpy(world->second, second.handle, sizeof(second.handle));
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", first.handle + strlen(first.handle) - 36);
    for (unsigned n = 1; n < 100 && !snapshot; n++) {
        _cleanup_error_ struct error err = {0};

        fake_ceph_fail_call(world->fake, n, FAKE_CRASH_AFTER);
        assert_int_equal(step_create_group(&stage->process, world, &err), -1);
        fake_ceph_recover(world->fake);
        _cleanup_free_ char *dump = world_dump(world);
        if (strstr(dump, "[csi.creationtime]"))
            snapshot = find_group_snapshot(stage, image);
    }
    assert_non_null(snapshot);
    remove_snapshot(stage, image, snapshot);
    for (int tries = 0; tries < 2; tries++) {
        _cleanup_error_ struct error err = {0};

        assert_int_equal(step_create_group(&stage->process, world, &err), -1);
        if (err.status != STATUS_FAILED_PRECONDITION || !strstr(err.message, snapshot))
            fail_msg("%s: %s", status_name(err.status), err.message);
    }
}

/* --- sizes --- */

/* A claim of 10G, and a source of 10 GiB or of more. */
TEST(clone_without_a_limit_is_as_large_as_its_source, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume source = {0};
    _cleanup_(volume_done) struct volume clone = {0};
    _cleanup_(volume_done) struct volume again = {0};
    struct wish wish = {.name = "clone", .required = 10000000000};

    places_make_or_fail(stage, &(struct wish){.name = "source", .required = 12 * GIB}, &source);
    wish.source = source.handle;
    wish.limit = 12 * GIB - 1;
    places_assert_refused(stage, &wish, STATUS_OUT_OF_RANGE, "the source has 12884901888 bytes");
    wish.limit = 0;
    places_make_or_fail(stage, &wish, &clone);
    places_make_or_fail(stage, &wish, &again);
    assert_int_equal(clone.size_bytes, 12 * GIB);
    assert_int_equal(again.size_bytes, 12 * GIB);
    assert_string_equal(again.handle, clone.handle);
}

/* Ceph-CSI compares what there is with what it rounds the request to. */
TEST(size_is_rounded_as_ceph_csi_does, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    places_make_or_fail(stage, &(struct wish){.required = 3 * GIB / 2}, &volume);
    assert_int_equal(volume.size_bytes, 2 * GIB);
    assert_holds(stage, "image rbd//csi-vol-u1 id=i1 size=2147483648 ");
}

TEST(size_that_ceph_csi_rounded_is_accepted, STAGED)
{
    static const struct image_options options = {.features = IMAGE_FEATURE_LAYERING};
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, stage);
    ceph_csi_write_name(&csi, csi.rbd, UUID);
    ceph_csi_write_attributes(&csi, csi.rbd, false);
    assert_int_equal(
        csi.rbd->ops->image_create(csi.rbd, &csi.call, "csi-vol-" UUID, 2 * GIB, &options, &err),
        0);
    places_make_or_fail(stage, &(struct wish){.required = 3 * GIB / 2}, &volume);
    assert_non_null(strstr(volume.handle, UUID));
    assert_int_equal(volume.size_bytes, 2 * GIB);
    ceph_csi_end(&csi);
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

/* Round trips to c1 of a creation in zone-b. */
static unsigned count_calls(struct stage *stage, const char *name, const char *pools)
{
    struct fake_ceph *fake = stage->world.fake;
    _cleanup_(volume_done) struct volume volume = {0};
    unsigned before = fake_ceph_calls(fake);

    places_make_or_fail(stage, &(struct wish){.name = name, .zone = "zone-b", .pools = pools},
                        &volume);
    return fake_ceph_calls(fake) - before;
}

TEST(pool_of_several_domains_is_asked_for_the_name_once, STAGED)
{
    struct stage *stage = *state;

    count_calls(stage, "first", "[" IN_B "]"); /* makes what the others find */
    unsigned one = count_calls(stage, "one", "[" IN_B "]");
    unsigned twice =
        count_calls(stage, "twice", "[" IN_B ",{\"poolName\":\"pool-b\"," IN_ZONE("z") "]");
    unsigned two = count_calls(stage, "two", "[" IN_A "," IN_B "]");
    assert_int_equal(twice, one);
    assert_true(two > one);
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

/* --- others are faster --- */

enum winner_has { WINNER_NAME, WINNER_EMPTY, WINNER_ENTRY };

struct winner {
    struct stage *stage;
    enum winner_has has;
    const char *value; /* where the name leads */
};

/* Another process claims the name just before ours does, for a volume in another pool. */
static void win_claim(void *object)
{
    const struct winner *winner = object;
    _cleanup_strmap_ struct strmap more = {0};
    _cleanup_error_ struct error err = {0};
    struct ceph_csi csi;

    ceph_csi_begin(&csi, winner->stage);
    ceph_csi_write_name(&csi, csi.rbd, winner->value);
    if (winner->has != WINNER_NAME)
        ceph_csi_write_attributes(&csi, csi.pool_b, winner->has == WINNER_EMPTY);
    strmap_set(&more, "csi.journalpool", "0000000000000003");
    if (winner->has == WINNER_ENTRY)
        assert_int_equal(
            csi.pool_b->ops->omap_set(csi.pool_b, &csi.call, "csi.volume." UUID, &more, &err), 0);
    ceph_csi_end(&csi);
}

TEST(who_loses_the_claim_continues_with_the_winner, STAGED)
{
    struct stage *stage = *state;

    for (int has = WINNER_NAME; has <= WINNER_ENTRY; has++) {
        struct winner winner = {stage, (enum winner_has)has, "0000000000000017/" UUID};
        _cleanup_(volume_done) struct volume volume = {0};

        fake_ceph_interrupt_before(stage->world.fake, "omap_add", win_claim, &winner);
        places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
        assert_non_null(strstr(volume.handle, UUID));
        assert_string_equal(strmap_get(&volume.context, "pool"), "pool-b");
        assert_string_equal(strmap_get(&volume.context, "journalPool"), "rbd");
        assert_null(strmap_get(&volume.context, "dataPool")); /* which zone-a has */
        assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-b");
        places_remove_volume(stage, volume.handle);
        places_assert_nothing_is_left(stage);
    }
}

TEST(winner_in_a_lost_pool_is_replaced, STAGED)
{
    struct stage *stage = *state;
    struct winner winner = {stage, WINNER_NAME, "0000000000000063/" UUID};
    _cleanup_(volume_done) struct volume volume = {0};

    fake_ceph_interrupt_before(stage->world.fake, "omap_add", win_claim, &winner);
    places_make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_null(strstr(volume.handle, UUID));
    assert_string_equal(strmap_get(&volume.context, "pool"), "pool-a");
    places_remove_volume(stage, volume.handle);
    places_assert_nothing_is_left(stage);
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
