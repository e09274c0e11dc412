/* What is mounted through a Ceph client that was fenced: it cannot be looked at, but it goes. */
#include <errno.h>
#include <limits.h>

#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#include "node/mount_table.h"

static struct machine machine;

static const struct use USES[] = {
    {.mounter = "kernel", .fs_type = "", .is_cephfs = true},
    {.mounter = "kernel",
     .fs_type = "",
     .is_cephfs = true,
     .is_shallow = true,
     .mode = ACCESS_MULTI_NODE_READER_ONLY},
    {.mounter = "fuse", .fs_type = "", .is_cephfs = true},
    {.fs_type = "ext4"},
    {.fs_type = "xfs"},
    {.fs_type = "xfs", .mounter = "rbd-nbd"},
};
/* of a session that was rejected, of the OSDs' blocklist, of a client or an xfs that was shut down,
 * of FUSE, of an inode that is gone */
static const int ANSWERS[] = {EACCES, ESHUTDOWN, EIO, ENOTCONN, ESTALE};

static void begin_fenced(const struct use *use, int answer)
{
    machine_init(&machine, use);
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    fake_host_fence(machine.host, answer);
}

static void nothing_is_left(void)
{
    assert_false(machine_has(&machine, "mount "));
    assert_false(machine_has(&machine, "device "));
    assert_false(machine_has(&machine, "nodestage-"));
    assert_false(machine_has(&machine, STAGING "/"));
    assert_false(machine_has(&machine, TARGET));
}

TEST(fenced_volume_is_unpublished_and_unstaged)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++)
        for (size_t j = 0; j < ARRAY_LENGTH(ANSWERS); j++) {
            begin_fenced(&USES[i], ANSWERS[j]);
            must(machine_unpublish(&machine, &err));
            assert_false(machine_has(&machine, "mount " TARGET));
            must(machine_unpublish(&machine, &err));
            must(machine_unstage(&machine, &err));
            must(machine_unstage(&machine, &err));
            nothing_is_left();
            machine_done(&machine);
        }
}

/* A process in the pod's folder keeps it busy; nothing will ever write through it again. */
TEST(fenced_volume_that_is_busy_goes_lazily)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        begin_fenced(&USES[i], EACCES);
        fake_host_keep_busy(machine.host, UINT_MAX);
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        nothing_is_left();
        machine_done(&machine);
    }
}

/* Those that another driver staged, which wrote nothing down. */
TEST(fenced_volume_without_a_record_is_unstaged)
{
    struct host *host = NULL;

    begin_fenced(&USES[0], EACCES);
    host = fake_host_as_host(machine.host);
    must(host->ops->remove(host, INFO_FILE, &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    nothing_is_left();
    machine_done(&machine);
    begin_fenced(&USES[4], EIO);
    host = fake_host_as_host(machine.host);
    must(host->ops->remove(host, STAGING "/image-meta.json", &err));
    must(machine_unpublish(&machine, &err));
    must(machine_unstage(&machine, &err));
    nothing_is_left();
    machine_done(&machine);
}

/* What is mounted there is told by the mount table alone, and looked at as closely as ever. */
TEST(fenced_mount_of_somebody_else_stays)
{
    machine_init(&machine, &USES[3]);
    must(machine_stage(&machine, &err));
    fake_host_add_folder(machine.host, TARGET);
    fake_host_add_mount(machine.host, TARGET, "/dev/sda1");
    fake_host_fence(machine.host, EIO);
    must_refuse(machine_unpublish(&machine, &err), STATUS_FAILED_PRECONDITION, "no RBD device");
    assert_true(machine_has(&machine, "mount " TARGET));
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(fenced_foreign_mount_in_the_place_of_a_volume_stays)
{
    machine_init(&machine, &USES[3]);
    fake_host_add_mount(machine.host, STAGING "/" HANDLE, "/dev/sda1");
    fake_host_fence(machine.host, EIO);
    must_refuse(machine_unstage(&machine, &err), STATUS_FAILED_PRECONDITION, "no RBD device");
    assert_true(machine_has(&machine, "mount " STAGING "/" HANDLE));
    machine_done(&machine);
}

TEST(fenced_volume_has_an_abnormal_condition)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++)
        for (size_t j = 0; j < ARRAY_LENGTH(ANSWERS); j++) {
            struct volume_stats stats = {0};
            struct call call;

            begin_fenced(&USES[i], ANSWERS[j]);
            call_init(&call, 1, "NodeGetVolumeStats", deadline_never());
            must(node_get_volume_stats(&machine.volumes, &call, HANDLE, TARGET, &stats, &err));
            assert_true(stats.is_abnormal);
            assert_non_null(strstr(stats.message, TARGET));
            volume_stats_done(&stats);
            call_done(&call);
            machine_done(&machine);
        }
}

/* A volume that is staged again after its node was let in again works. */
TEST(fenced_volume_is_staged_and_published_anew)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        begin_fenced(&USES[i], ANSWERS[i % ARRAY_LENGTH(ANSWERS)]);
        must(machine_unpublish(&machine, &err));
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        nothing_is_left();
        machine_done(&machine);
    }
}

TEST(fence_is_told_from_failures_of_the_moment)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ANSWERS); i++)
        assert_true(errno_is_death(ANSWERS[i]));
    assert_false(errno_is_death(0));
    assert_false(errno_is_death(ENOMEM));
    assert_false(errno_is_death(ETIMEDOUT));
    assert_true(mount_option_is_set("rw,noshare,name=x", "noshare"));
    assert_false(mount_option_is_set("rw,noshares", "noshare"));
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
