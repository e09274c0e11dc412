/* What the driver does behind its calls, on a real Ceph: removal of deleted data, flattening. */
#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/fixtures.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define HOUR 3600

static struct driver_process driver;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
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

static char *make_volume(const char *name, const char *pool)
{
    _cleanup_error_ struct error err = {0};
    char *handle = harness_create_volume(&driver, name, pool, 8 * MIB, &err);

    if (!handle)
        fail_msg("%s", err.message);
    return handle;
}

static void delete_volume(const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (harness_delete_volume(&driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

/* Caller frees. */
static char *image_of(const char *handle)
{
    return xasprintf("csi-vol-%s", handle + strlen(handle) - 36);
}

/* Until the driver has been over all that is queued in the pool at least once. */
static void let_purge_pass(const struct place *place, const char *pool, size_t left)
{
    for (int i = 0; i < 2; i++) {
        _cleanup_free_ char *name = xasprintf("passing-%d", i);
        _cleanup_free_ char *handle = make_volume(name, pool);

        delete_volume(handle);
        wait_until(fixture_trash_count(place) <= left);
    }
}

/* --- removal of data --- */

TEST(image_that_somebody_keeps_in_the_trash_outlives_its_volume)
{
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);
    _cleanup_free_ char *handle = make_volume("kept", "zone-a");
    _cleanup_free_ char *image = image_of(handle);
    _cleanup_free_ char *image_id = fixture_image_id(&pool, image);

    fixture_image_trash_for(&pool, image, HOUR);
    delete_volume(handle);
    let_purge_pass(&pool, "zone-a", 1);
    fixture_image_restore(&pool, image_id);
    assert_int_equal(fixture_image_size(&pool, image), 8 * MIB);
    place_wipe_pools();
}

/* What the trash says of the first image that is queued cannot be read. */
TEST(image_that_cannot_be_removed_does_not_stop_the_others)
{
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);
    _cleanup_free_ char *handle = make_volume("behind", "zone-a");
    _cleanup_free_ char *image = image_of(handle);
    _cleanup_free_ char *image_id = fixture_image_id(&pool, image);
    _cleanup_free_ char *header = xasprintf("rbd_header.%s", image_id);
    _cleanup_free_ char *key = xasprintf("cephzone.purge.%016llx.0", (unsigned long long)pool.id);

    place_set(&pool, "rbd_trash", "id_0", "x");
    place_set(&pool, "csi.volumes.default", key, "broken");
    delete_volume(handle);
    wait_until(!place_has(&pool, header));
    _cleanup_free_ char *kept = place_get(&pool, "csi.volumes.default", key);
    assert_string_equal(kept, "broken");
    place_wipe_pools();
}

/* --- copies --- */

static bool is_copy(const struct place *place, const char *image, const char *image_id)
{
    _cleanup_free_ char *parent = fixture_image_parent(place, image);
    _cleanup_free_ char *key = xasprintf("cephzone.flatten.%s", image_id);
    _cleanup_free_ char *value = place_get(place, "csi.volumes.default", key);

    return parent[0] == '\0' && !value;
}

TEST(clone_that_left_its_pool_becomes_a_copy)
{
    _cleanup_place_ struct place pool = place_open("zone-c", NULL);
    _cleanup_free_ char *source = make_volume("source", "zone-a");
    const struct create_call create = {
        .name = "copy", .pool = "zone-c", .size_bytes = 8 * MIB, .source_volume = source};
    json_auto_t *request = call_create_request(&create);
    json_auto_t *reply = NULL;
    _cleanup_error_ struct error err = {0};

    json_object_set_new(json_object_get(request, "parameters"), "crossPoolRestore",
                        json_string("copy"));
    _cleanup_free_ char *text = json_dumps(request, 0);
    if (harness_call(&driver, &(struct harness_call){.method = "CreateVolume", .request = text},
                     &reply, &err) < 0)
        fail_msg("%s", err.message);
    const char *handle =
        json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id"));
    _cleanup_free_ char *image = image_of(handle);
    _cleanup_free_ char *image_id = fixture_image_id(&pool, image);
    wait_until(is_copy(&pool, image, image_id));
    delete_volume(source);
    harness_assert_pool_empties("zone-a");
    delete_volume(handle);
    harness_assert_pool_empties("zone-c");
}

/* As a driver leaves it that was killed after its answer. */
TEST(copy_that_another_driver_began_is_finished)
{
    _cleanup_place_ struct place from = place_open("zone-a", NULL);
    _cleanup_place_ struct place pool = place_open("zone-c", NULL);

    fixture_image_create(&from, "origin", 8 * MIB);
    fixture_snapshot_create(&from, "origin", "s");
    fixture_image_clone(&from, "origin", "s", &pool, "thin");
    _cleanup_free_ char *image_id = fixture_image_id(&pool, "thin");
    _cleanup_free_ char *key = xasprintf("cephzone.flatten.%s", image_id);
    place_set(&pool, "csi.volumes.default", key, "thin");
    _cleanup_free_ char *handle = make_volume("neighbour", "zone-c");
    delete_volume(handle);
    wait_until(is_copy(&pool, "thin", image_id));
    place_wipe_pools();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
