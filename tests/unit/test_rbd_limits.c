/* Limits on the I/O of pods follow the metadata of the image, when they are published and later. */
#include <unistd.h>

#include "tests/fakes/fake_kube.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#define POD "0a1b2c3d-1111-4222-8333-444455556666"
#define IO_MAX "/sys/fs/cgroup/kubepods/pod" POD "/io.max"
#define POD_TARGET "/kubelet/pods/" POD "/volumes/kubernetes.io~csi/pvc-1/mount"
#define KEY ".rbd.csi.ceph.com/cgroup_qos_max_"

static struct machine machine;

static const struct use KRBD = {.fs_type = "ext4", .mounter = "rbd", .pod = POD};
static const struct use KRBD_KUBELET = {.fs_type = "ext4", .mounter = "rbd", .target = POD_TARGET};

static void begin(const struct use *use)
{
    machine_init(&machine, use);
    fake_host_add_file(machine.host, IO_MAX, "");
    must(machine_stage(&machine, &err));
}

static bool has_limits(const char *limits)
{
    _cleanup_free_ char *state = machine_state(&machine);
    const char *file = strstr(state, "path " IO_MAX);

    assert_non_null(file);
    const char *line = strstr(file, limits);
    return line && line < strchr(file, '\n');
}

TEST(published_volume_gets_the_limits_of_its_image)
{
    begin(&KRBD);
    machine_set_metadata(&machine, KEY "read_iops", "100");
    machine_set_metadata(&machine, KEY "write_bps", "1048576");
    must(machine_publish(&machine, &err));
    assert_true(has_limits("rbps=max wbps=1048576 riops=100 wiops=max"));
    must(machine_publish(&machine, &err));
    machine_done(&machine);
}

TEST(pod_is_known_by_its_path_too)
{
    begin(&KRBD_KUBELET);
    machine_set_metadata(&machine, KEY "write_iops", "7");
    must(machine_publish(&machine, &err));
    assert_true(has_limits("rbps=max wbps=max riops=max wiops=7"));
    machine_done(&machine);
}

TEST(volume_without_limits_is_left_alone)
{
    begin(&KRBD);
    machine_set_metadata(&machine, KEY "read_iops", "max");
    machine_set_metadata(&machine, KEY "read_bps", "0"); /* the kernel would refuse it */
    must(machine_publish(&machine, &err));
    assert_false(has_limits("rbps"));
    machine_done(&machine);
}

/* Perhaps an administrator has set them. */
TEST(limits_that_nobody_here_has_set_stay)
{
    begin(&KRBD);
    machine_set_metadata(&machine, KEY "read_iops", "100");
    must(machine_publish(&machine, &err));
    machine_restart(&machine);
    must(machine_stage(&machine, &err));
    machine_set_metadata(&machine, KEY "read_iops", "max");
    must(machine_publish(&machine, &err));
    assert_true(has_limits("riops=100"));
    machine_done(&machine);
}

TEST(rbd_nbd_needs_no_cgroup)
{
    begin(&(struct use){.fs_type = "ext4", .mounter = "rbd-nbd", .pod = POD});
    machine_set_metadata(&machine, KEY "read_iops", "100");
    must(machine_publish(&machine, &err));
    assert_false(has_limits("rbps"));
    machine_done(&machine);
}

TEST(changed_limits_reach_pods_that_run)
{
    begin(&KRBD_KUBELET);
    must(machine_publish(&machine, &err));
    machine_refresh(&machine);
    assert_false(has_limits("rbps"));
    machine_set_metadata(&machine, KEY "read_iops", "100");
    machine_refresh(&machine);
    assert_true(has_limits("riops=100"));
    machine_set_metadata(&machine, KEY "read_iops", "50");
    machine_refresh(&machine);
    assert_true(has_limits("riops=50"));
    machine_set_metadata(&machine, KEY "read_iops", "");
    machine_refresh(&machine);
    assert_false(has_limits("rbps"));
    machine_done(&machine);
}

TEST(changed_limits_reach_a_block_volume)
{
    begin(&(struct use){.mounter = "rbd",
                        .target =
                            "/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/" POD});
    must(machine_publish(&machine, &err));
    machine_set_metadata(&machine, KEY "write_bps", "4096");
    machine_refresh(&machine);
    assert_true(has_limits("wbps=4096"));
    machine_done(&machine);
}

/* After a restart nobody remembers a key; a keyring will do. */
TEST(without_a_user_nothing_is_limited_and_nothing_fails)
{
    struct credentials keyring = {0};

    begin(&KRBD_KUBELET);
    machine_set_metadata(&machine, KEY "read_iops", "100");
    machine_restart(&machine);
    must(machine_publish(&machine, &err));
    machine_refresh(&machine);
    assert_false(has_limits("rbps"));
    fill_credentials(&keyring);
    machine.volumes.standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    machine_refresh(&machine);
    assert_true(has_limits("riops=100"));
    standing_credentials_free(machine.volumes.standing);
    credentials_done(&keyring);
    machine_done(&machine);
}

/* The one that config.json names for nodes, where no PersistentVolume is found. */
TEST(secret_of_the_configuration_will_do_as_well)
{
    static const char json[] =
        "[{\"clusterID\":\"c1\",\"monitors\":[\"10.0.0.1:6789\"],\"rbd\":{"
        "\"nodePublishSecretRef\":{\"name\":\"publisher\",\"namespace\":\"ceph\"}}}]";
    char path[] = "/tmp/cephzone-unit-XXXXXX";
    struct fake_kube *kube = fake_kube_new();
    _cleanup_close_ int fd = mkstemp(path);

    assert_int_equal(write(fd, json, strlen(json)), strlen(json));
    begin(&KRBD_KUBELET);
    machine_set_metadata(&machine, KEY "read_iops", "100");
    machine_restart(&machine);
    config_file_free(machine.volumes.config);
    machine.volumes.config = config_file_new(path);
    machine.volumes.kube = fake_kube_as_kube(kube);
    machine.volumes.standing = standing_credentials_new(
        &(struct standing_credentials_options){.kube = machine.volumes.kube});
    must(machine_publish(&machine, &err));
    assert_false(has_limits("rbps")); /* there is no such Secret */
    fake_kube_put_secret(kube, "/api/v1/namespaces/ceph/secrets/publisher", "csi", SECRET);
    standing_credentials_free(machine.volumes.standing);
    machine.volumes.standing = standing_credentials_new(
        &(struct standing_credentials_options){.kube = machine.volumes.kube});
    must(machine_publish(&machine, &err));
    assert_true(has_limits("riops=100"));
    standing_credentials_free(machine.volumes.standing);
    machine_done(&machine);
    fake_kube_free(kube);
    unlink(path);
}

TEST(no_failure_of_ceph_or_the_machine_keeps_a_pod_from_its_volume)
{
    begin(&KRBD);
    machine_set_metadata(&machine, KEY "read_iops", "100");
    must(machine_publish(&machine, &err));
    for (unsigned n = 1;; n++) {
        fake_ceph_fail_call(machine.ceph, n, FAKE_FAIL_BEFORE);
        must(machine_publish(&machine, &err));
        bool struck = !fake_ceph_fault_is_pending(machine.ceph);
        fake_ceph_recover(machine.ceph);
        if (!struck)
            break;
        assert_true(n < 50);
    }
    assert_true(has_limits("riops=100"));
    machine_done(&machine);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
