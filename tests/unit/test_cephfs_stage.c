/* Rules of the node for CephFS volumes, one by one, on a machine in memory. */
#include <limits.h>

#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#include "common/linux/cephfs_client.h"
#include "node/cephfs/mount_info.h"

static struct machine machine;

static const struct use KERNEL = {.mounter = "kernel", .fs_type = "", .is_cephfs = true};
static const struct use FUSE = {.mounter = "fuse", .fs_type = "", .is_cephfs = true};

/* The options of the mount at the staging path. Caller frees. */
static char *options(void)
{
    struct host *host = fake_host_as_host(machine.host);
    _cleanup_mount_list_ struct mount_list mounts = {0};
    char *found = NULL;

    must(host->ops->list_mounts(host, &mounts, &err));
    for (size_t i = 0; i < mounts.count; i++)
        if (strcmp(mounts.items[i].target, STAGING) == 0)
            found = xstrdup(mounts.items[i].options);
    assert_non_null(found);
    return found;
}

/* --- clients --- */

TEST(the_kernel_is_chosen_where_it_has_a_client)
{
    machine_init(&machine, &(struct use){.fs_type = "", .is_cephfs = true});
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, "mount " STAGING " 10.0.0.1:6789:/volumes/csi/" IMAGE "/"));
    assert_int_equal(fake_host_runs(machine.host, "ceph-fuse"), 0);
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(ceph_fuse_is_chosen_where_the_kernel_has_none)
{
    machine_init(&machine, &KERNEL); /* as in Ceph-CSI: the class's wish counts only if it can be */
    fake_host_lack(machine.host, "ceph");
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, "mount " STAGING " cephzone/" HANDLE "/ fuse.ceph-fuse"));
    must(machine_unstage(&machine, &err));
    fake_host_lack(machine.host, "ceph-fuse");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "nothing here mounts");
    assert_false(machine_has(&machine, "nodestage-"));
    machine_done(&machine);
}

TEST(an_unknown_mounter_is_refused)
{
    machine_init(&machine, &(struct use){.mounter = "rbd", .fs_type = "", .is_cephfs = true});
    must_refuse(machine_stage(&machine, &err), STATUS_INVALID_ARGUMENT, "kernel and fuse");
    machine_done(&machine);
}

TEST(options_come_from_class_cluster_and_volume)
{
    machine_init(&machine, &(struct use){.mounter = "kernel",
                                         .fs_type = "",
                                         .is_cephfs = true,
                                         .key = "kernelMountOptions",
                                         .value = "readdir_max_bytes=1048576,norbytes",
                                         .flag = "noatime"});
    machine.volumes.cephfs.kernel_options = "wsize=4194304,norbytes";
    must(machine_stage(&machine, &err));
    _cleanup_free_ char *found = options();
    assert_string_equal(found, "name=csi,mds_namespace=fs1,noshare,readdir_max_bytes=1048576,"
                               "norbytes,wsize=4194304,noatime");
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(no_key_is_told)
{
    const struct use *const uses[] = {&KERNEL, &FUSE};

    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        machine_init(&machine, uses[i]);
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        assert_false(fake_host_saw_argument(machine.host, SECRET));
        assert_false(machine_has(&machine, SECRET));
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

/* ceph-fuse prints a key that it cannot read. */
TEST(a_key_in_the_words_of_ceph_fuse_is_hidden)
{
    _cleanup_secret_ struct secret key = {0};
    const struct string_list none = {0};
    const struct cephfs_mount mount = {.handle = "h",
                                       .target = STAGING,
                                       .monitors = "m",
                                       .user = "csi",
                                       .key = &key,
                                       .fs_name = "",
                                       .path = "/",
                                       .options = &none};
    struct call call;

    machine_init(&machine, &FUSE);
    secret_set(&key, "broken");
    call_init(&call, 1, "test", deadline_never());
    must_refuse(CEPHFS_FUSE.mount(fake_host_as_host(machine.host), &call, &mount, &err),
                STATUS_INTERNAL, "failed to decode key '******'");
    call_done(&call);
    machine_done(&machine);
}

/* --- what is staged --- */

TEST(the_address_of_the_node_is_recorded)
{
    machine_init(&machine, &KERNEL);
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, ".cephfs.csi.ceph.com/clientaddress/" HANDLE "/node-1"));
    assert_true(machine_has(&machine, ".cephfs.csi.ceph.com/userid/" HANDLE "/node-1"));
    assert_false(machine_has(&machine, ".cephfs.csi.ceph.com/clientAddress"));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(the_address_of_a_reader_is_recorded_with_the_snapshot)
{
    machine_init(&machine, &(struct use){.mounter = "kernel",
                                         .fs_type = "",
                                         .is_cephfs = true,
                                         .is_shallow = true,
                                         .mode = ACCESS_MULTI_NODE_READER_ONLY});
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, ".cephfs.csi.ceph.com/clientaddress/" HANDLE "/node-1"));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(a_snapshot_of_a_deleted_subvolume_is_mounted_without_a_record)
{
    machine_init(&machine, &(struct use){.mounter = "kernel",
                                         .fs_type = "",
                                         .is_cephfs = true,
                                         .is_shallow = true,
                                         .mode = ACCESS_MULTI_NODE_READER_ONLY});
    assert_int_equal(fake_subvolumes_command(machine.subvolumes,
                                             "{\"prefix\":\"fs subvolume rm\",\"sub_name\":"
                                             "\"csi-vol-source\",\"retain_snapshots\":true}"),
                     0);
    fake_host_add_folder(machine.host, STAGING "/.snap/csi-snap-1/files");
    must(machine_stage(&machine, &err));
    assert_false(machine_has(&machine, "clientaddress"));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(a_snapshot_is_only_read)
{
    machine_init(
        &machine,
        &(struct use){.mounter = "kernel", .fs_type = "", .is_cephfs = true, .is_shallow = true});
    must_refuse(machine_stage(&machine, &err), STATUS_INVALID_ARGUMENT, "nobody can write");
    assert_false(machine_has(&machine, "mount "));
    assert_false(machine_has(&machine, "clientaddress"));
    machine_done(&machine);
}

TEST(mounts_of_others_are_not_taken_off)
{
    machine_init(&machine, &KERNEL);
    fake_host_add_mount(machine.host, TARGET, "/dev/sda1");
    must_refuse(machine_unpublish(&machine, &err), STATUS_FAILED_PRECONDITION,
                "no mount of CephFS");
    fake_host_add_mount(machine.host, STAGING, "/dev/sda1");
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION, "no CephFS");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "no CephFS");
    assert_true(machine_has(&machine, "mount " TARGET " /dev/sda1"));
    assert_true(machine_has(&machine, "mount " STAGING " /dev/sda1"));
    machine_done(&machine);
}

/* As one of ceph-fuse was seen to be right after it was made. */
TEST(a_mount_that_is_busy_for_a_moment_is_taken_off)
{
    machine_init(&machine, &FUSE);
    machine.volumes.cephfs.fuse_wait_ms = 60000;
    must(machine_stage(&machine, &err));
    fake_host_keep_busy(machine.host, 3);
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "mount "));
    machine_done(&machine);
}

TEST(a_mount_that_stays_busy_is_told)
{
    machine_init(&machine, &FUSE);
    must(machine_stage(&machine, &err));
    fake_host_keep_busy(machine.host, UINT_MAX);
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION, "busy");
    fake_host_keep_busy(machine.host, 0);
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

/* Ceph-CSI writes down nothing of the kernel's mounts. */
TEST(what_ceph_csi_staged_is_published_and_unstaged)
{
    struct host *host = NULL;

    machine_init(&machine, &KERNEL);
    must(machine_stage(&machine, &err));
    host = fake_host_as_host(machine.host);
    must(host->ops->remove(host, INFO_FILE, &err));
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "mount "));
    machine_done(&machine);
}

/* --- dead clients --- */

TEST(a_dead_volume_needs_a_user_to_live_again)
{
    machine_init(&machine, &FUSE);
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    fake_host_kill_daemons(machine.host);
    machine_restart(&machine); /* whoever knew the user is gone as well */
    machine_recover(&machine);
    must_refuse(machine_publish(&machine, &err), STATUS_FAILED_PRECONDITION, "has died");
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "mount "));
    machine_done(&machine);
}

TEST(a_standing_user_revives_a_dead_volume)
{
    _cleanup_credentials_ struct credentials keyring = {.user = xstrdup("csi")};
    struct host *host = NULL;
    struct path_facts facts;

    secret_set(&keyring.key, SECRET);
    machine_init(&machine, &FUSE);
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    fake_host_kill_daemons(machine.host);
    machine_restart(&machine);
    machine.volumes.standing = standing_credentials_new(
        &(struct standing_credentials_options){.keyring = &keyring, .is_cephfs = true});
    machine_recover(&machine);
    host = fake_host_as_host(machine.host);
    must(host->ops->look(host, STAGING, &facts, &err));
    must(host->ops->look(host, TARGET, &facts, &err)); /* the pod's folder as well */
    assert_true(facts.is_mount_point);
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    standing_credentials_free(machine.volumes.standing);
    machine_done(&machine);
}

TEST(a_client_survives_the_container_of_the_driver)
{
    struct host *host = NULL;
    struct path_facts facts;

    machine_init(&machine, &FUSE);
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    fake_host_kill_container(machine.host);
    machine_restart(&machine);
    assert_int_equal(machine_recover(&machine), 0);
    host = fake_host_as_host(machine.host);
    must(host->ops->look(host, TARGET, &facts, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(a_restart_of_the_machine_leaves_no_files)
{
    struct host *host = NULL;

    machine_init(&machine, &KERNEL);
    must(machine_stage(&machine, &err));
    host = fake_host_as_host(machine.host);
    must(host->ops->unmount(host, STAGING, false, &err));
    machine_recover(&machine);
    assert_false(machine_has(&machine, "nodestage-"));
    machine_done(&machine);
}

/* --- nodestage-HANDLE.json --- */

TEST(the_file_of_ceph_csi_is_read)
{
    static const char text[] =
        "{\"VolumeCapabilityProtoJSON\":\"{\\\"mount\\\":{\\\"mountFlags\\\":[\\\"debug\\\"]},"
        "\\\"accessMode\\\":{\\\"mode\\\":\\\"MULTI_NODE_MULTI_WRITER\\\"}}\","
        "\"MountOptions\":[\"debug\"],\"Secrets\":{\"adminID\":\"a\",\"adminKey\":\"k\"}}";
    _cleanup_mount_info_ struct mount_info info = {0};

    must(mount_info_parse(text, &info, &err));
    assert_int_equal(info.capability.mode, ACCESS_MULTI_NODE_MULTI_WRITER);
    assert_string_equal(info.capability.mount_flags.items[0], "debug");
    assert_string_equal(info.credentials.user, "a");
    assert_true(secret_is_set(&info.credentials.key));
    assert_null(info.staging_path);
}

TEST(broken_files_are_data_loss)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"VolumeCapabilityProtoJSON\":\"{\"}",
        "{\"VolumeCapabilityProtoJSON\":\"{}\",\"cephzone\":{\"stagingPath\":\"/x\"}}"};

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct mount_info info = {0};

        must_refuse(mount_info_parse(bad[i], &info, &err), STATUS_DATA_LOSS, "");
    }
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
