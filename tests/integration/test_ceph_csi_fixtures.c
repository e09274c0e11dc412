/*
 * Volumes, snapshots and clones that Ceph-CSI made: the driver finds, uses, expands and deletes
 * them, and leaves nothing behind in any pool.
 */
#include <signal.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/fixtures.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define SIZE (8 * MIB)

#define UUID_1 "b0285c97-a0ce-11eb-8c66-0242ac110002" /* version 1, as up to 3.7 */
#define UUID_4 "8d74fb16-d233-49ea-8826-ea13fe37b778"
#define UUID_4B "01616094-9d93-4178-bf45-c7eac19e8b15"
#define PVC "pvc-3f1c2a90-6f5b-4e63-9d0a-5f0e7ad2c111"
#define SNAPSHOT_NAME "snapshot-77b2d9a4-3f1d-4a53-8a5f-9be1c4f0a222"

#define TENANT "tenant" /* a cluster id that leads to a RADOS namespace of the same cluster */
#define TENANT_NAMESPACE "tenant-1"

static struct driver_process driver;

static int start_driver(void **state)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *config =
        xasprintf("[{\"clusterID\":\"%s\",\"monitors\":[\"%s\"]},"
                  "{\"clusterID\":\"" TENANT "\",\"monitors\":[\"%s\"],"
                  "\"rbd\":{\"radosNamespace\":\"" TENANT_NAMESPACE "\"}}]",
                  cluster->fsid, cluster->monitors, cluster->monitors);

    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_write_config(&driver, config);
    harness_start(&driver, NULL);
    place_wipe_pools();
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

static void assert_all_empty(void)
{
    static const char *const pools[] = {"common", "zone-a", "zone-b", "zone-c"};

    for (size_t i = 0; i < ARRAY_LENGTH(pools); i++)
        harness_assert_pool_empties(pools[i]);
}

/* Fails the test with the driver's own words. */
static char *must_have(char *handle, const struct error *err)
{
    if (!handle)
        fail_msg("%s", err->message);
    return handle;
}

static void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

static const char *cluster_of(const struct csi_volume *volume)
{
    return volume->rados_namespace ? TENANT : harness_cluster()->fsid;
}

static char *handle_of(const struct csi_volume *volume)
{
    return csi_handle(cluster_of(volume), volume->pool, volume->uuid);
}

/* The request that made the volume. */
static struct create_call request_of(const struct csi_volume *volume)
{
    return (struct create_call){
        .name = volume->name,
        .pool = volume->class_pool ? volume->class_pool : volume->pool,
        .size_bytes = SIZE,
        .cluster_id = cluster_of(volume),
        .name_prefix = volume->prefix,
        .owner = volume->owner,
    };
}

/* --- the life of a volume, from where Ceph-CSI left it --- */

static void check_found(const struct csi_volume *volume, const char *handle)
{
    const struct create_call again = request_of(volume);
    _cleanup_error_ struct error err = {0};

    must(call_validate(&driver, handle, &err), &err);
    _cleanup_free_ char *found = must_have(call_create(&driver, &again, &err), &err);
    assert_string_equal(found, handle);
}

static void check_expansion(const struct csi_volume *volume, const char *handle)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open(volume->pool, volume->rados_namespace);
    _cleanup_free_ char *image = csi_volume_image(volume);

    if (call_expand(&driver, handle, 2 * SIZE, &err) != 2 * SIZE)
        fail_msg("%s", err.message);
    assert_int_equal(fixture_image_size(&pool, image), 2 * SIZE);
}

/* What was built on a volume, and its deletion before or after the volume itself. */
struct family {
    char *snapshot;
    char *restored;
    char *cloned;
};

static void build_family(const struct csi_volume *volume, const char *handle, struct family *family)
{
    struct create_call restore = request_of(volume);
    struct create_call clone = restore;
    _cleanup_error_ struct error err = {0};

    restore.pool = clone.pool = volume->pool;
    family->snapshot = must_have(call_snapshot(&driver, SNAPSHOT_NAME, handle, &err), &err);
    restore.name = "pvc-restored";
    restore.source_snapshot = family->snapshot;
    family->restored = must_have(call_create(&driver, &restore, &err), &err);
    clone.name = "pvc-cloned";
    clone.source_volume = handle;
    clone.size_bytes = 2 * SIZE;
    family->cloned = must_have(call_create(&driver, &clone, &err), &err);
}

static void delete_family(struct family *family)
{
    _cleanup_error_ struct error err = {0};

    must(harness_delete_volume(&driver, family->restored, &err), &err);
    must(harness_delete_volume(&driver, family->cloned, &err), &err);
    must(call_delete_snapshot(&driver, family->snapshot, &err), &err);
    free(family->snapshot);
    free(family->restored);
    free(family->cloned);
}

static void check_life(const struct csi_volume *volume)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = handle_of(volume);
    struct family family = {0};

    check_found(volume, handle);
    build_family(volume, handle, &family);
    check_expansion(volume, handle);
    delete_family(&family);
    must(call_validate(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, handle, &err), &err);
    assert_all_empty();
}

TEST(plain_volumes_of_all_versions_live_on)
{
    static const struct csi_volume volumes[] = {
        {.name = PVC, .uuid = UUID_4, .pool = "zone-a", .owner = "shop"},
        {.name = PVC, .uuid = UUID_1, .pool = "zone-a", .owner = "shop"},
        {.name = PVC, .uuid = UUID_4, .pool = "common", .without_image_id = true},
        {.name = PVC, .uuid = UUID_4, .pool = "zone-b", .prefix = "shop-"},
        {.name = PVC, .uuid = UUID_1, .pool = "zone-b", .without_image_name = true},
        {.name = PVC,
         .uuid = UUID_1,
         .pool = "zone-b",
         .without_image_name = true,
         .without_image_id = true},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(volumes); i++) {
        print_message("case %zu\n", i);
        csi_volume_write(&volumes[i], SIZE);
        check_life(&volumes[i]);
    }
}

TEST(volume_may_go_before_what_was_built_on_it)
{
    static const struct csi_volume volume = {.name = PVC, .uuid = UUID_4, .pool = "zone-a"};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = handle_of(&volume);
    struct family family = {0};

    csi_volume_write(&volume, SIZE);
    build_family(&volume, handle, &family);
    must(harness_delete_volume(&driver, handle, &err), &err);
    delete_family(&family);
    assert_all_empty();
}

TEST(topology_volumes_of_2_1_live_on)
{
    static const struct csi_volume volume = {.name = PVC,
                                             .uuid = UUID_1,
                                             .generation = CSI_TOPOLOGY_2_1,
                                             .pool = "zone-b",
                                             .class_pool = "common",
                                             .prefix = "shop-"};

    csi_volume_write(&volume, SIZE);
    check_life(&volume);
}

TEST(topology_volumes_of_3_0_to_3_10_live_on)
{
    static const struct csi_volume volumes[] = {
        {.name = PVC,
         .uuid = UUID_4,
         .generation = CSI_TOPOLOGY_3_0,
         .pool = "zone-c",
         .class_pool = "common",
         .owner = "shop"},
        {.name = PVC,
         .uuid = UUID_1,
         .generation = CSI_TOPOLOGY_3_0,
         .pool = "zone-c",
         .class_pool = "common",
         .prefix = "shop-"},
        {.name = PVC,
         .uuid = UUID_4,
         .generation = CSI_TOPOLOGY_3_0,
         .pool = "zone-c",
         .class_pool = "zone-a",
         .without_image_id = true},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(volumes); i++) {
        print_message("case %zu\n", i);
        csi_volume_write(&volumes[i], SIZE);
        check_life(&volumes[i]);
    }
}

/* The image id of a split volume belongs to its other attributes. */
TEST(repaired_image_id_goes_to_the_attributes)
{
    static const struct csi_volume volume = {.name = PVC,
                                             .uuid = UUID_4,
                                             .generation = CSI_TOPOLOGY_3_0,
                                             .pool = "zone-c",
                                             .class_pool = "common",
                                             .without_image_id = true};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = handle_of(&volume);
    _cleanup_place_ struct place common = place_open("common", NULL);
    _cleanup_place_ struct place zone = place_open("zone-c", NULL);

    csi_volume_write(&volume, SIZE);
    check_found(&volume, handle);
    _cleanup_free_ char *written = place_get(&common, "csi.volume." UUID_4, "csi.imageid");
    _cleanup_free_ char *misplaced = place_get(&zone, "csi.volume." UUID_4, "csi.imageid");
    _cleanup_free_ char *id = fixture_image_id(&zone, "csi-vol-" UUID_4);
    assert_null(misplaced);
    assert_non_null(written);
    assert_string_equal(written, id);
    must(harness_delete_volume(&driver, handle, &err), &err);
    assert_all_empty();
}

TEST(topology_volumes_of_3_11_live_on)
{
    static const struct csi_volume volume = {
        .name = PVC, .uuid = UUID_4, .pool = "zone-c", .prefix = "shop-", .owner = "shop"};

    csi_volume_write(&volume, SIZE);
    check_life(&volume);
}

TEST(volumes_in_a_rados_namespace_live_on)
{
    static const struct csi_volume volume = {.name = PVC,
                                             .uuid = UUID_4,
                                             .pool = "zone-a",
                                             .rados_namespace = TENANT_NAMESPACE,
                                             .owner = "shop"};

    fixture_namespace_create("zone-a", TENANT_NAMESPACE);
    csi_volume_write(&volume, SIZE);
    check_life(&volume);
    fixture_namespace_remove("zone-a", TENANT_NAMESPACE);
}

/* --- snapshots and clones --- */

static void check_snapshot(const struct csi_snapshot *fixture)
{
    const struct csi_volume *source = fixture->source;
    struct create_call restore = request_of(source);
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *volume = handle_of(source);
    _cleanup_free_ char *wanted = csi_handle(harness_cluster()->fsid, source->pool, fixture->uuid);

    csi_volume_write(source, SIZE);
    csi_snapshot_write(fixture);
    _cleanup_free_ char *found =
        must_have(call_snapshot(&driver, fixture->name, volume, &err), &err);
    assert_string_equal(found, wanted);
    restore.name = "pvc-restored";
    restore.source_snapshot = found;
    restore.size_bytes = 2 * SIZE;
    _cleanup_free_ char *restored = must_have(call_create(&driver, &restore, &err), &err);
    must(call_delete_snapshot(&driver, found, &err), &err);
    must(call_delete_snapshot(&driver, found, &err), &err);
    must(harness_delete_volume(&driver, volume, &err), &err);
    must(call_validate(&driver, restored, &err), &err);
    must(harness_delete_volume(&driver, restored, &err), &err);
    assert_all_empty();
}

TEST(snapshots_are_found_restored_and_deleted)
{
    static const struct csi_volume source = {.name = PVC, .uuid = UUID_4, .pool = "zone-b"};
    static const struct csi_snapshot snapshots[] = {
        {.name = SNAPSHOT_NAME, .uuid = UUID_4B, .source = &source},
        {.name = SNAPSHOT_NAME, .uuid = UUID_1, .source = &source, .without_image_id = true},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(snapshots); i++)
        check_snapshot(&snapshots[i]);
}

TEST(clone_with_its_intermediate_image_lives_on)
{
    static const struct csi_volume parent = {
        .name = "pvc-parent", .uuid = UUID_1, .pool = "common"};
    static const struct csi_volume clone = {.name = PVC, .uuid = UUID_4, .pool = "common"};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *parent_handle = handle_of(&parent);
    _cleanup_free_ char *handle = handle_of(&clone);
    struct create_call again = request_of(&clone);

    csi_volume_write(&parent, SIZE);
    csi_volume_write_clone(&clone, &parent);
    again.source_volume = parent_handle;
    _cleanup_free_ char *found = must_have(call_create(&driver, &again, &err), &err);
    assert_string_equal(found, handle);
    check_expansion(&clone, handle);
    must(harness_delete_volume(&driver, parent_handle, &err), &err);
    must(call_validate(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, handle, &err), &err);
    assert_all_empty();
}

/* Ceph-CSI deletes the intermediate image first: a cut deletion can leave it alone in the trash. */
TEST(intermediate_image_in_the_trash_goes_with_its_clone)
{
    static const struct csi_volume parent = {
        .name = "pvc-parent", .uuid = UUID_1, .pool = "common"};
    static const struct csi_volume clone = {.name = PVC, .uuid = UUID_4, .pool = "common"};
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("common", NULL);
    _cleanup_free_ char *parent_handle = handle_of(&parent);
    _cleanup_free_ char *handle = handle_of(&clone);

    csi_volume_write(&parent, SIZE);
    csi_volume_write_clone(&clone, &parent);
    fixture_image_trash(&pool, "csi-vol-" UUID_4 "-temp");
    must(harness_delete_volume(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, parent_handle, &err), &err);
    assert_all_empty();
}

/* --- what Ceph-CSI left half-done --- */

TEST(cut_deletion_is_completed)
{
    static const struct csi_volume volumes[] = {
        {.name = PVC, .uuid = UUID_4, .pool = "zone-a"},
        {.name = PVC, .uuid = UUID_1, .pool = "zone-a", .without_image_id = true},
    };
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);

    for (size_t i = 0; i < ARRAY_LENGTH(volumes); i++) {
        _cleanup_free_ char *handle = handle_of(&volumes[i]);
        _cleanup_free_ char *image = csi_volume_image(&volumes[i]);

        csi_volume_write(&volumes[i], SIZE);
        fixture_image_trash(&pool, image);
        must(harness_delete_volume(&driver, handle, &err), &err);
        assert_all_empty();
    }
}

/* The same request after a cut deletion gets an empty volume; the trashed one is not forgotten. */
TEST(name_of_a_cut_deletion_can_be_used_again)
{
    static const struct csi_volume volume = {.name = PVC, .uuid = UUID_4, .pool = "zone-a"};
    const struct create_call again = request_of(&volume);
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);

    csi_volume_write(&volume, SIZE);
    fixture_image_trash(&pool, "csi-vol-" UUID_4);
    _cleanup_free_ char *handle = must_have(call_create(&driver, &again, &err), &err);
    must(call_validate(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, handle, &err), &err);
    assert_all_empty();
}

/* Stuck for ever in Ceph-CSI: the name is there, the object is not. */
TEST(half_undone_reservation_is_used_again)
{
    static const struct csi_volume volume = {.name = PVC, .uuid = UUID_4, .pool = "zone-b"};
    const struct create_call again = request_of(&volume);
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-b", NULL);

    csi_volume_reserve(&volume);
    place_remove(&pool, "csi.volume." UUID_4);
    _cleanup_free_ char *handle = must_have(call_create(&driver, &again, &err), &err);
    _cleanup_free_ char *image = csi_follow_name(CSI_VOLUME, "zone-b", PVC);
    assert_int_equal(fixture_image_size(&pool, image), SIZE);
    must(harness_delete_volume(&driver, handle, &err), &err);
    assert_all_empty();
}

/* Cut between the name and the attributes: the object is there and empty. */
TEST(half_made_reservation_is_completed)
{
    static const struct csi_volume volume = {
        .name = PVC, .uuid = UUID_4, .pool = "zone-b", .prefix = "shop-", .owner = "shop"};
    const struct create_call again = request_of(&volume);
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-b", NULL);
    _cleanup_free_ char *wanted = handle_of(&volume);

    place_create(&pool, "csi.volume." UUID_4);
    place_set(&pool, "csi.volumes.default", "csi.volume." PVC, UUID_4);
    _cleanup_free_ char *handle = must_have(call_create(&driver, &again, &err), &err);
    assert_string_equal(handle, wanted);
    _cleanup_free_ char *image = csi_follow_name(CSI_VOLUME, "zone-b", PVC);
    assert_string_equal(image, "shop-" UUID_4);
    must(harness_delete_volume(&driver, handle, &err), &err);
    assert_all_empty();
}

/* The same with topology up to 3.10: name in the class's pool, empty object in the image's. */
TEST(half_made_topology_reservation_is_completed)
{
    static const struct csi_volume volume = {.name = PVC,
                                             .uuid = UUID_4,
                                             .generation = CSI_TOPOLOGY_3_0,
                                             .pool = "zone-b",
                                             .class_pool = "common",
                                             .prefix = "shop-"};
    const struct create_call again = request_of(&volume);
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-b", NULL);
    _cleanup_place_ struct place common = place_open("common", NULL);
    _cleanup_free_ char *value = xasprintf("%016llx/%s", (unsigned long long)pool.id, UUID_4);
    _cleanup_free_ char *wanted = handle_of(&volume);

    place_create(&pool, "csi.volume." UUID_4);
    place_set(&common, "csi.volumes.default", "csi.volume." PVC, value);
    _cleanup_free_ char *handle = must_have(call_create(&driver, &again, &err), &err);
    assert_string_equal(handle, wanted);
    check_life(&volume);
}

TEST(half_made_snapshot_reservation_is_completed)
{
    static const struct csi_volume source = {.name = PVC, .uuid = UUID_4, .pool = "zone-b"};
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-b", NULL);
    _cleanup_free_ char *volume = handle_of(&source);
    _cleanup_free_ char *wanted = csi_handle(harness_cluster()->fsid, "zone-b", UUID_4B);

    csi_volume_write(&source, SIZE);
    place_create(&pool, "csi.snap." UUID_4B);
    place_set(&pool, "csi.snaps.default", "csi.snap." SNAPSHOT_NAME, UUID_4B);
    _cleanup_free_ char *snapshot =
        must_have(call_snapshot(&driver, SNAPSHOT_NAME, volume, &err), &err);
    assert_string_equal(snapshot, wanted);
    _cleanup_free_ char *image = csi_follow_name(CSI_SNAPSHOT, "zone-b", SNAPSHOT_NAME);
    assert_string_equal(image, "csi-snap-" UUID_4B);
    must(call_delete_snapshot(&driver, snapshot, &err), &err);
    must(harness_delete_volume(&driver, volume, &err), &err);
    assert_all_empty();
}

/* Cut before the image was grown, which Ceph-CSI answers with AlreadyExists for ever: a restore has
 * no image id then, a clone has one already. */
TEST(interrupted_larger_restore_is_grown)
{
    static const struct csi_volume source = {
        .name = "pvc-parent", .uuid = UUID_1, .pool = "zone-a"};
    static const struct csi_snapshot snapshot = {
        .name = SNAPSHOT_NAME, .uuid = UUID_4B, .source = &source};
    static const struct csi_volume restored = {.name = PVC, .uuid = UUID_4, .pool = "zone-a"};
    struct create_call again = request_of(&restored);
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);
    _cleanup_free_ char *source_handle = handle_of(&source);
    _cleanup_free_ char *snapshot_handle = csi_handle(harness_cluster()->fsid, "zone-a", UUID_4B);
    _cleanup_free_ char *wanted = handle_of(&restored);

    csi_volume_write(&source, SIZE);
    csi_snapshot_write(&snapshot);
    csi_volume_reserve(&restored);
    fixture_image_clone(&pool, "csi-snap-" UUID_4B, "csi-snap-" UUID_4B, &pool, "csi-vol-" UUID_4);
    again.source_snapshot = snapshot_handle;
    again.size_bytes = 2 * SIZE;
    _cleanup_free_ char *handle = must_have(call_create(&driver, &again, &err), &err);
    assert_string_equal(handle, wanted);
    assert_int_equal(fixture_image_size(&pool, "csi-vol-" UUID_4), 2 * SIZE);
    must(call_delete_snapshot(&driver, snapshot_handle, &err), &err);
    must(harness_delete_volume(&driver, source_handle, &err), &err);
    must(harness_delete_volume(&driver, handle, &err), &err);
    assert_all_empty();
}

TEST(interrupted_larger_clone_is_grown)
{
    static const struct csi_volume parent = {
        .name = "pvc-parent", .uuid = UUID_1, .pool = "zone-a"};
    static const struct csi_volume clone = {.name = PVC, .uuid = UUID_4, .pool = "zone-a"};
    struct create_call again = request_of(&clone);
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);
    _cleanup_free_ char *parent_handle = handle_of(&parent);

    csi_volume_write(&parent, SIZE);
    csi_volume_write_clone(&clone, &parent);
    again.source_volume = parent_handle;
    again.size_bytes = 2 * SIZE;
    _cleanup_free_ char *handle = must_have(call_create(&driver, &again, &err), &err);
    assert_int_equal(fixture_image_size(&pool, "csi-vol-" UUID_4), 2 * SIZE);
    must(harness_delete_volume(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, parent_handle, &err), &err);
    assert_all_empty();
}

/* Cut after the cut on the parent and the intermediate image. */
TEST(interrupted_clone_is_completed)
{
    static const struct csi_volume parent = {
        .name = "pvc-parent", .uuid = UUID_1, .pool = "zone-a"};
    static const struct csi_volume clone = {.name = PVC, .uuid = UUID_4, .pool = "zone-a"};
    struct create_call again = request_of(&clone);
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);
    _cleanup_free_ char *parent_handle = handle_of(&parent);

    csi_volume_write(&parent, SIZE);
    csi_volume_reserve(&clone);
    fixture_snapshot_create(&pool, "csi-vol-" UUID_1, "csi-vol-" UUID_4 "-temp");
    fixture_image_clone(&pool, "csi-vol-" UUID_1, "csi-vol-" UUID_4 "-temp", &pool,
                        "csi-vol-" UUID_4 "-temp");
    fixture_snapshot_create(&pool, "csi-vol-" UUID_4 "-temp", "csi-vol-" UUID_4);
    again.source_volume = parent_handle;
    _cleanup_free_ char *handle = must_have(call_create(&driver, &again, &err), &err);
    _cleanup_free_ char *left = fixture_snapshots(&pool, "csi-vol-" UUID_1);
    assert_string_equal(left, "");
    must(harness_delete_volume(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, parent_handle, &err), &err);
    assert_all_empty();
}

/* A directory key must never lead one request to another's volume. */
TEST(name_that_leads_to_anothers_volume_is_refused)
{
    static const struct csi_volume volume = {.name = PVC, .uuid = UUID_4, .pool = "zone-b"};
    const struct create_call other = {.name = "pvc-other", .pool = "zone-b", .size_bytes = SIZE};
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-b", NULL);
    _cleanup_free_ char *handle = handle_of(&volume);

    csi_volume_write(&volume, SIZE);
    place_set(&pool, "csi.volumes.default", "csi.volume.pvc-other", UUID_4);
    assert_null(call_create(&driver, &other, &err));
    assert_int_equal(err.status, STATUS_DATA_LOSS);
    error_clear(&err);
    must(call_validate(&driver, handle, &err), &err);
    must(harness_delete_volume(&driver, handle, &err), &err);
    /* now the object is gone, the name means nothing and is used again */
    _cleanup_free_ char *second = must_have(call_create(&driver, &other, &err), &err);
    must(harness_delete_volume(&driver, second, &err), &err);
    assert_all_empty();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
