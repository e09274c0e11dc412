/* What takeovers have fenced, on an API server in memory that two drivers share. */
#include "common/base/memory.h"
#include "common/kube/fence_notes.h"
#include "tests/must.h"
#include "tests/unit/fixtures/kube.h"

#define PATH "/api/v1/namespaces/ceph/configmaps/" FENCE_NOTES_CONFIGMAP
#define RBD "rbd.csi.ceph.com"
#define CEPHFS "cephfs.csi.ceph.com"

struct world {
    struct fake_kube *fake;
    struct call call;
    struct fence_notes_place rbd;
    struct fence_notes_place cephfs;
};

static void world_init(struct world *world)
{
    world->fake = fake_kube_new();
    world->rbd = (struct fence_notes_place){fake_kube_as_kube(world->fake), "ceph", RBD};
    world->cephfs = (struct fence_notes_place){fake_kube_as_kube(world->fake), "ceph", CEPHFS};
    call_init(&world->call, 1, "test", deadline_in_ms(60000));
}

static void world_done(struct world *world)
{
    call_done(&world->call);
    fake_kube_free(world->fake);
}
#define _cleanup_world_ _cleanup_(world_done)

/* a1 of zone-a in region r1, at ip-1 and ip-2. */
static void record(struct world *world, const struct fence_notes_place *place, const char *boot_id)
{
    const struct string_list none = {0};
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};
    struct cluster_node *node = cluster_nodes_add_gone(&nodes, "a1");
    _cleanup_free_ char *zone = xasprintf("topology.%s/zone", place->driver);
    _cleanup_free_ char *member = xasprintf("topology.%s/member.zone.zone-a", place->driver);

    string_list_add(&node->addresses, "ip-1");
    string_list_add(&node->fenced_addresses, "ip-2");
    strmap_set(&node->labels, zone, "zone-a");
    strmap_set(&node->labels, member, "true");
    strmap_set(&node->labels, "topology.other/zone", "x");
    free(node->boot_id);
    node->boot_id = xstrdup(boot_id);
    must(fence_notes_record(place, &world->call, node, &none, &err));
}

static void read_notes(struct world *world, struct fence_notes *notes)
{
    must(fence_notes_read(&world->rbd, &world->call, notes, &err));
}

TEST(without_a_configmap_nothing_is_fenced)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_fence_notes_ struct fence_notes notes = {0};

    world_init(&world);
    read_notes(&world, &notes);
    assert_int_equal(notes.count, 0);
    must(fence_notes_release(&world.rbd, &world.call, "a1", "ip-1", &err));
    fake_kube_forbid(world.fake, "get", PATH);
    must_refuse(fence_notes_read(&world.rbd, &world.call, &notes, &err), STATUS_PERMISSION_DENIED,
                "notes of what is fenced");
}

TEST(notes_of_two_drivers_are_kept_apart)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_fence_notes_ struct fence_notes notes = {0};

    world_init(&world);
    record(&world, &world.rbd, "boot-1");
    record(&world, &world.cephfs, "boot-2");
    read_notes(&world, &notes);
    assert_int_equal(notes.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct fence_note *note = &notes.items[i];
        const bool is_rbd = strcmp(note->driver, RBD) == 0;

        assert_string_equal(note->node, "a1");
        assert_int_equal(note->addresses.count, 2);
        assert_string_equal(note->boot_id, is_rbd ? "boot-1" : "boot-2");
        assert_int_equal(note->segments.count, 1);
        assert_string_equal(strmap_get(&note->segments, "zone"), "zone-a");
    }
    assert_string_equal(fence_notes_holder(&notes, RBD, "ip-1")->driver, CEPHFS);
    assert_non_null(fence_notes_holder(&notes, NULL, "ip-2"));
    assert_null(fence_notes_holder(&notes, RBD, "ip-3"));
}

TEST(note_that_cannot_be_understood_is_a_fault)
{
    static const char *const data[] = {
        "{\"x\": \"{}\"}",
        "{\"" RBD "_a1\": \"{\"}",
        "{\"" RBD "_a1\": \"{\\\"addresses\\\": []}\"}",
        "{\"" RBD "_a1\": \"{\\\"addresses\\\": [7]}\"}",
        "{\"" RBD "_a1\": 7}",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(data); i++) {
        _cleanup_world_ struct world world = {0};
        _cleanup_fence_notes_ struct fence_notes notes = {0};
        _cleanup_free_ char *item = xasprintf("{\"data\": %s}", data[i]);
        _cleanup_error_ struct error err = {0};

        world_init(&world);
        fake_kube_put(world.fake, PATH, item);
        assert_int_equal(fence_notes_read(&world.rbd, &world.call, &notes, &err), -1);
        assert_non_null(strstr(err.message, "ConfigMap " FENCE_NOTES_CONFIGMAP));
    }
}

/* A node that is written down once more, because more has to be fenced. */
TEST(second_note_has_the_boot_of_now_and_the_first_machine)
{
    static const struct {
        const char *boot;
        const char *machine;
        const char *fenced_machine;
        const char *noted_boot;
        const char *noted_machine;
    } cases[] = {
        {"boot-2", "m2", "m1", "boot-2", "m1"},
        {"boot-2", "m2", "", "boot-2", "m2"},
        {"", "", "m1", "boot-1", "m1"}, /* its Node is gone */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct string_list none = {0};
        _cleanup_world_ struct world world = {0};
        _cleanup_fence_notes_ struct fence_notes notes = {0};
        struct cluster_node node = {.name = (char *)(uintptr_t) "a1",
                                    .boot_id = (char *)(uintptr_t)cases[i].boot,
                                    .machine = (char *)(uintptr_t)cases[i].machine,
                                    .fenced_boot_id = (char *)(uintptr_t) "boot-1",
                                    .fenced_machine = (char *)(uintptr_t)cases[i].fenced_machine};

        world_init(&world);
        string_list_add(&node.addresses, "ip-1");
        must(fence_notes_record(&world.rbd, &world.call, &node, &none, &err));
        string_list_done(&node.addresses);
        read_notes(&world, &notes);
        assert_int_equal(notes.count, 1);
        assert_string_equal(notes.items[0].boot_id, cases[i].noted_boot);
        assert_string_equal(notes.items[0].machine, cases[i].noted_machine);
    }
}

TEST(notes_are_joined_with_their_nodes)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_fence_notes_ struct fence_notes notes = {0};
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};

    world_init(&world);
    record(&world, &world.rbd, "boot-1");
    must(fence_notes_release(&world.rbd, &world.call, "a1", "ip-1", &err));
    read_notes(&world, &notes);
    cluster_nodes_add_gone(&nodes, "a0");
    cluster_nodes_add_gone(&nodes, "a1");
    fence_notes_join(&notes, RBD, &nodes);
    assert_int_equal(nodes.count, 2);
    assert_int_equal(nodes.items[0].fenced_addresses.count, 0);
    assert_int_equal(nodes.items[1].fenced_addresses.count, 2);
    assert_string_equal(nodes.items[1].fenced_boot_id, "boot-1");
    assert_true(nodes.items[1].is_releasing);
    cluster_nodes_done(&nodes);
    fence_notes_join(&notes, CEPHFS, &nodes);
    assert_int_equal(nodes.count, 0);
    fence_notes_join(&notes, RBD, &nodes); /* its Node is gone */
    assert_int_equal(nodes.count, 1);
    assert_true(nodes.items[0].is_gone);
    assert_string_equal(strmap_get(&nodes.items[0].labels, "topology." RBD "/zone"), "zone-a");
}

/* The last one switches the light off. */
TEST(address_goes_with_the_last_note)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_fence_notes_ struct fence_notes notes = {0};
    _cleanup_string_list_ struct string_list left = {0};

    world_init(&world);
    record(&world, &world.rbd, "boot-1");
    record(&world, &world.cephfs, "boot-1");
    must_refuse(fence_notes_release(&world.rbd, &world.call, "a1", "ip-1", &err),
                STATUS_FAILED_PRECONDITION, "needs it, for node 'a1'");
    string_list_add(&left, "ip-1");
    must(fence_notes_forget(&world.rbd, &world.call, "a1", &left, &err));
    must_refuse(fence_notes_forget(&world.cephfs, &world.call, "a1", &left, &err),
                STATUS_FAILED_PRECONDITION, "no other driver needs that any more");
    must(fence_notes_release(&world.cephfs, &world.call, "a1", "ip-1", &err));
    record(&world, &world.rbd, "boot-1"); /* it wants it again */
    read_notes(&world, &notes);
    assert_true(fence_notes_is_leaving(&notes, RBD, "ip-1"));
    assert_false(fence_notes_is_leaving(&notes, RBD, "ip-2"));
    assert_null(fence_notes_holder(&notes, RBD, "ip-1"));
    record(&world, &world.cephfs, "boot-9"); /* takes it back */
    fence_notes_done(&notes);
    read_notes(&world, &notes);
    assert_false(fence_notes_is_leaving(&notes, RBD, "ip-1"));
}

/* Every call of a release fails once, before it or after it has taken effect; then again without.
 */
TEST(interrupted_changes_are_continued)
{
    for (int failure = 0; failure < 4; failure++) {
        bool over = false;

        for (unsigned n = 1; n < 20 && !over; n++) {
            _cleanup_world_ struct world world = {0};
            _cleanup_fence_notes_ struct fence_notes notes = {0};
            _cleanup_string_list_ struct string_list left = {0};
            _cleanup_error_ struct error ignored = {0};

            world_init(&world);
            record(&world, &world.rbd, "boot-1");
            fake_kube_fail_call(world.fake, n, (enum fake_kube_failure)failure);
            if (fence_notes_release(&world.rbd, &world.call, "a1", "ip-1", &ignored) == 0)
                (void)!fence_notes_forget(&world.rbd, &world.call, "a1", &left, &ignored);
            over = fake_kube_fault_is_pending(world.fake);
            fake_kube_recover(world.fake);
            must(fence_notes_release(&world.rbd, &world.call, "a1", "ip-1", &err));
            must(fence_notes_forget(&world.rbd, &world.call, "a1", &left, &err));
            read_notes(&world, &notes);
            assert_int_equal(notes.count, 0);
        }
        assert_true(over);
    }
}

/* Another driver that writes at the same time: the change is tried again on what is there then. */
TEST(conflicting_change_is_tried_again)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_fence_notes_ struct fence_notes notes = {0};

    world_init(&world);
    record(&world, &world.rbd, "boot-1");
    fake_kube_fail_call_with(world.fake, 2, STATUS_ABORTED);
    must(fence_notes_release(&world.rbd, &world.call, "a1", "ip-1", &err));
    read_notes(&world, &notes);
    assert_int_equal(notes.items[0].releasing.count, 1);
    fake_kube_fail_all(world.fake, STATUS_ABORTED);
    must_refuse(fence_notes_release(&world.rbd, &world.call, "a1", "ip-2", &err), STATUS_ABORTED,
                "let in");
}
