/* Fences of nodes that are out of service, on an API server and a Ceph in memory. */
#include "common/ceph/blocklist.h"
#include "controller/attach/node_fencing.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/must.h"
#include "tests/unit/fixtures/blocklist.h"
#include "tests/unit/fixtures/kube.h"

#define DRIVER "rbd.csi.ceph.com"
#define NODE(name) "/api/v1/nodes/" name
#define OUT "{\"spec\": {\"taints\": [{\"key\": \"node.kubernetes.io/out-of-service\"}]}}"
#define THREE_YEARS " 94670856"

struct world {
    struct fake_ceph *ceph;
    struct fake_kube *kube;
    struct fake_blocklist list;
    struct ceph_cluster *cluster;
    struct call call;
    struct node_fencing fencing;
};

static void world_init(struct world *world)
{
    struct ceph *ceph = NULL;

    world->ceph = fake_ceph_new();
    world->kube = fake_kube_new();
    fake_ceph_add_pool(world->ceph, "rbd", 1);
    fake_ceph_answer_mon(world->ceph, fake_blocklist_answer, &world->list);
    call_init(&world->call, 1, "test", deadline_in_ms(60000));
    ceph = fake_ceph_as_ceph(world->ceph);
    must(ceph->ops->connect(ceph, &world->call,
                            &(struct ceph_target){.cluster_id = "c1", .user = "csi"},
                            &world->cluster, &err));
    world->fencing = (struct node_fencing){fake_kube_as_kube(world->kube), DRIVER, "ceph"};
}

static void world_done(struct world *world)
{
    ceph_disconnect(world->cluster);
    call_done(&world->call);
    fake_ceph_free(world->ceph);
    fake_kube_free(world->kube);
    fake_blocklist_done(&world->list);
}
#define _cleanup_world_ _cleanup_(world_done)

static int fence(struct world *world, const char *node, const char *address, struct error *err)
{
    return node_fencing_apply(&world->fencing, &world->call, world->cluster, node, address, err);
}

TEST(client_of_a_node_out_of_service_is_fenced_for_three_years)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    fake_kube_put(world.kube, NODE("a1"), OUT);
    must(fence(&world, "a1", "10.0.0.7", &err));
    must(fence(&world, "a1", "fd00::7", &err));
    must(fence(&world, "a1", "10.0.0.7", &err));
    assert_true(string_list_has(&world.list.ranges, "10.0.0.7:0/32" THREE_YEARS));
    assert_true(string_list_has(&world.list.ranges, "[fd00::7]:0/128" THREE_YEARS));
    assert_int_equal(world.list.changes, 2);
}

TEST(ceph_without_ranges_gets_the_address)
{
    _cleanup_world_ struct world world = {.list.lacks_ranges = true};

    world_init(&world);
    fake_kube_put(world.kube, NODE("a1"), OUT);
    must(fence(&world, "a1", "10.0.0.7", &err));
    assert_true(string_list_has(&world.list.addresses, "10.0.0.7:0/0" THREE_YEARS));
}

TEST(nobody_else_is_fenced)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    fake_kube_put(world.kube, NODE("well"), "{\"spec\": {\"taints\": [{\"key\": \"other\"}]}}");
    fake_kube_put(world.kube, NODE("a1"), OUT);
    must(fence(&world, "well", "10.0.0.7", &err));
    must(fence(&world, "gone", "10.0.0.7", &err));
    must(fence(&world, "a1", NULL, &err)); /* who should it be? */
    assert_int_equal(world.list.changes, 0);
}

TEST(node_is_found_by_the_drivers_name_for_it)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    fake_kube_put(world.kube, NODE("a1"), OUT);
    fake_kube_put(world.kube, "/apis/storage.k8s.io/v1/csinodes/a1",
                  "{\"spec\": {\"drivers\": [{\"name\": \"" DRIVER "\", \"nodeID\": \"id-7\"}]}}");
    must(fence(&world, "id-7", "10.0.0.7", &err));
    assert_true(string_list_has(&world.list.ranges, "10.0.0.7:0/32" THREE_YEARS));
}

/* An entry that is there longer must not become shorter. */
TEST(fences_of_others_stay_as_they_are)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    fake_kube_put(world.kube, NODE("a1"), OUT);
    string_list_add(&world.list.ranges, "10.0.0.7:0/32 157784000");
    must(fence(&world, "a1", "10.0.0.7", &err));
    assert_int_equal(world.list.changes, 0);
    world.list.lacks_ranges = true;
    string_list_add(&world.list.addresses, "10.0.0.7:0/0 157784000");
    must(fence(&world, "a1", "10.0.0.7", &err));
    assert_int_equal(world.list.changes, 0);
}

TEST(fence_of_a_takeover_is_enough_while_it_holds)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    fake_kube_put(world.kube, NODE("a1"), OUT);
    fake_kube_put(world.kube, "/api/v1/namespaces/ceph/configmaps/cephzone-fences",
                  "{\"data\": {\"" DRIVER "_a1\": "
                  "\"{\\\"addresses\\\": [\\\"10.0.0.7\\\"], \\\"bootID\\\": \\\"b\\\"}\"}}");
    string_list_add(&world.list.addresses, "10.0.0.7:0/0 157784000");
    must(fence(&world, "a1", "10.0.0.7", &err));
    assert_int_equal(world.list.changes, 0);
    string_list_done(&world.list.addresses); /* noted, but not in force */
    must(fence(&world, "a1", "10.0.0.7", &err));
    assert_true(string_list_has(&world.list.ranges, "10.0.0.7:0/32" THREE_YEARS));
}

TEST(fence_that_is_not_certain_is_a_failure)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    fake_kube_put(world.kube, NODE("a1"), OUT);
    world.list.lacks_rights = true;
    must_refuse(fence(&world, "a1", "10.0.0.7", &err), STATUS_PERMISSION_DENIED, "osd blocklist");
    world.list.lacks_rights = false;
    world.list.forgets = true;
    must_refuse(fence(&world, "a1", "10.0.0.7", &err), STATUS_ABORTED, "at the same time");
    world.list.forgets = false;
    fake_ceph_fail_call_with(world.ceph, 5, -110); /* ls, add, ls, pools, and the OSDs */
    must_refuse(fence(&world, "a1", "10.0.0.7", &err), STATUS_DEADLINE_EXCEEDED, "not all OSDs");
    fake_kube_fail_all(world.kube, STATUS_UNAVAILABLE);
    must_refuse(fence(&world, "a1", "10.0.0.7", &err), STATUS_UNAVAILABLE, "fence node 'a1'");
}
