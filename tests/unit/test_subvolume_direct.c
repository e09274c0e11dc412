#include "common/ceph/subvolume_direct.h"

#include <errno.h>

#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/test.h"

#define GIB ((uint64_t)1 << 30)

struct world {
    struct fake_ceph *fake;
    struct fake_subvolumes *subvolumes;
    struct ceph_cluster *cluster;
    struct subvolume_group group;
    struct call call;
};

/* With subvolume 'vol' of 1 GiB and its snapshot 's1', made by the manager. */
static void world_open(struct world *w, enum cephfs_path path)
{
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};

    *w = (struct world){.fake = fake_ceph_new()};
    fake_ceph_add_pool(w->fake, "meta", 7);
    w->subvolumes = fake_subvolumes_new(w->fake);
    fake_subvolumes_add_filesystem(w->subvolumes, "fs1", 2, 7, "csi");
    fake_ceph_set_cephfs_path(w->fake, path);
    secret_set(&key, "key");
    call_init(&w->call, 1, "Test", deadline_never());
    const struct ceph_target target = {"c1", "10.0.0.1", "csi", &key};
    struct ceph *ceph = fake_ceph_as_ceph(w->fake);
    assert_int_equal(ceph->ops->connect(ceph, &w->call, &target, &w->cluster, &err), 0);
    w->group = (struct subvolume_group){w->cluster, "fs1", "csi"};
    assert_int_equal(subvolume_create(&w->group, &w->call, "vol", GIB, NULL, &err), 0);
    assert_int_equal(
        fake_subvolumes_command(
            w->subvolumes,
            "{\"prefix\":\"fs subvolume snapshot create\",\"sub_name\":\"vol\",\"snap_name\":"
            "\"s1\"}"),
        0);
}

static void world_close(struct world *w)
{
    ceph_disconnect(w->cluster);
    assert_int_equal(fake_ceph_open_handles(w->fake), 0);
    fake_ceph_free(w->fake);
    fake_subvolumes_free(w->subvolumes);
    call_done(&w->call);
}
#define _cleanup_world_ _cleanup_(world_close)

/* No manager from now on. */
static void stop_manager(struct world *w)
{
    fake_ceph_answer_mgr(w->fake, NULL, NULL);
}

TEST(facts_snapshots_and_quotas_need_no_manager)
{
    _cleanup_world_ struct world w;
    _cleanup_error_ struct error err = {0};
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};
    struct subvolume_snapshot_facts snapshot = {0};

    world_open(&w, CEPHFS_AUTO);
    stop_manager(&w);
    assert_int_equal(subvolume_resize(&w.group, &w.call, "vol", 2 * GIB, &err), 0);
    assert_int_equal(subvolume_get_facts(&w.group, &w.call, "vol", &facts, &err), 0);
    assert_int_equal(facts.size_bytes, 2 * GIB);
    assert_string_equal(facts.data_pool, "default");
    assert_int_equal(subvolume_snapshot_create(&w.group, &w.call, "vol", "s2", &err), 0);
    assert_int_equal(subvolume_snapshot_create(&w.group, &w.call, "vol", "s2", &err), 0);
    assert_int_equal(subvolume_snapshot_get_facts(&w.group, &w.call, "vol", "s2", &snapshot, &err),
                     0);
    assert_int_equal(snapshot.created.tv_sec, 1767323045);
    assert_int_equal(snapshot.created.tv_nsec, 6000);
    assert_int_equal(subvolume_snapshot_get_facts(&w.group, &w.call, "vol", "s3", &snapshot, &err),
                     -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}

TEST(quota_never_goes_below_what_is_used)
{
    _cleanup_world_ struct world w;
    _cleanup_error_ struct error err = {0};

    world_open(&w, CEPHFS_AUTO);
    fake_subvolumes_set_used(w.subvolumes, GIB / 2);
    stop_manager(&w);
    assert_int_equal(subvolume_resize(&w.group, &w.call, "vol", GIB / 4, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
}

TEST(missing_rights_are_the_managers_opportunity_unless_direct)
{
    _cleanup_world_ struct world w;
    _cleanup_world_ struct world strict;
    _cleanup_error_ struct error err = {0};

    world_open(&w, CEPHFS_AUTO);
    fake_ceph_refuse_files(w.fake, -EACCES);
    assert_int_equal(direct_resize(&w.group, &w.call, "vol", 2 * GIB, &err), LEFT_TO_MANAGER);
    assert_int_equal(subvolume_resize(&w.group, &w.call, "vol", 2 * GIB, &err), 0);
    world_open(&strict, CEPHFS_DIRECT);
    fake_ceph_refuse_files(strict.fake, -EPERM);
    assert_int_equal(subvolume_resize(&strict.group, &strict.call, "vol", 2 * GIB, &err), -1);
    assert_int_equal(err.status, STATUS_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "allow rwps"));
}

TEST(silent_metadata_servers_are_no_reason_to_ask_the_manager)
{
    _cleanup_world_ struct world w;
    _cleanup_error_ struct error err = {0};

    world_open(&w, CEPHFS_AUTO);
    fake_ceph_refuse_files(w.fake, -ETIMEDOUT);
    assert_int_equal(subvolume_resize(&w.group, &w.call, "vol", 2 * GIB, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
}

/* Every request fails once; the same call again succeeds and the end is the same. */
TEST(snapshot_and_resize_survive_every_fault)
{
    static const enum fake_failure failures[] = {FAKE_FAIL_BEFORE, FAKE_FAIL_AFTER,
                                                 FAKE_CRASH_BEFORE, FAKE_CRASH_AFTER};
    bool is_over = false;

    for (unsigned n = 1; !is_over; n++) {
        for (size_t i = 0; i < ARRAY_LENGTH(failures); i++) {
            _cleanup_world_ struct world w;
            _cleanup_error_ struct error err = {0};
            _cleanup_error_ struct error second = {0};
            _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

            world_open(&w, CEPHFS_AUTO);
            stop_manager(&w);
            fake_ceph_fail_call(w.fake, n, failures[i]);
            const bool failed = subvolume_resize(&w.group, &w.call, "vol", 2 * GIB, &err) < 0 ||
                                subvolume_snapshot_create(&w.group, &w.call, "vol", "s2", &err) < 0;
            is_over = fake_ceph_fault_is_pending(w.fake);
            assert_true(failed != is_over);
            fake_ceph_recover(w.fake);
            assert_int_equal(subvolume_resize(&w.group, &w.call, "vol", 2 * GIB, &second), 0);
            assert_int_equal(subvolume_snapshot_create(&w.group, &w.call, "vol", "s2", &second), 0);
            assert_int_equal(subvolume_get_facts(&w.group, &w.call, "vol", &facts, &second), 0);
            assert_int_equal(facts.size_bytes, 2 * GIB);
        }
    }
}
