#include "common/base/memory.h"
#include "common/kube/objects/exclusive_disk.h"
#include "tests/test.h"

DEFINE_CLEANUP(struct exclusive_disk, exclusive_disk_free)
#define _cleanup_disk_ _cleanup_(exclusive_disk_freep)

static struct exclusive_disk *decode(const char *volume)
{
    json_auto_t *value = json_loads(volume, 0, NULL);

    assert_non_null(value);
    return exclusive_disk_decode(value);
}

static bool conflict(const char *a, const char *b)
{
    _cleanup_disk_ struct exclusive_disk *first = decode(a);
    _cleanup_disk_ struct exclusive_disk *second = decode(b);
    bool result = exclusive_disk_conflicts(first, second);

    assert_int_equal(exclusive_disk_conflicts(second, first), result);
    return result;
}

TEST(other_volumes_are_no_exclusive_disks)
{
    assert_null(decode("{\"name\": \"v\", \"emptyDir\": {}}"));
    assert_null(decode("{\"persistentVolumeClaim\": {\"claimName\": \"c\"}}"));
    assert_null(decode("{\"rbd\": null}"));
    assert_null(decode("{\"rbd\": \"image\"}"));
    assert_null(decode("[]"));
}

TEST(members_of_an_unexpected_type_count_as_missing)
{
    _cleanup_disk_ struct exclusive_disk *disk =
        decode("{\"rbd\": {\"image\": 5, \"monitors\": [7, \"a\"], \"readOnly\": \"yes\"}}");

    assert_int_equal(disk->kind, EXCLUSIVE_RBD);
    assert_string_equal(disk->name, "");
    assert_int_equal(disk->monitors.count, 1);
    assert_string_equal(disk->monitors.items[0], "a");
    assert_false(disk->is_read_only);
}

TEST(disks_of_different_kinds_or_names_are_different)
{
    assert_false(conflict("{\"gcePersistentDisk\": {\"pdName\": \"d\"}}",
                          "{\"awsElasticBlockStore\": {\"volumeID\": \"d\"}}"));
    assert_false(conflict("{\"gcePersistentDisk\": {\"pdName\": \"d\"}}",
                          "{\"gcePersistentDisk\": {\"pdName\": \"e\"}}"));
    assert_true(conflict("{\"gcePersistentDisk\": {\"pdName\": \"d\"}}",
                         "{\"gcePersistentDisk\": {\"pdName\": \"d\"}}"));
}

TEST(readers_share_a_target_and_a_writer_does_not)
{
    const char *reader = "{\"iscsi\": {\"iqn\": \"q\", \"readOnly\": true}}";
    const char *writer = "{\"iscsi\": {\"iqn\": \"q\"}}";

    assert_false(conflict(reader, reader));
    assert_true(conflict(reader, writer));
    assert_true(conflict(writer, writer));
}

TEST(images_without_a_monitor_in_common_are_different)
{
    assert_false(conflict("{\"rbd\": {\"image\": \"i\", \"monitors\": []}}",
                          "{\"rbd\": {\"image\": \"i\", \"monitors\": []}}"));
    assert_true(conflict("{\"rbd\": {\"image\": \"i\", \"monitors\": [\"a\", \"b\"]}}",
                         "{\"rbd\": {\"image\": \"i\", \"monitors\": [\"c\", \"b\"]}}"));
}
