/* Rules of the node for CephFS volumes, one by one, on a machine in memory. */
#include "tests/unit/test_node_fixture.h"

#include "common/linux/cephfs_client.h"
#include "common/volume/mount_info.h"

static struct world world;
static struct life life;

static const struct use KERNEL = {.mounter = "kernel", .fs_type = "", .is_cephfs = true};
static const struct use FUSE = {.mounter = "fuse", .fs_type = "", .is_cephfs = true};

static void begin(const struct use *use)
{
    world_init(&world, use);
    life_start(&life, &world);
}

static void end(void)
{
    life_end(&life);
    world_done(&world);
}

static bool state_has(const char *text)
{
    _cleanup_free_ char *state = world_state(&world);

    return strstr(state, text);
}

/* The options of the mount at the staging path. Caller frees. */
static char *options(void)
{
    struct host *host = fake_host_as_host(world.host);
    _cleanup_mount_list_ struct mount_list mounts = {0};
    char *found = NULL;

    must(host->ops->list_mounts(host, &mounts, &err));
    for (size_t i = 0; i < mounts.count; i++)
        if (strcmp(mounts.items[i].target, STAGING) == 0)
            found = xstrdup(mounts.items[i].options);
    assert_non_null(found);
    return found;
}

static void run_revival(void)
{
    struct call call;

    call_init(&call, 0, "recovery", deadline_never());
    node_recover(&life.volumes, &call);
    node_revive(&life.volumes, &call);
    call_done(&call);
}

/* --- clients ------------------------------------------------------------------------------------
 */

TEST(the_kernel_is_chosen_where_it_has_a_client)
{
    begin(&(struct use){.fs_type = "", .is_cephfs = true});
    must(stage(&life, &world, &err));
    assert_true(state_has("mount " STAGING " 10.0.0.1:6789:/volumes/csi/" IMAGE "/"));
    assert_int_equal(fake_host_runs(world.host, "ceph-fuse"), 0);
    must(unstage(&life, &world, &err));
    end();
}

TEST(ceph_fuse_is_chosen_where_the_kernel_has_none)
{
    begin(&KERNEL); /* as in Ceph-CSI: the class's wish counts only if it can be */
    fake_host_lack(world.host, "ceph");
    must(stage(&life, &world, &err));
    assert_true(state_has("mount " STAGING " cephzone/" HANDLE "/ fuse.ceph-fuse"));
    must(unstage(&life, &world, &err));
    fake_host_lack(world.host, "ceph-fuse");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "nothing here mounts");
    assert_false(state_has("nodestage-"));
    end();
}

TEST(an_unknown_mounter_is_refused)
{
    begin(&(struct use){.mounter = "rbd", .fs_type = "", .is_cephfs = true});
    must_refuse(stage(&life, &world, &err), STATUS_INVALID_ARGUMENT, "kernel and fuse");
    end();
}

TEST(options_come_from_class_cluster_and_volume)
{
    begin(&(struct use){.mounter = "kernel",
                        .fs_type = "",
                        .is_cephfs = true,
                        .key = "kernelMountOptions",
                        .value = "readdir_max_bytes=1048576,norbytes",
                        .flag = "noatime"});
    life.volumes.cephfs.kernel_options = "wsize=4194304,norbytes";
    must(stage(&life, &world, &err));
    _cleanup_free_ char *found = options();
    assert_string_equal(found, "name=csi,mds_namespace=fs1,noshare,readdir_max_bytes=1048576,"
                               "norbytes,wsize=4194304,noatime");
    must(unstage(&life, &world, &err));
    end();
}

TEST(no_key_is_told)
{
    const struct use *const uses[] = {&KERNEL, &FUSE};

    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        begin(uses[i]);
        must(stage(&life, &world, &err));
        must(publish(&life, &world, &err));
        assert_false(fake_host_saw_argument(world.host, SECRET));
        assert_false(state_has(SECRET));
        must(unpublish(&life, &world, &err));
        must(unstage(&life, &world, &err));
        end();
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

    begin(&FUSE);
    secret_set(&key, "broken");
    call_init(&call, 1, "test", deadline_never());
    must_refuse(CEPHFS_FUSE.mount(fake_host_as_host(world.host), &call, &mount, &err),
                STATUS_INTERNAL, "failed to decode key '******'");
    call_done(&call);
    end();
}

/* --- what is staged -----------------------------------------------------------------------------
 */

TEST(the_address_of_the_node_is_recorded)
{
    begin(&KERNEL);
    must(stage(&life, &world, &err));
    assert_true(state_has(".cephfs.csi.ceph.com/clientAddress/node-1"));
    must(unstage(&life, &world, &err));
    end();
}

TEST(a_snapshot_is_only_read)
{
    begin(&(struct use){.mounter = "kernel", .fs_type = "", .is_cephfs = true, .is_shallow = true});
    must_refuse(stage(&life, &world, &err), STATUS_INVALID_ARGUMENT, "nobody can write");
    assert_false(state_has("mount "));
    assert_false(state_has("clientAddress"));
    end();
}

TEST(mounts_of_others_are_not_taken_off)
{
    begin(&KERNEL);
    fake_host_add_mount(world.host, TARGET, "/dev/sda1");
    must_refuse(unpublish(&life, &world, &err), STATUS_FAILED_PRECONDITION, "no mount of CephFS");
    fake_host_add_mount(world.host, STAGING, "/dev/sda1");
    must_refuse(unstage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "no CephFS");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "no CephFS");
    assert_true(state_has("mount " TARGET " /dev/sda1"));
    assert_true(state_has("mount " STAGING " /dev/sda1"));
    end();
}

/* Ceph-CSI writes down nothing of the kernel's mounts. */
TEST(what_ceph_csi_staged_is_published_and_unstaged)
{
    struct host *host = NULL;

    begin(&KERNEL);
    must(stage(&life, &world, &err));
    host = fake_host_as_host(world.host);
    must(host->ops->remove(host, INFO_FILE, &err));
    must(stage(&life, &world, &err));
    must(publish(&life, &world, &err));
    must(unpublish(&life, &world, &err));
    must(unstage(&life, &world, &err));
    assert_false(state_has("mount "));
    end();
}

/* --- dead clients -------------------------------------------------------------------------------
 */

TEST(a_dead_volume_needs_a_user_to_live_again)
{
    begin(&FUSE);
    must(stage(&life, &world, &err));
    must(publish(&life, &world, &err));
    fake_host_kill_daemons(world.host);
    life_end(&life); /* whoever knew the user is gone as well */
    life_start(&life, &world);
    run_revival();
    must_refuse(publish(&life, &world, &err), STATUS_FAILED_PRECONDITION, "has died");
    must(stage(&life, &world, &err));
    must(publish(&life, &world, &err));
    must(unpublish(&life, &world, &err));
    must(unstage(&life, &world, &err));
    assert_false(state_has("mount "));
    end();
}

TEST(a_standing_user_revives_a_dead_volume)
{
    _cleanup_credentials_ struct credentials keyring = {.user = xstrdup("csi")};
    struct host *host = NULL;
    struct path_facts facts;

    secret_set(&keyring.key, SECRET);
    begin(&FUSE);
    must(stage(&life, &world, &err));
    must(publish(&life, &world, &err));
    fake_host_kill_daemons(world.host);
    life_end(&life);
    life_start(&life, &world);
    life.volumes.standing = standing_credentials_new(
        &(struct standing_credentials_options){.keyring = &keyring, .is_cephfs = true});
    run_revival();
    host = fake_host_as_host(world.host);
    must(host->ops->look(host, STAGING, &facts, &err));
    must(host->ops->look(host, TARGET, &facts, &err)); /* the pod's folder as well */
    assert_true(facts.is_mount_point);
    must(unpublish(&life, &world, &err));
    must(unstage(&life, &world, &err));
    standing_credentials_free(life.volumes.standing);
    end();
}

TEST(a_restart_of_the_machine_leaves_no_files)
{
    struct host *host = NULL;

    begin(&KERNEL);
    must(stage(&life, &world, &err));
    host = fake_host_as_host(world.host);
    must(host->ops->unmount(host, STAGING, false, &err));
    run_revival();
    assert_false(state_has("nodestage-"));
    end();
}

/* --- nodestage-HANDLE.json ----------------------------------------------------------------------
 */

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

TEST_GROUP(write_config, remove_config)
