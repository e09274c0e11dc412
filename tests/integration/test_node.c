/*
 * The life of an RBD volume on a node, with the fuse mapper: block volumes, file systems and what
 * else CephFS does not have. What both have is in node_life.c.
 */
#include <linux/capability.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/integration/node_fixture.h"

const bool NODE_IS_CEPHFS = false;

static void assert_device(const char *path, const char *wanted)
{
    _cleanup_free_ char *content = read_device(path);

    assert_string_equal(content, wanted);
}

/* --- mount and block --- */

NODE_TEST(files_on_xfs_survive_unstage_and_stage)
{
    struct test_volume volume = {.fs_type = "xfs"};

    test_volume_create(&volume, "xfs", 320 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "written by a pod");
    take_down(&volume);
    put_up(&volume);
    assert_file(volume.target, "hello", "written by a pod");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(bytes_of_a_block_volume_survive)
{
    struct test_volume volume = {0};

    test_volume_create(&volume, "block", 16 * MIB);
    put_up(&volume);
    write_device(volume.target, "written by a pod");
    take_down(&volume);
    put_up(&volume);
    assert_device(volume.target, "written by a pod");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(image_meta_is_that_of_ceph_csi_with_the_mapper)
{
    struct test_volume volume = plain_volume("meta");

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
    _cleanup_free_ char *rest =
        xasprintf("\"logDir\":\"\",\"logFileStrategy\":\"\",\"mapper\":\"fuse\",\"cephzone\":{"
                  "\"clusterFSID\":\"%s\",\"imageID\":\"",
                  harness_cluster()->fsid);
    assert_non_null(strstr(meta, rest));
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(readers_only_stage_what_has_a_file_system)
{
    struct test_volume volume = plain_volume("empty");

    volume.mode = "MULTI_NODE_READER_ONLY";
    must_refuse(node_stage(&volume, &err), STATUS_FAILED_PRECONDITION, "no file system");
    assert_nothing_left();
    volume.mode = "SINGLE_NODE_WRITER";
    put_up(&volume);
    take_down(&volume);
    volume.mode = "MULTI_NODE_READER_ONLY";
    put_up(&volume);
    take_down(&volume);
    test_volume_delete(&volume);
}

/* --- growing and measuring --- */

static void grow_under_the_pod(const struct test_volume *volume, long long from, long long to)
{
    json_int_t before = total_of(volume, 0);

    assert_true(total_of(volume, 1) > 0);
    must(node_grow(volume, to, &err));
    must(node_grow(volume, to, &err));
    assert_true(total_of(volume, 0) >= before + (to - from) / 2);
}

NODE_TEST(xfs_grows_under_the_pod)
{
    struct test_volume volume = {.fs_type = "xfs"};

    test_volume_create(&volume, "grows-xfs", 320 * MIB);
    put_up(&volume);
    grow_under_the_pod(&volume, 320 * MIB, 448 * MIB);
    take_down(&volume);
    test_volume_delete(&volume);
}

/* The kernel wants CAP_SYS_RESOURCE for it, which not every machine's root has. */
static bool can_grow_ext4(void)
{
    _cleanup_free_ char *status = read_at("/proc/self", "status");
    const char *line = strstr(status, "CapEff:");

    assert_non_null(line);
    return strtoull(line + strlen("CapEff:"), NULL, 16) & 1ULL << CAP_SYS_RESOURCE;
}

NODE_TEST(ext4_grows_under_the_pod_or_says_which_capability_it_needs)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&volume, "grows-ext4", 64 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "there");
    if (can_grow_ext4())
        grow_under_the_pod(&volume, 64 * MIB, 160 * MIB);
    else
        must_refuse(node_grow(&volume, 160 * MIB, &err), STATUS_INTERNAL, "SYS_RESOURCE");
    assert_file(volume.target, "hello", "there");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(a_block_volume_grows_and_tells_its_size)
{
    struct test_volume volume = {0};

    test_volume_create(&volume, "grows-block", 16 * MIB);
    put_up(&volume);
    assert_int_equal(total_of(&volume, 0), 16 * MIB);
    must(node_grow(&volume, 24 * MIB, &err));
    assert_int_equal(total_of(&volume, 0), 24 * MIB);
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(an_image_that_grew_while_unstaged_is_used_entirely)
{
    struct test_volume volume = {.fs_type = "xfs"};

    test_volume_create(&volume, "grew", 320 * MIB);
    put_up(&volume);
    take_down(&volume);
    must(node_call("ControllerExpandVolume",
                   json_pack("{s:s, s:{s:I}}", "volume_id", volume.handle, "capacity_range",
                             "required_bytes", (json_int_t)(448 * MIB)),
                   NULL, &err));
    put_up(&volume);
    assert_true(total_of(&volume, 0) > 340 * MIB);
    take_down(&volume);
    test_volume_delete(&volume);
}

/* --- safety --- */

NODE_TEST(data_without_a_file_system_is_not_formatted)
{
    struct test_volume volume = {0};

    test_volume_create(&volume, "precious", 32 * MIB);
    put_up(&volume);
    write_device(volume.target, "precious bytes of an unknown kind");
    take_down(&volume);
    volume.fs_type = "ext4";
    must_refuse(node_stage(&volume, &err), STATUS_FAILED_PRECONDITION, "holds data");
    assert_nothing_left();
    volume.fs_type = NULL;
    put_up(&volume);
    assert_device(volume.target, "precious bytes of an unknown kind");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(another_file_system_is_not_replaced)
{
    struct test_volume volume = {.fs_type = "ext4"};

    test_volume_create(&volume, "other-fs", 320 * MIB);
    put_up(&volume);
    take_down(&volume);
    volume.fs_type = "xfs";
    must_refuse(node_stage(&volume, &err), STATUS_FAILED_PRECONDITION, "has ext4 on it, but xfs");
    volume.fs_type = "btrfs";
    must_refuse(node_stage(&volume, &err), STATUS_INVALID_ARGUMENT, "use ext4 or xfs");
    assert_nothing_left();
    test_volume_delete(&volume);
}

static void remove_lock(const char *spec)
{
    _cleanup_free_ char *list =
        harness_run_tool((const char *[]){"rbd", "lock", "ls", spec, "--format", "json", NULL});
    json_auto_t *locks = json_loads(list, 0, NULL);
    const char *locker = json_string_value(json_object_get(json_array_get(locks, 0), "locker"));

    assert_non_null(locker);
    free(harness_run_tool((const char *[]){"rbd", "lock", "rm", spec, "by-hand", locker, NULL}));
}

NODE_TEST(an_image_locked_by_another_is_not_mapped)
{
    struct test_volume volume = plain_volume("locked");
    _cleanup_free_ char *image = image_of(volume.handle);
    _cleanup_free_ char *spec = xasprintf("common/%s", image);

    free(harness_run_tool((const char *[]){"rbd", "lock", "add", spec, "by-hand", NULL}));
    node_on_failure(remove_lock, spec);
    must_refuse(node_stage(&volume, &err), STATUS_FAILED_PRECONDITION, "locked by client.");
    assert_nothing_left();
    remove_lock(spec);
    node_undone(spec);
    put_up(&volume);
    take_down(&volume);
    test_volume_delete(&volume);
}

static char *metadata_of(const struct test_volume *volume)
{
    _cleanup_free_ char *image = image_of(volume->handle);
    _cleanup_free_ char *spec = xasprintf("common/%s", image);

    return harness_run_tool(
        (const char *[]){"rbd", "image-meta", "list", spec, "--format", "json", NULL});
}

/* And nothing else is: what marks an image while mkfs runs has gone. */
NODE_TEST(the_address_of_the_node_is_recorded_until_it_is_detached)
{
    struct test_volume volume = plain_volume("recorded");
    _cleanup_free_ char *client =
        xasprintf(".rbd.csi.ceph.com/clientaddress/%s/node-1", volume.handle);
    _cleanup_free_ char *user = xasprintf(".rbd.csi.ceph.com/userid/%s/node-1", volume.handle);
    _cleanup_free_ char *before = metadata_of(&volume);
    const char *key = NULL;
    json_t *value = NULL;
    size_t recorded = 0;

    put_up(&volume);
    _cleanup_free_ char *after = metadata_of(&volume);
    json_auto_t *metadata = json_loads(after, 0, NULL);
    assert_true(json_is_object(metadata));
    json_object_foreach(metadata, key, value)
    {
        if (strcmp(key, client) == 0)
            recorded += strcmp(json_string_value(value), "127.0.0.1") == 0;
        else if (strcmp(key, user) == 0)
            recorded += strcmp(json_string_value(value), harness_cluster()->user) == 0;
        else if (!strstr(before, key))
            fail_msg("metadata '%s' was left", key);
    }
    assert_int_equal(recorded, 2);
    take_down(&volume);
    must(node_call("ControllerUnpublishVolume",
                   json_pack("{s:s, s:s}", "volume_id", volume.handle, "node_id", "node-1"), NULL,
                   &err));
    _cleanup_free_ char *detached = metadata_of(&volume);
    assert_null(strstr(detached, client));
    assert_null(strstr(detached, user));
    test_volume_delete(&volume);
}

/* --- which pods --- */

static int publish_for(const struct test_volume *volume, const char *accounts, struct error *err)
{
    return node_call("NodePublishVolume",
                     json_pack("{s:s, s:s, s:s, s:{s:{}, s:{s:s}}, s:{s:s}, s:{s:s}}", "volume_id",
                               volume->handle, "staging_target_path", volume->staging,
                               "target_path", volume->target, "volume_capability", "mount",
                               "access_mode", "mode", "SINGLE_NODE_WRITER", "publish_context",
                               "serviceAccount", accounts, "volume_context",
                               "csi.storage.k8s.io/serviceAccount.name", "default"),
                     NULL, err);
}

NODE_TEST(pods_of_other_accounts_get_nothing)
{
    struct test_volume volume = plain_volume("restricted");

    must(node_stage(&volume, &err));
    must_refuse(publish_for(&volume, "builder,mover", &err), STATUS_PERMISSION_DENIED, "'default'");
    assert_int_equal(access(volume.target, F_OK), -1);
    must(publish_for(&volume, "builder,default", &err));
    take_down(&volume);
    test_volume_delete(&volume);
}

/* --- interrupted mkfs --- */

/* As a driver leaves it that dies while mkfs runs or just after it. */
static void set_mark(const struct test_volume *volume, const char *fs_uuid)
{
    _cleanup_free_ char *image = image_of(volume->handle);
    _cleanup_free_ char *spec = xasprintf("common/%s", image);
    _cleanup_free_ char *text =
        harness_run_tool((const char *[]){"rbd", "info", spec, "--format", "json", NULL});
    json_auto_t *info = json_loads(text, 0, NULL);
    const char *id = json_string_value(json_object_get(info, "id"));

    assert_non_null(id);
    _cleanup_free_ char *mark = xasprintf("%s %s %s", volume->fs_type, id, fs_uuid);
    free(harness_run_tool(
        (const char *[]){"rbd", "image-meta", "set", spec, "cephzone.formatting", mark, NULL}));
}

static void assert_no_mark(const struct test_volume *volume)
{
    _cleanup_free_ char *metadata = metadata_of(volume);

    assert_null(strstr(metadata, "cephzone.formatting"));
}

#define FS_UUID "5b1d6ed4-8a0c-4f0e-9b56-0f6b1c1e9d11"

/* The driver dies between mkfs and the removal of its mark; another one uses the volume. */
static void keep_what_was_used_since_mkfs(const char *fs_type)
{
    struct test_volume volume = {.fs_type = fs_type};

    test_volume_create(&volume, "used-since", 320 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "precious");
    _cleanup_free_ char *device =
        harness_run_tool((const char *[]){"findmnt", "-no", "SOURCE", "-M", volume.target, NULL});
    device[strcspn(device, "\n")] = '\0';
    _cleanup_free_ char *uuid = harness_run_tool(
        (const char *[]){"blkid", "-p", "-s", "UUID", "-o", "value", device, NULL});
    uuid[strcspn(uuid, "\n")] = '\0';
    take_down(&volume);
    set_mark(&volume, uuid);
    put_up(&volume);
    assert_file(volume.target, "hello", "precious");
    assert_no_mark(&volume);
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(an_ext4_that_was_used_since_its_mkfs_is_not_formatted)
{
    keep_what_was_used_since_mkfs("ext4");
}

NODE_TEST(an_xfs_that_was_used_since_its_mkfs_is_not_formatted)
{
    keep_what_was_used_since_mkfs("xfs");
}

/* @make puts on the device what an interrupted mkfs leaves; the next stage makes it complete. */
static void repeat_mkfs_on(const char *fs_type, void (*make)(const char *device))
{
    struct test_volume volume = {0};

    test_volume_create(&volume, "interrupted", 320 * MIB);
    put_up(&volume);
    make(volume.target);
    take_down(&volume);
    volume.fs_type = fs_type;
    set_mark(&volume, FS_UUID);
    put_up(&volume);
    write_at(volume.target, "hello", "usable");
    assert_no_mark(&volume);
    take_down(&volume);
    test_volume_delete(&volume);
}

/* Its first superblock is written last. */
static void make_ext4_without_superblock(const char *device)
{
    free(harness_run_tool((const char *[]){"mkfs.ext4", "-q", "-F", "-U", FS_UUID, device, NULL}));
    _cleanup_free_ char *to = xasprintf("of=%s", device);
    free(harness_run_tool((const char *[]){"dd", "if=/dev/zero", to, "bs=2048", "count=1",
                                           "conv=notrunc,fsync", "status=none", NULL}));
}

static void make_xfs_in_progress(const char *device)
{
    const char *uuid = "uuid=" FS_UUID;

    free(harness_run_tool((const char *[]){"mkfs.xfs", "-q", "-f", "-m", uuid, device, NULL}));
    free(harness_run_tool((const char *[]){"xfs_db", "-x", "-c", "sb 0", "-c",
                                           "write -d inprogress 1", device, NULL}));
}

NODE_TEST(a_mkfs_of_ext4_that_was_interrupted_is_repeated)
{
    repeat_mkfs_on("ext4", make_ext4_without_superblock);
}

NODE_TEST(a_mkfs_of_xfs_that_was_interrupted_is_repeated)
{
    repeat_mkfs_on("xfs", make_xfs_in_progress);
}

static void remove_image(const char *spec)
{
    node_undo_mounts();
    free(harness_run_tool((const char *[]){"rbd", "rm", spec, NULL}));
}

NODE_TEST(a_static_volume_is_found_by_its_names)
{
    const char *spec = "common/by-hand";
    struct test_volume volume = {.fs_type = "ext4"};
    _cleanup_free_ char *context =
        xasprintf("{\"staticVolume\":\"true\", \"clusterID\":\"%s\", \"pool\":\"common\"}",
                  harness_cluster()->fsid);

    free(harness_run_tool((const char *[]){"rbd", "create", spec, "--size", "32M", NULL}));
    node_on_failure(remove_image, spec);
    test_volume_adopt(&volume, "static", xstrdup("by-hand"));
    volume.context = context;
    put_up(&volume);
    write_at(volume.target, "hello", "static");
    take_down(&volume);
    test_volume_delete(&volume); /* a handle that is not ours: deleting it is success */
    remove_image(spec);
    node_undone(spec);
}

/* --- restarts --- */

/* As after the restart of a container, which ends all of its processes. */
NODE_TEST(a_volume_whose_daemon_died_is_found_sick_and_staged_anew)
{
    struct test_volume volume = plain_volume("sick");

    put_up(&volume);
    write_durably(volume.target, "hello", "synced");
    pid_t pid = daemon_of(&volume);
    assert_true(pid > 0);
    harness_stop(&node.driver, SIGKILL, WAIT_MS);
    assert_int_equal(kill(pid, SIGKILL), 0);
    node_fixture_start();
    assert_true(is_sick(&volume));
    must_refuse(node_publish(&volume, &err), STATUS_FAILED_PRECONDITION, "has died");
    must(node_unpublish(&volume, &err));
    must(node_stage(&volume, &err)); /* waits until Ceph has forgotten the dead daemon */
    must(node_publish(&volume, &err));
    assert_file(volume.target, "hello", "synced");
    take_down(&volume);
    test_volume_delete(&volume);
}
