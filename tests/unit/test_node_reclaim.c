/* NodeReclaimSpace: which blocks the file system of a staged volume does not use. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#define TRIM "trim " STAGING "/" HANDLE " "

static struct machine machine;

static void begin(const struct use *use)
{
    machine_init(&machine, use);
    must(machine_stage(&machine, &err));
}

static void assert_refused(enum status status, const char *words)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(machine_reclaim(&machine, &err), -1);
    assert_string_equal(status_name(err.status), status_name(status));
    assert_non_null(strstr(err.message, words));
    assert_false(fake_host_saw_argument(machine.host, "trim "));
}

TEST(file_system_of_a_staged_volume_is_trimmed)
{
    begin(&(struct use){.fs_type = "ext4", .mounter = "rbd"});
    must(machine_reclaim(&machine, &err));
    must(machine_reclaim(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, TRIM "0 18446744073709551615"), 2);
    must(machine_unstage(&machine, &err));
    machine_done(&machine);
}

TEST(large_file_system_is_trimmed_in_pieces)
{
    begin(&(struct use){.fs_type = "xfs", .mounter = "rbd"});
    fake_host_set_fs_size(machine.host, 40 * GIB);
    must(machine_reclaim(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, TRIM), 3);
    assert_int_equal(fake_host_runs(machine.host, TRIM "0 17179869184"), 1);
    assert_int_equal(fake_host_runs(machine.host, TRIM "17179869184 17179869184"), 1);
    assert_int_equal(fake_host_runs(machine.host, TRIM "34359738368 18446744073709551615"), 1);
    machine_done(&machine);
}

TEST(pieces_end_where_the_file_system_does)
{
    begin(&(struct use){.fs_type = "xfs", .mounter = "rbd"});
    fake_host_set_fs_size(machine.host, 32 * GIB);
    must(machine_reclaim(&machine, &err));
    assert_int_equal(fake_host_runs(machine.host, TRIM), 2);
    assert_int_equal(fake_host_runs(machine.host, TRIM "17179869184 18446744073709551615"), 1);
    machine_done(&machine);
}

/* The caller does not try again after UNIMPLEMENTED. */
TEST(what_can_never_succeed_is_unimplemented)
{
    begin(&(struct use){.mounter = "rbd"});
    assert_refused(STATUS_UNIMPLEMENTED, "a block volume has no file system");
    machine.use.fs_type = "ext4"; /* it is staged as a device nevertheless */
    assert_refused(STATUS_UNIMPLEMENTED, "a block volume has no file system");
    machine_done(&machine);

    begin(&(struct use){.fs_type = "ext4", .mounter = "rbd"});
    machine.use.mode = ACCESS_MULTI_NODE_MULTI_WRITER;
    assert_refused(STATUS_UNIMPLEMENTED, "MULTI_NODE_MULTI_WRITER may be mounted on other nodes");
    machine.use.mode = ACCESS_SINGLE_NODE_WRITER;
    fake_host_lack(machine.host, "discard");
    assert_refused(STATUS_UNIMPLEMENTED, HANDLE);
    machine_done(&machine);
}

TEST(volume_that_is_only_read_is_left_alone)
{
    machine_init(
        &machine,
        &(struct use){.fs_type = "ext4", .mounter = "rbd", .mode = ACCESS_MULTI_NODE_READER_ONLY});
    fake_host_fill_image(machine.host, SPEC, "ext4");
    must(machine_stage(&machine, &err));
    assert_refused(STATUS_UNIMPLEMENTED, "mounted for reading only");
    machine_done(&machine);
}

TEST(volume_that_is_not_staged_is_refused)
{
    machine_init(&machine, &(struct use){.fs_type = "ext4", .mounter = "rbd"});
    assert_refused(STATUS_FAILED_PRECONDITION, "reclaim space of volume '" HANDLE "'");
    machine_done(&machine);
}

TEST(bad_requests_are_refused)
{
    static const struct {
        const char *handle;
        const char *path;
    } cases[] = {{"", STAGING}, {HANDLE, ""}, {HANDLE, "/a/../b"}, {"a/b", STAGING}};

    begin(&(struct use){.fs_type = "ext4", .mounter = "rbd"});
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_(reclaim_request_done) struct reclaim_request request = {
            .handle = xstrdup(cases[i].handle), .staging_path = xstrdup(cases[i].path)};
        _cleanup_error_ struct error err = {0};
        struct call call;

        call_init(&call, 1, "test", deadline_never());
        assert_int_equal(node_reclaim_space(&machine.volumes, &call, &request, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        call_done(&call);
    }
    machine_done(&machine);
}

/* What was done stays so, and the next call begins again. */
TEST(failure_ends_it_and_the_next_call_begins_again)
{
    _cleanup_error_ struct error err = {0};

    begin(&(struct use){.fs_type = "ext4", .mounter = "rbd"});
    fake_host_set_fs_size(machine.host, 40 * GIB);
    for (unsigned n = 1;; n++) {
        fake_host_fail_call(machine.host, n, FAKE_FAIL_BEFORE);
        int result = machine_reclaim(&machine, &err);
        bool struck = !fake_host_fault_is_pending(machine.host);

        fake_host_recover(machine.host);
        assert_int_equal(result, struck ? -1 : 0);
        error_clear(&err);
        if (!struck)
            break;
    }
    machine_done(&machine);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
