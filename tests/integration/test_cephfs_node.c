/*
 * The life of a CephFS volume on a node, with the real driver, a real Ceph and ceph-fuse.
 */
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/node_fixture.h"
#include "tests/test.h"

static struct test_node node = {.is_cephfs = true};

static void assert_file(const char *folder, const char *name, const char *wanted)
{
    _cleanup_free_ char *content = read_at(folder, name);

    assert_non_null(content);
    assert_string_equal(content, wanted);
}

static void assert_not_writable(const char *folder)
{
    _cleanup_free_ char *path = xasprintf("%s/other", folder);

    assert_null(fopen(path, "we"));
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

/* --- files --------------------------------------------------------------------------------------
 */

/* The next node is the same machine under another name. */
TEST(files_are_there_on_the_next_node)
{
    struct test_volume volume = {.fs_type = ""};

    test_volume_create(&node, &volume, "moves", 64 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "written by a pod");
    take_down(&volume);
    harness_stop(&node.driver, SIGTERM, 20000);
    node.flag = "--nodeid=node-2";
    node_fixture_start(&node);
    put_up(&volume);
    assert_file(volume.target, "hello", "written by a pod");
    take_down(&volume);
    node.flag = NULL;
    test_volume_delete(&node, &volume);
}

TEST(every_call_can_be_made_twice)
{
    struct test_volume volume = {.fs_type = "", .mode = "MULTI_NODE_MULTI_WRITER"};

    test_volume_create(&node, &volume, "twice", 64 * MIB);
    put_up(&volume);
    put_up(&volume);
    must(node_unpublish(&node, &volume, &err));
    must(node_unpublish(&node, &volume, &err));
    must(node_unstage(&node, &volume, &err));
    must(node_unstage(&node, &volume, &err));
    assert_nothing_left();
    test_volume_delete(&node, &volume);
}

TEST(mount_flags_are_those_of_the_mount)
{
    struct test_volume volume = {.fs_type = "", .flag = "nodiratime"};

    test_volume_create(&node, &volume, "flags", 64 * MIB);
    put_up(&volume);
    _cleanup_free_ char *options = run_program(
        (const char *[]){"findmnt", "--noheadings", "--output", "OPTIONS", volume.staging, NULL});
    assert_non_null(strstr(options, "nodiratime"));
    assert_non_null(strstr(options, "nosuid"));
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(a_readonly_publish_cannot_be_written)
{
    struct test_volume volume = {.fs_type = ""};

    test_volume_create(&node, &volume, "readonly", 64 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "there");
    must(node_unpublish(&node, &volume, &err));
    volume.read_only = true;
    must(node_publish(&node, &volume, &err));
    must(node_publish(&node, &volume, &err));
    assert_file(volume.target, "hello", "there");
    assert_not_writable(volume.target);
    volume.read_only = false;
    must_refuse(node_publish(&node, &volume, &err), STATUS_ALREADY_EXISTS, "reading");
    take_down(&volume);
    volume.mode = "MULTI_NODE_READER_ONLY";
    put_up(&volume);
    assert_file(volume.target, "hello", "there");
    assert_not_writable(volume.target);
    assert_not_writable(volume.staging);
    volume.mode = "SINGLE_NODE_WRITER";
    must_refuse(node_stage(&node, &volume, &err), STATUS_ALREADY_EXISTS, "reading");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* --- snapshots and static volumes ---------------------------------------------------------------
 */

/* Makes a volume with a file and a snapshot of it, after which the file changes. */
static char *make_snapshot(struct test_volume *source)
{
    _cleanup_error_ struct error failure = {0};

    test_volume_create(&node, source, "source", 64 * MIB);
    put_up(source);
    write_at(source->target, "hello", "then");
    must(node_unpublish(&node, source, &err));
    must(node_unstage(&node, source, &err)); /* writes back */
    char *snapshot = call_snapshot(&node.driver, "snap-1", source->handle, &failure);
    if (!snapshot)
        fail_msg("%s", failure.message);
    put_up(source);
    write_at(source->target, "hello", "now");
    take_down(source);
    return snapshot;
}

static char *make_shallow(const char *name, const char *snapshot)
{
    _cleanup_error_ struct error err = {0};
    char *handle = cephfs_create(&node.driver,
                                 &(struct cephfs_wish){.name = name,
                                                       .size_bytes = 64 * MIB,
                                                       .mode = "MULTI_NODE_READER_ONLY",
                                                       .source_snapshot = snapshot},
                                 &err);

    if (!handle)
        fail_msg("%s", err.message);
    return handle;
}

/* Two at once, and the snapshot is deleted before the volumes that show it. */
TEST(volumes_show_their_snapshot)
{
    struct test_volume source = {.fs_type = ""};
    struct test_volume shown[2] = {{.fs_type = "", .mode = "MULTI_NODE_READER_ONLY"},
                                   {.fs_type = "", .mode = "MULTI_NODE_READER_ONLY"}};
    _cleanup_free_ char *snapshot = make_snapshot(&source);

    test_volume_adopt(&node, &shown[0], "shown-a", make_shallow("shown-a", snapshot));
    test_volume_adopt(&node, &shown[1], "shown-b", make_shallow("shown-b", snapshot));
    must(call_delete_snapshot(&node.driver, snapshot, &err));
    test_volume_delete(&node, &source);
    for (size_t i = 0; i < 2; i++) {
        put_up(&shown[i]);
        put_up(&shown[i]);
        assert_file(shown[i].target, "hello", "then");
        assert_not_writable(shown[i].target);
    }
    shown[0].mode = "SINGLE_NODE_WRITER";
    must_refuse(node_stage(&node, &shown[0], &err), STATUS_ALREADY_EXISTS, "reading only");
    must(node_unpublish(&node, &shown[0], &err));
    must(node_unstage(&node, &shown[0], &err));
    must_refuse(node_stage(&node, &shown[0], &err), STATUS_INVALID_ARGUMENT, "snapshot");
    assert_file(shown[1].target, "hello", "then");
    take_down(&shown[1]);
    test_volume_delete(&node, &shown[0]);
    test_volume_delete(&node, &shown[1]);
}

static int stage_static(const struct test_volume *volume, const char *root, const char *backing,
                        struct error *err)
{
    json_t *request = json_pack(
        "{s:s, s:s, s:{s:{s:s}, s:{}}, s:{s:s, s:s, s:s, s:s, s:s}}", "volume_id", volume->handle,
        "staging_target_path", volume->staging, "volume_capability", "access_mode", "mode",
        volume->mode, "mount", "volume_context", "mounter", "fuse", "staticVolume", "true",
        "clusterID", harness_cluster()->fsid, "rootPath", root, "fsName", CEPHFS_NAME);

    if (backing)
        json_object_set_new(json_object_get(request, "volume_context"), "backingSnapshotID",
                            json_string(backing));
    return node_call(&node, "NodeStageVolume", request, NULL, err);
}

TEST(a_static_volume_is_a_directory)
{
    struct test_volume whole = {.fs_type = "", .mode = "MULTI_NODE_MULTI_WRITER"};
    struct test_volume part = {.fs_type = "", .mode = "MULTI_NODE_MULTI_WRITER"};

    test_volume_adopt(&node, &whole, "whole", xstrdup("everything"));
    test_volume_adopt(&node, &part, "part", xstrdup("by, hand: 1"));
    must(stage_static(&whole, "/", NULL, &err));
    must(node_publish(&node, &whole, &err));
    _cleanup_free_ char *folder = xasprintf("%s/by-hand", whole.target);
    assert_int_equal(mkdir(folder, 0755), 0);
    must_refuse(stage_static(&part, "/by-hand/../x", NULL, &err), STATUS_INVALID_ARGUMENT,
                "rootPath");
    must(stage_static(&part, "/by-hand", NULL, &err));
    must(node_publish(&node, &part, &err));
    write_at(part.target, "hello", "static");
    must(node_unpublish(&node, &part, &err));
    must(node_unstage(&node, &part, &err));
    assert_file(folder, "hello", "static");
    _cleanup_free_ char *snap = xasprintf("%s/.snap/by-hand-snap", folder);
    assert_int_equal(mkdir(snap, 0755), 0);
    write_at(folder, "hello", "changed");
    part.mode = "MULTI_NODE_READER_ONLY";
    must_refuse(stage_static(&part, "/by-hand", "no-such", &err), STATUS_INVALID_ARGUMENT,
                "no entry with 'no-such'");
    must(stage_static(&part, "/by-hand", "hand-snap", &err));
    must(node_publish(&node, &part, &err));
    assert_file(part.target, "hello", "static");
    must(node_unpublish(&node, &part, &err));
    must(node_unstage(&node, &part, &err));
    assert_int_equal(rmdir(snap), 0);
    _cleanup_free_ char *file = xasprintf("%s/hello", folder);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
    take_down(&whole);
    test_volume_delete(&node, &whole); /* a handle that is not ours: deleting it is success */
    test_volume_delete(&node, &part);
}

/* --- measuring ----------------------------------------------------------------------------------
 */

static json_int_t total_of(const struct test_volume *volume, bool *abnormal)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *stats = node_stats(&node, volume, &err);

    if (!stats)
        fail_msg("%s", err.message);
    *abnormal =
        json_is_true(json_object_get(json_object_get(stats, "volume_condition"), "abnormal"));
    const json_t *usage = json_object_get(stats, "usage");
    assert_true(json_array_size(usage) <= 1); /* no inodes, as in Ceph-CSI */
    const json_t *total = json_object_get(json_array_get(usage, 0), "total");
    return json_is_string(total) ? strtoll(json_string_value(total), NULL, 10)
                                 : json_integer_value(total);
}

TEST(a_volume_grows_by_its_quota)
{
    struct test_volume volume = {.fs_type = ""};
    struct deadline deadline = deadline_in_ms(20000);
    bool abnormal = true;

    test_volume_create(&node, &volume, "grows", 64 * MIB);
    put_up(&volume);
    assert_int_equal(total_of(&volume, &abnormal), 64 * MIB);
    assert_false(abnormal);
    must_refuse(node_grow(&node, &volume, 128 * MIB, &err), STATUS_UNIMPLEMENTED, "grow");
    while (total_of(&volume, &abnormal) != 128 * MIB && !deadline_has_passed(deadline))
        usleep(100000);
    assert_int_equal(total_of(&volume, &abnormal), 128 * MIB);
    char *handle = volume.handle;
    volume.handle = (char[]){"0001-0001-x-0000000000000001-b0285c97-a0ce-11eb-8c66-0242ac110002"};
    char *target = volume.target;
    volume.target = node.root;
    _cleanup_error_ struct error err = {0};
    assert_null(node_stats(&node, &volume, &err));
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    volume.handle = handle;
    volume.target = target;
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* --- safety -------------------------------------------------------------------------------------
 */

TEST(what_is_published_is_not_unstaged)
{
    struct test_volume volume = {.fs_type = ""};

    test_volume_create(&node, &volume, "in-use", 64 * MIB);
    put_up(&volume);
    must_refuse(node_unstage(&node, &volume, &err), STATUS_FAILED_PRECONDITION,
                "still published at");
    write_at(volume.target, "hello", "still there");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(one_writer_means_one_place)
{
    struct test_volume volume = {.fs_type = "", .mode = "SINGLE_NODE_SINGLE_WRITER"};

    test_volume_create(&node, &volume, "alone", 64 * MIB);
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

TEST(encrypted_ancient_and_unknown_volumes_are_refused)
{
    struct test_volume volume = {.fs_type = "", .key = "encrypted", .value = "true"};

    test_volume_create(&node, &volume, "refused", 64 * MIB);
    must_refuse(node_stage(&node, &volume, &err), STATUS_FAILED_PRECONDITION, "encrypted");
    char *handle = volume.handle;
    volume.key = "monitors";
    volume.handle = (char[]){"csi-cephfs-pvc-1"};
    must_refuse(node_stage(&node, &volume, &err), STATUS_FAILED_PRECONDITION, "Ceph-CSI 1.0");
    volume.key = NULL;
    must_refuse(node_stage(&node, &volume, &err), STATUS_NOT_FOUND, "csi-cephfs-pvc-1");
    volume.handle = handle;
    volume.fs_type = NULL;
    must_refuse(node_stage(&node, &volume, &err), STATUS_INVALID_ARGUMENT, "block");
    assert_nothing_left();
    test_volume_delete(&node, &volume);
}

static bool has_text(const char *folder, const char *text)
{
    _cleanup_free_ char *found = run_program(
        (const char *[]){"sh", "-c", "grep -rl -- \"$0\" \"$1\" || true", text, folder, NULL});

    return found[0];
}

/* Neither in the log nor in a file; ceph-fuse has had it in one that is gone. */
TEST(the_key_is_nowhere)
{
    struct test_volume volume = {.fs_type = ""};
    const char *key = harness_cluster()->key;

    test_volume_create(&node, &volume, "secret", 64 * MIB);
    put_up(&volume);
    assert_false(has_text(node.driver.folder, key));
    assert_false(has_text(node.run_dir, key));
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* --- twice at once ------------------------------------------------------------------------------
 */

TEST(calls_at_once_end_as_one)
{
    struct test_volume volume = {.fs_type = ""};

    test_volume_create(&node, &volume, "at-once", 64 * MIB);
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
    struct test_volume volume = {.fs_type = ""};

    test_volume_create(&node, &volume, "killed", 64 * MIB);
    put_up(&volume);
    pid_t pid = daemon_of(&node, &volume);
    harness_stop(&node.driver, SIGKILL, 5000);
    write_at(volume.target, "hello", "without a driver");
    node_fixture_start(&node);
    put_up(&volume);
    assert_int_equal(daemon_of(&node, &volume), pid);
    assert_file(volume.target, "hello", "without a driver");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

/* By SIGKILL, or by the kernel, which drops its connection: then it has the time to tell Ceph that
 * it goes, and who wants to change its directories need not wait for a minute. */
static void end_client(const struct test_volume *volume, bool is_killed)
{
    struct deadline deadline = deadline_in_ms(20000);
    pid_t pid = daemon_of(&node, volume);
    struct stat mounted;

    assert_true(pid > 0);
    assert_int_equal(stat(volume->staging, &mounted), 0);
    _cleanup_free_ char *connection =
        xasprintf("/sys/fs/fuse/connections/%u", minor(mounted.st_dev));
    if (is_killed)
        assert_int_equal(kill(pid, SIGKILL), 0);
    else
        write_at(connection, "abort", "1");
    while (daemon_of(&node, volume) && !deadline_has_passed(deadline))
        usleep(10000);
    assert_int_equal(daemon_of(&node, volume), 0);
    assert_int_equal(stat(volume->staging, &mounted), -1);
}

/* The driver still knows the Ceph user, so that the next pod needs no NodeStageVolume. */
TEST(a_volume_whose_client_died_is_mended_when_it_is_published)
{
    struct test_volume volume = {.fs_type = "", .without_secrets = true};
    bool abnormal = false;

    test_volume_create(&node, &volume, "sick", 64 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "synced");
    sync();
    end_client(&volume, true);
    total_of(&volume, &abnormal);
    assert_true(abnormal);
    must(node_publish(&node, &volume, &err));
    total_of(&volume, &abnormal);
    assert_false(abnormal);
    assert_file(volume.target, "hello", "synced");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

TEST(a_volume_whose_client_died_is_staged_anew)
{
    struct test_volume volume = {.fs_type = ""};

    test_volume_create(&node, &volume, "anew", 64 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "synced");
    sync();
    end_client(&volume, false);
    must(node_stage(&node, &volume, &err));
    assert_file(volume.target, "hello", "synced"); /* the pod's folder has been seen to */
    end_client(&volume, false);
    take_down(&volume); /* dead as it is */
    test_volume_delete(&node, &volume);
}

/* As after the restart of a container, which ends all of its processes. */
TEST(a_driver_without_users_leaves_the_dead_to_the_next_call)
{
    struct test_volume volume = {.fs_type = "", .without_secrets = true};

    test_volume_create(&node, &volume, "forgotten", 64 * MIB);
    put_up(&volume);
    harness_stop(&node.driver, SIGKILL, 5000);
    end_client(&volume, false);
    node_fixture_start(&node);
    must_refuse(node_publish(&node, &volume, &err), STATUS_FAILED_PRECONDITION, "has died");
    volume.without_secrets = false; /* as with node-publish-secret-name in the class */
    must(node_publish(&node, &volume, &err));
    write_at(volume.target, "hello", "again");
    take_down(&volume);
    test_volume_delete(&node, &volume);
}

static void write_keyring(char **path)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *text = xasprintf("[client.%s]\n\tkey = %s\n", cluster->user, cluster->key);

    *path = xasprintf("%s.keyring", node.root);
    write_at("/", *path, text);
}

TEST(a_driver_with_a_user_revives_volumes_when_it_starts)
{
    struct test_volume volume = {.fs_type = ""};
    struct deadline deadline = deadline_in_ms(60000);
    _cleanup_free_ char *path = NULL;
    bool abnormal = true;

    test_volume_create(&node, &volume, "revived", 64 * MIB);
    put_up(&volume);
    write_at(volume.target, "hello", "synced");
    sync();
    harness_stop(&node.driver, SIGKILL, 5000);
    end_client(&volume, false);
    write_keyring(&path);
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", path);
    node.flag = flag;
    node_fixture_start(&node);
    total_of(&volume, &abnormal);
    for (; abnormal && !deadline_has_passed(deadline); total_of(&volume, &abnormal))
        usleep(100000);
    assert_false(abnormal);
    assert_file(volume.target, "hello", "synced");
    take_down(&volume);
    test_volume_delete(&node, &volume);
    node.flag = NULL;
    unlink(path);
}

static int prepare(void **state)
{
    (void)state;
    node_fixture_isolate();
    rpc_init();
    mount("none", "/sys/fs/fuse/connections", "fusectl", 0, NULL); /* may be there already */
    node_fixture_init(&node);
    node_fixture_start(&node);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    cephfs_assert_empties();
    node_fixture_done(&node);
    rpc_shutdown();
    return 0;
}

TEST_GROUP(prepare, finish)
