/* The Ceph user of a staged volume, from the Secret that its PersistentVolume names. */
#include "node/staged_secret.h"
#include "tests/fakes/fake_kube.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#define PV "/api/v1/persistentvolumes/pv-1"
#define STAGE_SECRET "/api/v1/namespaces/ceph/secrets/node"
#define POD_FOLDER "/var/lib/kubelet/pods/uid/volumes/kubernetes.io~csi/pv-1"
#define PUBLISHED POD_FOLDER "/mount"
#define PV_OF(driver, handle)                                                                      \
    "{\"spec\":{\"csi\":{\"driver\":\"" driver "\",\"volumeHandle\":\"" handle                     \
    "\",\"nodeStageSecretRef\":{\"name\":\"node\",\"namespace\":\"ceph\"}}}}"

static struct machine machine;
static struct fake_kube *kube;
static struct credentials keyring;

static void add_kube(void)
{
    machine.volumes.kube = fake_kube_as_kube(kube);
    machine.volumes.standing = standing_credentials_new(&(struct standing_credentials_options){
        .kube = machine.volumes.kube, .keyring = &keyring, .life_ms = 1});
}

static void publish_as_kubelet(void)
{
    _cleanup_(publish_request_done) struct publish_request request = {
        .handle = xstrdup(HANDLE),
        .staging_path = xstrdup(STAGING),
        .target_path = xstrdup(PUBLISHED),
        .capability = {.type = ACCESS_TYPE_MOUNT,
                       .mode = ACCESS_SINGLE_NODE_WRITER,
                       .fs_type = xstrdup(machine.use.fs_type)},
    };
    struct call call;

    fake_host_add_folder(machine.host, POD_FOLDER);
    call_init(&call, 1, "NodePublishVolume", deadline_never());
    must(node_publish_volume(&machine.volumes, &call, &request, &err));
    call_done(&call);
}

/* A volume that a pod uses, whose process died; the driver has started again. */
static void lose_process(const struct use *use, const char *pv)
{
    machine_init(&machine, use);
    must(machine_stage(&machine, &err));
    publish_as_kubelet();
    fake_host_kill_daemons(machine.host);
    machine_restart(&machine);
    kube = fake_kube_new();
    fake_kube_put(kube, PV, pv);
    fake_kube_put_secret(kube, STAGE_SECRET, "csi", SECRET);
    add_kube();
}

static void lose_nbd(void)
{
    lose_process(&(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"},
                 PV_OF("rbd.csi.ceph.com", HANDLE));
}

static void end_machine(void)
{
    standing_credentials_free(machine.volumes.standing);
    credentials_done(&keyring);
    machine_done(&machine);
    fake_kube_free(kube);
}

TEST(paths_of_kubelet_name_the_volume)
{
    static const struct {
        const char *path;
        const char *name;
    } paths[] = {
        {PUBLISHED, "pv-1"},
        {"/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pv-2/uid", "pv-2"},
        {"/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/staging/pv-3/h", "pv-3"},
        {"/var/lib/kubelet/plugins/kubernetes.io/csi/pv/pv-4/globalmount/h", "pv-4"},
        {"/var/lib/kubelet/plugins/kubernetes.io/csi/rbd.csi.ceph.com/5e0f/globalmount/h", NULL},
        {"/var/lib/kubelet/pods/uid/volumes/kubernetes.io~csi//mount", NULL},
        {"/", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        _cleanup_free_ char *name = kubelet_path_volume(paths[i].path);

        assert_int_equal(name == NULL, paths[i].name == NULL);
        if (name)
            assert_string_equal(name, paths[i].name);
    }
}

TEST(the_secret_of_the_volume_revives_its_device)
{
    lose_nbd();
    assert_int_equal(machine_recover(&machine), 0);
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 2);
    assert_false(fake_host_saw_argument(machine.host, SECRET));
    must(machine_publish(&machine, &err));
    end_machine();
}

TEST(a_volume_of_another_handle_or_driver_is_not_believed)
{
    static const char *const others[] = {PV_OF("rbd.csi.ceph.com", "other"),
                                         PV_OF("other.csi.ceph.com", HANDLE), "{\"spec\":{}}"};

    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        lose_nbd();
        fake_kube_put(kube, PV, others[i]);
        assert_int_equal(machine_recover(&machine), 1);
        assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 1);
        end_machine();
    }
}

TEST(a_volume_that_is_gone_leaves_the_standing_user)
{
    lose_nbd();
    fake_kube_drop(kube, PV);
    assert_int_equal(machine_recover(&machine), 1);
    standing_credentials_free(machine.volumes.standing);
    fill_credentials(&keyring);
    add_kube();
    assert_int_equal(machine_recover(&machine), 0);
    end_machine();
}

TEST(a_server_that_is_away_is_asked_again)
{
    lose_nbd();
    fake_kube_fail_all(kube, STATUS_UNAVAILABLE);
    assert_int_equal(machine_recover(&machine), 1);
    fake_kube_fail_all(kube, STATUS_OK);
    assert_int_equal(machine_recover(&machine), 0);
    end_machine();
}

TEST(a_missing_right_is_named)
{
    _cleanup_(stage_request_done) struct stage_request found = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    lose_nbd();
    fake_kube_forbid(kube, "get", PV);
    call_init(&call, 1, "test", deadline_never());
    assert_int_equal(staged_user_find(&machine.volumes, &call, HANDLE, STAGING "/" HANDLE,
                                      &(struct credentials){0}, &found, &err),
                     -1);
    call_done(&call);
    assert_non_null(strstr(err.message, "its own Secret: "));
    assert_non_null(strstr(err.message, PV));
    end_machine();
}

TEST(the_secret_of_the_volume_revives_a_dead_mount)
{
    static const struct use fuse = {.mounter = "fuse", .fs_type = "", .is_cephfs = true};
    struct path_facts facts;

    lose_process(&fuse, PV_OF("cephfs.csi.ceph.com", HANDLE));
    machine.volumes.driver_name = "cephfs.csi.ceph.com";
    assert_int_equal(machine_recover(&machine), 0);
    struct host *host = fake_host_as_host(machine.host);
    must(host->ops->look(host, STAGING, &facts, &err));
    assert_true(facts.is_mount_point);
    end_machine();
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
