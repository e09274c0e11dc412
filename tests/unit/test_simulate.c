#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/simulation/simulate.h"
#include "tests/fakes/cluster_script.h"
#include "tests/fakes/random_cluster.h"
#include "tests/test.h"

#define D "topology.csi.test/"
/* Two nodes in each of two zones, volumes pinned by membership. */
#define TWO_ZONES                                                                                  \
    "node a1 " D "zone=zone-a " D "member.zone.zone-a=true\n"                                      \
    "node a2 " D "zone=zone-a " D "member.zone.zone-a=true\n"                                      \
    "node b1 " D "zone=zone-b " D "member.zone.zone-b=true\n"                                      \
    "node b2 " D "zone=zone-b " D "member.zone.zone-b=true\n"                                      \
    "csinode a1 csi.test:-:" D "zone," D "member.zone.zone-a\n"                                    \
    "csinode a2 csi.test:-:" D "zone," D "member.zone.zone-a\n"                                    \
    "csinode b1 csi.test:-:" D "zone," D "member.zone.zone-b\n"                                    \
    "csinode b2 csi.test:-:" D "zone," D "member.zone.zone-b\n"                                    \
    "class zoned\ndriver csi.test capacity\n"                                                      \
    "capacity cap-a class=zoned size=10Gi topology=" D "zone:zone-a\n"                             \
    "capacity cap-b class=zoned size=6Gi topology=" D "zone:zone-b\n"
#define IN_ZONE_A "affinity=" D "member.zone.zone-a:true"

struct fixture {
    struct cluster_objects cluster;
    struct simulation simulation;
    struct simulation_request request;
    struct error err;
};

static void start(struct fixture *fixture, const char *script)
{
    *fixture = (struct fixture){
        .request = {.fail = "", .takeover = "", .class_name = "zoned"},
    };
    cluster_script(&fixture->cluster, script);
    cluster_settle(&fixture->cluster);
    assert_int_equal(quantity_parse("1Gi", &fixture->request.size, &fixture->err), 0);
}

static int run(struct fixture *fixture)
{
    static struct binding_options options;

    options = newest_binding_options();
    return simulate(&fixture->cluster, &options, &fixture->request, &fixture->simulation,
                    &fixture->err);
}

static void end(struct fixture *fixture)
{
    simulation_done(&fixture->simulation);
    cluster_done(&fixture->cluster);
    error_clear(&fixture->err);
}

static const struct simulated_pod *row_of(const struct fixture *fixture, const char *name)
{
    for (size_t i = 0; i < fixture->simulation.count; i++)
        if (strcmp(fixture->simulation.pods[i].pod->meta.name, name) == 0)
            return &fixture->simulation.pods[i];
    fail_msg("no pod '%s'", name);
    return NULL;
}

TEST(pending_pods_are_placed_and_their_volumes_made)
{
    struct fixture fixture;

    start(&fixture,
          TWO_ZONES "pvc c1 class=zoned size=2Gi\npvc c2 class=zoned size=2Gi\n"
                    "pod p1 claims=c1\npod p2 claims=c2\npod running on=a1 phase=Running");
    assert_int_equal(run(&fixture), 0);
    assert_int_equal(fixture.simulation.count, 2);
    assert_int_equal(fixture.simulation.placed, 2);
    assert_int_equal(fixture.simulation.volumes_made, 2);
    const struct kube_pvc *claim = cluster_find_pvc(&fixture.cluster, "default", "c1");
    assert_true(binding_is_bound(claim));
    assert_non_null(cluster_find_pv(&fixture.cluster, claim->volume_name));
    end(&fixture);
}

TEST(room_is_used_up_and_then_nothing_fits)
{
    struct fixture fixture;

    start(&fixture, TWO_ZONES);
    fixture.request.add_pods = 20;
    assert_int_equal(run(&fixture), 0);
    assert_int_equal(fixture.simulation.count, 20);
    assert_int_equal(fixture.simulation.placed, 16);
    assert_int_equal(fixture.simulation.volumes_made, 16);
    for (size_t i = 0; i < fixture.simulation.space_count; i++)
        assert_int_equal(fixture.simulation.spaces[i].after, 0);
    assert_non_null(strstr(row_of(&fixture, "pod-0000020")->reason, "enough free storage"));
    assert_true(fixture.simulation.remembered > 0);
    end(&fixture);
}

TEST(two_claims_that_fit_alone_but_not_together_are_rescheduled)
{
    struct fixture fixture;

    /* the scheduler compares each claim alone with the room; the provisioner then has none left */
    start(&fixture, TWO_ZONES "pvc c1 class=zoned size=5Gi\npvc c2 class=zoned size=6Gi\n"
                              "pod p claims=c1,c2");
    assert_int_equal(run(&fixture), 0);
    const struct simulated_pod *row = row_of(&fixture, "p");
    assert_false(row->is_placed);
    assert_true(row->tries > 1);
    assert_int_equal(fixture.simulation.volumes_made, 1);
    end(&fixture);
}

TEST(a_failed_zone_leaves_its_pods_stuck)
{
    struct fixture fixture;

    start(&fixture, TWO_ZONES "pv v1 class=zoned claim=default/c1/pvc-c1 phase=Bound " IN_ZONE_A
                              "\npvc c1 class=zoned volume=v1 bound\npod p1 claims=c1 on=a1\n"
                              "pod p2 on=a2\npod p3 on=b1");
    fixture.request.fail = "zone=zone-a";
    assert_int_equal(run(&fixture), 0);
    assert_int_equal(fixture.simulation.displaced, 2);
    assert_int_equal(fixture.simulation.recovered, 1);
    assert_int_equal(fixture.simulation.stuck_volumes, 1);
    assert_false(row_of(&fixture, "p1")->is_placed);
    assert_string_equal(row_of(&fixture, "p1")->from, "a1");
    assert_non_null(strstr(row_of(&fixture, "p1")->reason, "node affinity"));
    assert_true(row_of(&fixture, "p2")->is_placed);
    assert_true(fixture.simulation.spaces[0].has_failed);
    assert_false(fixture.simulation.spaces[1].has_failed);
    end(&fixture);
}

TEST(a_takeover_lets_them_recover)
{
    static const char *const TARGETS[] = {"zone-b", "zone=zone-b", "all"};

    for (size_t i = 0; i < ARRAY_LENGTH(TARGETS); i++) {
        struct fixture fixture;

        start(&fixture, TWO_ZONES "pv v1 class=zoned claim=default/c1/pvc-c1 phase=Bound " IN_ZONE_A
                                  "\npvc c1 class=zoned volume=v1 bound\npod p1 claims=c1 on=a1");
        fixture.request.fail = "zone=zone-a";
        fixture.request.takeover = TARGETS[i];
        assert_int_equal(run(&fixture), 0);
        assert_int_equal(fixture.simulation.recovered, 1);
        assert_int_equal(fixture.simulation.stuck_volumes, 0);
        end(&fixture);
    }
}

TEST(a_takeover_by_node_info_needs_the_driver_there)
{
    struct fixture fixture;

    start(&fixture, TWO_ZONES "csinode b2\n"
                              "pv v1 class=zoned claim=default/c1/pvc-c1 phase=Bound " IN_ZONE_A
                              "\npvc c1 class=zoned volume=v1 bound\npod p1 claims=c1 on=a1");
    fixture.request.fail = "zone=zone-a";
    fixture.request.takeover = "zone-b";
    fixture.request.via_nodeinfo = true;
    assert_int_equal(run(&fixture), 0);
    assert_int_equal(fixture.simulation.recovered, 1);
    const struct kube_pod *pod = cluster_find(&fixture.cluster, KUBE_POD, "default", "p1");
    assert_string_equal(pod->node_name, "b1");
    const struct kube_csi_node *csi_node =
        cluster_find(&fixture.cluster, KUBE_CSI_NODE, NULL, "b1");
    assert_int_equal(csi_node->drivers[0].topology_keys.count, 3);
    assert_string_equal(fixture.simulation.notes.items[1], "1 node serves zone-a now");
    assert_string_equal(fixture.simulation.notes.items[2],
                        "1 node cannot: the driver is not registered there");
    end(&fixture);
}

TEST(a_takeover_does_not_help_volumes_with_plain_labels)
{
    struct fixture fixture;

    start(&fixture, "node a1 zone=zone-a\nnode b1 zone=zone-b\nclass zoned\n"
                    "pv v1 class=zoned claim=default/c1/pvc-c1 phase=Bound affinity=zone:zone-a\n"
                    "pvc c1 class=zoned volume=v1 bound\npod p1 claims=c1 on=a1");
    fixture.request.fail = "zone=zone-a";
    fixture.request.takeover = "zone-b";
    assert_int_equal(run(&fixture), 0);
    assert_int_equal(fixture.simulation.recovered, 0);
    assert_non_null(strstr(fixture.simulation.notes.items[1], "cannot be taken over"));
    end(&fixture);
}

TEST(volume_limits_of_the_survivors_count)
{
    struct fixture fixture;

    start(&fixture,
          "node a1 zone=zone-a\nnode b1 zone=zone-b\ncsinode b1 csi.test:1\nclass zoned\n"
          "pv v1 driver=csi.test claim=default/c1/pvc-c1 phase=Bound\npvc c1 volume=v1 bound\n"
          "pv v2 driver=csi.test claim=default/c2/pvc-c2 phase=Bound\npvc c2 volume=v2 bound\n"
          "pod p1 claims=c1 on=a1\npod p2 claims=c2 on=a1");
    fixture.request.fail = "zone=zone-a";
    assert_int_equal(run(&fixture), 0);
    assert_int_equal(fixture.simulation.recovered, 1);
    assert_non_null(strstr(row_of(&fixture, "p2")->reason, "max volume count"));
    end(&fixture);
}

TEST(a_volume_serves_one_pod)
{
    struct fixture fixture;

    start(&fixture, "node n1 zone=a\nclass fast provisioner=kubernetes.io/no-provisioner\n"
                    "pv v1 class=fast size=2Gi\npvc c1 class=fast\npvc c2 class=fast\n"
                    "pod p1 claims=c1\npod p2 claims=c2");
    assert_int_equal(run(&fixture), 0);
    assert_true(row_of(&fixture, "p1")->is_placed);
    assert_false(row_of(&fixture, "p2")->is_placed);
    end(&fixture);
}

/* That one pod's claim is taken says nothing about another pod with a claim like it. */
TEST(claim_in_use_by_one_pod_does_not_hinder_others)
{
    struct fixture fixture;

    start(&fixture, TWO_ZONES "pvc c1 class=zoned size=1Gi modes=RWOP\n"
                              "pvc c2 class=zoned size=1Gi modes=RWOP\n"
                              "pod p1 claims=c1 on=a1\npod p2 claims=c1\npod p3 claims=c2");
    assert_int_equal(run(&fixture), 0);
    assert_false(row_of(&fixture, "p2")->is_placed);
    assert_true(row_of(&fixture, "p3")->is_placed);
    end(&fixture);
}

TEST(immediate_claims_are_settled_before_pods)
{
    struct fixture fixture;

    start(&fixture, "node n1 zone=a\nclass now mode=immediate provisioner=csi.test\n"
                    "class zoned\npvc c1 class=now\npod p1 claims=c1");
    assert_int_equal(run(&fixture), 0);
    assert_int_equal(fixture.simulation.placed, 1);
    assert_int_equal(fixture.simulation.volumes_made, 1);
    end(&fixture);
}

TEST(what_makes_no_sense_is_refused)
{
    static const struct {
        const char *fail;
        const char *takeover;
        const char *class_name;
        const char *message;
    } CASES[] = {
        {"zone-a", "", "zoned", "LEVEL=VALUE"},
        {"=zone-a", "", "zoned", "LEVEL=VALUE"},
        {"zone=zone-x", "", "zoned", "there are: zone-a, zone-b"},
        {"shelf=s1", "", "zoned", "no node has a label 'shelf'"},
        {"zone=zone-a", "zone-x", "zoned", "no node is in zone 'zone-x'"},
        {"", "zone-b", "zoned", "needs a domain that failed"},
        {"", "", "gone", "there is no class 'gone'"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(CASES); i++) {
        struct fixture fixture;

        start(&fixture, TWO_ZONES);
        fixture.request.fail = CASES[i].fail;
        fixture.request.takeover = CASES[i].takeover;
        fixture.request.class_name = CASES[i].class_name;
        fixture.request.add_pods = 1;
        assert_int_equal(run(&fixture), -1);
        assert_non_null(strstr(fixture.err.message, CASES[i].message));
        end(&fixture);
    }
}

/* Where everybody went, as one text. */
static char *outcome(unsigned seed)
{
    struct fixture fixture = {.request = {.fail = "", .takeover = "", .class_name = "cap"}};
    struct chance chance = {seed};
    struct text text = TEXT_INIT(1 << 20);

    random_cluster(&chance, &fixture.cluster);
    fixture.request.add_pods = 5;
    fixture.request.size.nano = (__int128)1073741824 * 1000000000;
    assert_int_equal(run(&fixture), 0);
    for (size_t i = 0; i < fixture.simulation.count; i++) {
        const struct simulated_pod *row = &fixture.simulation.pods[i];

        text_addf(&text, "%s %s %s\n", row->pod->meta.name,
                  row->is_placed ? row->pod->node_name : "stuck", row->reason ? row->reason : "");
        /* a pod that is placed has all its volumes */
        for (size_t j = 0; row->is_placed && j < row->pod->volume_count; j++)
            assert_true(binding_is_bound(cluster_find_pvc(&fixture.cluster, row->pod->meta.ns,
                                                          row->pod->volumes[j].claim_name)));
    }
    end(&fixture);
    return text_take(&text);
}

TEST(the_same_snapshot_gives_the_same_result)
{
    for (unsigned seed = 0; seed < 200; seed++) {
        _cleanup_free_ char *first = outcome(seed);
        _cleanup_free_ char *second = outcome(seed);

        assert_string_equal(first, second);
    }
}

static size_t progress_calls;

static void count_progress(void *object, size_t done, size_t total, size_t stuck)
{
    (void)object;
    assert_true(done <= total && stuck <= done);
    progress_calls++;
}

TEST(progress_is_told)
{
    struct fixture fixture;

    start(&fixture, TWO_ZONES);
    fixture.request.add_pods = 100;
    fixture.request.progress = count_progress;
    progress_calls = 0;
    assert_int_equal(run(&fixture), 0);
    assert_true(progress_calls >= 100 / 16);
    end(&fixture);
}
