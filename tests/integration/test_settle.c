/* The built cephzone settle on a real Ceph: what an interrupted driver leaves is forged, listed,
 * released, and Ceph-CSI's rules find nothing that they would refuse. */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/fixtures.h"
#include "tests/test.h"

#define POOL "zone-a"
#define CLASS_POOL "common"
#define MIB (1024LL * 1024)
#define UUID_LENGTH 36
#define UUID "aaaaaaaa-0000-4000-8000-00000000000a"
#define ARGUMENTS_MAX 16

extern char **environ;

static struct driver_process driver;
static struct place pool;
static char *secrets_path;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
    pool = place_open(POOL, NULL);
    secrets_path = xasprintf("%s/secrets.json", driver.folder);
    _cleanup_fclose_ FILE *file = fopen(secrets_path, "we");
    assert_non_null(file);
    fprintf(file, "{\"userID\":\"%s\",\"userKey\":\"%s\"}", harness_cluster()->user,
            harness_cluster()->key);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    unlink(secrets_path);
    free(secrets_path);
    place_close(&pool);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(place_wipe_pools)

/* Runs settle on a pool; the names that it reports. */
static json_t *settle(const char *in, const char *first, const char *second, int code)
{
    _cleanup_free_ char *config = xasprintf("--config=%s", driver.config_path);
    _cleanup_free_ char *secrets = xasprintf("--secrets=%s", secrets_path);
    _cleanup_free_ char *where = xasprintf("--pool=%s", in);
    const char *argv[ARGUMENTS_MAX] = {
        getenv("CEPHZONE"),   "settle", config, secrets, where, "-o", "json", first,
        first ? second : NULL};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = {
        .argv = argv,
        .environment = (const char *const *)environ,
        .deadline = deadline_in_ms(120000),
        .output_limit = (size_t)1 << 20,
    };

    assert_int_equal(subprocess_run(&spec, &result, &err), 0);
    if (result.exit_code != code)
        fail_msg("wanted exit code %d, got %d: %s%s", code, result.exit_code,
                 text_chars(&result.output), text_chars(&result.errors));
    json_auto_t *report = json_loads(text_chars(&result.output), 0, NULL);
    assert_non_null(report);
    return json_incref(json_object_get(report, "names"));
}

static void assert_states(const json_t *names, size_t count, const char *state)
{
    assert_int_equal(json_array_size(names), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(names, i), "state")),
                            state);
}

/* Lists @count, releases them, and finds none any more. */
static void assert_released(size_t count)
{
    json_auto_t *found = settle(POOL, NULL, NULL, 1);
    json_auto_t *released = settle(POOL, "--apply", NULL, 0);
    json_auto_t *left = settle(POOL, NULL, NULL, 0);

    assert_states(found, count, "would be released");
    assert_states(released, count, "released");
    assert_states(left, 0, "");
}

/* --- forging --- */

static const char *uuid_of(const char *handle)
{
    return handle + strlen(handle) - UUID_LENGTH;
}

static void remove_key(const char *object, const char *key)
{
    rados_write_op_t write = rados_create_write_op();
    const size_t length = strlen(key);

    rados_write_op_omap_rm_keys2(write, &key, &length, 1);
    place_must(rados_write_op_operate(write, pool.io, object, NULL, 0));
    rados_release_write_op(write);
}

/* Made just now by a process that is gone. */
static void uncommit(const char *prefix, const char *handle)
{
    _cleanup_free_ char *entry = xasprintf("csi.%s.%s", prefix, uuid_of(handle));
    _cleanup_free_ char *now = xasprintf("%lld", (long long)time(NULL));

    remove_key(entry, "csi.imageid");
    place_set(&pool, entry, "cephzone.begun", now);
    place_set(&pool, entry, "cephzone.process", "00000000-0000-4000-8000-000000000000");
    place_set(&pool, entry, "cephzone.makers", "1");
}

static char *create(const char *name, const char *source)
{
    const struct create_call call = {
        .name = name, .pool = POOL, .size_bytes = 4 * MIB, .source_volume = source};
    _cleanup_error_ struct error err = {0};
    char *handle = call_create(&driver, &call, &err);

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

/* --- tests --- */

/* Claimed, and nothing else: for Ceph-CSI a name that is not that of its entry. */
TEST(name_without_an_entry_is_released)
{
    place_set(&pool, "csi.volumes.default", "csi.volume.pvc-claimed", UUID);
    place_set(&pool, "csi.snaps.default", "csi.snap.snapshot-claimed", UUID);
    assert_released(2);
    assert_null(place_get(&pool, "csi.volumes.default", "csi.volume.pvc-claimed"));
    assert_null(place_get(&pool, "csi.snaps.default", "csi.snap.snapshot-claimed"));
    harness_assert_pool_empties(POOL);
}

TEST(recorded_name_without_an_image_is_released)
{
    _cleanup_free_ char *handle = create("recorded", NULL);
    _cleanup_free_ char *image = xasprintf(POOL "/csi-vol-%s", uuid_of(handle));
    _cleanup_free_ char *entry = xasprintf("csi.volume.%s", uuid_of(handle));

    uncommit("volume", handle);
    free(harness_run_tool((const char *[]){"rbd", "rm", "--no-progress", image, NULL}));
    assert_released(1);
    assert_null(place_get(&pool, "csi.volumes.default", "csi.volume.recorded"));
    assert_false(place_has(&pool, entry));
    harness_assert_pool_empties(POOL);
}

/* Its image is there, and goes with it. The source keeps no snapshot. */
TEST(half_made_clone_is_released_and_leaves_its_source_as_it_was)
{
    _cleanup_free_ char *source = create("source", NULL);
    _cleanup_free_ char *source_image = xasprintf("csi-vol-%s", uuid_of(source));
    _cleanup_free_ char *clone = create("clone", source);
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(clone));
    _cleanup_free_ char *entry = xasprintf("csi.volume.%s", uuid_of(clone));

    uncommit("volume", clone);
    fixture_snapshot_create(&pool, source_image, image); /* as before its last step */
    assert_released(1);
    assert_false(place_has(&pool, entry));
    assert_int_equal(fixture_image_size(&pool, image), 0);
    _cleanup_free_ char *snapshots = fixture_snapshots(&pool, source_image);
    assert_string_equal(snapshots, "");
    assert_int_equal(fixture_trash_count(&pool), 0); /* its data is gone as well */
    _cleanup_free_ char *followed = csi_follow_name(CSI_VOLUME, POOL, "source");
    assert_string_equal(followed, source_image);
    delete_volume(source);
    harness_assert_pool_empties(POOL);
}

TEST(half_made_snapshot_is_released)
{
    _cleanup_free_ char *source = create("source", NULL);
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *snapshot = call_snapshot(&driver, "snapshot", source, &err);

    assert_non_null(snapshot);
    uncommit("snap", snapshot);
    assert_released(1);
    assert_null(place_get(&pool, "csi.snaps.default", "csi.snap.snapshot"));
    delete_volume(source);
    harness_assert_pool_empties(POOL);
}

/* The name is in the class's pool, where Ceph-CSI from 3.11 on does not look for it. */
TEST(name_in_the_pool_of_the_class_is_moved_beside_the_volume)
{
    const struct csi_volume volume = {
        .name = "placed",
        .uuid = UUID,
        .generation = CSI_TOPOLOGY_2_1,
        .pool = POOL,
        .class_pool = CLASS_POOL,
    };
    _cleanup_free_ char *handle = csi_handle(harness_cluster()->fsid, POOL, UUID);
    _cleanup_free_ char *image = csi_volume_image(&volume);

    csi_volume_write(&volume, 4 * MIB);
    json_auto_t *kept = settle(CLASS_POOL, "--apply", NULL, 0);
    assert_states(kept, 0, ""); /* only when it is asked for */
    json_auto_t *found = settle(CLASS_POOL, "--move-names", NULL, 1);
    assert_states(found, 1, "would be moved");
    json_auto_t *moved = settle(CLASS_POOL, "--move-names", "--apply", 0);
    assert_states(moved, 1, "moved");
    _cleanup_free_ char *followed = csi_follow_name(CSI_VOLUME, POOL, "placed");
    assert_string_equal(followed, image);
    delete_volume(handle);
    harness_assert_pool_empties(POOL);
    harness_assert_pool_empties(CLASS_POOL);
}
