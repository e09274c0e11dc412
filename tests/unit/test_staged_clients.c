/* A new process of the node plugin records what is staged, whoever staged it. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

static struct machine machine;
static struct credentials keyring;

#define GLOBAL "/kubelet/globalmount"

static void give_keyring(void)
{
    fill_credentials(&keyring);
    machine.volumes.standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
}

static void end_machine(void)
{
    standing_credentials_free(machine.volumes.standing);
    credentials_done(&keyring);
    machine_done(&machine);
}

/* The driver starts again, and finds that there is no record of this node. */
static void restart_as_another_node(void)
{
    machine_restart(&machine);
    machine.volumes.node_id = "node-2";
}

static size_t record_clients(struct strmap *recorded)
{
    struct call call;

    call_init(&call, 0, "recovery", deadline_never());
    size_t open = node_record_clients(&machine.volumes, &call, recorded);
    call_done(&call);
    return open;
}

TEST(staged_images_are_recorded)
{
    static const struct use uses[] = {
        {.fs_type = "ext4"},
        {.fs_type = "ext4", .mounter = "rbd-nbd"},
        {.mode = ACCESS_MULTI_NODE_MULTI_WRITER}, /* a block device */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        _cleanup_strmap_ struct strmap recorded = {0};

        machine_init(&machine, &uses[i]);
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        restart_as_another_node();
        give_keyring();
        assert_int_equal(record_clients(&recorded), 0);
        assert_true(machine_has(&machine, ".rbd.csi.ceph.com/clientaddress/" HANDLE "/node-2"));
        assert_int_equal(recorded.count, 1);
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        end_machine();
    }
}

static int stage_at_globalmount(struct error *err)
{
    _cleanup_(stage_request_done) struct stage_request request = {.handle = xstrdup(HANDLE),
                                                                  .staging_path = xstrdup(GLOBAL)};
    struct call call;

    request.capability.type = ACCESS_TYPE_MOUNT;
    request.capability.mode = ACCESS_MULTI_NODE_MULTI_WRITER;
    strmap_set(&request.context, "mounter", "kernel");
    fill_credentials(&request.credentials);
    call_init(&call, 1, "NodeStageVolume", deadline_never());
    int result = node_stage_volume(&machine.volumes, &call, &request, err);
    call_done(&call);
    return result;
}

/* Kubelet says which volume it is: Ceph-CSI leaves nothing beside the kernel's mounts. */
TEST(staged_subvolumes_are_recorded)
{
    static const struct {
        const char *note;
        bool is_ours;
    } cases[] = {
        {"{\"driverName\": \"cephfs.csi.ceph.com\", \"volumeHandle\": \"" HANDLE "\"}", true},
        {"{\"driverName\": \"other\", \"volumeHandle\": \"" HANDLE "\"}", false},
        {"{\"driverName\": \"cephfs.csi.ceph.com\"}", false},
        {"{", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap recorded = {0};

        machine_init(&machine, &(struct use){.is_cephfs = true, .fs_type = "ceph"});
        fake_host_add_folder(machine.host, GLOBAL);
        must(stage_at_globalmount(&err));
        restart_as_another_node();
        machine.volumes.driver_name = "cephfs.csi.ceph.com";
        give_keyring();
        struct host *host = fake_host_as_host(machine.host);
        must(host->ops->remove(host, INFO_FILE, &err));
        assert_int_equal(record_clients(&recorded), 0);
        assert_int_equal(recorded.count, 0); /* nobody says what it is */
        must(host->ops->write_text(host, "/kubelet/vol_data.json", cases[i].note, &err));
        assert_int_equal(record_clients(&recorded), 0);
        assert_int_equal(
            machine_has(&machine, ".cephfs.csi.ceph.com/clientaddress/" HANDLE "/node-2"),
            cases[i].is_ours);
        assert_int_equal(recorded.count, cases[i].is_ours);
        end_machine();
    }
}

/* What may work later is tried again; what will not is told once. */
TEST(what_cannot_be_recorded_now_is_tried_again)
{
    _cleanup_strmap_ struct strmap recorded = {0};

    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    restart_as_another_node();
    give_keyring();
    fake_ceph_refuse_connect(machine.ceph, STATUS_UNAVAILABLE);
    assert_int_equal(record_clients(&recorded), 1);
    assert_int_equal(recorded.count, 0);
    fake_ceph_refuse_connect(machine.ceph, STATUS_OK);
    assert_int_equal(record_clients(&recorded), 0);
    assert_true(machine_has(&machine, HANDLE "/node-2"));
    end_machine();

    strmap_done(&recorded);
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    restart_as_another_node(); /* and nobody knows a user */
    assert_int_equal(record_clients(&recorded), 0);
    assert_int_equal(recorded.count, 1);
    assert_false(machine_has(&machine, HANDLE "/node-2"));
    end_machine();
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
