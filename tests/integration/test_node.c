/*
 * A volume's life on a node, with the real driver, a real Ceph and the fuse mapper.
 */
#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/node_fixture.h"
#include "tests/test.h"

static struct test_node node;

static void assert_file(const char *folder, const char *name, const char *wanted)
{
    _cleanup_free_ char *content = read_at(folder, name);

    assert_non_null(content);
    assert_string_equal(content, wanted);
}

static void assert_device(const char *path, const char *wanted)
{
    _cleanup_free_ char *content = read_device(path);

    assert_non_null(content);
    assert_string_equal(content, wanted);
}

static void assert_nothing_left(void)
{
    _cleanup_free_ char *left = node_leftovers(&node);

    assert_string_equal(left, "");
}

static void put_up(const struct test_volume *volume)
{
    must(node_stage(&node, volume, &err));
    must(node_publish(&node, volume, &err));
}

static void take_down(const struct test_volume *volume)
{
    must(node_unpublish(&node, volume, &err));
    must(node_unstage(&node, volume, &err));
    assert_nothing_left();
}

/* --- mount and block ----------------------------------------------------------------------------
 */

static void files_survive(const char *name, const char *fs_type, long long size_bytes)
{
    struct test_volume volume = {.fs_type = fs_type};

    test_volume_create(&node, &volume, name, size_bytes);
    put_up(&volume);
    write_at(volume.target, "hello", "written by a pod");
    take_down(&volume);
    put_up(&volume);
    assert_file(volume.target, "hello", "written by a pod");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(files_on_ext4_survive_unstage_and_stage)
{
    files_survive("ext4", "ext4", 64 * MIB);
}

TEST(files_on_xfs_survive_unstage_and_stage)
{
    files_survive("xfs", "xfs", 320 * MIB);
}

TEST(bytes_of_a_block_volume_survive)
{
    struct test_volume volume = {0};

    test_volume_create(&node, &volume, "block", 16 * MIB);
    put_up(&volume);
    write_device(volume.target, "written by a pod");
    take_down(&volume);
    put_up(&volume);
    assert_device(volume.target, "written by a pod");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(every_call_can_be_made_twice)
{
    struct test_volume volume = {.fs_type = "xfs"};

    test_volume_create(&node, &volume, "twice", 320 * MIB);
    put_up(&volume);
    put_up(&volume);
    must(node_grow(&node, &volume, 352 * MIB, &err));
    must(node_grow(&node, &volume, 352 * MIB, &err));
    must(node_unpublish(&node, &volume, &err));
    must(node_unpublish(&node, &volume, &err));
    must(node_unstage(&node, &volume, &err));
    must(node_unstage(&node, &volume, &err));
    assert_nothing_left();
    test_volume_delete(&node, &volume);
}

TEST(image_meta_is_that_of_ceph_csi_with_the_mapper)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "meta", 32 * MIB);
    put_up(&volume);
    _cleanup_free_ char *meta = read_at(volume.staging, "image-meta.json");
    _cleanup_free_ char *image = image_of(volume.handle);
    _cleanup_free_ char *wanted =
        xasprintf("{\"Version\":3,\"pool\":\"common\",\"radosNamespace\":\"\",\"image\":\"%s\","
                  "\"unmapOptions\":\"\",\"accessType\":false,\"encrypted\":false,"
                  "\"device\":\"/dev/loop",
                  image);
    assert_non_null(meta);
    assert_memory_equal(meta, wanted, strlen(wanted));
    assert_non_null(strstr(meta, "\"logDir\":\"\",\"logFileStrategy\":\"\",\"mapper\":\"fuse\"}"));
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* --- reading only -------------------------------------------------------------------------------
 */

TEST(a_readonly_publish_cannot_be_written)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "readonly", 32 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "there");
    must(node_unpublish(&node, &volume, &err));
    volume.read_only = true;
    must(node_publish(&node, &volume, &err));
    must(node_publish(&node, &volume, &err));
    assert_file(volume.target, "hello", "there");
    _cleanup_free_ char *path = xasprintf("%s/other", volume.target);
    assert_null(fopen(path, "we"));
    volume.read_only = false;
    must_refuse(node_publish(&node, &volume, &err), STATUS_ALREADY_EXISTS, "reading");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(readers_only_stage_what_has_a_file_system)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "readers", 32 * MIB);
    volume.mode = "MULTI_NODE_READER_ONLY";
    must_refuse(node_stage(&node, &volume, &err), STATUS_FAILED_PRECONDITION, "no file system");
    assert_nothing_left();
    volume.mode = "SINGLE_NODE_WRITER";
    put_up(&volume);
    write_at(volume.target, "hello", "there");
    take_down(&volume);
    volume.mode = "MULTI_NODE_READER_ONLY";
    put_up(&volume);
    assert_file(volume.target, "hello", "there");
    _cleanup_free_ char *path = xasprintf("%s/other", volume.target);
    assert_null(fopen(path, "we"));
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* --- growing and measuring ----------------------------------------------------------------------
 */

static json_int_t total_of(const struct test_volume *volume, size_t index, bool *abnormal)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *stats = node_stats(&node, volume, &err);

    if (!stats)
        fail_msg("%s", err.message);
    *abnormal =
        json_is_true(json_object_get(json_object_get(stats, "volume_condition"), "abnormal"));
    const json_t *total =
        json_object_get(json_array_get(json_object_get(stats, "usage"), index), "total");
    return json_is_string(total) ? strtoll(json_string_value(total), NULL, 10)
                                 : json_integer_value(total);
}

/* The kernel wants CAP_SYS_RESOURCE, which not every machine's root has. */
static bool can_grow_ext4(void)
{
    _cleanup_free_ char *status = read_at("/proc/self", "status");
    const char *line = strstr(status, "CapEff:");
    bool can = strtoull(line + strlen("CapEff:"), NULL, 16) & 1ULL << CAP_SYS_RESOURCE;

    if (!can)
        print_message("note: no capability to grow a mounted ext4: only xfs is grown\n");
    return can;
}

TEST(file_systems_grow_under_the_pod)
{
    static const struct {
        const char *type;
        long long from;
        long long to;
    } cases[] = {{"ext4", 64 * MIB, 160 * MIB}, {"xfs", 320 * MIB, 448 * MIB}};
    bool abnormal = true;

    for (size_t i = can_grow_ext4() ? 0 : 1; i < ARRAY_LENGTH(cases); i++) {
        struct test_volume volume = {.fs_type = cases[i].type};
        _cleanup_free_ char *name = xasprintf("grows-%s", cases[i].type);

        test_volume_create(&node, &volume, name, cases[i].from);
        put_up(&volume);
        json_int_t before = total_of(&volume, 0, &abnormal);
        assert_false(abnormal);
        assert_true(total_of(&volume, 1, &abnormal) > 0);
        must(node_grow(&node, &volume, cases[i].to, &err));
        assert_true(total_of(&volume, 0, &abnormal) >= before + (cases[i].to - cases[i].from) / 2);
        take_down(&volume);
        test_volume_delete(&node, &volume);
    }
}

TEST(a_block_volume_grows_and_tells_its_size)
{
    struct test_volume volume = {0};
    bool abnormal = true;

    test_volume_create(&node, &volume, "grows-block", 16 * MIB);
    put_up(&volume);
    assert_int_equal(total_of(&volume, 0, &abnormal), 16 * MIB);
    must(node_grow(&node, &volume, 24 * MIB, &err));
    assert_int_equal(total_of(&volume, 0, &abnormal), 24 * MIB);
    assert_false(abnormal);
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(an_image_that_grew_while_unstaged_is_used_entirely)
{
    struct test_volume volume = {.fs_type = "xfs"};
    bool abnormal = true;

    test_volume_create(&node, &volume, "grew", 320 * MIB);
    put_up(&volume);
    take_down(&volume);
    must(node_call(&node, "ControllerExpandVolume",
                   json_pack("{s:s, s:{s:I}}", "volume_id", volume.handle, "capacity_range",
                             "required_bytes", (json_int_t)(448 * MIB)),
                   NULL, &err));
    put_up(&volume);
    assert_true(total_of(&volume, 0, &abnormal) > 340 * MIB);
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* --- safety -------------------------------------------------------------------------------------
 */

TEST(data_without_a_file_system_is_not_formatted)
{
    struct test_volume volume = {0};

    test_volume_create(&node, &volume, "precious", 32 * MIB);
    put_up(&volume);
    write_device(volume.target, "precious bytes of an unknown kind");
    take_down(&volume);
    volume.fs_type = "ext4";
    must_refuse(node_stage(&node, &volume, &err), STATUS_FAILED_PRECONDITION, "holds data");
    assert_nothing_left();
    volume.fs_type = NULL;
    put_up(&volume);
    assert_device(volume.target, "precious bytes of an unknown kind");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(another_file_system_is_not_replaced)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "other-fs", 320 * MIB);
    put_up(&volume);
    take_down(&volume);
    volume.fs_type = "xfs";
    must_refuse(node_stage(&node, &volume, &err), STATUS_FAILED_PRECONDITION,
                "has ext4 on it, but xfs");
    volume.fs_type = "btrfs";
    must_refuse(node_stage(&node, &volume, &err), STATUS_INVALID_ARGUMENT, "use ext4 or xfs");
    assert_nothing_left();
    test_volume_delete(&node, &volume);
}

TEST(an_image_locked_by_another_is_not_mapped)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "locked", 32 * MIB);
    _cleanup_free_ char *image = image_of(volume.handle);
    _cleanup_free_ char *spec = xasprintf("common/%s", image);
    free(run_program((const char *[]){"rbd", "lock", "add", spec, "by-hand", NULL}));
    must_refuse(node_stage(&node, &volume, &err), STATUS_FAILED_PRECONDITION, "locked by client.");
    assert_nothing_left();
    _cleanup_free_ char *list =
        run_program((const char *[]){"rbd", "lock", "ls", spec, "--format", "json", NULL});
    json_auto_t *locks = json_loads(list, 0, NULL);
    const char *locker = json_string_value(json_object_get(json_array_get(locks, 0), "locker"));
    assert_non_null(locker);
    free(run_program((const char *[]){"rbd", "lock", "rm", spec, "by-hand", locker, NULL}));
    put_up(&volume);
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(the_address_of_the_node_is_recorded)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "recorded", 32 * MIB);
    put_up(&volume);
    _cleanup_free_ char *image = image_of(volume.handle);
    _cleanup_free_ char *spec = xasprintf("common/%s", image);
    _cleanup_free_ char *metadata =
        run_program((const char *[]){"rbd", "image-meta", "list", spec, NULL});
    assert_non_null(strstr(metadata, ".rbd.csi.ceph.com/clientAddress/node-1"));
    assert_non_null(strstr(metadata, "127.0.0.1:0/"));
    assert_null(strstr(metadata, "cephzone.formatting")); /* mkfs has ended */
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(what_is_published_is_not_unstaged)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "in-use", 32 * MIB);
    put_up(&volume);
    must_refuse(node_unstage(&node, &volume, &err), STATUS_FAILED_PRECONDITION,
                "still published at");
    write_at(volume.target, "hello", "still there");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(one_writer_means_one_place)
{
    struct test_volume volume = {.fs_type = "ext4", .mode = "SINGLE_NODE_SINGLE_WRITER"};

    test_volume_create(&node, &volume, "alone", 32 * MIB);
    put_up(&volume);
    struct test_volume second = volume;
    _cleanup_free_ char *target = xasprintf("%s-2", volume.target);
    second.target = target;
    must_refuse(node_publish(&node, &second, &err), STATUS_FAILED_PRECONDITION, "one place only");
    volume.mode = second.mode = "SINGLE_NODE_MULTI_WRITER";
    must(node_publish(&node, &second, &err));
    must(node_unpublish(&node, &second, &err));
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(encrypted_and_unknown_volumes_are_refused)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "refused", 32 * MIB);
    json_t *capability =
        json_pack("{s:{s:s}, s:{}}", "access_mode", "mode", "SINGLE_NODE_WRITER", "mount");
    must_refuse(
        node_call(&node, "NodeStageVolume",
                  json_pack("{s:s, s:s, s:o, s:{s:s, s:s}}", "volume_id", volume.handle,
                            "staging_target_path", volume.staging, "volume_capability", capability,
                            "volume_context", "mounter", "fuse", "encrypted", "true"),
                  NULL, &err),
        STATUS_FAILED_PRECONDITION, "encrypted");
    char *handle = volume.handle;
    volume.handle = (char[]){"0001-0001-x-0000000000000001-b0285c97-a0ce-11eb-8c66-0242ac110002"};
    must_refuse(node_stage(&node, &volume, &err), STATUS_INVALID_ARGUMENT, "'x'");
    volume.handle = (char[]){"no-such-volume"};
    must_refuse(node_stage(&node, &volume, &err), STATUS_NOT_FOUND, "no-such-volume");
    volume.handle = handle;
    assert_nothing_left();
    test_volume_delete(&node, &volume);
}

TEST(a_static_volume_is_found_by_its_names)
{
    struct test_volume volume = {.handle = (char[]){"by-hand"}, .fs_type = "ext4"};
    json_t *capability =
        json_pack("{s:{s:s}, s:{}}", "access_mode", "mode", "SINGLE_NODE_WRITER", "mount");

    free(run_program((const char *[]){"rbd", "create", "common/by-hand", "--size", "32M", NULL}));
    volume.staging = xasprintf("%s/staging-static", node.root);
    volume.target = xasprintf("%s/target-static", node.root);
    volume.mode = "SINGLE_NODE_WRITER";
    assert_int_equal(mkdir(volume.staging, 0700), 0);
    must(node_call(&node, "NodeStageVolume",
                   json_pack("{s:s, s:s, s:o, s:{s:s, s:s, s:s, s:s}}", "volume_id", volume.handle,
                             "staging_target_path", volume.staging, "volume_capability", capability,
                             "volume_context", "mounter", "fuse", "staticVolume", "true",
                             "clusterID", harness_cluster()->fsid, "pool", "common"),
                   NULL, &err));
    must(node_publish(&node, &volume, &err));
    write_at(volume.target, "hello", "static");
    take_down(&volume);
    free(run_program((const char *[]){"rbd", "rm", "common/by-hand", NULL}));
    rmdir(volume.staging);
    free(volume.staging);
    free(volume.target);
}

/* --- twice at once ------------------------------------------------------------------------------
 */

TEST(calls_at_once_end_as_one)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "at-once", 32 * MIB);
    node_calls_at_once(&node, node_stage, &volume);
    node_calls_at_once(&node, node_publish, &volume);
    _cleanup_free_ char *left = node_leftovers(&node);
    assert_non_null(strstr(left, "1 daemons"));
    node_calls_at_once(&node, node_unpublish, &volume);
    node_calls_at_once(&node, node_unstage, &volume);
    assert_nothing_left();
    test_volume_delete(&node, &volume);
}

/* --- restarts -----------------------------------------------------------------------------------
 */

TEST(a_volume_lives_on_when_the_driver_is_killed)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&node, &volume, "killed", 32 * MIB);
    put_up(&volume);
    harness_stop(&node.driver, SIGKILL, 5000);
    write_at(volume.target, "hello", "without a driver");
    node_fixture_start(&node);
    put_up(&volume);
    assert_file(volume.target, "hello", "without a driver");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* As after the restart of a container, which ends all of its processes. */
TEST(a_volume_whose_daemon_died_is_found_sick_and_staged_anew)
{
    struct test_volume volume = {.fs_type = "ext4"};
    bool abnormal = false;

    test_volume_create(&node, &volume, "sick", 32 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "synced");
    sync();
    pid_t pid = daemon_of(&node, &volume);
    assert_true(pid > 0);
    harness_stop(&node.driver, SIGKILL, 5000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    node_fixture_start(&node);
    total_of(&volume, 0, &abnormal);
    assert_true(abnormal);
    must_refuse(node_publish(&node, &volume, &err), STATUS_FAILED_PRECONDITION, "has died");
    must(node_unpublish(&node, &volume, &err));
    must(node_stage(&node, &volume, &err)); /* waits until Ceph has forgotten the dead daemon */
    must(node_publish(&node, &volume, &err));
    assert_file(volume.target, "hello", "synced");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

static int prepare(void **state)
{
    (void)state;
    node_fixture_isolate();
    rpc_init();
    node_fixture_init(&node);
    node_fixture_start(&node);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    harness_assert_pool_empties("common");
    node_fixture_done(&node);
    rpc_shutdown();
    return 0;
}

TEST_GROUP(prepare, finish)
