/* Which of the devices on a node are the volume's, and which are somebody else's. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#define OTHER_FSID "0ddba110-0000-4000-8000-00000000f51d"
#define IMAGE_ID "fa4e00000001"
#define STAGING_2 "/kubelet/staging-2"
#define META                                                                                       \
    "{\"Version\":3,\"pool\":\"rbd\",\"radosNamespace\":\"\",\"image\":\"" IMAGE                   \
    "\",\"unmapOptions\":\"\",\"accessType\":false,\"encrypted\":false,\"device\":\"\","           \
    "\"logDir\":\"\",\"logFileStrategy\":\"\"}"

#define META_NBD                                                                                   \
    "{\"Version\":3,\"pool\":\"rbd\",\"radosNamespace\":\"\",\"image\":\"" IMAGE                   \
    "\",\"unmapOptions\":\"\",\"accessType\":true,\"encrypted\":false,\"device\":\"\","            \
    "\"logDir\":\"\",\"logFileStrategy\":\"\"}"

static struct machine machine;

/* --- equal names --- */

static void leave_alone_mapping_of(const char *fsid, const char *image_id)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_map_foreign(machine.host, SPEC, fsid, image_id);
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, "mount " STAGING "/" HANDLE " /dev/rbd1 "));
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    assert_false(machine_has(&machine, "device /dev/rbd1 "));
    machine_done(&machine);
}

TEST(an_image_of_that_name_in_another_cluster_is_not_taken_for_the_volume)
{
    leave_alone_mapping_of(OTHER_FSID, IMAGE_ID);
}

TEST(an_image_that_had_the_name_before_is_not_taken_for_the_volume)
{
    leave_alone_mapping_of(FAKE_CEPH_FSID, "fa4e0000beef");
}

#define EXPORTS "/run/cephzone/fuse/"

TEST(exports_of_equal_names_in_two_clusters_have_folders_of_their_own)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "fuse"});
    fake_host_add_folder(machine.host, EXPORTS OTHER_FSID "%2Frbd%2F" IMAGE);
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, EXPORTS FAKE_CEPH_FSID "%2Frbd%2F" IMAGE "/export"));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, EXPORTS FAKE_CEPH_FSID));
    assert_true(machine_has(&machine, EXPORTS OTHER_FSID));
    machine_done(&machine);
}

/* Ceph-CSI's image-meta.json does not say which cluster; what is mounted does. */
TEST(what_is_mounted_tells_equal_names_apart)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_map_foreign(machine.host, SPEC, OTHER_FSID, IMAGE_ID);
    must(machine_stage(&machine, &err));
    fake_host_add_file(machine.host, STAGING "/image-meta.json", META);
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    assert_false(machine_has(&machine, "device /dev/rbd1 "));
    machine_done(&machine);
}

TEST(of_equal_names_that_nothing_tells_apart_none_is_unmapped)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_map_foreign(machine.host, SPEC, OTHER_FSID, IMAGE_ID);
    fake_host_map_foreign(machine.host, SPEC, FAKE_CEPH_FSID, IMAGE_ID);
    fake_host_add_file(machine.host, STAGING "/image-meta.json", META);
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "/dev/rbd0 and /dev/rbd1");
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    assert_true(machine_has(&machine, "device /dev/rbd1 "));
    machine_done(&machine);
}

/* --- mapped by others --- */

TEST(a_device_in_use_is_refused_at_every_try)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_fill_image(machine.host, SPEC, "ext4");
    fake_host_map_foreign(machine.host, SPEC, FAKE_CEPH_FSID, IMAGE_ID);
    fake_host_add_mount(machine.host, "/mnt", "/dev/rbd0");
    for (int i = 0; i < 3; i++)
        must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "mounted on '/mnt'");
    /* as left by a driver that was killed */
    fake_host_add_file(machine.host, STAGING "/image-meta.json", META);
    for (int i = 0; i < 3; i++)
        must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "'/mnt'");
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    machine_done(&machine);
}

TEST(a_failed_stage_leaves_a_mapping_that_it_did_not_make)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_fill_image(machine.host, SPEC, "gpt");
    fake_host_map_foreign(machine.host, SPEC, FAKE_CEPH_FSID, IMAGE_ID);
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "partition table");
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    assert_false(machine_has(&machine, STAGING "/"));
    machine_done(&machine);
}

/* --- two volumes of one image --- */

static int stage_second(enum access_mode mode, struct error *err)
{
    _cleanup_(stage_request_done) struct stage_request request = {
        .handle = xstrdup("second"), .staging_path = xstrdup(STAGING_2)};
    struct call call;

    request.capability =
        (struct volume_capability){.type = ACCESS_TYPE_BLOCK, .mode = mode, .fs_type = xstrdup("")};
    strmap_set(&request.context, "staticVolume", "true");
    strmap_set(&request.context, "clusterID", "c1");
    strmap_set(&request.context, "pool", "rbd");
    strmap_set(&request.context, "imageName", IMAGE);
    fill_credentials(&request.credentials);
    call_init(&call, 2, "NodeStageVolume", deadline_never());
    int result = node_stage_volume(&machine.volumes, &call, &request, err);
    call_done(&call);
    return result;
}

static int unstage_second(struct error *err)
{
    struct call call;

    call_init(&call, 3, "NodeUnstageVolume", deadline_never());
    int result = node_unstage_volume(&machine.volumes, &call, "second", STAGING_2, err);
    call_done(&call);
    return result;
}

/* The kernel unmaps a device that is only bound to a file. */
TEST(a_second_volume_of_one_image_does_not_touch_the_first)
{
    machine_init(&machine, &(struct use){.mounter = "rbd"});
    fake_host_add_folder(machine.host, STAGING_2);
    must(machine_stage(&machine, &err));
    for (int i = 0; i < 2; i++) {
        must_refuse(stage_second(ACCESS_SINGLE_NODE_WRITER, &err), STATUS_FAILED_PRECONDITION,
                    STAGING "/" HANDLE);
        must(unstage_second(&err));
    }
    /* as left by a driver that was killed */
    fake_host_add_file(machine.host, STAGING_2 "/image-meta.json", META);
    must_refuse(stage_second(ACCESS_SINGLE_NODE_WRITER, &err), STATUS_FAILED_PRECONDITION,
                STAGING "/" HANDLE);
    fake_host_add_file(machine.host, STAGING_2 "/image-meta.json", META);
    must(unstage_second(&err));
    assert_false(machine_has(&machine, STAGING_2 "/"));
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device "));
    must(stage_second(ACCESS_SINGLE_NODE_WRITER, &err));
    must(unstage_second(&err));
    machine_done(&machine);
}

/* Each has a device of its own, so that each can go. */
TEST(two_volumes_of_one_image_are_read_side_by_side)
{
    machine_init(&machine, &(struct use){.mode = ACCESS_MULTI_NODE_READER_ONLY});
    fake_host_add_folder(machine.host, STAGING_2);
    must(machine_stage(&machine, &err));
    must(stage_second(ACCESS_MULTI_NODE_READER_ONLY, &err));
    must(stage_second(ACCESS_MULTI_NODE_READER_ONLY, &err));
    assert_true(machine_has(&machine, "mount " STAGING_2 "/second /dev/rbd1 "));
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device /dev/rbd0 "));
    must(machine_stage(&machine, &err));
    must(unstage_second(&err));
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    assert_false(machine_has(&machine, "device /dev/rbd1 "));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device "));
    machine_done(&machine);
}

TEST(two_calls_for_one_image_do_not_overlap)
{
    _cleanup_operation_ struct operation other = {0};
    struct call call;

    machine_init(&machine, &(struct use){.mounter = "rbd"});
    call_init(&call, 9, "NodeStageVolume", deadline_never());
    must(operation_begin(machine.volumes.operations, "image", SPEC, &call, &other, &err));
    must_refuse(machine_stage(&machine, &err), STATUS_ABORTED, "NodeStageVolume");
    assert_false(machine_has(&machine, "device "));
    operation_end(&other);
    must(machine_stage(&machine, &err));
    must(operation_begin(machine.volumes.operations, "image", SPEC, &call, &other, &err));
    must_refuse(machine_unstage(&machine, &err), STATUS_ABORTED, "NodeStageVolume");
    operation_end(&other);
    must(machine_unstage(&machine, &err));
    call_done(&call);
    machine_done(&machine);
}

/* --- nbd --- */

static void stage_nbd(void)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"});
    must(machine_stage(&machine, &err));
}

/* The kernel knows processes by other numbers than a container does. */
TEST(an_nbd_device_is_not_known_by_the_number_of_a_process)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"});
    fake_host_hide_pids(machine.host);
    fake_host_map_foreign_nbd(machine.host, SPEC, "another-volume", 1);
    must(machine_stage(&machine, &err)); /* its process is number 1 here */
    assert_true(machine_has(&machine, "mount " STAGING "/" HANDLE " /dev/nbd1 "));
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/nbd0 "));
    assert_false(machine_has(&machine, "device /dev/nbd1 "));
    machine_done(&machine);
}

TEST(an_nbd_device_that_lost_its_process_is_unmapped_all_the_same)
{
    stage_nbd();
    fake_host_kill_daemons(machine.host);
    fake_host_start_nbd(machine.host, SPEC, "another-volume");
    fake_host_connect_nbd(machine.host);
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device /dev/nbd0 "));
    assert_true(machine_has(&machine, "device /dev/nbd1 "));
    machine_done(&machine);
}

TEST(an_nbd_device_other_than_the_staged_one_is_not_unmapped)
{
    struct host *host = NULL;

    stage_nbd();
    host = fake_host_as_host(machine.host);
    must(host->ops->unmount(host, STAGING "/" HANDLE, false, &err));
    fake_host_start_nbd(machine.host, SPEC, HANDLE);
    fake_host_connect_nbd(machine.host);
    must(host->ops->nbd_disconnect(host, "/dev/nbd0", &err));
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION, "'/dev/nbd1'");
    assert_true(machine_has(&machine, "device /dev/nbd1 "));
    machine_done(&machine);
}

TEST(an_nbd_device_that_went_to_another_volume_is_not_unmapped)
{
    struct host *host = NULL;

    stage_nbd();
    host = fake_host_as_host(machine.host);
    must(host->ops->unmount(host, STAGING "/" HANDLE, false, &err));
    must(host->ops->nbd_disconnect(host, "/dev/nbd0", &err));
    fake_host_map_foreign_nbd(machine.host, SPEC, "another-volume", 1);
    must(machine_unstage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/nbd0 "));
    machine_done(&machine);
}

TEST(an_nbd_device_that_went_to_another_volume_gets_no_process_of_ours)
{
    struct host *host = NULL;

    stage_nbd();
    host = fake_host_as_host(machine.host);
    must(host->ops->nbd_disconnect(host, "/dev/nbd0", &err));
    fake_host_map_foreign_nbd(machine.host, SPEC, "another-volume", 1);
    must(machine_stage(&machine, &err));
    assert_false(fake_host_saw_argument(machine.host, " attach "));
    assert_true(machine_has(&machine, "mount " STAGING "/" HANDLE " /dev/nbd1 "));
    must(machine_unstage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/nbd0 "));
    assert_false(machine_has(&machine, "device /dev/nbd1 "));
    machine_done(&machine);
}

TEST(without_image_meta_an_nbd_device_of_another_volume_is_refused)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_map_foreign_nbd(machine.host, SPEC, "another-volume", 1);
    fake_host_add_mount(machine.host, STAGING "/" HANDLE, "/dev/nbd0");
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION, "'another-volume'");
    assert_true(machine_has(&machine, "device /dev/nbd0 "));
    machine_done(&machine);
}

/* The driver was killed while it mapped; rbd-nbd goes on. */
static void wait_for_device_with(const char *cookie)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"});
    if (!cookie[0])
        fake_host_lack(machine.host, "cookies");
    fake_host_add_file(machine.host, STAGING "/image-meta.json", META_NBD);
    fake_host_start_nbd(machine.host, SPEC, cookie);
    must_refuse(machine_unstage(&machine, &err), STATUS_ABORTED, "has no device yet");
    must_refuse(machine_stage(&machine, &err), STATUS_ABORTED, "has no device yet");
    assert_true(machine_has(&machine, STAGING "/image-meta.json"));
    fake_host_connect_nbd(machine.host);
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device "));
    assert_false(machine_has(&machine, STAGING "/"));
    machine_done(&machine);
}

TEST(unmapping_what_is_being_mapped_is_no_success)
{
    wait_for_device_with(HANDLE);
    wait_for_device_with("");
}

TEST(nbd_devices_of_two_volumes_of_one_image_are_told_apart)
{
    machine_init(&machine,
                 &(struct use){.mounter = "rbd-nbd", .mode = ACCESS_MULTI_NODE_READER_ONLY});
    fake_host_add_folder(machine.host, STAGING_2);
    machine.volumes.default_mounter = "rbd-nbd";
    must(machine_stage(&machine, &err));
    must(stage_second(ACCESS_MULTI_NODE_READER_ONLY, &err));
    assert_true(machine_has(&machine, "mount " STAGING_2 "/second /dev/nbd1 "));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device /dev/nbd0 "));
    must(unstage_second(&err));
    assert_false(machine_has(&machine, "device "));
    machine_done(&machine);
}

/* --- nbd on kernels before 5.14, which keep no identifiers --- */

TEST(without_identifiers_nbd_needs_the_pids_of_the_host)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"});
    fake_host_lack(machine.host, "cookies");
    fake_host_lack(machine.host, "rbd");
    fake_host_hide_pids(machine.host);
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "hostPID");
    assert_false(machine_has(&machine, "device "));
    machine_done(&machine);
}

TEST(without_identifiers_the_process_tells_the_device)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"});
    fake_host_lack(machine.host, "cookies");
    fake_host_add_image(machine.host, "rbd/other", GIB);
    fake_host_map_foreign_nbd(machine.host, "rbd/other", "", 77);
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    fake_host_kill_daemons(machine.host);
    must(machine_unstage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/nbd0 "));
    assert_false(machine_has(&machine, "device /dev/nbd1 "));
    machine_done(&machine);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
