#include "common/scheduling/pod_survey.h"
#include "tests/fakes/cluster_script.h"
#include "tests/test.h"

#define CLASS_AND_DRIVER "class fast provisioner=d\ndriver d\n"

struct fixture {
    struct cluster_objects cluster;
    struct binding_options options;
    struct pod_survey survey;
    struct node_rejection rejection;
};

static void start(struct fixture *fixture, const char *script)
{
    *fixture = (struct fixture){.options = newest_binding_options()};
    cluster_script(&fixture->cluster, script);
    cluster_settle(&fixture->cluster);
    pod_survey_prepare(&fixture->cluster, &fixture->options,
                       cluster_find(&fixture->cluster, KUBE_POD, "default", "p"), &fixture->survey);
    pod_survey_start(&fixture->cluster, &fixture->survey);
}

static bool fits(struct fixture *fixture, size_t at)
{
    node_rejection_done(&fixture->rejection);
    return pod_survey_check_node(&fixture->cluster, &fixture->options, &fixture->survey, at,
                                 &fixture->rejection);
}

static void end(struct fixture *fixture)
{
    node_rejection_done(&fixture->rejection);
    pod_survey_done(&fixture->survey);
    cluster_done(&fixture->cluster);
}

TEST(the_first_plugin_that_rejects_a_node_is_named)
{
    struct fixture fixture;

    start(&fixture,
          "node n1 zone=a taint=k:v:NoSchedule\nnode n2 zone=a\nnode n3 zone=b\n"
          "node n4 zone=a topology.kubernetes.io/zone=z1\n"
          "node n5 zone=a topology.kubernetes.io/zone=z2\n" CLASS_AND_DRIVER "csinode n2 d:1:zone\n"
          "pv v class=fast affinity=zone:a claim=default/c driver=d handle=v "
          "labels=topology.kubernetes.io/zone:z1\n"
          "pv w class=fast claim=default/o driver=d handle=w\n"
          "pvc c class=fast volume=v bound\npvc o class=fast volume=w bound\n"
          "pod other claims=o on=n2\npod p claims=c\n");
    assert_int_equal(fixture.survey.plugin, 0);
    assert_false(fits(&fixture, 0));
    assert_int_equal(fixture.rejection.plugin, PLUGIN_PLACEMENT);
    assert_false(fits(&fixture, 1));
    assert_int_equal(fixture.rejection.plugin, PLUGIN_VOLUME_LIMITS);
    assert_false(fits(&fixture, 2));
    assert_int_equal(fixture.rejection.plugin, PLUGIN_VOLUME_BINDING);
    assert_true(fits(&fixture, 3));
    assert_int_equal(fixture.rejection.reasons.count, 0);
    assert_false(fits(&fixture, 4));
    assert_int_equal(fixture.rejection.plugin, PLUGIN_VOLUME_ZONE);
    assert_string_equal(fixture.rejection.reasons.items[0], VOLUME_ZONE_CONFLICT);
    assert_false(fixture.rejection.is_error);

    _cleanup_free_ char *text = pod_survey_describe(&fixture.survey);
    assert_string_equal(text, "0/5 nodes are available: 1 node(s) had untolerated taint(s), "
                              "1 node(s) exceed max volume count, "
                              "1 node(s) didn't match PersistentVolume's node affinity, "
                              "1 " VOLUME_ZONE_CONFLICT);
    end(&fixture);
}

TEST(a_bound_claim_whose_volume_is_gone_rejects_the_pod_before_any_node)
{
    struct fixture fixture;

    start(&fixture, "node n1\nclass fast\npvc c class=fast volume=gone bound\npod p claims=c\n");
    assert_int_equal(fixture.survey.plugin, PLUGIN_VOLUME_ZONE);
    assert_false(fixture.survey.is_error);
    assert_string_equal(fixture.survey.reason, "persistentvolume \"gone\" not found");
    end(&fixture);
}

TEST(volume_binding_is_asked_before_zones)
{
    struct fixture fixture;

    start(&fixture, "node n1\npvc c class=none\npod p claims=c\n");
    assert_int_equal(fixture.survey.plugin, PLUGIN_VOLUME_BINDING);
    assert_string_equal(fixture.survey.reason, BINDING_UNBOUND_IMMEDIATE);
    end(&fixture);
}

TEST(a_class_without_a_binding_mode_is_an_error)
{
    struct fixture fixture;

    start(&fixture, "node n1\nclass odd mode=unset\npvc c class=odd\npod p claims=c\n");
    assert_int_equal(fixture.survey.plugin, PLUGIN_VOLUME_BINDING);
    assert_true(fixture.survey.is_error);
    end(&fixture);
}

TEST(a_claim_that_does_not_exist_is_told_by_the_first_plugin_that_looks_for_it)
{
    struct fixture fixture;

    start(&fixture, "node n1\npod p claims=c\n");
    assert_int_equal(fixture.survey.plugin, PLUGIN_VOLUME_RESTRICTIONS);
    assert_string_equal(fixture.survey.reason, "persistentvolumeclaim \"c\" not found");
    end(&fixture);
}

TEST(a_claim_for_one_pod_rejects_nodes_before_limits_do)
{
    struct fixture fixture;

    start(&fixture, "node n1\nclass fast provisioner=d\ndriver d\ncsinode n1 d:0\n"
                    "pvc c class=fast modes=RWOP\npod other claims=c on=n1\npod p claims=c\n");
    assert_int_equal(fixture.survey.plugin, 0);
    assert_false(fits(&fixture, 0));
    assert_int_equal(fixture.rejection.plugin, PLUGIN_VOLUME_RESTRICTIONS);
    assert_string_equal(fixture.rejection.reasons.items[0], RESTRICTIONS_CLAIM_IN_USE);
    end(&fixture);
}
