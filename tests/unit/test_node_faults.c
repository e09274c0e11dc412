/*
 * Every operation of the node with each mapper, its n-th call to the machine or to Ceph failing or
 * the process dying there, for each n; then the same request again. The end must be that of an
 * undisturbed run, and what takes it all down must leave nothing.
 */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#define CALLS_MAX 400

struct scenario {
    const char *title;
    machine_step *before[5]; /* ends with NULL */
    machine_step *tested;
    machine_step *after[4]; /* ends with NULL */
};

static const struct scenario SCENARIOS[] = {
    {"stage", {NULL}, machine_stage, {machine_unstage}},
    {"publish", {machine_stage}, machine_publish, {machine_unpublish, machine_unstage}},
    {"expand",
     {machine_stage, machine_publish},
     machine_expand,
     {machine_unpublish, machine_unstage}},
    {"unpublish", {machine_stage, machine_publish}, machine_unpublish, {machine_unstage}},
    {"unstage", {machine_stage}, machine_unstage, {NULL}},
    {"stage again",
     {machine_stage, machine_publish, machine_unpublish, machine_unstage},
     machine_stage,
     {machine_unstage}},
};

static const struct use USES[] = {
    {.mounter = "fuse", .fs_type = "ext4"},
    {.mounter = "rbd", .fs_type = "xfs"},
    {.mounter = "rbd"},
    {.mounter = "rbd-nbd", .fs_type = "ext4"},
    {.mounter = "fuse"},
    {.mounter = "fuse", .fs_type = "", .is_cephfs = true},
    {.mounter = "kernel", .fs_type = "", .is_cephfs = true, .mount_group = "2000"},
    {.mounter = "fuse",
     .fs_type = "",
     .is_cephfs = true,
     .is_shallow = true,
     .mode = ACCESS_MULTI_NODE_READER_ONLY},
};

static void run_steps(machine_step *const *steps, struct machine *machine)
{
    for (size_t i = 0; steps[i]; i++)
        must(steps[i](machine, &err));
}

static void take_down(const struct scenario *scenario, struct machine *machine)
{
    run_steps(scenario->after, machine);
    _cleanup_free_ char *state = machine_state(machine);
    assert_null(strstr(state, "mount "));
    assert_null(strstr(state, "device "));
    assert_null(strstr(state, "daemon "));
    assert_null(strstr(state, STAGING "/"));
    assert_null(strstr(state, "/keys/"));
    assert_null(strstr(state, "nodestage-"));
}

static char *undisturbed(const struct scenario *scenario, const struct use *use)
{
    struct machine machine;

    machine_init(&machine, use);
    run_steps(scenario->before, &machine);
    must(scenario->tested(&machine, &err));
    char *state = machine_state(&machine);
    take_down(scenario, &machine);
    machine_done(&machine);
    return state;
}

/* After a crash the next life begins as a new process does. */
static void restart_after_crash(struct machine *machine)
{
    machine_restart(machine);
    fake_ceph_recover(machine->ceph);
    fake_host_recover(machine->host);
    machine_recover(machine);
}

/* False when the operation has fewer than @n calls. */
static bool disturb(const struct scenario *scenario, const struct use *use, unsigned n,
                    bool in_ceph, enum fake_failure failure, const char *wanted)
{
    _cleanup_error_ struct error first = {0};
    struct machine machine;

    machine_init(&machine, use);
    run_steps(scenario->before, &machine);
    if (in_ceph)
        fake_ceph_fail_call(machine.ceph, n, failure);
    else
        fake_host_fail_call(machine.host, n, failure);
    int result = scenario->tested(&machine, &first);
    bool struck = in_ceph ? !fake_ceph_fault_is_pending(machine.ceph)
                          : !fake_host_fault_is_pending(machine.host);
    assert_int_equal(in_ceph ? fake_ceph_faults(machine.ceph) : fake_host_faults(machine.host),
                     struck);
    if (result < 0 && !struck)
        fail_msg("%s: %s", scenario->title, first.message);
    if (failure == FAKE_CRASH_BEFORE || failure == FAKE_CRASH_AFTER)
        restart_after_crash(&machine);
    fake_ceph_recover(machine.ceph);
    fake_host_recover(machine.host);
    _cleanup_error_ struct error err = {0};
    if (scenario->tested(&machine, &err) < 0)
        fail_msg("%s with %s, call %u%s, failure %d: the retry failed: %s (first: %s)",
                 scenario->title, use->mounter, n, in_ceph ? " of Ceph" : "", (int)failure,
                 err.message, first.message ? first.message : "none");
    _cleanup_free_ char *state = machine_state(&machine);
    if (strcmp(state, wanted) != 0)
        fail_msg("%s with %s, call %u%s, failure %d (%s): wanted\n%s\ngot\n%s", scenario->title,
                 use->mounter, n, in_ceph ? " of Ceph" : "", (int)failure,
                 first.message ? first.message : "none", wanted, state);
    take_down(scenario, &machine);
    machine_done(&machine);
    return struck;
}

static void check(const struct use *use)
{
    static const enum fake_failure failures[] = {FAKE_FAIL_BEFORE, FAKE_FAIL_AFTER,
                                                 FAKE_CRASH_BEFORE, FAKE_CRASH_AFTER};
    unsigned points[2] = {0}; /* on the machine, in Ceph */

    for (size_t i = 0; i < ARRAY_LENGTH(SCENARIOS); i++) {
        if (SCENARIOS[i].tested == machine_expand && use->is_cephfs)
            continue; /* grows without the node */
        _cleanup_free_ char *wanted = undisturbed(&SCENARIOS[i], use);
        unsigned before = points[0];

        for (size_t kind = 0; kind < ARRAY_LENGTH(failures) * 2; kind++) {
            unsigned n = 1;

            while (n < CALLS_MAX &&
                   disturb(&SCENARIOS[i], use, n, kind % 2, failures[kind / 2], wanted))
                n++;
            assert_true(n < CALLS_MAX);
            points[kind % 2] += n - 1;
        }
        assert_true(points[0] > before);
    }
    print_message("figure: node, mounter %s, %s: disturbed at %u points\n", use->mounter,
                  use->is_shallow  ? "snapshot of CephFS"
                  : use->is_cephfs ? "CephFS"
                  : use->fs_type   ? use->fs_type
                                   : "block",
                  points[0] + points[1]);
    assert_true(points[0] >= 100);
    assert_true(points[1] >= 20);
}

TEST(fuse_with_ext4_survives)
{
    check(&USES[0]);
}

TEST(krbd_with_xfs_survives)
{
    check(&USES[1]);
}

TEST(krbd_with_a_block_volume_survives)
{
    check(&USES[2]);
}

TEST(nbd_with_ext4_survives)
{
    check(&USES[3]);
}

TEST(fuse_with_a_block_volume_survives)
{
    check(&USES[4]);
}

TEST(cephfs_with_ceph_fuse_survives)
{
    check(&USES[5]);
}

TEST(cephfs_with_the_kernel_survives)
{
    check(&USES[6]);
}

TEST(a_snapshot_of_cephfs_survives)
{
    check(&USES[7]);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
