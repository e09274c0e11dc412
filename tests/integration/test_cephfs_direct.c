/*
 * Subvolumes through libcephfs beside the real manager: what one has made or changed the other sees
 * the same way. Each client of the cluster is a struct ceph of its own, with a mount of its own.
 */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/ceph/ceph.h"
#include "common/ceph/subvolume.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/place.h"
#include "tests/test.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define PATIENCE_MS 240000

/* One client, and where its subvolumes are. */
struct client {
    struct ceph *ceph;
    struct ceph_cluster *cluster;
    struct subvolume_group group;
    struct call call;
};

#define assert_done(request, err)                                                                  \
    do {                                                                                           \
        if ((request) < 0)                                                                         \
            fail_msg("%s", (err)->message);                                                        \
    } while (0)

#define assert_refused(request, err, expected)                                                     \
    do {                                                                                           \
        assert_int_equal((request), -1);                                                           \
        if ((err)->status != (expected))                                                           \
            fail_msg("%s", (err)->message);                                                        \
        error_clear(err);                                                                          \
    } while (0)

static void client_open(struct client *client, enum cephfs_path path, const char *instance,
                        const char *user, const char *key)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_secret_ struct secret secret = {0};

    secret_set(&secret, key);
    *client = (struct client){
        .ceph = ceph_new(&(struct ceph_options){.cephfs_path = path, .instance = instance})};
    call_init(&client->call, 1, "Test", deadline_in_ms(PATIENCE_MS));
    const struct ceph_target target = {"c1", harness_cluster()->monitors, user, &secret};
    assert_done(
        client->ceph->ops->connect(client->ceph, &client->call, &target, &client->cluster, &err),
        &err);
    client->group = (struct subvolume_group){client->cluster, CEPHFS_NAME, CEPHFS_GROUP};
}

static void client_open_as(struct client *client, enum cephfs_path path)
{
    client_open(client, path, "test", harness_cluster()->user, harness_cluster()->key);
}

static void client_close(struct client *client)
{
    ceph_disconnect(client->cluster);
    wait_until(ceph_free(client->ceph));
    call_done(&client->call);
}
#define _cleanup_client_ _cleanup_(client_close)

/* --- the cluster --- */

static void tell_cluster(const char *command)
{
    _cleanup_free_ char *conf = xstrdup(getenv("CEPH_CONF"));

    free(harness_run_tool(
        (const char *const[]){"tests/ceph/cluster", command, dirname(conf), NULL}));
}

/* What the manager held in the file system goes with it, as after a failover; others would wait for
 * a minute otherwise. */
static void stop_manager(void)
{
    tell_cluster("stop-mgr");
    free(harness_run_tool(
        (const char *const[]){"ceph", "tell", "mds.a", "client", "evict", "auth_name=a", NULL}));
}

/* --- both see the same --- */

static void assert_same_facts(struct client *direct, struct client *manager, const char *name)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subvolume_facts_ struct subvolume_facts a = {0};
    _cleanup_subvolume_facts_ struct subvolume_facts b = {0};

    assert_done(subvolume_get_facts(&direct->group, &direct->call, name, &a, &err), &err);
    assert_done(subvolume_get_facts(&manager->group, &manager->call, name, &b, &err), &err);
    assert_string_equal(a.path, b.path);
    assert_string_equal(a.data_pool, b.data_pool);
    assert_int_equal(a.size_bytes, b.size_bytes);
}

static void assert_same_metadata(struct client *direct, struct client *manager, const char *name,
                                 const char *snapshot, size_t count)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap a = {0};
    _cleanup_strmap_ struct strmap b = {0};

    assert_done(subvolume_get_metadata(&direct->group, &direct->call, name, snapshot, &a, &err),
                &err);
    assert_done(subvolume_get_metadata(&manager->group, &manager->call, name, snapshot, &b, &err),
                &err);
    assert_true(strmap_is_equal(&a, &b));
    assert_int_equal(a.count, count);
}

static void make_subvolume(struct client *manager, const char *name, uint64_t size_bytes)
{
    _cleanup_error_ struct error err = {0};

    assert_done(subvolume_create(&manager->group, &manager->call, name, size_bytes, NULL, &err),
                &err);
}

TEST(subvolumes_of_the_manager_are_read_as_the_manager_reads_them)
{
    _cleanup_client_ struct client direct = {0};
    _cleanup_client_ struct client manager = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap metadata = {0};

    client_open_as(&direct, CEPHFS_DIRECT);
    client_open_as(&manager, CEPHFS_BY_MANAGER);
    make_subvolume(&manager, "read-1", GIB);
    make_subvolume(&manager, "read-2", 0);
    assert_same_facts(&direct, &manager, "read-1");
    assert_same_facts(&direct, &manager, "read-2");
    assert_same_metadata(&direct, &manager, "read-1", NULL, 0);
    strmap_set(&metadata, "csi.storage.k8s.io/pvc/name", "100%% = a: b");
    strmap_set(&metadata, "plain", "value");
    assert_done(
        subvolume_set_metadata(&manager.group, &manager.call, "read-1", NULL, &metadata, &err),
        &err);
    assert_same_metadata(&direct, &manager, "read-1", NULL, 2);
    cephfs_clean_up();
}

TEST(what_is_missing_is_not_found)
{
    _cleanup_client_ struct client direct = {0};
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};
    _cleanup_error_ struct error err = {0};

    client_open_as(&direct, CEPHFS_DIRECT);
    assert_refused(subvolume_get_facts(&direct.group, &direct.call, "nothing", &facts, &err), &err,
                   STATUS_NOT_FOUND);
    direct.group.name = "no-such-group";
    assert_refused(subvolume_get_facts(&direct.group, &direct.call, "nothing", &facts, &err), &err,
                   STATUS_FAILED_PRECONDITION);
    direct.group.name = CEPHFS_GROUP;
    direct.group.fs_name = "no-such-fs";
    assert_refused(subvolume_get_facts(&direct.group, &direct.call, "nothing", &facts, &err), &err,
                   STATUS_NOT_FOUND);
}

TEST(quota_that_one_sets_the_other_sees)
{
    _cleanup_client_ struct client direct = {0};
    _cleanup_client_ struct client manager = {0};
    _cleanup_error_ struct error err = {0};

    client_open_as(&direct, CEPHFS_DIRECT);
    client_open_as(&manager, CEPHFS_BY_MANAGER);
    make_subvolume(&manager, "grown", 8 * MIB);
    for (uint64_t size = 16 * MIB; size <= 64 * MIB; size *= 2) {
        struct client *turn = size == 32 * MIB ? &manager : &direct;

        assert_done(subvolume_resize(&turn->group, &turn->call, "grown", size, &err), &err);
        assert_same_facts(&direct, &manager, "grown");
    }
    assert_refused(subvolume_resize(&direct.group, &direct.call, "nothing", GIB, &err), &err,
                   STATUS_NOT_FOUND);
    cephfs_clean_up();
}

/* --- snapshots --- */

static void assert_same_snapshot(struct client *direct, struct client *manager, const char *name,
                                 const char *snapshot)
{
    struct subvolume_snapshot_facts a = {0};
    struct subvolume_snapshot_facts b = {0};
    _cleanup_error_ struct error err = {0};

    assert_done(
        subvolume_snapshot_get_facts(&direct->group, &direct->call, name, snapshot, &a, &err),
        &err);
    assert_done(
        subvolume_snapshot_get_facts(&manager->group, &manager->call, name, snapshot, &b, &err),
        &err);
    assert_true(a.created.tv_sec > 0);
    assert_int_equal(a.created.tv_sec, b.created.tv_sec);
    assert_int_equal(a.created.tv_nsec, b.created.tv_nsec);
    assert_int_equal(a.has_pending_clones, b.has_pending_clones);
    assert_int_equal(a.orphan_clones, b.orphan_clones);
}

static void take_snapshot(struct client *client, const char *name, const char *snapshot)
{
    _cleanup_error_ struct error err = {0};

    assert_done(subvolume_snapshot_create(&client->group, &client->call, name, snapshot, &err),
                &err);
}

TEST(snapshots_of_one_are_those_of_the_other)
{
    _cleanup_client_ struct client direct = {0};
    _cleanup_client_ struct client manager = {0};
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_error_ struct error err = {0};
    struct subvolume_snapshot_facts facts = {0};

    client_open_as(&direct, CEPHFS_DIRECT);
    client_open_as(&manager, CEPHFS_BY_MANAGER);
    make_subvolume(&manager, "shot", GIB);
    take_snapshot(&direct, "shot", "s1");
    take_snapshot(&direct, "shot", "s1"); /* again */
    take_snapshot(&manager, "shot", "s1");
    take_snapshot(&manager, "shot", "s2");
    assert_same_snapshot(&direct, &manager, "shot", "s1");
    assert_same_snapshot(&direct, &manager, "shot", "s2");
    strmap_set(&metadata, "key", "value");
    assert_done(
        subvolume_set_metadata(&manager.group, &manager.call, "shot", "s1", &metadata, &err), &err);
    assert_same_metadata(&direct, &manager, "shot", "s1", 1);
    assert_same_metadata(&direct, &manager, "shot", "s2", 0);
    assert_refused(
        subvolume_snapshot_get_facts(&direct.group, &direct.call, "shot", "s3", &facts, &err), &err,
        STATUS_NOT_FOUND);
    assert_done(subvolume_snapshot_remove(&manager.group, &manager.call, "shot", "s1", &err), &err);
    assert_refused(
        subvolume_snapshot_get_facts(&direct.group, &direct.call, "shot", "s1", &facts, &err), &err,
        STATUS_NOT_FOUND);
    cephfs_clean_up();
}

/* A copy by the manager of what libcephfs took; a complete one is known without the manager. */
TEST(snapshot_that_was_made_directly_can_be_cloned)
{
    _cleanup_client_ struct client direct = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_(clone_status_done) struct clone_status status = {0};
    struct test_wait wait = {0};

    client_open_as(&direct, CEPHFS_DIRECT);
    make_subvolume(&direct, "origin", GIB);
    take_snapshot(&direct, "origin", "s1");
    assert_done(subvolume_clone(&direct.group, &direct.call, "origin", "s1", &direct.group, "copy",
                                NULL, &err),
                &err);
    while (status.state != CLONE_COMPLETE && test_wait_more(&wait)) {
        clone_status_done(&status);
        assert_done(subvolume_clone_status(&direct.group, &direct.call, "copy", &status, &err),
                    &err);
    }
    assert_int_equal(status.state, CLONE_COMPLETE);
    cephfs_clean_up();
}

/* --- without a manager --- */

TEST(manager_is_not_needed)
{
    _cleanup_client_ struct client direct = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};
    _cleanup_strmap_ struct strmap metadata = {0};
    struct subvolume_snapshot_facts snapshot = {0};

    client_open_as(&direct, CEPHFS_DIRECT);
    make_subvolume(&direct, "alone", 8 * MIB);
    stop_manager();
    const struct subvolume_group *group = &direct.group;
    assert_done(subvolume_resize(group, &direct.call, "alone", 16 * MIB, &err), &err);
    assert_done(subvolume_get_facts(group, &direct.call, "alone", &facts, &err), &err);
    assert_int_equal(facts.size_bytes, 16 * MIB);
    take_snapshot(&direct, "alone", "s1");
    assert_done(subvolume_snapshot_get_facts(group, &direct.call, "alone", "s1", &snapshot, &err),
                &err);
    assert_done(subvolume_get_metadata(group, &direct.call, "alone", NULL, &metadata, &err), &err);
    tell_cluster("start-mgr");
    _cleanup_client_ struct client manager = {0};
    client_open_as(&manager, CEPHFS_BY_MANAGER);
    assert_same_facts(&direct, &manager, "alone");
    assert_same_snapshot(&direct, &manager, "alone", "s1");
    cephfs_clean_up();
}

static void clean_up(void)
{
    _cleanup_free_ char *conf = xstrdup(getenv("CEPH_CONF"));
    _cleanup_free_ char *line =
        xasprintf("tests/ceph/cluster start-mgr %s >&2 || :", dirname(conf));

    free(harness_run_tool((const char *const[]){"bash", "-c", line, NULL}));
    cephfs_clean_up();
}

TEST_GROUP(harness_begin, harness_end)
TEST_CLEANUP(clean_up)
