/* A node that ends its own fence, on a Ceph, an API server and a machine in memory. */
#include "common/ceph/blocklist.h"
#include "controller/addons/own_fence.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/fakes/fake_host.h"
#include "tests/must.h"
#include "tests/unit/fixtures/blocklist.h"
#include "tests/unit/fixtures/kube.h"

#define DRIVER "rbd.csi.ceph.com"
#define OLD_ENOUGH " 94670000"
#define TOO_YOUNG " 94670800"

#define NOTES "/api/v1/namespaces/ceph/configmaps/cephzone-fences"

struct world {
    struct fake_ceph *ceph;
    struct fake_kube *kube;
    struct fake_host *host;
    struct fake_blocklist list;
    struct ceph_cluster *cluster;
    struct call call;
    struct own_fence own;
};

static void world_init(struct world *world)
{
    struct ceph *ceph = NULL;

    world->ceph = fake_ceph_new();
    world->kube = fake_kube_new();
    world->host = fake_host_new(world->ceph);
    fake_ceph_answer_mon(world->ceph, fake_blocklist_answer, &world->list);
    call_init(&world->call, 1, "test", deadline_in_ms(60000));
    ceph = fake_ceph_as_ceph(world->ceph);
    must(ceph->ops->connect(ceph, &world->call,
                            &(struct ceph_target){.cluster_id = "c1", .user = "csi"},
                            &world->cluster, &err));
    world->own = (struct own_fence){fake_host_as_host(world->host), fake_kube_as_kube(world->kube),
                                    DRIVER, "ceph"};
}

static void world_done(struct world *world)
{
    ceph_disconnect(world->cluster);
    call_done(&world->call);
    fake_host_free(world->host);
    fake_ceph_free(world->ceph);
    fake_kube_free(world->kube);
    fake_blocklist_done(&world->list);
}
#define _cleanup_world_ _cleanup_(world_done)

static int lift(struct world *world, struct error *err)
{
    _cleanup_string_list_ struct string_list cidrs = {0};

    string_list_add(&cidrs, "10.0.0.7/32");
    string_list_add(&cidrs, "fd00::7/128");
    return own_fence_lift(&world->own, &world->call, world->cluster, &cidrs, err);
}

TEST(own_fences_end_and_those_of_others_stay)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    string_list_add(&world.list.ranges, "10.0.0.7:0/32" OLD_ENOUGH);
    string_list_add(&world.list.ranges, "[fd00::7]:0/128" OLD_ENOUGH);
    string_list_add(&world.list.ranges, "10.0.0.8:0/32" OLD_ENOUGH);   /* another node */
    string_list_add(&world.list.ranges, "10.0.0.0:0/24" OLD_ENOUGH);   /* not this one alone */
    string_list_add(&world.list.addresses, "10.0.0.7:0/0" OLD_ENOUGH); /* a takeover's kind */
    must(lift(&world, &err));
    must(lift(&world, &err));
    assert_int_equal(world.list.changes, 2);
    assert_int_equal(world.list.ranges.count, 2);
    assert_true(string_list_has(&world.list.ranges, "10.0.0.8:0/32" OLD_ENOUGH));
    assert_true(string_list_has(&world.list.ranges, "10.0.0.0:0/24" OLD_ENOUGH));
    assert_int_equal(world.list.addresses.count, 1);
}

TEST(fence_that_lasts_longer_is_somebody_elses)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    string_list_add(&world.list.ranges, "10.0.0.7:0/32 94671000");
    must(lift(&world, &err));
    assert_int_equal(world.list.changes, 0);
}

TEST(young_fence_rests)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    string_list_add(&world.list.ranges, "10.0.0.7:0/32" TOO_YOUNG);
    must_refuse(lift(&world, &err), STATUS_INTERNAL, "cool-down");
    assert_int_equal(world.list.changes, 0);
}

TEST(fence_stays_while_something_of_ceph_is_mounted)
{
    static const char *const sources[] = {"/dev/rbd0", "/dev/nbd3"};

    for (size_t i = 0; i < ARRAY_LENGTH(sources); i++) {
        _cleanup_world_ struct world world = {0};

        world_init(&world);
        string_list_add(&world.list.ranges, "10.0.0.7:0/32" OLD_ENOUGH);
        fake_host_add_mount(world.host, "/kubelet/staging", sources[i]);
        must_refuse(lift(&world, &err), STATUS_FAILED_PRECONDITION, "/kubelet/staging");
        assert_int_equal(world.list.changes, 0);
    }
    _cleanup_world_ struct world world = {0};
    world_init(&world);
    string_list_add(&world.list.ranges, "10.0.0.7:0/32" OLD_ENOUGH);
    fake_host_add_mount(world.host, "/data", "/dev/sda1");
    must(lift(&world, &err));
    assert_int_equal(world.list.changes, 1);
}

/* Where there are no ranges, a takeover's entry looks the same: its note decides. */
TEST(note_of_a_takeover_keeps_an_address)
{
    _cleanup_world_ struct world world = {.list.lacks_ranges = true};

    world_init(&world);
    string_list_add(&world.list.addresses, "10.0.0.7:0/0" OLD_ENOUGH);
    fake_kube_put(world.kube, NOTES,
                  "{\"data\": {\"other.driver_x\": \"{\\\"addresses\\\": "
                  "[\\\"10.0.0.7\\\"]}\"}}");
    must(lift(&world, &err));
    assert_int_equal(world.list.changes, 0);
    fake_kube_put(world.kube, NOTES, "{\"data\": {\"" DRIVER "_a1\": \"{\"}}");
    must_refuse(lift(&world, &err), STATUS_INVALID_ARGUMENT, "ConfigMap cephzone-fences");
    fake_kube_put(world.kube, NOTES, "{}");
    fake_kube_fail_all(world.kube, STATUS_UNAVAILABLE);
    must_refuse(lift(&world, &err), STATUS_UNAVAILABLE, "end the fence");
    fake_kube_fail_all(world.kube, STATUS_OK);
    world.own.kube = NULL;
    must(lift(&world, &err));
    assert_int_equal(world.list.changes, 0);
    world.own.kube = fake_kube_as_kube(world.kube);
    must(lift(&world, &err));
    assert_int_equal(world.list.addresses.count, 0);
}
