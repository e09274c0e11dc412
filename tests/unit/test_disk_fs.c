/* Calls that end before the program that they need: mkfs, e2fsck, resize2fs. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

static struct machine machine;

static void init_machine(const char *fs_type, const char *held)
{
    machine_init(&machine, &(struct use){.fs_type = fs_type});
    fake_host_hold_program(machine.host, held);
    machine.patience_ms = 1;
}

static void let_go(void)
{
    fake_host_hold_program(machine.host, NULL);
    machine.patience_ms = 0;
}

/* Whether the kernel may still be asked to map is a matter of time as well: then the next call has
 * more of it. */
static int stage_impatiently(struct error *err)
{
    int result;

    while ((result = machine_stage(&machine, err)) < 0 && err->status == STATUS_DEADLINE_EXCEEDED) {
        error_clear(err);
        machine.patience_ms *= 2;
    }
    return result;
}

static void take_down(void)
{
    must(machine_unstage(&machine, &err));
    assert_false(machine_has(&machine, "device "));
    assert_false(machine_has(&machine, STAGING "/"));
    machine_done(&machine);
}

TEST(a_slow_mkfs_outlives_its_call)
{
    static const char *const types[] = {"ext4", "xfs"};

    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        init_machine(types[i], "mkfs");
        for (int tries = 0; tries < 3; tries++)
            must_refuse(stage_impatiently(&err), STATUS_ABORTED, "on '/dev/rbd0' has taken");
        assert_true(machine_has(&machine, "device /dev/rbd0 "));
        assert_true(machine_has(&machine, "cephzone.formatting"));
        must_refuse(machine_publish(&machine, &err), STATUS_FAILED_PRECONDITION,
                    "nothing is mounted");
        must_refuse(machine_unstage(&machine, &err), STATUS_ABORTED, "has taken");
        assert_true(machine_has(&machine, "device /dev/rbd0 "));
        let_go();
        must(machine_stage(&machine, &err));
        assert_int_equal(fake_host_runs(machine.host, "mkfs"), 1);
        assert_false(machine_has(&machine, "cephzone.formatting"));
        take_down();
    }
}

TEST(a_slow_check_outlives_its_call)
{
    init_machine("ext4", "e2fsck");
    fake_host_fill_image(machine.host, SPEC, "ext4");
    for (int tries = 0; tries < 3; tries++)
        must_refuse(stage_impatiently(&err), STATUS_ABORTED,
                    "checking the file system on '/dev/rbd0' has taken");
    assert_false(machine_has(&machine, "mount "));
    let_go();
    must(machine_stage(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, "e2fsck"), 1);
    take_down();
}

TEST(what_a_slow_check_found_is_no_excuse_for_the_next)
{
    init_machine("ext4", "e2fsck");
    fake_host_fill_image(machine.host, SPEC, "ext4");
    must_refuse(stage_impatiently(&err), STATUS_ABORTED, "checking");
    let_go();
    must(machine_unstage(&machine, &err)); /* waits for it */
    must(machine_stage(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, "e2fsck"), 2);
    take_down();
}

TEST(a_slow_growth_outlives_its_call)
{
    init_machine("ext4", NULL);
    machine.patience_ms = 0;
    must(machine_stage(&machine, &err));
    must(machine_publish(&machine, &err));
    fake_host_hold_program(machine.host, "resize2fs");
    machine.patience_ms = 1;
    must_refuse(machine_expand(&machine, &err), STATUS_ABORTED, "growing the file system");
    must_refuse(machine_expand(&machine, &err), STATUS_ABORTED, "growing the file system");
    let_go();
    must(machine_expand(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, "resize2fs"), 1);
    must(machine_unpublish(&machine, &err));
    take_down();
}

TEST(a_driver_that_ends_ends_mkfs_and_the_next_repeats_it)
{
    init_machine("ext4", "mkfs");
    must_refuse(stage_impatiently(&err), STATUS_ABORTED, "making ext4");
    machine_restart(&machine);
    assert_true(machine_has(&machine, "cephzone.formatting"));
    let_go();
    must(machine_stage(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, "mkfs"), 2);
    take_down();
}

/* The driver was killed, and the program was not. */
TEST(nothing_is_done_beside_a_program_of_an_earlier_run)
{
    init_machine("ext4", NULL);
    machine.patience_ms = 0;
    must(machine_stage(&machine, &err));
    must(machine_unstage(&machine, &err));
    machine.patience_ms = 1;
    fake_host_lock_folder(machine.host, STAGING);
    must_refuse(machine_stage(&machine, &err), STATUS_ABORTED, "another run of this driver");
    must_refuse(machine_unstage(&machine, &err), STATUS_ABORTED, "another run of this driver");
    assert_int_equal(fake_host_runs(machine.host, "e2fsck"), 0);
    assert_false(machine_has(&machine, "device "));
    fake_host_lock_folder(machine.host, NULL);
    let_go();
    must(machine_stage(&machine, &err));
    take_down();
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
