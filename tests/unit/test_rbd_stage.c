/* Rules of the node, one by one, on a machine in memory. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#include "node/checks.h"
#include "node/rbd/image_meta.h"

static struct machine machine;

/* --- mapping --- */

TEST(krbd_is_chosen_where_the_kernel_has_it)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/rbd0 "));
    assert_true(machine_has(
        &machine, "\"accessType\":false,\"encrypted\":false,\"device\":\"\",\"logDir\":\"\","
                  "\"logFileStrategy\":\"\",\"cephzone\":{\"clusterFSID\":\"" FAKE_CEPH_FSID
                  "\",\"imageID\":\"fa4e00000001\"}} "));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

/* Its devices need a process: who has them is to know it. */
TEST(nbd_is_never_chosen_by_itself)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_lack(machine.host, "rbd");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "mounter: \"rbd-nbd\" in the class, or --mounter=rbd-nbd");
    assert_false(machine_has(&machine, "device "));
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 0);
    machine_done(&machine);
}

TEST(nbd_is_chosen_where_the_class_or_the_flag_names_it)
{
    static const struct use uses[] = {
        {.fs_type = "ext4", .key = "tryOtherMounters", .value = "true"},
        {.fs_type = "ext4", .mounter = "rbd-nbd"},
        {.fs_type = "ext4"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        machine_init(&machine, &uses[i]);
        machine.volumes.default_mounter = i == 2 ? "rbd-nbd" : "";
        fake_host_lack(machine.host, "rbd");
        must(machine_stage(&machine, &err));
        assert_true(machine_has(&machine, "device /dev/nbd0 "));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

static void publish_nbd(void)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"});
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
}

TEST(an_nbd_device_is_made_with_the_handle_as_cookie)
{
    publish_nbd();
    assert_true(fake_host_saw_argument(machine.host, "--cookie=" HANDLE));
    machine_done(&machine);
}

TEST(an_nbd_device_that_lost_its_process_gets_a_new_one)
{
    publish_nbd();
    fake_host_kill_daemons(machine.host);
    must_refuse(machine_publish(&machine, &err), STATUS_FAILED_PRECONDITION, "is not mapped");
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    assert_true(fake_host_saw_argument(machine.host, " attach "));
    assert_true(machine_has(&machine, "device /dev/nbd0 "));
    assert_false(machine_has(&machine, "device /dev/nbd1 "));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

/* Its mounts hold what the pod has written and nobody else has. */
TEST(an_nbd_device_that_cannot_be_attached_is_not_taken_from_its_pod)
{
    publish_nbd();
    fake_host_kill_daemons(machine.host);
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.0.0.9:0/1");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "is still open by 10.0.0.9:0/1");
    assert_true(machine_has(&machine, "mount " STAGING "/" HANDLE " /dev/nbd0 "));
    assert_int_equal(fake_host_runs(machine.host, "rbd-nbd"), 1);
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, NULL);
    must(machine_stage(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

/* Once the pod has gone, so may its device. */
TEST(an_nbd_device_that_cannot_be_attached_is_replaced_if_nobody_uses_it)
{
    publish_nbd();
    must(machine_unpublish(&machine, &err));
    fake_host_kill_daemons(machine.host);
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.0.0.9:0/1");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "is still open");
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, NULL);
    assert_false(machine_has(&machine, "mount "));
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

static uint64_t nbd_bytes(void)
{
    struct host *host = fake_host_as_host(machine.host);
    struct device_facts facts;

    must(host->ops->device_facts(host, "/dev/nbd0", &facts, &err));
    return facts.size_bytes;
}

/* Nothing but Ceph can tell: rbd-nbd serves whatever lies beyond its image. */
TEST(an_nbd_device_grows_no_further_than_its_image)
{
    publish_nbd();
    must_refuse(machine_expand_node(&machine, true, &err), STATUS_OUT_OF_RANGE,
                "has 1073741824 bytes, not the 2147483648");
    assert_int_equal(nbd_bytes(), GIB);
    must(machine_expand(&machine, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    machine_done(&machine);
}

TEST(a_volume_grows_with_the_user_that_it_was_staged_with)
{
    publish_nbd();
    machine_expand_image(&machine);
    must(machine_expand_node(&machine, false, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    struct stage_request known = {0};
    assert_false(staged_users_get(machine.volumes.users, HANDLE, &known));
    machine_done(&machine);
}

/* As on a node whose class names no Secret for NodeExpandVolume. */
TEST(an_nbd_device_whose_image_nobody_may_ask_for_does_not_grow)
{
    publish_nbd();
    machine_expand_image(&machine);
    machine_restart(&machine);
    must_refuse(machine_expand_node(&machine, false, &err), STATUS_FAILED_PRECONDITION,
                "node-expand-secret-name");
    assert_int_equal(nbd_bytes(), GIB);
    must(machine_stage(&machine, &err)); /* brings the key again */
    must(machine_expand_node(&machine, false, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    machine_done(&machine);
}

TEST(the_standing_credentials_learn_the_size_of_an_image)
{
    _cleanup_credentials_ struct credentials keyring = {0};

    publish_nbd();
    machine_expand_image(&machine);
    machine_restart(&machine);
    fill_credentials(&keyring);
    machine.volumes.standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    must(machine_expand_node(&machine, false, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    standing_credentials_free(machine.volumes.standing);
    machine_done(&machine);
}

TEST(fuse_is_never_chosen_by_itself)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_lack(machine.host, "rbd");
    fake_host_lack(machine.host, "nbd");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "has no rbd driver");
    assert_false(machine_has(&machine, STAGING "/"));
    machine.volumes.default_mounter = "fuse";
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(an_unknown_mounter_is_refused_with_a_guess)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd-nbt"});
    must_refuse(machine_stage(&machine, &err), STATUS_INVALID_ARGUMENT, "did you mean 'rbd-nbd'?");
    machine_done(&machine);
}

TEST(no_key_is_among_the_arguments_of_a_program)
{
    static const char *const mounters[] = {"rbd", "rbd-nbd", "fuse"};

    for (size_t i = 0; i < ARRAY_LENGTH(mounters); i++) {
        machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = mounters[i]});
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        must(machine_expand(&machine, &err));
        assert_false(fake_host_saw_argument(machine.host, SECRET));
        assert_false(machine_has(&machine, SECRET));
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

TEST(map_options_go_to_their_mapper)
{
    static const struct {
        const char *text;
        const char *krbd;
        const char *nbd;
    } cases[] = {
        {"", "", ""},
        {"lock_on_read", "lock_on_read", ""},
        {"krbd:a,b;nbd:c", "a,b", "c"},
        {"krbd:a;krbd:b", "b", ""},
        {"krbd:crush_location=host:h1;nbd:x=1,y", "crush_location=host:h1", "x=1,y"},
        {"nbd:c;a,b", "a,b", "c"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *krbd = NULL;
        _cleanup_free_ char *nbd = NULL;

        must(mapper_options(cases[i].text, mapper_find("krbd"), &krbd, &err));
        must(mapper_options(cases[i].text, mapper_find("nbd"), &nbd, &err));
        assert_string_equal(krbd, cases[i].krbd);
        assert_string_equal(nbd, cases[i].nbd);
    }
}

TEST(map_options_that_could_become_something_else_are_refused)
{
    static const char *const bad[] = {
        "crush_location=host:h1", "rbd:a", "krb:a", "a b", "a\nb", "krbd:a\tb"};

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        _cleanup_free_ char *options = NULL;

        must_refuse(mapper_options(bad[i], mapper_find("krbd"), &options, &err),
                    STATUS_INVALID_ARGUMENT, "map options");
    }
    machine_init(&machine, &(struct use){.fs_type = "ext4", .map_options = "krbd:x y"});
    must_refuse(machine_stage(&machine, &err), STATUS_INVALID_ARGUMENT, "blanks");
    assert_false(machine_has(&machine, "device "));
    machine_done(&machine);
}

/* --- others --- */

TEST(an_image_that_another_client_has_open_is_not_mapped)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.0.0.9:0/42");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "open by 10.0.0.9:0/42");
    assert_false(machine_has(&machine, "device "));
    assert_false(machine_has(&machine, "clientaddress"));
    assert_false(machine_has(&machine, STAGING "/"));
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, NULL);
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(the_address_and_the_user_of_the_node_are_recorded)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, ".rbd.csi.ceph.com/clientaddress/" HANDLE "/node-1"));
    assert_true(machine_has(&machine, ".rbd.csi.ceph.com/userid/" HANDLE "/node-1"));
    assert_false(machine_has(&machine, ".rbd.csi.ceph.com/clientAddress"));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(a_pod_of_another_account_gets_nothing)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4",
                                         .key = "csi.storage.k8s.io/serviceAccount.name",
                                         .value = "default"});
    must(machine_stage(&machine, &err));
    machine.allowed_account = "builder";
    must_refuse(machine_publish(&machine, &err), STATUS_PERMISSION_DENIED, "'builder'");
    assert_false(machine_has(&machine, "mount " TARGET));
    machine.allowed_account = "builder,default";
    must(machine_publish(&machine, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(an_image_that_another_client_locked_is_not_mapped)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_ceph_set_locker(machine.ceph, "rbd", IMAGE, "client.7 at 10.0.0.9:0/42");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "locked by client.7");
    assert_false(machine_has(&machine, "device "));
    machine_done(&machine);
}

/* One daemon, as config.json does not say how many there are. */
TEST(daemon_that_mirrors_an_image_is_no_other_client)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.9.0.1:0/42");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "open by 10.9.0.1:0/42");
    fake_ceph_mirror(machine.ceph, "rbd", IMAGE, true);
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.9.0.2:0/43");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "open by 10.9.0.1:0/42, 10.9.0.2:0/43");
    machine_done(&machine);
}

TEST(copy_of_another_clusters_image_is_not_mapped)
{
    static const struct use uses[] = {{.fs_type = "ext4"},
                                      {.mode = ACCESS_MULTI_NODE_MULTI_WRITER}};

    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        machine_init(&machine, &uses[i]);
        fake_ceph_mirror(machine.ceph, "rbd", IMAGE, false);
        must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                    "is the copy of one in another cluster");
        assert_false(machine_has(&machine, "device "));
        assert_false(machine_has(&machine, "clientaddress"));
        machine_done(&machine);
    }
}

TEST(several_nodes_may_have_a_block_volume)
{
    machine_init(&machine, &(struct use){.mode = ACCESS_MULTI_NODE_MULTI_WRITER});
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.0.0.9:0/42");
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine.use.fs_type = "ext4";
    must_refuse(machine_stage(&machine, &err), STATUS_INVALID_ARGUMENT, "MULTI_NODE_MULTI_WRITER");
    machine_done(&machine);
}

TEST(readers_on_several_nodes_map_for_reading)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mode = ACCESS_MULTI_NODE_READER_ONLY});
    fake_host_fill_image(machine.host, SPEC, "ext4");
    fake_ceph_set_watcher(machine.ceph, "rbd", IMAGE, "10.0.0.9:0/42");
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, "device /dev/rbd0 " SPEC "  1073741824 1"));
    assert_int_equal(fake_host_runs(machine.host, "e2fsck"), 0);
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(a_mapping_that_somebody_else_mounted_is_not_touched)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    struct host *host = fake_host_as_host(machine.host);
    _cleanup_secret_ struct secret line = {0};
    secret_set(&line, "10.0.0.1:6789 name=x,secret=y rbd " IMAGE " -");
    must(host->ops->sysfs_write(host, "/sys/bus/rbd/add_single_major", &line, &err));
    fake_host_add_mount(machine.host, "/mnt", "/dev/rbd0");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "mounted on '/mnt'");
    machine_done(&machine);
}

/* --- formatting --- */

TEST(only_what_all_call_empty_is_formatted)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_fill_image(machine.host, SPEC, "bytes");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "holds data at its ends");
    machine_done(&machine);
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_ceph_set_data(machine.ceph, "rbd", IMAGE);
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "holds data");
    machine_done(&machine);
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_fill_image(machine.host, SPEC, "gpt");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "partition table");
    assert_int_equal(fake_host_runs(machine.host, "mkfs"), 0);
    assert_false(machine_has(&machine, "cephzone.formatting"));
    machine_done(&machine);
}

TEST(a_file_system_is_made_once)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    for (int i = 0; i < 3; i++) {
        must(machine_stage(&machine, &err));
        must(machine_unstage(&machine, &err));
    }
    assert_int_equal(fake_host_runs(machine.host, "mkfs"), 1);
    assert_true(fake_host_saw_argument(
        machine.host, " -m0 -Enodiscard,lazy_itable_init=1,lazy_journal_init=1 /dev/"));
    machine_done(&machine);
}

/* NULL removes it. */
static void set_mark(const char *value)
{
    struct ceph *other = fake_ceph_as_other(machine.ceph);
    const struct ceph_target target = {.cluster_id = "c1", .monitors = "m", .user = "u"};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_string_list_ struct string_list removed = {0};
    struct call call;

    if (value)
        strmap_set(&entries, "cephzone.formatting", value);
    else
        string_list_add(&removed, "cephzone.formatting");
    call_init(&call, 1, "test", deadline_never());
    {
        _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
        _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

        must(other->ops->connect(other, &call, &target, &cluster, &err));
        must(cluster->ops->pool_open(cluster, &call, "rbd", "", &pool, &err));
        must(pool->ops->image_metadata_change(pool, &call, IMAGE, &entries, &removed, &err));
    }
    call_done(&call);
}

TEST(the_mark_of_another_image_does_not_format)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_fill_image(machine.host, SPEC, "ext4");
    set_mark("ext4 of-the-image-this-was-cloned-from");
    must(machine_stage(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, "mkfs"), 0);
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

#define FS_UUID "5b1d6ed4-8a0c-4f0e-9b56-0f6b1c1e9d11"
#define OTHER_FS_UUID "77777777-8a0c-4f0e-9b56-0f6b1c1e9d11"
#define IMAGE_ID "fa4e00000001"

/* Stages as @fs_type what @content is on, with the mark; returns how often mkfs ran. */
static unsigned runs_of_mkfs(const char *fs_type, const char *content, const char *mark)
{
    machine_init(&machine, &(struct use){.fs_type = fs_type});
    fake_host_fill_image(machine.host, SPEC, content);
    fake_ceph_set_data(machine.ceph, "rbd", IMAGE);
    set_mark(mark);
    _cleanup_error_ struct error refusal = {0};
    int result = machine_stage(&machine, &refusal);
    unsigned runs = fake_host_runs(machine.host, "mkfs");
    assert_false(machine_has(&machine, "cephzone.formatting"));
    if (result == 0)
        must(machine_unstage(&machine, &err));
    else
        assert_int_equal(refusal.status, STATUS_FAILED_PRECONDITION);
    return runs;
}

TEST(a_mkfs_that_was_interrupted_is_repeated_with_its_uuid)
{
    static const char *const remains[] = {"ext4 " FS_UUID, "xfs " FS_UUID, "remains"};

    for (size_t i = 0; i < ARRAY_LENGTH(remains); i++) {
        assert_int_equal(runs_of_mkfs("ext4", remains[i], "ext4 " IMAGE_ID " " FS_UUID), 1);
        assert_true(fake_host_saw_argument(machine.host, "mkfs.ext4 -F -U " FS_UUID " -m0"));
        machine_done(&machine);
        assert_int_equal(runs_of_mkfs("xfs", remains[i], "xfs " IMAGE_ID " " FS_UUID), 1);
        assert_true(fake_host_saw_argument(machine.host, "mkfs.xfs -f -m uuid=" FS_UUID " -K"));
        machine_done(&machine);
    }
    /* as drivers before this one wrote it */
    assert_int_equal(runs_of_mkfs("ext4", "remains", "ext4 " IMAGE_ID), 1);
    machine_done(&machine);
}

TEST(a_mark_that_the_device_refutes_formats_nothing)
{
    static const struct {
        const char *content;
        const char *mark;
    } cases[] = {
        {"ext4", "ext4 " IMAGE_ID " " FS_UUID},                /* was mounted */
        {"ext4 " OTHER_FS_UUID, "ext4 " IMAGE_ID " " FS_UUID}, /* of somebody else */
        {"ext4 " FS_UUID, "ext4 fa4e00000009 " FS_UUID},       /* of the clone's parent */
        {"ext4 " FS_UUID, "ext4 " IMAGE_ID},                   /* nothing to compare with */
        {"gpt", "ext4 " IMAGE_ID " " FS_UUID},                 /* another use altogether */
        {"bytes", "ext4 " IMAGE_ID " " FS_UUID},               /* where mkfs leaves zeros */
        {"remains", "ext4 fa4e00000009 " FS_UUID},             /* what holds data */
        {"remains", "btrfs " IMAGE_ID " " FS_UUID},            /* no mark of ours */
        {"crypto_LUKS " FS_UUID, "ext4 " IMAGE_ID " " OTHER_FS_UUID},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(runs_of_mkfs("ext4", cases[i].content, cases[i].mark), 0);
        machine_done(&machine);
    }
}

static int (*map_undisturbed)(struct host *host, const char *path, const struct secret *text,
                              struct error *err);

/* Another node's mkfs ends, and its volume is used, just before this node maps it. */
static int map_when_another_ended(struct host *host, const char *path, const struct secret *text,
                                  struct error *err)
{
    set_mark(NULL);
    return map_undisturbed(host, path, text, err);
}

TEST(what_the_metadata_said_before_mapping_formats_nothing)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    struct host *host = fake_host_as_host(machine.host);
    struct host_ops ops = *host->ops;

    map_undisturbed = ops.sysfs_write;
    ops.sysfs_write = map_when_another_ended;
    host->ops = &ops;
    fake_host_fill_image(machine.host, SPEC, "remains");
    fake_ceph_set_data(machine.ceph, "rbd", IMAGE);
    set_mark("ext4 " IMAGE_ID " " FS_UUID);
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "holds data");
    assert_int_equal(fake_host_runs(machine.host, "mkfs"), 0);
    machine_done(&machine);
}

TEST(a_block_volume_is_no_interrupted_mkfs_any_more)
{
    machine_init(&machine, &(struct use){0});
    set_mark("ext4 " IMAGE_ID " " FS_UUID);
    must(machine_stage(&machine, &err));
    assert_false(machine_has(&machine, "cephzone.formatting"));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(a_uuid_in_the_options_of_mkfs_is_the_only_one)
{
    machine_init(
        &machine,
        &(struct use){.fs_type = "xfs", .key = "mkfsOptions", .value = "-m uuid=" FS_UUID});
    must(machine_stage(&machine, &err));
    assert_true(fake_host_saw_argument(machine.host, "mkfs.xfs -f -m uuid=" FS_UUID " /dev/"));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

/* The process dies after mkfs has ended and before the mark of it goes. */
static void crash_between_mkfs_and_its_mark(void)
{
    for (unsigned n = 1; n < 100; n++) {
        machine_init(&machine, &(struct use){.fs_type = "ext4"});
        fake_ceph_fail_call(machine.ceph, n, FAKE_CRASH_BEFORE);
        _cleanup_error_ struct error err = {0};
        int result = machine_stage(&machine, &err);
        machine_restart(&machine);
        fake_ceph_recover(machine.ceph);
        if (result < 0 && fake_host_runs(machine.host, "mkfs") == 1)
            return;
        machine_done(&machine);
    }
    fail_msg("no crash came after mkfs");
}

TEST(what_another_driver_used_meanwhile_is_not_formatted)
{
    crash_between_mkfs_and_its_mark();
    assert_true(machine_has(&machine, "cephzone.formatting"));
    struct host *host = fake_host_as_host(machine.host);
    const struct mount_request mount = {.device = "/dev/rbd0", .target = "/mnt", .fs_type = "ext4"};
    must(host->ops->mount(host, &mount, &err));
    must(host->ops->unmount(host, "/mnt", false, &err));
    must(machine_stage(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, "mkfs"), 1);
    assert_false(machine_has(&machine, "cephzone.formatting"));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

/* --- staged and published --- */

TEST(a_published_volume_is_the_staged_device)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must_refuse(machine_publish(&machine, &err), STATUS_FAILED_PRECONDITION, "nothing is mounted");
    must(machine_stage(&machine, &err));
    /* another device came between us and the path */
    fake_host_add_mount(machine.host, STAGING "/" HANDLE, "/dev/rbd7");
    must_refuse(machine_publish(&machine, &err), STATUS_FAILED_PRECONDITION, "another device");
    assert_false(machine_has(&machine, TARGET));
    machine_done(&machine);
}

TEST(mounts_of_others_are_not_taken_off)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_add_mount(machine.host, TARGET, "/dev/sda1");
    must_refuse(machine_unpublish(&machine, &err), STATUS_FAILED_PRECONDITION, "no RBD device");
    fake_host_add_mount(machine.host, STAGING "/" HANDLE, "/dev/loop5"); /* not of our exports */
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION, "no RBD device");
    assert_true(machine_has(&machine, "mount " TARGET " /dev/sda1"));
    machine_done(&machine);
}

TEST(files_in_the_way_are_not_removed)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_add_folder(machine.host, TARGET);
    fake_host_add_file(machine.host, TARGET "/data", "precious");
    must_refuse(machine_unpublish(&machine, &err), STATUS_FAILED_PRECONDITION, TARGET);
    fake_host_add_folder(machine.host, STAGING "/" HANDLE);
    fake_host_add_file(machine.host, STAGING "/" HANDLE "/data", "precious");
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION, HANDLE);
    assert_true(machine_has(&machine, TARGET "/data 2 precious"));
    assert_true(machine_has(&machine, HANDLE "/data 2 precious"));
    machine_done(&machine);
}

TEST(what_ceph_csi_staged_is_unstaged)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    fake_host_add_file(machine.host, STAGING "/image-meta.json",
                       "{\"Version\":3,\"pool\":\"rbd\",\"radosNamespace\":\"\",\"image\":\"" IMAGE
                       "\",\"unmapOptions\":\"\",\"accessType\":false,\"encrypted\":false,"
                       "\"device\":\"\",\"logDir\":\"\",\"logFileStrategy\":\"\"}");
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device "));
    machine_done(&machine);
}

TEST(without_image_meta_the_mount_tells_the_device)
{
    struct host *host = NULL;

    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    host = fake_host_as_host(machine.host);
    must(host->ops->remove(host, STAGING "/image-meta.json", &err));
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device "));
    machine_done(&machine);
}

TEST(a_group_gets_the_root_of_the_file_system)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mount_group = "2000"});
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, HANDLE " 1  2000"));
    must(machine_unstage(&machine, &err));
    machine.use.mount_group = "root";
    must_refuse(machine_stage(&machine, &err), STATUS_INVALID_ARGUMENT, "'root'");
    machine_done(&machine);
}

/* --- image-meta.json --- */

TEST(broken_image_meta_is_data_loss)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{\"pool\":\"p\"}",
                                      "{\"pool\":1}",
                                      "{\"pool\":\"../x\",\"image\":\"i\"}",
                                      "{\"pool\":\"p\",\"image\":\"a/b\"}"};

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct image_meta meta = {0};

        must_refuse(image_meta_parse(bad[i], &meta, &err), STATUS_DATA_LOSS, "");
    }
}

TEST(image_meta_of_older_drivers_is_read)
{
    _cleanup_image_meta_ struct image_meta meta = {0};

    must(image_meta_parse("{\"Version\":2,\"pool\":\"p\",\"image\":\"i\",\"accessType\":true,"
                          "\"device\":\"/dev/nbd3\"}",
                          &meta, &err));
    assert_true(meta.access_type);
    assert_string_equal(meta.device, "/dev/nbd3");
    assert_string_equal(meta.rados_namespace, "");
    assert_null(meta.mapper);
}

TEST(inline_volumes_are_refused)
{
    _cleanup_strmap_ struct strmap context = {0};

    must(node_check_lifecycle(&context, &err));
    strmap_set(&context, "csi.storage.k8s.io/ephemeral", "false");
    must(node_check_lifecycle(&context, &err));
    strmap_set(&context, "csi.storage.k8s.io/ephemeral", "true");
    must_refuse(node_check_lifecycle(&context, &err), STATUS_INVALID_ARGUMENT,
                "use a generic ephemeral volume");
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
