/*
 * What the driver writes, byte for byte beside Ceph-CSI's formats, so that Ceph-CSI can take the
 * volumes over: handle, directory, attributes, names and layout of images. Keys of our own are
 * allowed where Ceph-CSI does not look.
 */
#include <rbd/features.h>
#include <signal.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/fixtures.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define SIZE (8 * MIB)
#define POOL "zone-b"
#define PVC "pvc-3f1c2a90-6f5b-4e63-9d0a-5f0e7ad2c111"
#define SNAPSHOT_NAME "snapshot-77b2d9a4-3f1d-4a53-8a5f-9be1c4f0a222"
#define UUID_CHARS 36

static struct driver_process driver;
static struct place pool;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
    place_wipe_pools();
    pool = place_open(POOL, NULL);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    place_close(&pool);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

static char *must_have(char *handle, const struct error *err)
{
    if (!handle)
        fail_msg("%s", err->message);
    return handle;
}

static const char *uuid_of(const char *handle)
{
    return handle + strlen(handle) - UUID_CHARS;
}

/* The object has exactly the @wanted keys that Ceph-CSI reads; others are in our own name. */
static void assert_attributes(const char *object, const struct strmap *wanted)
{
    _cleanup_strmap_ struct strmap found = {0};
    size_t known = 0;

    place_list(&pool, object, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct strmap_entry *item = &found.entries[i];

        if (text_has_prefix(item->key, "cephzone."))
            continue;
        if (!strmap_has(wanted, item->key))
            fail_msg("object '%s' has a key '%s'", object, item->key);
        assert_string_equal(item->value, strmap_get(wanted, item->key));
        known++;
    }
    assert_int_equal(known, wanted->count);
}

TEST(created_volume_has_the_bytes_of_ceph_csi)
{
    static const struct create_call create = {.name = PVC,
                                              .pool = POOL,
                                              .size_bytes = SIZE,
                                              .name_prefix = "shop-",
                                              .owner = "shop-namespace"};
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap wanted = {0};
    _cleanup_free_ char *handle = must_have(call_create(&driver, &create, &err), &err);
    const char *uuid = uuid_of(handle);
    _cleanup_free_ char *wanted_handle = csi_handle(harness_cluster()->fsid, POOL, uuid);
    _cleanup_free_ char *object = xasprintf("csi.volume.%s", uuid);
    _cleanup_free_ char *image = xasprintf("shop-%s", uuid);
    _cleanup_free_ char *image_id = fixture_image_id(&pool, image);
    _cleanup_free_ char *value = place_get(&pool, "csi.volumes.default", "csi.volume." PVC);

    assert_string_equal(handle, wanted_handle);
    assert_string_equal(value, uuid);
    assert_non_null(image_id);
    strmap_set(&wanted, "csi.volname", PVC);
    strmap_set(&wanted, "csi.imagename", image);
    strmap_set(&wanted, "csi.imageid", image_id);
    strmap_set(&wanted, "csi.volume.owner", "shop-namespace");
    assert_attributes(object, &wanted);
    assert_int_equal(fixture_image_size(&pool, image), SIZE);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties(POOL);
}

TEST(plain_volume_has_no_attribute_more_than_needed)
{
    static const struct create_call create = {.name = PVC, .pool = POOL, .size_bytes = SIZE};
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap wanted = {0};
    _cleanup_free_ char *handle = must_have(call_create(&driver, &create, &err), &err);
    _cleanup_free_ char *object = xasprintf("csi.volume.%s", uuid_of(handle));
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));
    _cleanup_free_ char *image_id = fixture_image_id(&pool, image);

    assert_non_null(image_id);
    strmap_set(&wanted, "csi.volname", PVC);
    strmap_set(&wanted, "csi.imagename", image);
    strmap_set(&wanted, "csi.imageid", image_id);
    assert_attributes(object, &wanted);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties(POOL);
}

static void assert_snapshot_attributes(const char *uuid, const char *image, const char *source)
{
    _cleanup_strmap_ struct strmap wanted = {0};
    _cleanup_free_ char *object = xasprintf("csi.snap.%s", uuid);
    _cleanup_free_ char *image_id = fixture_image_id(&pool, image);
    _cleanup_free_ char *value = place_get(&pool, "csi.snaps.default", "csi.snap." SNAPSHOT_NAME);

    assert_string_equal(value, uuid);
    assert_non_null(image_id);
    strmap_set(&wanted, "csi.snapname", SNAPSHOT_NAME);
    strmap_set(&wanted, "csi.imagename", image);
    strmap_set(&wanted, "csi.imageid", image_id);
    strmap_set(&wanted, "csi.source", source);
    strmap_set(&wanted, "csi.volume.owner", "shop-namespace");
    assert_attributes(object, &wanted);
}

/* Image N, cloned from S@N which is in the trash namespace now, with N@N to restore from. */
static void assert_snapshot_layout(const char *image, const char *source)
{
    _cleanup_free_ char *on_source = fixture_snapshots(&pool, source);
    _cleanup_free_ char *on_image = fixture_snapshots(&pool, image);
    _cleanup_free_ char *parent = fixture_image_parent(&pool, image);
    _cleanup_free_ char *wanted_parent = xasprintf("%lld/%s@trash", (long long)pool.id, source);

    assert_string_equal(on_source, "");
    assert_string_equal(on_image, image);
    assert_string_equal(parent, wanted_parent);
    assert_int_equal(fixture_image_features(&pool, image) &
                         (RBD_FEATURE_LAYERING | RBD_FEATURE_DEEP_FLATTEN),
                     RBD_FEATURE_LAYERING | RBD_FEATURE_DEEP_FLATTEN);
    assert_int_equal(fixture_image_size(&pool, image), SIZE);
}

TEST(snapshot_has_the_bytes_and_layout_of_ceph_csi)
{
    static const struct create_call create = {
        .name = PVC, .pool = POOL, .size_bytes = SIZE, .owner = "shop-namespace"};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *volume = must_have(call_create(&driver, &create, &err), &err);
    _cleanup_free_ char *handle =
        must_have(call_snapshot(&driver, SNAPSHOT_NAME, volume, &err), &err);
    const char *uuid = uuid_of(handle);
    _cleanup_free_ char *wanted_handle = csi_handle(harness_cluster()->fsid, POOL, uuid);
    _cleanup_free_ char *source = xasprintf("csi-vol-%s", uuid_of(volume));
    _cleanup_free_ char *image = xasprintf("csi-snap-%s", uuid);

    assert_string_equal(handle, wanted_handle);
    assert_snapshot_attributes(uuid, image, source);
    assert_snapshot_layout(image, source);
    assert_int_equal(call_delete_snapshot(&driver, handle, &err), 0);
    assert_int_equal(harness_delete_volume(&driver, volume, &err), 0);
    harness_assert_pool_empties(POOL);
}

/* Also what was restored and cloned: Ceph-CSI asks no more of them than of empty ones. */
TEST(rules_of_ceph_csi_lead_from_names_and_handles_to_images)
{
    struct create_call create = {.name = PVC, .pool = POOL, .size_bytes = SIZE};
    const char *fsid = harness_cluster()->fsid;
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *volume = must_have(call_create(&driver, &create, &err), &err);
    _cleanup_free_ char *snapshot =
        must_have(call_snapshot(&driver, SNAPSHOT_NAME, volume, &err), &err);
    create.name = "pvc-restored";
    create.source_snapshot = snapshot;
    _cleanup_free_ char *restored = must_have(call_create(&driver, &create, &err), &err);
    create.name = "pvc-cloned";
    create.source_snapshot = NULL;
    create.source_volume = volume;
    create.name_prefix = "shop-";
    _cleanup_free_ char *cloned = must_have(call_create(&driver, &create, &err), &err);
    const struct {
        enum csi_kind kind;
        const char *name;
        const char *handle;
        const char *prefix;
    } cases[] = {
        {CSI_VOLUME, PVC, volume, "csi-vol-"},
        {CSI_SNAPSHOT, SNAPSHOT_NAME, snapshot, "csi-snap-"},
        {CSI_VOLUME, "pvc-restored", restored, "csi-vol-"},
        {CSI_VOLUME, "pvc-cloned", cloned, "shop-"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *by_name = csi_follow_name(cases[i].kind, POOL, cases[i].name);
        _cleanup_free_ char *by_handle =
            csi_follow_handle(cases[i].kind, POOL, fsid, cases[i].handle);

        assert_string_equal(by_name, by_handle);
        assert_true(text_has_prefix(by_name, cases[i].prefix));
    }
    assert_int_equal(harness_delete_volume(&driver, volume, &err), 0);
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    assert_int_equal(harness_delete_volume(&driver, restored, &err), 0);
    assert_int_equal(harness_delete_volume(&driver, cloned, &err), 0);
    harness_assert_pool_empties(POOL);
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
