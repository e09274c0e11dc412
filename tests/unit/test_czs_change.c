#include "tests/unit/fixtures/library_cluster.h"

#define CAPACITY(bytes)                                                                            \
    "{\"kind\": \"CSIStorageCapacity\", \"metadata\": {\"name\": \"rbd-zone-b\","                  \
    " \"namespace\": \"ceph\"}, \"storageClassName\": \"rbd\", \"capacity\": \"" bytes             \
    "\", \"nodeTopology\": {\"matchLabels\": {\"topology.kubernetes.io/zone\": \"zone-b\"}}}"
#define NODE(name, spec)                                                                           \
    "{\"kind\": \"Node\", \"metadata\": {\"name\": \"" name "\", \"labels\": {"                    \
    "\"kubernetes.io/hostname\": \"" name "\", \"topology.kubernetes.io/zone\": \"zone-a\"}},"     \
    " \"spec\": " spec "}"
#define TAINTED "{\"taints\": [{\"key\": \"k\", \"effect\": \"NoSchedule\"}]}"
#define ALL_PLUGINS                                                                                \
    (CZS_VOLUME_BINDING | CZS_VOLUME_LIMITS | CZS_VOLUME_ZONE | CZS_PLACEMENT |                    \
     CZS_VOLUME_RESTRICTIONS)

static struct czs_change *change_to(const char *json)
{
    struct czs_change *change = NULL;

    must_czs(czs_change_put(json, strlen(json), &change, &error));
    return change;
}

static struct czs_change *removal_of(const char *kind, const char *ns, const char *name)
{
    struct czs_change *change = NULL;

    must_czs(czs_change_remove(kind, ns, name, &change, &error));
    return change;
}

/* For pod web-0. */
static int helps(const struct czs_cluster *cluster, const char *json, unsigned plugins)
{
    _cleanup_czs_change_ struct czs_change *change = change_to(json);

    return czs_change_may_help(cluster, change, "shop", "web-0", plugins, NULL);
}

TEST(a_change_is_nothing_until_it_is_applied_and_then_applied_once)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_change_ struct czs_change *change = change_to(NODE("c1", "{}"));
    _cleanup_czs_change_ struct czs_change *removal = removal_of("Node", NULL, "a1");

    assert_int_equal(czs_cluster_count(cluster, "Node"), 3);
    must_czs(czs_change_apply(cluster, change, &error));
    assert_int_equal(czs_cluster_count(cluster, "Node"), 4);
    must_refuse_czs(czs_change_apply(cluster, change, &error), CZS_REFUSED, "before");
    must_czs(czs_change_apply(cluster, removal, &error));
    assert_int_equal(czs_cluster_count(cluster, "Node"), 3);
    must_refuse_czs(czs_change_apply(cluster, removal, &error), CZS_REFUSED, "before");
    assert_int_equal(czs_change_may_help(cluster, removal, "shop", "web-0", ALL_PLUGINS, NULL), 0);
    assert_int_equal(czs_change_invalidates(cluster, change), 0);
}

TEST(free_space_helps_when_it_grows_and_not_when_it_shrinks)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    assert_int_equal(helps(cluster, CAPACITY("50Gi"), CZS_VOLUME_BINDING), 1);
    assert_int_equal(helps(cluster, CAPACITY("5Gi"), CZS_VOLUME_BINDING), 0);
    assert_int_equal(helps(cluster, CAPACITY("1Gi"), CZS_VOLUME_BINDING), 0);
    assert_int_equal(helps(cluster, CAPACITY("50Gi"), CZS_VOLUME_LIMITS | CZS_PLACEMENT), 0);
    library_put(cluster, CAPACITY("50Gi"));
    assert_int_equal(helps(cluster, CAPACITY("50Gi"), CZS_VOLUME_BINDING), 0);
}

TEST(a_node_helps_placement_when_the_pod_may_go_there_from_now_on)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    assert_int_equal(helps(cluster, NODE("c1", "{}"), CZS_PLACEMENT), 1);
    assert_int_equal(helps(cluster, NODE("c1", TAINTED), CZS_PLACEMENT), 0);
    assert_int_equal(helps(cluster, NODE("a1", "{}"), CZS_PLACEMENT), 0);
    library_put(cluster, NODE("a1", TAINTED));
    assert_int_equal(helps(cluster, NODE("a1", "{}"), CZS_PLACEMENT), 1);
    assert_int_equal(helps(cluster, NODE("a1", "{}"), CZS_VOLUME_BINDING), 0);
}

TEST(one_object_of_many_is_enough)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    assert_int_equal(helps(cluster, "[" CAPACITY("1Gi") ", " NODE("c1", "{}") "]", ALL_PLUGINS), 1);
    assert_int_equal(helps(cluster, "[" CAPACITY("1Gi") ", {\"kind\": \"Event\"}]", ALL_PLUGINS),
                     0);
}

TEST(a_pod_that_goes_gives_its_volumes_back)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_change_ struct czs_change *gone = removal_of("Pod", "shop", "web-1");
    _cleanup_czs_change_ struct czs_change *itself = removal_of("Pod", "shop", "web-0");
    _cleanup_czs_change_ struct czs_change *nothing = removal_of("Pod", "shop", "web-7");

    /* not placed yet: nothing to give back */
    assert_int_equal(czs_change_may_help(cluster, gone, "shop", "web-0", ALL_PLUGINS, NULL), 0);
    library_put(cluster, "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"web-1\", \"namespace\":"
                         " \"shop\"}, \"spec\": {\"nodeName\": \"a1\", \"volumes\": [{\"name\":"
                         " \"d\", \"persistentVolumeClaim\": {\"claimName\": \"data-web-1\"}}]}}");
    assert_int_equal(czs_change_may_help(cluster, gone, "shop", "web-0", ALL_PLUGINS, NULL), 1);
    assert_int_equal(czs_change_may_help(cluster, itself, "shop", "web-0", ALL_PLUGINS, NULL), 0);
    assert_int_equal(czs_change_may_help(cluster, nothing, "shop", "web-0", ALL_PLUGINS, NULL), 0);
    assert_int_equal(czs_change_invalidates(cluster, gone),
                     CZS_VOLUME_LIMITS | CZS_VOLUME_RESTRICTIONS);
    assert_int_equal(czs_change_invalidates(cluster, nothing), 0);
}

TEST(a_pod_that_changed_itself_is_tried_again)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    assert_int_equal(helps(cluster,
                           "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"web-0\","
                           " \"namespace\": \"shop\"}}",
                           CZS_VOLUME_ZONE),
                     1);
}

TEST(nothing_given_and_unknown_names_are_refused)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_change_ struct czs_change *change = change_to(NODE("c1", "{}"));
    struct czs_change *none = NULL;

    must_refuse_czs(czs_change_put(NULL, 0, &none, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_change_put("{}", 2, NULL, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_change_put("[7]", 3, &none, &error), CZS_INVALID, "[0]");
    must_refuse_czs(czs_change_put("{}", CZS_INPUT_MAX + 1, &none, &error), CZS_TOO_LARGE,
                    "pass it in parts");
    must_refuse_czs(czs_change_remove(NULL, NULL, "a", &none, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_change_remove("Node", NULL, NULL, &none, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_change_remove("Shoe", NULL, "a", &none, &error), CZS_INVALID, "'Shoe'");
    assert_null(none);
    must_refuse_czs(czs_change_apply(NULL, change, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_change_apply(cluster, NULL, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_change_may_help(cluster, NULL, "shop", "web-0", 1, &error), CZS_INVALID,
                    "missing");
    must_refuse_czs(czs_change_may_help(cluster, change, "shop", "web-9", 1, &error), CZS_NOT_FOUND,
                    "'web-9'");
    assert_int_equal(czs_change_invalidates(NULL, change), 0);
    assert_int_equal(czs_change_invalidates(cluster, NULL), 0);
    czs_change_free(NULL);
}
