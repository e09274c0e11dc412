/* What librbd leaves when it dies half-way, forged object by object, and makers that live or are
 * dead: the retry finishes, a deletion finds everything, and nothing is left. */
#include <rados/librados.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/fixtures.h"
#include "tests/test.h"

#define POOL "zone-a"
#define MIB (1024LL * 1024)
#define UUID_LENGTH 36

static struct driver_process driver;
static struct place pool;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
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

/* The entry as it was before its image was complete, begun just now by a process that is gone. */
static void uncommit(const char *prefix, const char *handle)
{
    _cleanup_free_ char *entry = xasprintf("csi.%s.%s", prefix, uuid_of(handle));
    _cleanup_free_ char *now = xasprintf("%lld", (long long)time(NULL));

    remove_key(entry, "csi.imageid");
    place_set(&pool, entry, "cephzone.begun", now);
    place_set(&pool, entry, "cephzone.process", "00000000-0000-4000-8000-000000000000");
    place_set(&pool, entry, "cephzone.makers", "1");
}

/* librbd was interrupted when it had made nothing but an image's name in its list, and perhaps the
 * header; the image that was there before goes. */
static void cut_image(const char *image, bool with_header)
{
    _cleanup_free_ char *path = xasprintf(POOL "/%s", image);
    _cleanup_free_ char *id_object = xasprintf("rbd_id.%s", image);

    free(harness_run_tool((const char *[]){"rbd", "snap", "purge", "--no-progress", path, NULL}));
    free(harness_run_tool((const char *[]){"rbd", "rm", "--no-progress", path, NULL}));
    fixture_image_create(&pool, image, 4 * MIB);
    _cleanup_free_ char *id = fixture_image_id(&pool, image);
    _cleanup_free_ char *header = xasprintf("rbd_header.%s", id);
    place_remove(&pool, id_object);
    if (!with_header)
        place_remove(&pool, header);
}

/* A string as librbd encodes it; returns its length. */
static size_t encode(const char *text, char *bytes)
{
    const uint32_t length = (uint32_t)strlen(text);

    memcpy(bytes, &length, sizeof(length));
    memcpy(bytes + sizeof(length), text, length + 1);
    return sizeof(length) + length;
}

/* The move to the trash was interrupted before its last step: the name is still listed. */
static void cut_trash_move(const char *image)
{
    _cleanup_free_ char *id = fixture_image_id(&pool, image);
    _cleanup_free_ char *name_key = xasprintf("name_%s", image);
    _cleanup_free_ char *id_key = xasprintf("id_%s", id);
    char name_value[128];
    char id_value[128];
    const char *keys[] = {name_key, id_key};
    const char *values[] = {id_value, name_value};
    const size_t key_lengths[] = {strlen(name_key), strlen(id_key)};
    const size_t value_lengths[] = {encode(id, id_value), encode(image, name_value)};
    rados_write_op_t write = rados_create_write_op();

    fixture_image_trash(&pool, image);
    rados_write_op_omap_set2(write, keys, values, key_lengths, value_lengths, 2);
    place_must(rados_write_op_operate(write, pool.io, "rbd_directory", NULL, 0));
    rados_release_write_op(write);
}

/* As cut_trash_move(), but at the very end: only the trash does not know yet that it is complete.
 */
static void cut_end_of_trash_move(const char *image)
{
    enum { NORMAL = 0, MOVING = 1 };
    _cleanup_free_ char *id = fixture_image_id(&pool, image);
    char change[128];
    char output[8];

    fixture_image_trash(&pool, image);
    size_t length = encode(id, change);
    change[length++] = MOVING;
    change[length++] = NORMAL; /* what it must be before */
    place_must(rados_exec(pool.io, "rbd_trash", "rbd", "trash_state_set", change, length, output,
                          sizeof(output)));
}

/* --- calls --- */

static char *create_from(const char *name, const char *volume, const char *snapshot)
{
    _cleanup_error_ struct error err = {0};
    const struct create_call create = {
        .name = name,
        .pool = POOL,
        .size_bytes = 4 * MIB,
        .source_volume = volume,
        .source_snapshot = snapshot,
    };
    char *handle = call_create(&driver, &create, &err);

    if (!handle)
        fail_msg("create '%s': %s", name, err.message);
    return handle;
}

static char *create(const char *name)
{
    return create_from(name, NULL, NULL);
}

static char *make_snapshot(const char *name, const char *source)
{
    _cleanup_error_ struct error err = {0};
    char *handle = call_snapshot(&driver, name, source, &err);

    if (!handle)
        fail_msg("snapshot '%s': %s", name, err.message);
    return handle;
}

static void delete_volume(const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (harness_delete_volume(&driver, handle, &err) < 0)
        fail_msg("delete: %s", err.message);
}

static void delete_snapshot(const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (call_delete_snapshot(&driver, handle, &err) < 0)
        fail_msg("delete: %s", err.message);
}

/* The answer to one more try, which must be the same handle; every call is made once, so that
 * ABORTED is a failure. */
static void assert_continues(const char *name, const char *volume, const char *snapshot,
                             const char *handle)
{
    driver.once = true;
    _cleanup_free_ char *again = create_from(name, volume, snapshot);
    driver.once = false;
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));

    assert_string_equal(again, handle);
    assert_true(fixture_image_size(&pool, image) > 0);
}

/* --- creations that were interrupted inside librbd --- */

TEST(creation_that_is_only_listed_is_finished)
{
    for (int with_header = 0; with_header < 2; with_header++) {
        _cleanup_free_ char *handle = create("listed");
        _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));

        uncommit("volume", handle);
        cut_image(image, with_header);
        assert_continues("listed", NULL, NULL, handle);
        delete_volume(handle);
        harness_assert_pool_empties(POOL);
    }
}

TEST(clone_and_restore_that_are_only_listed_are_finished)
{
    _cleanup_free_ char *source = create("source");
    _cleanup_free_ char *snapshot = make_snapshot("snapshot", source);
    _cleanup_free_ char *clone = create_from("clone", source, NULL);
    _cleanup_free_ char *restored = create_from("restored", NULL, snapshot);
    _cleanup_free_ char *clone_image = xasprintf("csi-vol-%s", uuid_of(clone));
    _cleanup_free_ char *restored_image = xasprintf("csi-vol-%s", uuid_of(restored));

    uncommit("volume", clone);
    cut_image(clone_image, false);
    assert_continues("clone", source, NULL, clone);
    uncommit("volume", restored);
    cut_image(restored_image, true);
    assert_continues("restored", NULL, snapshot, restored);
    delete_volume(clone);
    delete_volume(restored);
    delete_snapshot(snapshot);
    delete_volume(source);
    harness_assert_pool_empties(POOL);
}

TEST(snapshot_that_is_only_listed_is_finished)
{
    _cleanup_free_ char *source = create("source");
    _cleanup_free_ char *snapshot = make_snapshot("snapshot", source);
    _cleanup_free_ char *image = xasprintf("csi-snap-%s", uuid_of(snapshot));

    uncommit("snap", snapshot);
    cut_image(image, false);
    driver.once = true;
    _cleanup_free_ char *again = make_snapshot("snapshot", source);
    driver.once = false;
    assert_string_equal(again, snapshot);
    _cleanup_free_ char *snapshots = fixture_snapshots(&pool, image);
    assert_string_equal(snapshots, image);
    delete_snapshot(snapshot);
    delete_volume(source);
    harness_assert_pool_empties(POOL);
}

/* It can be opened, and would be a volume whose object map is never right. */
TEST(creation_without_its_object_map_is_made_again)
{
    _cleanup_free_ char *handle = create("mapless");
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));
    _cleanup_free_ char *id = fixture_image_id(&pool, image);
    _cleanup_free_ char *map = xasprintf("rbd_object_map.%s", id);

    uncommit("volume", handle);
    place_remove(&pool, map);
    assert_continues("mapless", NULL, NULL, handle);
    _cleanup_free_ char *new_id = fixture_image_id(&pool, image);
    _cleanup_free_ char *new_map = xasprintf("rbd_object_map.%s", new_id);
    assert_true(place_has(&pool, new_map));
    delete_volume(handle);
    harness_assert_pool_empties(POOL);
}

/* librbd was interrupted between the snapshot and its object map. */
static void cut_snapshot(const char *image, const char *snapshot)
{
    _cleanup_free_ char *id = fixture_image_id(&pool, image);
    _cleanup_free_ char *prefix = xasprintf("rbd_object_map.%s.", id);
    _cleanup_free_ char *objects = NULL;
    char *rest = NULL;

    fixture_snapshot_create(&pool, image, snapshot);
    objects = harness_run_tool((const char *[]){"rados", "-p", POOL, "ls", NULL});
    for (char *name = strtok_r(objects, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
        if (text_has_prefix(name, prefix))
            place_remove(&pool, name);
}

TEST(clone_and_snapshot_of_a_half_taken_snapshot_are_finished)
{
    _cleanup_free_ char *source = create("source");
    _cleanup_free_ char *source_image = xasprintf("csi-vol-%s", uuid_of(source));
    _cleanup_free_ char *clone = create_from("clone", source, NULL);
    _cleanup_free_ char *clone_image = xasprintf("csi-vol-%s", uuid_of(clone));
    _cleanup_free_ char *snapshot = make_snapshot("snapshot", source);
    _cleanup_free_ char *snapshot_image = xasprintf("csi-snap-%s", uuid_of(snapshot));

    uncommit("volume", clone);
    cut_image(clone_image, false);
    cut_snapshot(source_image, clone_image);
    assert_continues("clone", source, NULL, clone);
    uncommit("snap", snapshot);
    cut_image(snapshot_image, false);
    cut_snapshot(source_image, snapshot_image);
    driver.once = true;
    _cleanup_free_ char *again = make_snapshot("snapshot", source);
    driver.once = false;
    assert_string_equal(again, snapshot);
    delete_volume(clone);
    delete_snapshot(snapshot);
    delete_volume(source);
    harness_assert_pool_empties(POOL);
}

static json_t *make_group(const char *source)
{
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"group\",\"source_volume_ids\":[\"%s\"]}", source);
    _cleanup_error_ struct error err = {0};
    json_t *reply = NULL;

    if (harness_call(
            &driver,
            &(struct harness_call){.method = "CreateVolumeGroupSnapshot", .request = request},
            &reply, &err) < 0)
        fail_msg("%s", err.message);
    return reply;
}

TEST(member_of_a_group_that_is_only_listed_is_finished)
{
    _cleanup_free_ char *source = create("source");
    json_auto_t *reply = make_group(source);
    json_t *group = json_object_get(reply, "group_snapshot");
    const char *member = json_string_value(
        json_object_get(json_array_get(json_object_get(group, "snapshots"), 0), "snapshot_id"));
    _cleanup_free_ char *image = xasprintf("csi-snap-%s", uuid_of(member));
    _cleanup_free_ char *source_image = xasprintf("csi-vol-%s", uuid_of(source));
    _cleanup_error_ struct error err = {0};

    uncommit("snap", member);
    cut_image(image, false);
    fixture_snapshot_create(&pool, source_image, image); /* which the group had taken */
    driver.once = true;
    json_auto_t *again = make_group(source);
    driver.once = false;
    assert_true(
        json_equal(json_object_get(json_object_get(again, "group_snapshot"), "group_snapshot_id"),
                   json_object_get(group, "group_snapshot_id")));
    _cleanup_free_ char *request =
        xasprintf("{\"group_snapshot_id\":\"%s\"}",
                  json_string_value(json_object_get(group, "group_snapshot_id")));
    assert_int_equal(harness_call(&driver,
                                  &(struct harness_call){.method = "DeleteVolumeGroupSnapshot",
                                                         .request = request},
                                  NULL, &err),
                     0);
    delete_volume(source);
    harness_assert_pool_empties(POOL);
}

/* --- deletions --- */

TEST(deletion_finds_what_is_only_listed)
{
    for (int with_header = 0; with_header < 2; with_header++) {
        _cleanup_free_ char *handle = create("listed");
        _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));

        uncommit("volume", handle);
        cut_image(image, with_header);
        delete_volume(handle);
        harness_assert_pool_empties(POOL);
    }
}

TEST(interrupted_move_to_the_trash_is_finished)
{
    _cleanup_free_ char *source = create("source");
    _cleanup_free_ char *snapshot = make_snapshot("snapshot", source);
    _cleanup_free_ char *image = xasprintf("csi-snap-%s", uuid_of(snapshot));
    _cleanup_free_ char *source_image = xasprintf("csi-vol-%s", uuid_of(source));

    fixture_snapshot_remove(&pool, image, image);
    cut_trash_move(image);
    delete_snapshot(snapshot);
    cut_trash_move(source_image);
    delete_volume(source);
    harness_assert_pool_empties(POOL);
}

TEST(end_of_a_move_to_the_trash_is_made_up_for)
{
    _cleanup_free_ char *handle = create("volume");
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));

    cut_end_of_trash_move(image);
    delete_volume(handle);
    harness_assert_pool_empties(POOL);
}

/* The volume was deleted as far as that, and is asked for anew. */
TEST(creation_after_an_interrupted_move_to_the_trash_makes_another_image)
{
    _cleanup_free_ char *handle = create("again");
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));

    cut_trash_move(image);
    assert_continues("again", NULL, NULL, handle);
    delete_volume(handle);
    harness_assert_pool_empties(POOL);
}

/* --- who is at it --- */

/* The driver is killed; Ceph does not know for some seconds. The successor finds out within one
 * call. */
TEST(successor_of_a_killed_driver_takes_over_in_one_call)
{
    _cleanup_free_ char *handle = create("killed");
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid_of(handle));
    _cleanup_free_ char *entry = xasprintf("csi.volume.%s", uuid_of(handle));
    _cleanup_free_ char *maker = place_get(&pool, entry, "cephzone.makers");

    assert_non_null(maker);
    uncommit("volume", handle);
    place_set(&pool, entry, "cephzone.makers", maker);
    cut_image(image, false);
    assert_int_equal(harness_stop(&driver, SIGKILL, 120000), 128 + SIGKILL);
    harness_start(&driver, NULL);
    assert_continues("killed", NULL, NULL, handle);
    _cleanup_free_ char *heir = place_get(&pool, entry, "cephzone.makers");
    assert_string_not_equal(heir, maker);
    delete_volume(handle);
    harness_assert_pool_empties(POOL);
}

/* A driver that ends in peace says so: nobody waits for its watch to expire. */
TEST(driver_that_ended_is_not_waited_for)
{
    _cleanup_free_ char *handle = create("ended");
    _cleanup_free_ char *listed = NULL;

    assert_int_equal(harness_stop(&driver, SIGTERM, 120000), 0);
    listed = harness_run_tool(
        (const char *[]){"rados", "-p", POOL, "listwatchers", "csi.volumes.default", NULL});
    assert_string_equal(listed, "");
    harness_start(&driver, NULL);
    delete_volume(handle);
    harness_assert_pool_empties(POOL);
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
