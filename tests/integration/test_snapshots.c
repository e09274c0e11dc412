/* Snapshots, clones and what belongs to them: with data in the images. */
#include <errno.h>
#include <fcntl.h>
#include <rados/librados.h>
#include <rbd/librbd.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define POOL "zone-c"
#define DATA_POOL "zone-b"
#define MIB (1024LL * 1024)
#define PATTERN_AT (3 * MIB + 512)

static struct driver_process driver;
static rados_t cluster;
static rados_ioctx_t pool;
static char *keyring;

static void write_keyring(void)
{
    _cleanup_fclose_ FILE *file = fopen(keyring, "we");

    assert_non_null(file);
    fprintf(file, "[client.%s]\n\tkey = %s\n", harness_cluster()->user, harness_cluster()->key);
}

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    keyring = xasprintf("%s/keyring", driver.folder);
    write_keyring();
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", keyring);
    harness_start(&driver, (const char *[]){flag, "--rbdhardmaxclonedepth=4",
                                            "--rbdsoftmaxclonedepth=3", NULL});
    if (rados_create(&cluster, "admin") < 0 ||
        rados_conf_read_file(cluster, getenv("CEPH_CONF")) < 0 || rados_connect(cluster) < 0)
        return -1;
    return rados_ioctx_create(cluster, POOL, &pool);
}

static int stop_driver(void **state)
{
    (void)state;
    rados_ioctx_destroy(pool);
    rados_shutdown(cluster);
    unlink(keyring);
    free(keyring);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

/* --- calls --- */

static json_t *call(const char *method, const char *request)
{
    _cleanup_error_ struct error err = {0};
    json_t *reply = NULL;

    if (harness_call(&driver, &(struct harness_call){.method = method, .request = request}, &reply,
                     &err) < 0)
        fail_msg("%s: %s: %s", method, status_name(err.status), err.message);
    return reply;
}

static char *handle_in(const json_t *reply, const char *object, const char *field)
{
    return xstrdup(json_string_value(json_object_get(json_object_get(reply, object), field)));
}

static char *create_volume(const char *name, long long size)
{
    _cleanup_error_ struct error err = {0};
    char *handle = harness_create_volume(&driver, name, POOL, size, &err);

    if (!handle)
        fail_msg("%s", err.message);
    return handle;
}

static char *source_json(const char *kind, const char *handle)
{
    return strcmp(kind, "snapshot") == 0
               ? xasprintf("{\"snapshot\":{\"snapshot_id\":\"%s\"}}", handle)
               : xasprintf("{\"volume\":{\"volume_id\":\"%s\"}}", handle);
}

/* As CreateVolume is asked for by a class whose images have their data in DATA_POOL; @source_kind
 * may be NULL. */
static char *create_with_data_pool(const char *name, const char *source_kind, const char *source)
{
    _cleanup_free_ char *plain = harness_create_request(name, POOL, 8 * MIB);
    json_auto_t *request = json_loads(plain, 0, NULL);

    json_object_set_new(json_object_get(request, "parameters"), "dataPool", json_string(DATA_POOL));
    if (source_kind) {
        _cleanup_free_ char *content = source_json(source_kind, source);

        json_object_set_new(request, "volume_content_source", json_loads(content, 0, NULL));
    }
    _cleanup_free_ char *text = json_dumps(request, 0);
    json_auto_t *reply = call("CreateVolume", text);
    return handle_in(reply, "volume", "volume_id");
}

static int try_create_from(const char *name, long long size, const char *kind, const char *source,
                           char **handle, struct error *err)
{
    _cleanup_free_ char *plain = harness_create_request(name, POOL, size);
    _cleanup_free_ char *content = source_json(kind, source);
    json_auto_t *request = json_loads(plain, 0, NULL);
    json_auto_t *reply = NULL;

    json_object_set_new(request, "volume_content_source", json_loads(content, 0, NULL));
    _cleanup_free_ char *text = json_dumps(request, 0);
    if (harness_call(&driver, &(struct harness_call){.method = "CreateVolume", .request = text},
                     &reply, err) < 0)
        return -1;
    assert_non_null(json_object_get(json_object_get(reply, "volume"), "content_source"));
    *handle = handle_in(reply, "volume", "volume_id");
    return 0;
}

static char *create_from(const char *name, long long size, const char *kind, const char *source)
{
    _cleanup_error_ struct error err = {0};
    char *handle = NULL;

    if (try_create_from(name, size, kind, source, &handle, &err) < 0)
        fail_msg("%s", err.message);
    return handle;
}

static char *create_snapshot(const char *name, const char *volume)
{
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"%s\",\"source_volume_id\":\"%s\"}", name, volume);
    json_auto_t *reply = call("CreateSnapshot", request);

    assert_true(json_is_true(json_object_get(json_object_get(reply, "snapshot"), "ready_to_use")));
    return handle_in(reply, "snapshot", "snapshot_id");
}

static void delete_volume(char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (harness_delete_volume(&driver, handle, &err) < 0)
        fail_msg("%s", err.message);
    free(handle);
}

static void delete_snapshot(char *handle)
{
    _cleanup_free_ char *request = xasprintf("{\"snapshot_id\":\"%s\"}", handle);
    json_auto_t *reply = call("DeleteSnapshot", request);

    (void)reply;
    free(handle);
}

/* --- data --- */

static rbd_image_t open_image(const char *handle)
{
    assert_non_null(handle);
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a failed assert does not return */
    _cleanup_free_ char *name = xasprintf("csi-vol-%s", handle + strlen(handle) - 36);
    rbd_image_t image = NULL;

    assert_int_equal(rbd_open(pool, name, &image, NULL), 0);
    return image;
}

static void write_pattern(const char *handle, char pattern)
{
    rbd_image_t image = open_image(handle);
    char block[4096];

    memset(block, pattern, sizeof(block));
    assert_int_equal(rbd_write(image, PATTERN_AT, sizeof(block), block), sizeof(block));
    rbd_close(image);
}

static void assert_pattern(const char *handle, char pattern, uint64_t size)
{
    rbd_image_t image = open_image(handle);
    char block[4096];
    uint64_t found = 0;

    assert_int_equal(rbd_read(image, PATTERN_AT, sizeof(block), block), sizeof(block));
    for (size_t i = 0; i < sizeof(block); i++)
        assert_int_equal(block[i], pattern);
    assert_int_equal(rbd_get_size(image, &found), 0);
    assert_int_equal(found, size);
    rbd_close(image);
}

/* --- tests --- */

TEST(copies_have_the_data_of_their_moment)
{
    char *volume = create_volume("source", 8 * MIB);

    write_pattern(volume, 'A');
    char *snapshot = create_snapshot("moment", volume);
    write_pattern(volume, 'B');
    char *restored = create_from("restored", 16 * MIB, "snapshot", snapshot);
    char *cloned = create_from("cloned", 12 * MIB, "volume", volume);
    write_pattern(volume, 'C');
    assert_pattern(restored, 'A', 16 * MIB);
    assert_pattern(cloned, 'B', 12 * MIB);
    assert_pattern(volume, 'C', 8 * MIB);
    /* what they came from may go first */
    delete_volume(volume);
    delete_snapshot(snapshot);
    assert_pattern(restored, 'A', 16 * MIB);
    assert_pattern(cloned, 'B', 12 * MIB);
    delete_volume(restored);
    delete_volume(cloned);
    harness_assert_pool_empties(POOL);
}

/* No limit is given: what the source has is enough. */
TEST(copy_is_never_smaller_than_its_source)
{
    char *volume = create_volume("large", 8 * MIB);

    write_pattern(volume, 'A');
    char *snapshot = create_snapshot("of-large", volume);
    char *cloned = create_from("small", 4 * MIB, "volume", volume);
    char *restored = create_from("tiny", 1, "snapshot", snapshot);
    assert_pattern(cloned, 'A', 8 * MIB);
    assert_pattern(restored, 'A', 8 * MIB);
    delete_volume(restored);
    delete_volume(cloned);
    delete_snapshot(snapshot);
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

TEST(group_snapshot_is_one_moment)
{
    char *first = create_volume("member-1", 8 * MIB);
    char *second = create_volume("member-2", 8 * MIB);
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"group\",\"source_volume_ids\":[\"%s\",\"%s\"]}", first, second);

    write_pattern(first, '1');
    write_pattern(second, '2');
    json_auto_t *reply = call("CreateVolumeGroupSnapshot", request);
    json_auto_t *again = call("CreateVolumeGroupSnapshot", request);
    assert_true(json_equal(reply, again));
    const json_t *group = json_object_get(reply, "group_snapshot");
    const json_t *snapshots = json_object_get(group, "snapshots");
    assert_int_equal(json_array_size(snapshots), 2);
    write_pattern(first, 'x');
    for (size_t i = 0; i < 2; i++) {
        const json_t *item = json_array_get(snapshots, i);
        const char *source = json_string_value(json_object_get(item, "source_volume_id"));
        char *copy = create_from(i ? "copy-1" : "copy-0", 8 * MIB, "snapshot",
                                 json_string_value(json_object_get(item, "snapshot_id")));

        assert_string_equal(json_string_value(json_object_get(item, "group_snapshot_id")),
                            json_string_value(json_object_get(group, "group_snapshot_id")));
        assert_pattern(copy, strcmp(source, first) == 0 ? '1' : '2', 8 * MIB);
        delete_volume(copy);
    }
    _cleanup_free_ char *removal =
        xasprintf("{\"group_snapshot_id\":\"%s\"}",
                  json_string_value(json_object_get(group, "group_snapshot_id")));
    json_auto_t *removed = call("DeleteVolumeGroupSnapshot", removal);
    (void)removed;
    delete_volume(first);
    delete_volume(second);
    harness_assert_pool_empties(POOL);
}

TEST(member_without_lock_feature_is_refused)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *plain = harness_create_request("lockless", POOL, 8 * MIB);
    json_auto_t *request = json_loads(plain, 0, NULL);

    json_object_set_new(json_object_get(request, "parameters"), "imageFeatures",
                        json_string("layering"));
    _cleanup_free_ char *text = json_dumps(request, 0);
    json_auto_t *reply = call("CreateVolume", text);
    char *volume = handle_in(reply, "volume", "volume_id");
    _cleanup_free_ char *group =
        xasprintf("{\"name\":\"refused\",\"source_volume_ids\":[\"%s\"]}", volume);
    assert_int_equal(harness_call(&driver,
                                  &(struct harness_call){.method = "CreateVolumeGroupSnapshot",
                                                         .request = group},
                                  NULL, &err),
                     -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "exclusive-lock"));
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

static rbd_image_t open_snapshot_image(const char *handle)
{
    _cleanup_free_ char *name = xasprintf("csi-snap-%s", handle + strlen(handle) - 36);
    rbd_image_t image = NULL;

    assert_int_equal(rbd_open(pool, name, &image, NULL), 0);
    return image;
}

/* Closes the image. */
static void assert_in_data_pool(rbd_image_t image, bool flattens)
{
    assert_int_equal(rbd_get_data_pool_id(image), rados_pool_lookup(cluster, DATA_POOL));
    if (flattens)
        assert_int_equal(rbd_flatten(image), 0);
    rbd_close(image);
}

/* What is read from a parent is written to the clone's own data pool, at the latest by a flatten:
 * erasure-coded data must not end up in the replicated pool. */
TEST(copies_have_their_data_in_the_data_pool_of_the_class)
{
    char *volume = create_with_data_pool("apart", NULL, NULL);

    write_pattern(volume, 'D');
    assert_in_data_pool(open_image(volume), false);
    char *snapshot = create_snapshot("of-apart", volume);
    assert_in_data_pool(open_snapshot_image(snapshot), true);
    char *copies[] = {create_with_data_pool("apart-cloned", "volume", volume),
                      create_with_data_pool("apart-restored", "snapshot", snapshot)};
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"group-apart\",\"source_volume_ids\":[\"%s\"]}", volume);
    json_auto_t *reply = call("CreateVolumeGroupSnapshot", request);
    const json_t *group = json_object_get(reply, "group_snapshot");
    const json_t *member = json_array_get(json_object_get(group, "snapshots"), 0);
    assert_in_data_pool(
        open_snapshot_image(json_string_value(json_object_get(member, "snapshot_id"))), true);
    for (size_t i = 0; i < ARRAY_LENGTH(copies); i++) {
        assert_in_data_pool(open_image(copies[i]), true);
        assert_pattern(copies[i], 'D', 8 * MIB);
    }
    _cleanup_free_ char *contents = harness_pool_contents(POOL);
    assert_null(strstr(contents, "rbd_data"));
    _cleanup_free_ char *removal =
        xasprintf("{\"group_snapshot_id\":\"%s\"}",
                  json_string_value(json_object_get(group, "group_snapshot_id")));
    json_auto_t *removed = call("DeleteVolumeGroupSnapshot", removal);
    (void)removed;
    for (size_t i = 0; i < ARRAY_LENGTH(copies); i++)
        delete_volume(copies[i]);
    delete_snapshot(snapshot);
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
    harness_assert_pool_empties(DATA_POOL);
}

/* What no retry mends is not ABORTED. */
TEST(clone_that_cannot_be_made_is_refused_for_good)
{
    _cleanup_error_ struct error err = {0};
    char *volume = create_volume("whole", 8 * MIB);
    char *snapshot = create_snapshot("of-whole", volume);
    char *handle = NULL;
    const char *uuid = snapshot + strlen(snapshot) - 36;
    _cleanup_free_ char *name = xasprintf("csi-snap-%s", uuid);
    _cleanup_free_ char *request = harness_create_request("lost", POOL, 8 * MIB);
    json_auto_t *json = json_loads(request, 0, NULL);
    _cleanup_free_ char *content = source_json("volume", volume);

    driver.once = true;
    json_object_set_new(json, "volume_content_source", json_loads(content, 0, NULL));
    json_object_set_new(json_object_get(json, "parameters"), "dataPool", json_string("misspelt"));
    _cleanup_free_ char *text = json_dumps(json, 0);
    assert_int_equal(harness_call(&driver,
                                  &(struct harness_call){.method = "CreateVolume", .request = text},
                                  NULL, &err),
                     -1);
    print_message("note: %s\n", err.message);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "there is no data pool 'misspelt'"));
    error_clear(&err);
    rbd_image_t image = open_snapshot_image(snapshot);
    assert_int_equal(rbd_snap_remove(image, name), 0);
    assert_int_equal(try_create_from("lost", 8 * MIB, "snapshot", snapshot, &handle, &err), -1);
    print_message("note: %s\n", err.message);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_int_equal(rbd_snap_create(image, name), 0);
    rbd_close(image);
    driver.once = false;
    char *restored = create_from("lost", 8 * MIB, "snapshot", snapshot);
    delete_volume(restored);
    delete_snapshot(snapshot);
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

/* With limits of 3 and 4 a chain of clones of clones gets flattened on the way. */
TEST(long_chain_is_flattened_and_says_so)
{
    char *chain[8] = {create_volume("chain-0", 8 * MIB)};
    const char *wait = "before it is detached from them (hard limit 4)";
    unsigned waits = 0;

    write_pattern(chain[0], 'Z');
    for (size_t i = 1; i < ARRAY_LENGTH(chain); i++) {
        _cleanup_free_ char *name = xasprintf("chain-%zu", i);

        chain[i] = create_from(name, 8 * MIB, "volume", chain[i - 1]);
        assert_pattern(chain[i], 'Z', 8 * MIB);
    }
    _cleanup_free_ char *log = harness_log(&driver);
    for (const char *line = strstr(log, wait); line; line = strstr(line + 1, wait))
        waits++;
    print_message("note: a chain of %zu clones was made with %u waits for flattening\n",
                  ARRAY_LENGTH(chain) - 1, waits);
    for (size_t i = 0; i < ARRAY_LENGTH(chain); i++)
        delete_volume(chain[i]);
    harness_assert_pool_empties(POOL);
}

static bool is_ready(const char *handle)
{
    _cleanup_free_ char *request = xasprintf("{\"snapshot_id\":\"%s\"}", handle);
    json_auto_t *got = call("GetSnapshot", request);
    json_auto_t *listed = call("ListSnapshots", request);
    const json_t *entry = json_array_get(json_object_get(listed, "entries"), 0);
    const json_t *snapshots[] = {json_object_get(got, "snapshot"),
                                 json_object_get(entry, "snapshot")};

    for (size_t i = 0; i < ARRAY_LENGTH(snapshots); i++)
        if (!json_is_true(json_object_get(snapshots[i], "ready_to_use")))
            return false;
    return true;
}

/* Who is told that a snapshot is ready does not wait for anything else. */
TEST(snapshot_at_the_end_of_a_chain_can_be_restored_as_soon_as_it_is_ready)
{
    char *chain[3] = {create_volume("link-0", 8 * MIB)};

    write_pattern(chain[0], 'Y');
    for (size_t i = 1; i < ARRAY_LENGTH(chain); i++) {
        _cleanup_free_ char *name = xasprintf("link-%zu", i);

        chain[i] = create_from(name, 8 * MIB, "volume", chain[i - 1]);
    }
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"deep\",\"source_volume_id\":\"%s\"}", chain[2]);
    json_auto_t *reply = call("CreateSnapshot", request);
    char *snapshot = handle_in(reply, "snapshot", "snapshot_id");
    wait_until(is_ready(snapshot));
    driver.once = true;
    char *restored = create_from("at-once", 8 * MIB, "snapshot", snapshot);
    driver.once = false;
    assert_pattern(restored, 'Y', 8 * MIB);
    delete_volume(restored);
    delete_snapshot(snapshot);
    for (size_t i = 0; i < ARRAY_LENGTH(chain); i++)
        delete_volume(chain[i]);
    harness_assert_pool_empties(POOL);
}

TEST(volume_in_use_is_not_deleted)
{
    _cleanup_error_ struct error err = {0};
    char *volume = create_volume("in-use", 8 * MIB);
    rbd_image_t image = open_image(volume);

    assert_int_equal(harness_delete_volume(&driver, volume, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "is in use by client 127.0.0.1:0/"));
    rbd_close(image);
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

/* An address there would fence off the source's node. librbd copies metadata to a clone, but no key
 * with a dot first, on which Ceph-CSI relies as well. */
TEST(clones_do_not_inherit_what_is_of_their_source_alone)
{
    static const char *const keys[] = {
        ".rbd.csi.ceph.com/clientAddress/node-1",
        ".rbd.csi.ceph.com/clientaddress/0001-0001-c-0000000000000001-x/node-2",
        ".rbd.csi.ceph.com/userid/0001-0001-c-0000000000000001-x/node-2",
        ".rbd.csi.ceph.com/serviceaccount",
    };
    char *volume = create_volume("mapped", 8 * MIB);
    rbd_image_t source = open_image(volume);

    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
        assert_int_equal(rbd_metadata_set(source, keys[i], "10.0.0.1:0/1"), 0);
    rbd_close(source);
    char *snapshot = create_snapshot("of-mapped", volume);
    char *clones[] = {create_from("cloned", 8 * MIB, "volume", volume),
                      create_from("restored", 8 * MIB, "snapshot", snapshot)};
    for (size_t i = 0; i < ARRAY_LENGTH(clones); i++) {
        rbd_image_t clone = open_image(clones[i]);

        for (size_t k = 0; k < ARRAY_LENGTH(keys); k++) {
            char value[64];
            size_t length = sizeof(value);

            assert_int_equal(rbd_metadata_get(clone, keys[k], value, &length), -ENOENT);
        }
        rbd_close(clone);
        delete_volume(clones[i]);
    }
    delete_snapshot(snapshot);
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

TEST(limits_are_kept_as_image_metadata)
{
    char *volume = create_volume("limited", 8 * MIB);
    char value[64];
    size_t length = sizeof(value);

    _cleanup_free_ char *set = xasprintf(
        "{\"volume_id\":\"%s\",\"mutable_parameters\":{\"rbd_qos_iops_limit\":\"500\"}}", volume);
    json_auto_t *first = call("ControllerModifyVolume", set);
    rbd_image_t image = open_image(volume);
    assert_int_equal(rbd_metadata_get(image, "conf_rbd_qos_iops_limit", value, &length), 0);
    assert_string_equal(value, "500");
    _cleanup_free_ char *lift = xasprintf(
        "{\"volume_id\":\"%s\",\"mutable_parameters\":{\"rbd_qos_iops_limit\":\"0\"}}", volume);
    json_auto_t *second = call("ControllerModifyVolume", lift);
    length = sizeof(value);
    assert_int_equal(rbd_metadata_get(image, "conf_rbd_qos_iops_limit", value, &length), -ENOENT);
    rbd_close(image);
    (void)first, (void)second;
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

static void modify(const char *volume, const char *parameters)
{
    _cleanup_free_ char *request =
        xasprintf("{\"volume_id\":\"%s\",\"mutable_parameters\":{%s}}", volume, parameters);

    json_decref(call("ControllerModifyVolume", request));
}

/* NULL: the image does not have the key. */
static void assert_metadata(const char *volume, const char *key, const char *wanted)
{
    rbd_image_t image = open_image(volume);
    char value[64] = "";
    size_t length = sizeof(value);
    int result = rbd_metadata_get(image, key, value, &length);

    rbd_close(image);
    assert_int_equal(result, wanted ? 0 : -ENOENT);
    if (wanted)
        assert_string_equal(value, wanted);
}

/* A class of Ceph-CSI's for rbd-nbd, then one for krbd, then none. */
TEST(limits_of_ceph_csi_follow_class_and_size)
{
    char *volume = create_volume("policed", 1024 * MIB);

    modify(volume, "\"baseIops\":\"100\",\"iopsPerGiB\":\"10\",\"maxIops\":\"125\","
                   "\"baseVolSizeBytes\":\"0\"");
    assert_metadata(volume, "conf_rbd_qos_iops_limit", "110");
    assert_metadata(volume, "rbd_base_qos_iops_limit", "100");
    assert_metadata(volume, "rbd_iops_per_gib_limit", "10");
    assert_metadata(volume, "rbd_max_qos_iops_limit", "125");
    assert_metadata(volume, "rbd_base_qos_vol_size", "0");
    _cleanup_free_ char *grow = xasprintf(
        "{\"volume_id\":\"%s\",\"capacity_range\":{\"required_bytes\":%lld}}", volume, 4096 * MIB);
    json_decref(call("ControllerExpandVolume", grow));
    assert_metadata(volume, "conf_rbd_qos_iops_limit", "125");
    char *clone = create_from("unlimited", 4096 * MIB, "volume", volume);
    assert_metadata(clone, "conf_rbd_qos_iops_limit", NULL);
    assert_metadata(clone, "rbd_iops_per_gib_limit", NULL);
    delete_volume(clone);
    modify(volume, "\"maxReadIops\":\"7\",\"maxWriteBps\":\"max\"");
    assert_metadata(volume, "conf_rbd_qos_iops_limit", NULL);
    assert_metadata(volume, "rbd_base_qos_iops_limit", NULL);
    assert_metadata(volume, ".rbd.csi.ceph.com/cgroup_qos_max_read_iops", "7");
    assert_metadata(volume, ".rbd.csi.ceph.com/cgroup_qos_max_write_bps", "max");
    modify(volume, "");
    assert_metadata(volume, ".rbd.csi.ceph.com/cgroup_qos_max_read_iops", NULL);
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

TEST(class_limits_new_volumes)
{
    _cleanup_free_ char *plain = harness_create_request("classy", POOL, 8 * MIB);
    json_auto_t *request = json_loads(plain, 0, NULL);

    json_object_set_new(json_object_get(request, "parameters"), "BaseReadIops", json_string("55"));
    _cleanup_free_ char *text = json_dumps(request, 0);
    json_auto_t *reply = call("CreateVolume", text);
    char *volume = handle_in(reply, "volume", "volume_id");
    assert_metadata(volume, "conf_rbd_qos_read_iops_limit", "55");
    assert_metadata(volume, "rbd_base_qos_read_iops_limit", "55");
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

TEST(listing_comes_in_pages_without_secrets)
{
    char *volumes[5];
    size_t found = 0;
    _cleanup_free_ char *token = xstrdup("");

    for (size_t i = 0; i < ARRAY_LENGTH(volumes); i++) {
        _cleanup_free_ char *name = xasprintf("listed-%zu", i);

        volumes[i] = create_volume(name, 8 * MIB);
    }
    for (int page = 0; page < 10 && token; page++) {
        _cleanup_free_ char *request =
            xasprintf("{\"max_entries\":2,\"starting_token\":\"%s\"}", token);
        json_auto_t *reply = call("ListVolumes", request);
        const char *next = json_string_value(json_object_get(reply, "next_token"));
        const json_t *entries = json_object_get(reply, "entries");

        assert_true(json_array_size(entries) <= 2);
        for (size_t i = 0; i < json_array_size(entries); i++) {
            const json_t *volume = json_object_get(json_array_get(entries, i), "volume");
            const char *handle = json_string_value(json_object_get(volume, "volume_id"));

            for (size_t k = 0; k < ARRAY_LENGTH(volumes); k++)
                found += strcmp(handle, volumes[k]) == 0;
        }
        free(token);
        token = next ? xstrdup(next) : NULL;
    }
    assert_int_equal(found, ARRAY_LENGTH(volumes));
    _cleanup_free_ char *one = xasprintf("{\"volume_id\":\"%s\"}", volumes[0]);
    json_auto_t *reply = call("ControllerGetVolume", one);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(reply, "volume"), "capacity_bytes")),
        8 * MIB);
    for (size_t i = 0; i < ARRAY_LENGTH(volumes); i++)
        delete_volume(volumes[i]);
    harness_assert_pool_empties(POOL);
}

/* --- health --- */

/* The only entry of a VolumeHealth of this volume; NULL if it has none. */
static const json_t *health_entry(const json_t *health, const char *handle)
{
    const json_t *entries = json_object_get(health, "health_statuses");

    assert_string_equal(json_string_value(json_object_get(health, "volume_id")), handle);
    assert_true(json_array_size(entries) <= 1);
    return json_array_get(entries, 0);
}

/* CSI 1.13 asks for health; callers of 1.12 find the same in the condition of ListVolumes. */
static void check_health(const char *handle, const char *status)
{
    _cleanup_free_ char *one = xasprintf("{\"volume_id\":\"%s\"}", handle);
    json_auto_t *got = call("ControllerGetVolumeHealth", one);
    json_auto_t *all = call("ControllerListVolumeHealth", "{}");
    json_auto_t *old = call("ControllerGetVolume", one);
    const json_t *entry = health_entry(json_object_get(got, "volume_health"), handle);
    const json_t *list = json_object_get(all, "entries");
    const json_t *condition = json_object_get(json_object_get(old, "status"), "volume_condition");

    assert_int_equal(json_array_size(list), status ? 1 : 0);
    assert_int_equal(json_is_true(json_object_get(condition, "abnormal")), status != NULL);
    assert_true((entry != NULL) == (status != NULL));
    if (!status)
        return;
    assert_string_equal(json_string_value(json_object_get(entry, "status")), status);
    assert_string_equal(json_string_value(json_object_get(entry, "reason")), "MissingInCeph");
    assert_string_equal(json_string_value(json_object_get(entry, "message")),
                        json_string_value(json_object_get(condition, "message")));
    entry = health_entry(json_array_get(list, 0), handle);
    assert_string_equal(json_string_value(json_object_get(entry, "status")), status);
}

TEST(lost_image_is_told_to_callers_of_both_versions)
{
    char *volume = create_volume("lost", 8 * MIB);
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", volume + strlen(volume) - 36);

    json_auto_t *reply = call("ControllerGetCapabilities", "{}");
    _cleanup_free_ char *capabilities = json_dumps(reply, 0);
    assert_non_null(strstr(capabilities, "VOLUME_CONDITION"));
    assert_non_null(strstr(capabilities, "GET_VOLUME_HEALTH"));
    assert_non_null(strstr(capabilities, "LIST_VOLUME_HEALTH"));
    check_health(volume, NULL);
    assert_int_equal(rbd_remove(pool, image), 0);
    check_health(volume, "INACCESSIBLE");
    delete_volume(volume);
    harness_assert_pool_empties(POOL);
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
