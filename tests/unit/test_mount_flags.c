/* Mount flags of a volume: what each is, and what becomes of it on a node. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#include "common/linux/cephfs_client.h"
#include "common/linux/mount_flags.h"
#include "common/linux/mount_labels.h"

#define LABEL "context=\"system_u:object_r:container_file_t:s0:c15,c25\""
#define SAME_LABEL "context=\"system_u:object_r:container_file_t:s0:c25,c15\""
#define OTHER_LABEL "context=\"system_u:object_r:container_file_t:s0:c15,c26\""

static struct machine machine;

static const struct use USES[] = {
    {.fs_type = "ext4", .flag = LABEL},
    {.fs_type = "xfs", .flag = LABEL},
    {.mounter = "kernel", .fs_type = "", .is_cephfs = true, .flag = LABEL},
    {.mounter = "fuse", .fs_type = "", .is_cephfs = true, .flag = LABEL},
};

/* --- SELinux --- */

/* As kubelet sends it where the CSIDriver says seLinuxMount, with both calls. */
TEST(a_label_with_a_comma_reaches_the_mount)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        machine_init(&machine, &USES[i]);
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        assert_true(machine_has(&machine, LABEL));
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

TEST(the_same_label_in_other_words_is_the_same)
{
    machine_init(&machine, &USES[0]);
    must(machine_stage(&machine, &err));
    machine.use.flag = SAME_LABEL;
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    machine_done(&machine);
}

/* The kernel keeps one label per file system, whatever is asked of its other mounts. */
TEST(two_labels_for_one_volume_are_refused)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        machine_init(&machine, &USES[i]);
        must(machine_stage(&machine, &err));
        machine.use.flag = OTHER_LABEL;
        must_refuse(machine_stage(&machine, &err), STATUS_ALREADY_EXISTS,
                    "mounted with " LABEL ", but " OTHER_LABEL " was asked for");
        must_refuse(machine_publish(&machine, &err), STATUS_FAILED_PRECONDITION,
                    "seLinuxOptions.level");
        assert_false(machine_has(&machine, TARGET));
        machine.use.flag = NULL;
        must(machine_publish(&machine, &err)); /* a pod that does not care */
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

TEST(a_label_is_not_given_to_what_was_mounted_without)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    must(machine_stage(&machine, &err));
    machine.use.flag = LABEL;
    must_refuse(machine_publish(&machine, &err), STATUS_FAILED_PRECONDITION, "no such option");
    machine_done(&machine);
}

/* As mount(8) does: the kernel would refuse the option. */
TEST(labels_are_left_out_where_there_is_no_selinux)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        machine_init(&machine, &USES[i]);
        fake_host_lack(machine.host, "selinux");
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        if (!USES[i].is_cephfs) /* whose record has what was asked */
            assert_false(machine_has(&machine, "context"));
        assert_false(machine_has(&machine, "," LABEL));
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

TEST(libfuse_is_given_commas_that_do_not_split)
{
    machine_init(&machine, &USES[3]);
    must(machine_stage(&machine, &err));
    assert_true(fake_host_saw_argument(
        machine.host, ",context=\"system_u:object_r:container_file_t:s0:c15\\,c25\""));
    machine_done(&machine);
}

TEST(the_options_of_a_class_may_have_labels)
{
    machine_init(&machine, &(struct use){.mounter = "kernel",
                                         .fs_type = "",
                                         .is_cephfs = true,
                                         .key = "kernelMountOptions",
                                         .value = "wsize=4194304, " LABEL ",norbytes"});
    must(machine_stage(&machine, &err));
    assert_true(machine_has(&machine, "noshare,wsize=4194304," LABEL ",norbytes\n"));
    machine_done(&machine);
}

/* --- ro --- */

static const struct use READERS[] = {
    {.fs_type = "ext4", .flag = "ro", .mount_group = "2000"},
    {.mounter = "kernel", .fs_type = "", .is_cephfs = true, .flag = "ro", .mount_group = "2000"},
    {.mounter = "fuse", .fs_type = "", .is_cephfs = true, .flag = "ro", .mount_group = "2000"},
    {.mounter = "kernel",
     .fs_type = "",
     .is_cephfs = true,
     .mount_group = "2000",
     .key = "kernelMountOptions",
     .value = "ro"},
};

TEST(a_volume_that_is_mounted_for_reading_may_have_a_writers_mode)
{
    for (size_t i = 0; i < ARRAY_LENGTH(READERS); i++) {
        machine_init(&machine, &READERS[i]);
        fake_host_fill_image(machine.host, SPEC, "ext4");
        for (int times = 0; times < 2; times++) {
            must(machine_stage(&machine, &err));
            must(machine_publish(&machine, &err));
            assert_false(machine_has(&machine, " 2000")); /* nothing was written */
        }
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

TEST(what_is_mounted_for_reading_is_neither_made_nor_grown)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .flag = "ro"});
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "has no file system yet");
    machine.use.flag = NULL;
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_expand_image(&machine);
    machine.use.flag = "ro";
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    must(machine_expand_node(&machine, true, &err));
    assert_int_equal(fake_host_runs(machine.host, "resize2fs"), 0);
    assert_int_equal(fake_host_runs(machine.host, "e2fsck"), 0);
    machine_done(&machine);
}

TEST(what_is_staged_for_reading_is_not_what_a_writer_asks_for)
{
    for (size_t i = 0; i < 3; i++) {
        machine_init(&machine, &READERS[i]);
        fake_host_fill_image(machine.host, SPEC, "ext4");
        must(machine_stage(&machine, &err));
        machine.use.flag = NULL;
        must_refuse(machine_stage(&machine, &err), STATUS_ALREADY_EXISTS, "reading");
        machine_done(&machine);
    }
}

/* --- keys --- */

static int map_with(const char *key, struct error *err)
{
    _cleanup_secret_ struct secret secret = {0};
    const struct map_request request = {
        .spec = {.pool = "rbd", .rados_namespace = "", .image = IMAGE, .fsid = "", .image_id = ""},
        .monitors = "10.0.0.1",
        .user = "csi",
        .key = &secret,
        .options = "",
        .handle = HANDLE,
        .log_dir = ""};
    _cleanup_free_ char *device = NULL;
    struct call call;

    secret_set(&secret, key);
    call_init(&call, 1, "test", deadline_never());
    int result = mapper_find("krbd")->map(&machine.volumes.mappers, &call, &request, &device, err);
    call_done(&call);
    return result;
}

static int mount_with(const char *key, struct error *err)
{
    _cleanup_secret_ struct secret secret = {0};
    const struct string_list none = {0};
    const struct cephfs_mount mount = {.handle = HANDLE,
                                       .target = STAGING,
                                       .monitors = "10.0.0.1",
                                       .user = "csi",
                                       .key = &secret,
                                       .fs_name = "",
                                       .path = "/",
                                       .options = &none};
    struct call call;

    secret_set(&secret, key);
    call_init(&call, 1, "test", deadline_never());
    int result = CEPHFS_KERNEL.mount(fake_host_as_host(machine.host), &call, &mount, err);
    call_done(&call);
    return result;
}

/* In the kernel's options it would end where the next one begins. */
TEST(a_key_that_would_become_an_option_is_refused)
{
    static const char *const bad[] = {SECRET ",ro", SECRET " x", SECRET "\n", "AQ\"==", ""};

    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        must_refuse(map_with(bad[i], &err), STATUS_INVALID_ARGUMENT, "userKey");
        must_refuse(mount_with(bad[i], &err), STATUS_INVALID_ARGUMENT, "userKey");
    }
    assert_false(machine_has(&machine, "device "));
    assert_false(machine_has(&machine, "mount "));
    must(map_with(SECRET, &err));
    must(mount_with(SECRET, &err));
    machine_done(&machine);
}

/* --- one by one --- */

TEST(flags_of_a_mount_are_told_from_options_of_its_file_system)
{
    static const struct {
        const char *option;
        enum mount_flag kind;
        unsigned long after; /* with ro and nosuid before it */
    } cases[] = {
        {"ro", MOUNT_FLAG_OF_MOUNT, MS_RDONLY | MS_NOSUID},
        {"rw", MOUNT_FLAG_OF_MOUNT, MS_NOSUID},
        {"suid", MOUNT_FLAG_OF_MOUNT, MS_RDONLY},
        {"noatime", MOUNT_FLAG_OF_MOUNT, MS_RDONLY | MS_NOSUID | MS_NOATIME},
        {"async", MOUNT_FLAG_OF_MOUNT, MS_RDONLY | MS_NOSUID},
        {"exec", MOUNT_FLAG_OF_MOUNT, MS_RDONLY | MS_NOSUID},
        {"defaults", MOUNT_FLAG_OF_MOUNT, MS_RDONLY | MS_NOSUID},
        {"_netdev", MOUNT_FLAG_OF_MOUNT, MS_RDONLY | MS_NOSUID},
        {"discard", MOUNT_FLAG_OF_FILE_SYSTEM, MS_RDONLY | MS_NOSUID},
        {LABEL, MOUNT_FLAG_OF_FILE_SYSTEM, MS_RDONLY | MS_NOSUID},
        {"bind", MOUNT_FLAG_REFUSED, MS_RDONLY | MS_NOSUID},
        {"remount", MOUNT_FLAG_REFUSED, MS_RDONLY | MS_NOSUID},
        {"move", MOUNT_FLAG_REFUSED, MS_RDONLY | MS_NOSUID},
        {"shared", MOUNT_FLAG_REFUSED, MS_RDONLY | MS_NOSUID},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        unsigned long flags = MS_RDONLY | MS_NOSUID;

        if (mount_flag_parse(cases[i].option, &flags) != cases[i].kind || flags != cases[i].after)
            fail_msg("%s: %#lx", cases[i].option, flags);
    }
}

TEST(only_labels_have_commas)
{
    static const struct {
        const char *option;
        bool is_single;
    } cases[] = {
        {"noatime", true},
        {"commit=5", true},
        {LABEL, true},
        {"fscontext=\"a:b:c:s0:c1,c2\"", true},
        {"defcontext=\"a,b\"", true},
        {"rootcontext=\"a,b\"", true},
        {"context=a:b:c:s0", true},
        {"", false},
        {"noatime,nodev", false},
        {"context=a:b:c:s0:c1,c2", false},
        {"context=\"a,b", false},
        {"context=\"a\",nodev", false},
        {"context=\"a,b\",nodev", false},
        {"context=\"a,b\"nodev", false},
        {"context=\"a\",b\"", false},
        {"context=\"a\\,b\"", false},
        {"other=\"a,b\"", false},
        {"xcontext=\"a,b\"", false},
        {"context\"a,b\"", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (mount_flag_is_single(cases[i].option) != cases[i].is_single)
            fail_msg("%s", cases[i].option);
}

TEST(labels_are_compared_as_the_kernel_does)
{
    static const struct {
        const char *a;
        const char *b;
        bool is_same;
    } cases[] = {
        {"context=u:r:t:s0", "context=\"u:r:t:s0\"", true},
        {"context=\"u:r:t:s0:c1,c2,c3\"", "context=u:r:t:s0:c1.c3", true},
        {"context=\"u:r:t:s0:c3,c1\"", "context=\"u:r:t:s0:c1,c3\"", true},
        {"context=u:r:t:s0-s0:c0.c1023", "context=u:r:t:s0-s0:c0.c1023", true},
        {"context=u:r:t:s0:c1-s0:c1", "context=u:r:t:s0:c1", true},
        {"context=u:r:t", "context=u:r:t", true},
        {"context=odd", "context=odd", true},
        {"context=u:r:t:s0:c1024", "context=u:r:t:s0:c1024", true},
        {"context=u:r:t:s0", "fscontext=u:r:t:s0", false},
        {"context=u:r:t:s0", "context=u:r:t:s1", false},
        {"context=u:r:t:s0", "context=u:r:x:s0", false},
        {"context=u:r:t:s0", "context=u:r:t", false},
        {"context=u:r:t:s0:c1", "context=u:r:t:s0:c2", false},
        {"context=u:r:t:s0:c1", "context=u:r:t:s0", false},
        {"context=u:r:t:s0-s0:c1", "context=u:r:t:s0-s0:c2", false},
        {"context=u:r:t:s0-s0:c1", "context=u:r:t:s0", false},
        {"context=u:r:t:s0:c1024", "context=u:r:t:s0:c1025", false},
        {"context=u:r:t:s0:c5.c2", "context=u:r:t:s0:c", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (mount_label_is_same(cases[i].a, cases[i].b) != cases[i].is_same ||
            mount_label_is_same(cases[i].b, cases[i].a) != cases[i].is_same)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
