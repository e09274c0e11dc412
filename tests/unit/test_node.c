/* Rules of the node, one by one, on a machine in memory. */
#include "tests/unit/test_node_fixture.h"

#include "common/volume/image_meta.h"
#include "node/checks.h"

static struct world world;
static struct life life;

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

/* --- mapping ------------------------------------------------------------------------------------
 */

TEST(krbd_is_chosen_where_the_kernel_has_it)
{
    begin(&(struct use){.fs_type = "ext4"});
    must(stage(&life, &world, &err));
    assert_true(state_has("device /dev/rbd0 "));
    assert_true(
        state_has("\"accessType\":false,\"encrypted\":false,\"device\":\"\",\"logDir\":\"\","
                  "\"logFileStrategy\":\"\"} "));
    must(unstage(&life, &world, &err));
    end();
}

TEST(nbd_is_chosen_where_there_is_no_krbd)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_lack(world.host, "rbd");
    must(stage(&life, &world, &err));
    assert_true(state_has("device /dev/nbd0 "));
    must(unstage(&life, &world, &err));
    end();
}

static void publish_nbd(void)
{
    begin(&(struct use){.fs_type = "ext4", .mounter = "rbd-nbd"});
    must(stage(&life, &world, &err));
    must(publish(&life, &world, &err));
}

TEST(an_nbd_device_is_made_with_the_handle_as_cookie)
{
    publish_nbd();
    assert_true(fake_host_saw_argument(world.host, "--cookie=" HANDLE));
    end();
}

TEST(an_nbd_device_that_lost_its_process_gets_a_new_one)
{
    publish_nbd();
    fake_host_kill_daemons(world.host);
    must_refuse(publish(&life, &world, &err), STATUS_FAILED_PRECONDITION, "is not mapped");
    must(stage(&life, &world, &err));
    must(publish(&life, &world, &err));
    assert_true(fake_host_saw_argument(world.host, "attach"));
    assert_true(state_has("device /dev/nbd0 "));
    assert_false(state_has("device /dev/nbd1 "));
    must(unpublish(&life, &world, &err));
    must(unstage(&life, &world, &err));
    end();
}

static uint64_t nbd_bytes(void)
{
    struct host *host = fake_host_as_host(world.host);
    struct device_facts facts;

    must(host->ops->device_facts(host, "/dev/nbd0", &facts, &err));
    return facts.size_bytes;
}

/* Nothing but Ceph can tell: rbd-nbd serves whatever lies beyond its image. */
TEST(an_nbd_device_grows_no_further_than_its_image)
{
    publish_nbd();
    must_refuse(node_expand(&life, true, &err), STATUS_OUT_OF_RANGE,
                "has 1073741824 bytes, not the 2147483648");
    assert_int_equal(nbd_bytes(), GIB);
    must(expand(&life, &world, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    end();
}

TEST(a_volume_grows_with_the_user_that_it_was_staged_with)
{
    publish_nbd();
    controller_expands(&world);
    must(node_expand(&life, false, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    must(unpublish(&life, &world, &err));
    must(unstage(&life, &world, &err));
    struct stage_request known = {0};
    assert_false(staged_users_get(life.volumes.users, HANDLE, &known));
    end();
}

static void restart_driver(void)
{
    life_end(&life);
    life_start(&life, &world);
}

/* As on a node whose class names no Secret for NodeExpandVolume. */
TEST(an_nbd_device_whose_image_nobody_may_ask_for_does_not_grow)
{
    publish_nbd();
    controller_expands(&world);
    restart_driver();
    must_refuse(node_expand(&life, false, &err), STATUS_FAILED_PRECONDITION,
                "node-expand-secret-name");
    assert_int_equal(nbd_bytes(), GIB);
    must(stage(&life, &world, &err)); /* brings the key again */
    must(node_expand(&life, false, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    end();
}

TEST(the_standing_credentials_learn_the_size_of_an_image)
{
    _cleanup_credentials_ struct credentials keyring = {0};

    publish_nbd();
    controller_expands(&world);
    restart_driver();
    fill_credentials(&keyring);
    life.volumes.standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    must(node_expand(&life, false, &err));
    assert_int_equal(nbd_bytes(), 2 * GIB);
    standing_credentials_free(life.volumes.standing);
    end();
}

TEST(fuse_is_never_chosen_by_itself)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_lack(world.host, "rbd");
    fake_host_lack(world.host, "nbd");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "has no rbd driver");
    assert_false(state_has(STAGING "/"));
    life.volumes.default_mounter = "fuse";
    must(stage(&life, &world, &err));
    must(unstage(&life, &world, &err));
    end();
}

TEST(an_unknown_mounter_is_refused_with_a_guess)
{
    begin(&(struct use){.fs_type = "ext4", .mounter = "rbd-nbt"});
    must_refuse(stage(&life, &world, &err), STATUS_INVALID_ARGUMENT, "did you mean 'rbd-nbd'?");
    end();
}

TEST(no_key_is_among_the_arguments_of_a_program)
{
    static const char *const mounters[] = {"rbd", "rbd-nbd", "fuse"};

    for (size_t i = 0; i < ARRAY_LENGTH(mounters); i++) {
        begin(&(struct use){.fs_type = "ext4", .mounter = mounters[i]});
        must(stage(&life, &world, &err));
        must(publish(&life, &world, &err));
        must(expand(&life, &world, &err));
        assert_false(fake_host_saw_argument(world.host, SECRET));
        assert_false(state_has(SECRET));
        must(unpublish(&life, &world, &err));
        must(unstage(&life, &world, &err));
        end();
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

        must(mapper_options(cases[i].text, &MAPPER_KRBD, &krbd, &err));
        must(mapper_options(cases[i].text, &MAPPER_NBD, &nbd, &err));
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

        must_refuse(mapper_options(bad[i], &MAPPER_KRBD, &options, &err), STATUS_INVALID_ARGUMENT,
                    "map options");
    }
    begin(&(struct use){.fs_type = "ext4", .map_options = "krbd:x y"});
    must_refuse(stage(&life, &world, &err), STATUS_INVALID_ARGUMENT, "blanks");
    assert_false(state_has("device "));
    end();
}

/* --- others -------------------------------------------------------------------------------------
 */

TEST(an_image_that_another_client_has_open_is_not_mapped)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_ceph_set_watcher(world.ceph, "rbd", IMAGE, "10.0.0.9:0/42");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "open by 10.0.0.9:0/42");
    assert_false(state_has("device "));
    assert_false(state_has("clientAddress"));
    assert_false(state_has(STAGING "/"));
    fake_ceph_set_watcher(world.ceph, "rbd", IMAGE, NULL);
    must(stage(&life, &world, &err));
    must(unstage(&life, &world, &err));
    end();
}

TEST(an_image_that_another_client_locked_is_not_mapped)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_ceph_set_locker(world.ceph, "rbd", IMAGE, "client.7 at 10.0.0.9:0/42");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "locked by client.7");
    assert_false(state_has("device "));
    end();
}

TEST(several_nodes_may_have_a_block_volume)
{
    begin(&(struct use){.mode = ACCESS_MULTI_NODE_MULTI_WRITER});
    fake_ceph_set_watcher(world.ceph, "rbd", IMAGE, "10.0.0.9:0/42");
    must(stage(&life, &world, &err));
    must(unstage(&life, &world, &err));
    world.use.fs_type = "ext4";
    must_refuse(stage(&life, &world, &err), STATUS_INVALID_ARGUMENT, "MULTI_NODE_MULTI_WRITER");
    end();
}

TEST(readers_on_several_nodes_map_for_reading)
{
    begin(&(struct use){.fs_type = "ext4", .mode = ACCESS_MULTI_NODE_READER_ONLY});
    fake_host_fill_image(world.host, SPEC, "ext4");
    fake_ceph_set_watcher(world.ceph, "rbd", IMAGE, "10.0.0.9:0/42");
    must(stage(&life, &world, &err));
    assert_true(state_has("device /dev/rbd0 " SPEC "  1073741824 1"));
    assert_int_equal(fake_host_runs(world.host, "e2fsck"), 0);
    must(unstage(&life, &world, &err));
    end();
}

TEST(a_mapping_that_somebody_else_mounted_is_not_touched)
{
    begin(&(struct use){.fs_type = "ext4"});
    must(stage(&life, &world, &err));
    must(unstage(&life, &world, &err));
    struct host *host = fake_host_as_host(world.host);
    _cleanup_secret_ struct secret line = {0};
    secret_set(&line, "10.0.0.1:6789 name=x,secret=y rbd " IMAGE " -");
    must(host->ops->sysfs_write(host, "/sys/bus/rbd/add_single_major", &line, &err));
    fake_host_add_mount(world.host, "/mnt", "/dev/rbd0");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "mounted on '/mnt'");
    end();
}

/* --- formatting ---------------------------------------------------------------------------------
 */

TEST(only_what_all_call_empty_is_formatted)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_fill_image(world.host, SPEC, "bytes");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "holds data at its ends");
    end();
    begin(&(struct use){.fs_type = "ext4"});
    fake_ceph_set_data(world.ceph, "rbd", IMAGE);
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "holds data");
    end();
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_fill_image(world.host, SPEC, "gpt");
    must_refuse(stage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "partition table");
    assert_int_equal(fake_host_runs(world.host, "mkfs"), 0);
    assert_false(state_has("cephzone.formatting"));
    end();
}

TEST(a_file_system_is_made_once)
{
    begin(&(struct use){.fs_type = "ext4"});
    for (int i = 0; i < 3; i++) {
        must(stage(&life, &world, &err));
        must(unstage(&life, &world, &err));
    }
    assert_int_equal(fake_host_runs(world.host, "mkfs"), 1);
    assert_true(fake_host_saw_argument(
        world.host, "mkfs.ext4 -F -m0 -Enodiscard,lazy_itable_init=1,lazy_journal_init=1 /dev/"));
    end();
}

static void set_mark(const char *value)
{
    struct ceph *other = fake_ceph_as_other(world.ceph);
    const struct ceph_target target = {.cluster_id = "c1", .monitors = "m", .user = "u"};
    _cleanup_strmap_ struct strmap entries = {0};
    struct call call;

    strmap_set(&entries, "cephzone.formatting", value);
    call_init(&call, 1, "test", deadline_never());
    {
        _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
        _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

        must(other->ops->connect(other, &call, &target, &cluster, &err));
        must(cluster->ops->pool_open(cluster, &call, "rbd", "", &pool, &err));
        must(pool->ops->image_metadata_change(pool, &call, IMAGE, &entries, NULL, &err));
    }
    call_done(&call);
}

TEST(the_mark_of_another_image_does_not_format)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_fill_image(world.host, SPEC, "ext4");
    set_mark("ext4 of-the-image-this-was-cloned-from");
    must(stage(&life, &world, &err));
    assert_int_equal(fake_host_runs(world.host, "mkfs"), 0);
    must(unstage(&life, &world, &err));
    end();
}

TEST(a_mkfs_that_was_cut_is_repeated)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_fill_image(world.host, SPEC, "ext4"); /* half of one */
    fake_ceph_set_data(world.ceph, "rbd", IMAGE);
    set_mark("ext4 fa4e00000001");
    must(stage(&life, &world, &err));
    assert_int_equal(fake_host_runs(world.host, "mkfs"), 1);
    assert_false(state_has("cephzone.formatting"));
    must(unstage(&life, &world, &err));
    end();
}

/* --- staged and published -----------------------------------------------------------------------
 */

TEST(a_published_volume_is_the_staged_device)
{
    begin(&(struct use){.fs_type = "ext4"});
    must_refuse(publish(&life, &world, &err), STATUS_FAILED_PRECONDITION, "nothing is mounted");
    must(stage(&life, &world, &err));
    /* another device came between us and the path */
    fake_host_add_mount(world.host, STAGING "/" HANDLE, "/dev/rbd7");
    must_refuse(publish(&life, &world, &err), STATUS_FAILED_PRECONDITION, "another device");
    assert_false(state_has(TARGET));
    end();
}

TEST(mounts_of_others_are_not_taken_off)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_add_mount(world.host, TARGET, "/dev/sda1");
    must_refuse(unpublish(&life, &world, &err), STATUS_FAILED_PRECONDITION, "no RBD device");
    fake_host_add_mount(world.host, STAGING "/" HANDLE, "/dev/loop5"); /* not of our exports */
    must_refuse(unstage(&life, &world, &err), STATUS_FAILED_PRECONDITION, "no RBD device");
    assert_true(state_has("mount " TARGET " /dev/sda1"));
    end();
}

TEST(files_in_the_way_are_not_removed)
{
    begin(&(struct use){.fs_type = "ext4"});
    fake_host_add_folder(world.host, TARGET);
    fake_host_add_file(world.host, TARGET "/data", "precious");
    must_refuse(unpublish(&life, &world, &err), STATUS_FAILED_PRECONDITION, TARGET);
    fake_host_add_folder(world.host, STAGING "/" HANDLE);
    fake_host_add_file(world.host, STAGING "/" HANDLE "/data", "precious");
    must_refuse(unstage(&life, &world, &err), STATUS_FAILED_PRECONDITION, HANDLE);
    assert_true(state_has(TARGET "/data 2 precious"));
    assert_true(state_has(HANDLE "/data 2 precious"));
    end();
}

TEST(what_ceph_csi_staged_is_unstaged)
{
    begin(&(struct use){.fs_type = "ext4"});
    must(stage(&life, &world, &err));
    fake_host_add_file(world.host, STAGING "/image-meta.json",
                       "{\"Version\":3,\"pool\":\"rbd\",\"radosNamespace\":\"\",\"image\":\"" IMAGE
                       "\",\"unmapOptions\":\"\",\"accessType\":false,\"encrypted\":false,"
                       "\"device\":\"\",\"logDir\":\"\",\"logFileStrategy\":\"\"}");
    must(unstage(&life, &world, &err));
    assert_false(state_has("device "));
    end();
}

TEST(without_image_meta_the_mount_tells_the_device)
{
    struct host *host = NULL;

    begin(&(struct use){.fs_type = "ext4"});
    must(stage(&life, &world, &err));
    host = fake_host_as_host(world.host);
    must(host->ops->remove(host, STAGING "/image-meta.json", &err));
    must(unstage(&life, &world, &err));
    assert_false(state_has("device "));
    end();
}

TEST(a_group_gets_the_root_of_the_file_system)
{
    begin(&(struct use){.fs_type = "ext4", .mount_group = "2000"});
    must(stage(&life, &world, &err));
    assert_true(state_has(HANDLE " 1  2000"));
    must(unstage(&life, &world, &err));
    world.use.mount_group = "root";
    must_refuse(stage(&life, &world, &err), STATUS_INVALID_ARGUMENT, "'root'");
    end();
}

/* --- image-meta.json ----------------------------------------------------------------------------
 */

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
    assert_true(meta.is_nbd);
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

TEST_GROUP(write_config, remove_config)
