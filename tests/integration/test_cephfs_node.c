/*
 * The life of a CephFS volume on a node, with ceph-fuse: snapshots, directories as volumes, quotas,
 * and clients that die. What RBD has as well is in node_life.c.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/node_fixture.h"

const bool NODE_IS_CEPHFS = true;

/* --- files --- */

NODE_TEST(mount_flags_are_those_of_the_mount)
{
    struct test_volume volume = plain_volume("flags");

    volume.flag = "nodiratime";
    put_up(&volume);
    _cleanup_free_ char *options = harness_run_tool(
        (const char *[]){"findmnt", "--noheadings", "--output", "OPTIONS", volume.staging, NULL});
    assert_non_null(strstr(options, "nodiratime"));
    assert_non_null(strstr(options, "nosuid"));
    take_down(&volume);
    test_volume_delete(&volume);
}

/* With ceph-fuse it is the mount itself. */
NODE_TEST(the_staging_path_of_readers_cannot_be_written)
{
    struct test_volume volume = plain_volume("staged");

    volume.mode = "MULTI_NODE_READER_ONLY";
    must(node_stage(&volume, &err));
    assert_not_writable(volume.staging);
    must(node_unstage(&volume, &err));
    assert_nothing_left();
    test_volume_delete(&volume);
}

/* --- snapshots and static volumes --- */

static void delete_snapshot(const char *handle)
{
    node_undo_start();
    must(call_delete_snapshot(&node.driver, handle, &err));
}

/* Makes a volume with a file and a snapshot of it, after which the file changes. */
static char *make_snapshot(struct test_volume *source)
{
    _cleanup_error_ struct error failure = {0};

    *source = plain_volume("source");
    put_up(source);
    write_at(source->target, "hello", "then");
    take_down(source); /* writes back */
    char *snapshot = call_snapshot(&node.driver, "snap-1", source->handle, &failure);
    if (!snapshot)
        fail_msg("%s", failure.message);
    node_on_failure(delete_snapshot, snapshot);
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

/* Not take_down(): others are still there. */
static void unpublish_and_unstage(const struct test_volume *volume)
{
    must(node_unpublish(volume, &err));
    must(node_unstage(volume, &err));
}

/* Two at once, and the snapshot is deleted before the volumes that show it. */
NODE_TEST(volumes_show_their_snapshot)
{
    struct test_volume source;
    struct test_volume shown[2] = {{.fs_type = "", .mode = "MULTI_NODE_READER_ONLY"},
                                   {.fs_type = "", .mode = "MULTI_NODE_READER_ONLY"}};
    _cleanup_free_ char *snapshot = make_snapshot(&source);

    test_volume_adopt(&shown[0], "shown-a", make_shallow("shown-a", snapshot));
    test_volume_adopt(&shown[1], "shown-b", make_shallow("shown-b", snapshot));
    delete_snapshot(snapshot);
    node_undone(snapshot);
    test_volume_delete(&source);
    for (size_t i = 0; i < 2; i++) {
        put_up(&shown[i]);
        put_up(&shown[i]);
        assert_file(shown[i].target, "hello", "then");
        assert_not_writable(shown[i].target);
    }
    shown[0].mode = "SINGLE_NODE_WRITER";
    must_refuse(node_stage(&shown[0], &err), STATUS_ALREADY_EXISTS, "reading only");
    unpublish_and_unstage(&shown[0]);
    must_refuse(node_stage(&shown[0], &err), STATUS_INVALID_ARGUMENT, "snapshot");
    assert_file(shown[1].target, "hello", "then");
    take_down(&shown[1]);
    test_volume_delete(&shown[0]);
    test_volume_delete(&shown[1]);
}

/* Stages the directory @root of the file system or, if @backing is not NULL, that snapshot of it.
 */
static int stage_static(struct test_volume *volume, const char *root, const char *backing,
                        struct error *err)
{
    json_auto_t *names = json_pack("{s:s, s:s, s:s, s:s, s:s*}", "staticVolume", "true",
                                   "clusterID", harness_cluster()->fsid, "rootPath", root, "fsName",
                                   CEPHFS_NAME, "backingSnapshotID", backing);
    _cleanup_free_ char *context = json_dumps(names, 0);

    volume->context = context;
    int result = node_stage(volume, err);
    volume->context = NULL;
    return result;
}

/* With its snapshots; as long as the file system is mounted. */
static void remove_directory(const char *path)
{
    free(harness_run_tool((const char *[]){
        "bash", "-c", "rmdir \"$0\"/.snap/* 2>/dev/null; rm -rf \"$0\"", path, NULL}));
}

NODE_TEST(a_static_volume_is_a_directory)
{
    struct test_volume whole = {.fs_type = "", .mode = "MULTI_NODE_MULTI_WRITER"};
    struct test_volume part = {.fs_type = "", .mode = "MULTI_NODE_MULTI_WRITER"};

    test_volume_adopt(&whole, "whole", xstrdup("everything"));
    test_volume_adopt(&part, "part", xstrdup("by, hand: 1"));
    must(stage_static(&whole, "/", NULL, &err));
    must(node_publish(&whole, &err));
    _cleanup_free_ char *folder = xasprintf("%s/by-hand", whole.target);
    assert_int_equal(mkdir(folder, 0755), 0);
    node_on_failure(remove_directory, folder);
    must_refuse(stage_static(&part, "/by-hand/../x", NULL, &err), STATUS_INVALID_ARGUMENT,
                "rootPath");
    must(stage_static(&part, "/by-hand", NULL, &err));
    must(node_publish(&part, &err));
    write_at(part.target, "hello", "static");
    unpublish_and_unstage(&part);
    assert_file(folder, "hello", "static");
    _cleanup_free_ char *snap = xasprintf("%s/.snap/by-hand-snap", folder);
    assert_int_equal(mkdir(snap, 0755), 0);
    write_at(folder, "hello", "changed");
    part.mode = "MULTI_NODE_READER_ONLY";
    must_refuse(stage_static(&part, "/by-hand", "no-such", &err), STATUS_INVALID_ARGUMENT,
                "no entry with 'no-such'");
    must(stage_static(&part, "/by-hand", "hand-snap", &err));
    must(node_publish(&part, &err));
    assert_file(part.target, "hello", "static");
    unpublish_and_unstage(&part);
    remove_directory(folder);
    node_undone(folder);
    take_down(&whole);
    test_volume_delete(&whole); /* a handle that is not ours: deleting it is success */
    test_volume_delete(&part);
}

/* --- measuring --- */

NODE_TEST(a_volume_grows_by_its_quota)
{
    struct test_volume volume = plain_volume("grows");

    put_up(&volume);
    assert_int_equal(total_of(&volume, 0), 32 * MIB);
    assert_int_equal(total_of(&volume, 1), 0); /* no inodes, as in Ceph-CSI */
    must_refuse(node_grow(&volume, 128 * MIB, &err), STATUS_UNIMPLEMENTED, "grow");
    wait_until(total_of(&volume, 0) == 128 * MIB);
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(stats_of_an_unknown_volume_are_not_found)
{
    struct test_volume unknown = {
        .handle = (char[]){"0001-0001-x-0000000000000001-b0285c97-a0ce-11eb-8c66-0242ac110002"},
        .target = node.root};

    must_refuse(node_stats(&unknown, &err) ? 0 : -1, STATUS_NOT_FOUND, "");
}

/* --- safety --- */

NODE_TEST(ancient_and_block_volumes_are_refused)
{
    struct test_volume volume = plain_volume("refused");
    struct test_volume other = volume;

    other.context = "{\"monitors\":\"true\"}";
    other.handle = (char[]){"csi-cephfs-pvc-1"};
    must_refuse(node_stage(&other, &err), STATUS_FAILED_PRECONDITION, "Ceph-CSI 1.0");
    other.context = NULL;
    must_refuse(node_stage(&other, &err), STATUS_NOT_FOUND, "csi-cephfs-pvc-1");
    volume.fs_type = NULL;
    must_refuse(node_stage(&volume, &err), STATUS_INVALID_ARGUMENT, "block");
    assert_nothing_left();
    test_volume_delete(&volume);
}

/* --- restarts --- */

/* By SIGKILL, or by the kernel, which drops its connection: then it has the time to tell Ceph that
 * it goes, and who wants to change its directories need not wait for a minute. */
static void end_client(const struct test_volume *volume, bool is_killed)
{
    pid_t pid = daemon_of(volume);
    struct stat mounted;

    assert_true(pid > 0);
    assert_int_equal(stat(volume->staging, &mounted), 0);
    mount("none", "/sys/fs/fuse/connections", "fusectl", 0, NULL); /* may be there already */
    _cleanup_free_ char *connection =
        xasprintf("/sys/fs/fuse/connections/%u", minor(mounted.st_dev));
    if (is_killed)
        assert_int_equal(kill(pid, SIGKILL), 0);
    else
        write_at(connection, "abort", "1");
    wait_until(!daemon_of(volume));
    assert_int_equal(stat(volume->staging, &mounted), -1);
}

/* The driver still knows the Ceph user, so that the next pod needs no NodeStageVolume. */
NODE_TEST(a_volume_whose_client_died_is_mended_when_it_is_published)
{
    struct test_volume volume = plain_volume("sick");

    volume.without_secrets = true;
    put_up(&volume);
    write_durably(volume.target, "hello", "synced");
    end_client(&volume, true);
    assert_true(is_sick(&volume));
    must(node_publish(&volume, &err));
    assert_false(is_sick(&volume));
    assert_file(volume.target, "hello", "synced");
    take_down(&volume);
    test_volume_delete(&volume);
}

NODE_TEST(a_volume_whose_client_died_is_staged_anew)
{
    struct test_volume volume = plain_volume("anew");

    put_up(&volume);
    write_durably(volume.target, "hello", "synced");
    end_client(&volume, false);
    must(node_stage(&volume, &err));
    assert_file(volume.target, "hello", "synced"); /* the pod's folder has been seen to */
    end_client(&volume, false);
    take_down(&volume); /* dead as it is */
    test_volume_delete(&volume);
}

/* As after the restart of a container, which ends all of its processes. */
NODE_TEST(a_driver_without_users_leaves_the_dead_to_the_next_call)
{
    struct test_volume volume = plain_volume("forgotten");

    volume.without_secrets = true;
    put_up(&volume);
    harness_stop(&node.driver, SIGKILL, WAIT_MS);
    end_client(&volume, false);
    node_fixture_start();
    must_refuse(node_publish(&volume, &err), STATUS_FAILED_PRECONDITION, "has died");
    volume.without_secrets = false; /* as with node-publish-secret-name in the class */
    must(node_publish(&volume, &err));
    write_at(volume.target, "hello", "again");
    take_down(&volume);
    test_volume_delete(&volume);
}

/* Puts a program mount, which fails, before the one that is installed; the driver and what it
 * starts find it. Returns the file that shows that it was called. */
static char *plant_failing_mount(const char *folder)
{
    _cleanup_free_ char *program = xasprintf("%s/mount", folder);
    _cleanup_free_ char *path = xasprintf("%s:%s", folder, getenv("PATH"));
    char *tried = xasprintf("%s/tried", folder);

    assert_int_equal(mkdir(folder, 0755), 0);
    write_at(folder, "mount", "#!/bin/sh\n: >\"${0%/*}/tried\"\nexit 1\n");
    assert_int_equal(chmod(program, 0755), 0);
    setenv("PATH", path, 1);
    return tried;
}

static bool has_session(const char *mount_point)
{
    _cleanup_free_ char *sessions =
        harness_run_tool((const char *[]){"ceph", "tell", "mds.a", "session", "ls", NULL});
    _cleanup_free_ char *quoted = xasprintf("\"%s\"", mount_point);

    return strstr(sessions, quoted) != NULL;
}

/* ceph-fuse remounts its path just after it was mounted. If the volume is unstaged in that moment
 * this fails, and a client that ends because of it leaves the MDS waiting for it. */
NODE_TEST(a_client_that_cannot_remount_takes_its_leave)
{
    struct test_volume volume = plain_volume("busy");
    _cleanup_free_ char *installed = xstrdup(getenv("PATH"));
    _cleanup_free_ char *folder = xasprintf("%s/bin", node.driver.folder);
    _cleanup_free_ char *tried = plant_failing_mount(folder);

    node_on_failure(remove_directory, folder);
    node_fixture_restart(SIGTERM);
    setenv("PATH", installed, 1);
    put_up(&volume);
    wait_until(access(tried, F_OK) == 0);
    assert_true(has_session(volume.staging));
    take_down(&volume);
    wait_until(!has_session(volume.staging));
    remove_directory(folder);
    node_undone(folder);
    node_fixture_restart(SIGTERM);
    test_volume_delete(&volume);
}

static char *write_keyring(void)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *text = xasprintf("[client.%s]\n\tkey = %s\n", cluster->user, cluster->key);
    char *path = xasprintf("%s/keyring", node.driver.folder);

    node_on_failure(remove_file, path);
    write_at("", path, text);
    return path;
}

NODE_TEST(a_driver_with_a_user_revives_volumes_when_it_starts)
{
    struct test_volume volume = plain_volume("revived");
    _cleanup_free_ char *path = write_keyring();
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", path);

    put_up(&volume);
    write_durably(volume.target, "hello", "synced");
    harness_stop(&node.driver, SIGKILL, WAIT_MS);
    end_client(&volume, false);
    node.flags[0] = flag;
    node_fixture_start();
    wait_until(is_well(&volume));
    assert_file(volume.target, "hello", "synced");
    take_down(&volume);
    test_volume_delete(&volume);
    node.flags[0] = NULL;
    node_fixture_restart(SIGTERM);
    assert_int_equal(unlink(path), 0);
}
