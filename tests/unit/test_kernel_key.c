/* Keys of type 2 on kernels that know them, that do not, and that do not tell. */
#include <errno.h>

#include "node/kernel_key.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#define KEY_AES256K "AgDm8i1pAAAAACAAMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define SENTENCE                                                                                   \
    "kernel 6.1.0-1-cloud-amd64 does not know keys of type 2 (aes256k), and that of user "         \
    "'client.csi' is one"

static struct machine machine;

static const struct use RBD = {.fs_type = "ext4", .secret = KEY_AES256K};
static const struct use CEPHFS = {.fs_type = "", .is_cephfs = true, .secret = KEY_AES256K};

static void stage_and_unstage(void)
{
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(a_kernel_that_knows_the_type_maps_and_mounts)
{
    machine_init(&machine, &RBD);
    stage_and_unstage();
    machine_init(&machine, &CEPHFS);
    stage_and_unstage();
}

TEST(a_key_of_type_1_is_not_asked_about)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4"});
    fake_host_lack(machine.host, "aes256k");
    stage_and_unstage();
}

TEST(krbd_is_refused_before_anything_is_mapped)
{
    machine_init(&machine, &RBD);
    fake_host_lack(machine.host, "aes256k");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, SENTENCE);
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "mounter: \"rbd-nbd\" in the class");
    assert_false(machine_has(&machine, "device "));
    assert_false(machine_has(&machine, "image-meta.json"));
    machine_done(&machine);
}

TEST(a_mapper_without_the_kernel_takes_the_key)
{
    static const struct use uses[] = {
        {.fs_type = "ext4", .mounter = "rbd-nbd", .secret = KEY_AES256K},
        {.fs_type = "ext4", .mounter = "fuse", .secret = KEY_AES256K},
        {.fs_type = "ext4", .key = "tryOtherMounters", .value = "true", .secret = KEY_AES256K},
        {.fs_type = "", .mounter = "fuse", .is_cephfs = true, .secret = KEY_AES256K},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        machine_init(&machine, &uses[i]);
        fake_host_lack(machine.host, "aes256k");
        stage_and_unstage();
    }
}

/* The kernel has a client: ceph-fuse does not take its place unasked. */
TEST(the_kernels_cephfs_is_refused_before_anything_is_mounted)
{
    machine_init(&machine, &CEPHFS);
    fake_host_lack(machine.host, "aes256k");
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, SENTENCE);
    must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                "mounter: \"fuse\" in the class");
    assert_false(machine_has(&machine, "mount "));
    assert_false(machine_has(&machine, "nodestage-"));
    assert_int_equal(fake_host_runs(machine.host, "ceph-fuse"), 0);
    machine_done(&machine);
}

/* Without key rings nothing tells before, and a backport must not be refused: the failure is
 * explained. */
TEST(a_kernel_that_does_not_tell_is_tried_and_its_failure_explained)
{
    static const struct use *const uses[] = {&RBD, &CEPHFS};

    for (size_t i = 0; i < ARRAY_LENGTH(uses); i++) {
        machine_init(&machine, uses[i]);
        fake_host_lack(machine.host, "key rings");
        stage_and_unstage();
        machine_init(&machine, uses[i]);
        fake_host_lack(machine.host, "key rings");
        fake_host_lack(machine.host, "aes256k");
        must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                    "it seems that " SENTENCE);
        assert_false(machine_has(&machine, "device "));
        assert_false(machine_has(&machine, "mount "));
        machine_done(&machine);
    }
}

TEST(only_failures_for_such_a_key_are_explained)
{
    _cleanup_fake_host_ struct fake_host *fake = fake_host_new(NULL);
    struct host *host = fake_host_as_host(fake);
    _cleanup_credentials_ struct credentials credentials = {.user = xstrdup("csi")};
    _cleanup_error_ struct error other = {0};
    _cleanup_error_ struct error perhaps = {0};
    _cleanup_error_ struct error cipher = {0};
    _cleanup_error_ struct error same = {0};

    secret_set(&credentials.key, KEY_AES256K);
    error_set_errno(&other, -EPERM, "map");
    assert_int_equal(kernel_key_explain(host, &credentials, &other), -1);
    assert_null(strstr(other.message, "type 2"));
    error_set_errno(&perhaps, -EINVAL, "map");
    assert_int_equal(kernel_key_explain(host, &credentials, &perhaps), -1);
    assert_int_equal(perhaps.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(perhaps.message, "perhaps kernel 6.1.0-1-cloud-amd64 does not know"));
    error_set_errno(&cipher, -ENOPKG, "map");
    assert_int_equal(kernel_key_explain(host, &credentials, &cipher), -1);
    assert_int_equal(cipher.status, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(cipher.message, "kernel 6.1.0-1-cloud-amd64 has no cipher for keys of "
                                           "type 2 (aes256k)"));
    secret_set(&credentials.key, SECRET);
    error_set_errno(&same, -524, "map");
    assert_int_equal(kernel_key_explain(host, &credentials, &same), -1);
    assert_int_equal(same.status, STATUS_INTERNAL);
    assert_null(strstr(same.message, "type"));
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
