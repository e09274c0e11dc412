/* What a new process of the node plugin does for nbd devices whose rbd-nbd has died with the old.
 */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

static struct machine machine;
static struct credentials keyring;

static const struct use NBD = {.fs_type = "ext4", .mounter = "rbd-nbd"};

static void publish_volume(const struct use *use)
{
    machine_init(&machine, use);
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
}

/* A published volume, whose rbd-nbd died with the container of the driver. A new one has started.
 */
static void lose_process(const struct use *use)
{
    publish_volume(use);
    fake_host_kill_daemons(machine.host);
    machine_restart(&machine);
}

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

static void the_volume_works_and_goes(void)
{
    must(machine_publish(&machine, &err)); /* no call has staged it */
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device "));
    assert_false(machine_has(&machine, "mount "));
}

TEST(a_device_gets_a_new_process_at_start)
{
    lose_process(&NBD);
    give_keyring();
    assert_int_equal(machine_recover(&machine), 0);
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 2);
    assert_true(fake_host_saw_argument(machine.host, "attach " SPEC " --device /dev/nbd0"));
    the_volume_works_and_goes();
    end_machine();
}

TEST(a_block_volume_gets_a_new_process_at_start)
{
    lose_process(&(struct use){.mounter = "rbd-nbd", .mode = ACCESS_MULTI_NODE_MULTI_WRITER});
    give_keyring();
    assert_int_equal(machine_recover(&machine), 0);
    assert_true(fake_host_saw_argument(machine.host, "attach " SPEC " --device /dev/nbd0"));
    the_volume_works_and_goes();
    end_machine();
}

/* The new process is started as the old one was. */
TEST(mode_and_options_are_those_of_the_stage_call)
{
    lose_process(&(struct use){.mounter = "rbd-nbd",
                               .mode = ACCESS_MULTI_NODE_READER_ONLY,
                               .map_options = "nbd:reattach-timeout=77"});
    give_keyring();
    assert_int_equal(machine_recover(&machine), 0);
    assert_true(fake_host_saw_argument(
        machine.host,
        "--device /dev/nbd0 --try-netlink --io-timeout=0 --rbd_cache=false --reattach-timeout=77 "
        "--cookie=" HANDLE " --read-only"));
    end_machine();
}

TEST(a_device_that_has_its_process_is_left_alone)
{
    publish_volume(&NBD);
    machine_restart(&machine);
    give_keyring();
    assert_int_equal(machine_recover(&machine), 0);
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 1);
    the_volume_works_and_goes();
    end_machine();
}

static char *host_state(void)
{
    struct text text = TEXT_INIT(1024 * 1024);

    fake_host_dump(machine.host, &text);
    return text_take(&text);
}

/* What is mounted holds data of the pod; nothing is taken down, and it is tried again. */
TEST(a_device_that_cannot_be_attached_stays_as_it_is)
{
    lose_process(&NBD);
    _cleanup_free_ char *before = host_state();
    assert_int_equal(machine_recover(&machine), 1); /* nobody knows a user */
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.0.0.9:0/1");
    give_keyring();
    assert_int_equal(machine_recover(&machine), 1); /* another client has the image */
    _cleanup_free_ char *after = host_state();
    assert_string_equal(after, before);
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, NULL);
    assert_int_equal(machine_recover(&machine), 0);
    the_volume_works_and_goes();
    end_machine();
}

/* The n-th call to the machine or to Ceph fails, or the process dies there; the next try ends as an
 * undisturbed one does. */
TEST(an_interrupted_revival_is_repeated)
{
    static const enum fake_failure failures[] = {FAKE_FAIL_BEFORE, FAKE_FAIL_AFTER,
                                                 FAKE_CRASH_BEFORE, FAKE_CRASH_AFTER};
    unsigned points = 0;

    for (size_t kind = 0; kind < 2 * ARRAY_LENGTH(failures); kind++) {
        bool is_pending = false;

        for (unsigned n = 1; n < 100 && !is_pending; n++, points++) {
            lose_process(&NBD);
            give_keyring();
            if (kind % 2)
                fake_ceph_fail_call(machine.ceph, n, failures[kind / 2]);
            else
                fake_host_fail_call(machine.host, n, failures[kind / 2]);
            machine_recover(&machine);
            is_pending = kind % 2 ? fake_ceph_fault_is_pending(machine.ceph)
                                  : fake_host_fault_is_pending(machine.host);
            standing_credentials_free(machine.volumes.standing);
            credentials_done(&keyring);
            machine_restart(&machine);
            fake_ceph_recover(machine.ceph);
            fake_host_recover(machine.host);
            give_keyring();
            assert_int_equal(machine_recover(&machine), 0);
            assert_false(machine_has(&machine, "device /dev/nbd1 "));
            assert_false(machine_has(&machine, "/keys/"));
            the_volume_works_and_goes();
            end_machine();
        }
        assert_true(is_pending);
    }
    assert_true(points >= 80);
}

/* A process that held writes, which it had acknowledged, took them with it: a new one would serve a
 * device that lacks them, and nobody would be told. */
static void it_stays_as_it_is(void)
{
    _cleanup_free_ char *before = host_state();

    give_keyring();
    assert_int_equal(machine_recover(&machine), 1);
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "may have held writes");
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 1);
    _cleanup_free_ char *after = host_state();
    assert_string_equal(after, before);
    end_machine();
}

TEST(a_device_whose_process_had_a_cache_gets_no_other)
{
    lose_process(&(struct use){
        .fs_type = "ext4", .mounter = "rbd-nbd", .map_options = "nbd:rbd_cache=true"});
    it_stays_as_it_is();
}

TEST(a_device_that_ceph_csi_mapped_gets_no_other)
{
    static const char meta[] = "{\"Version\":3,\"pool\":\"rbd\",\"radosNamespace\":\"\","
                               "\"image\":\"" IMAGE "\",\"unmapOptions\":\"\",\"accessType\":true,"
                               "\"encrypted\":false,\"device\":\"/dev/nbd0\",\"logDir\":\"\","
                               "\"logFileStrategy\":\"\"}";

    lose_process(&NBD);
    fake_host_add_file(machine.host, STAGING "/image-meta.json", meta);
    it_stays_as_it_is();
}

TEST(a_process_is_started_without_a_cache_unless_the_class_wants_one)
{
    machine_init(&machine, &NBD);
    must(machine_stage(&machine, &err));
    assert_true(fake_host_saw_argument(machine.host, " --rbd_cache=false"));
    machine_done(&machine);
    machine_init(&machine,
                 &(struct use){.mounter = "rbd-nbd", .map_options = "nbd:rbd_cache=true"});
    must(machine_stage(&machine, &err));
    assert_false(fake_host_saw_argument(machine.host, " --rbd_cache=false"));
    assert_true(fake_host_saw_argument(machine.host, " --rbd_cache=true"));
    machine_done(&machine);
}

/* --- the container --- */

TEST(the_process_of_a_device_survives_the_container)
{
    publish_volume(&NBD);
    fake_host_kill_container(machine.host);
    machine_restart(&machine);
    assert_int_equal(machine_recover(&machine), 0);
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 1);
    the_volume_works_and_goes();
    machine_done(&machine);
}

TEST(without_a_cgroup_it_does_not)
{
    machine_init(&machine, &NBD);
    fake_host_lack(machine.host, "cgroup");
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    fake_host_kill_container(machine.host);
    machine_restart(&machine);
    give_keyring();
    assert_int_equal(machine_recover(&machine), 0);
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 2);
    the_volume_works_and_goes();
    end_machine();
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
