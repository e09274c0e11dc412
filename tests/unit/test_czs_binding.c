#include "tests/unit/fixtures/library_cluster.h"

#define POD(spec)                                                                                  \
    "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"web-0\", \"namespace\": \"shop\","             \
    " \"uid\": \"uid-web-0\"}, \"spec\": {" spec "\"volumes\": [{\"name\": \"data\","              \
    " \"persistentVolumeClaim\": {\"claimName\": \"data-web-0\"}}, {\"name\": \"log\","            \
    " \"persistentVolumeClaim\": {\"claimName\": \"log-web-0\"}}]}}"
#define PV(version, ref)                                                                           \
    "{\"kind\": \"PersistentVolume\", \"metadata\": {\"name\": \"local-a1\","                      \
    " \"resourceVersion\": \"" version "\"}, \"spec\": {\"storageClassName\": \"local\","          \
    " \"capacity\": {\"storage\": \"10Gi\"}, \"accessModes\": [\"ReadWriteOnce\"]" ref "}}"
#define CLAIM_REF                                                                                  \
    ", \"claimRef\": {\"namespace\": \"shop\", \"name\": \"data-web-0\","                          \
    " \"uid\": \"uid-data-web-0\"}"
#define CLAIM(name, class, version, annotations, volume)                                           \
    "{\"kind\": \"PersistentVolumeClaim\", \"metadata\": {\"name\": \"" name                       \
    "\", \"namespace\": \"shop\", \"uid\": \"uid-" name "\", \"resourceVersion\": \"" version      \
    "\", \"annotations\": {" annotations                                                           \
    "}}, \"spec\": {\"storageClassName\": \"" class "\", \"accessModes\": [\"ReadWriteOnce\"], "   \
                                                    "\"resources\": {\"requests\": {\"storage\":"  \
                                                    " \"10Gi\"}}" volume "}}"
#define COMPLETED "\"pv.kubernetes.io/bind-completed\": \"yes\""
#define SELECTED(node) "\"volume.kubernetes.io/selected-node\": \"" node "\""

/* Of web-0 on a1, the only node that fits. */
static struct czs_binding *assume(struct czs_cluster *cluster)
{
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    struct czs_binding *binding = NULL;

    must_czs(czs_assume(cluster, check, 0, &binding, &error));
    return binding;
}

static size_t count_fitting(struct czs_cluster *cluster, const char *pod)
{
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, pod);

    return czs_check_fitting(check);
}

TEST(volumes_are_written_before_claims_and_with_their_versions)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);

    assert_string_equal(czs_binding_node(binding), "a1");
    assert_int_equal(czs_binding_writes(binding), 2);
    assert_string_equal(czs_write_kind(binding, 0), "PersistentVolume");
    assert_string_equal(czs_write_namespace(binding, 0), "");
    assert_string_equal(czs_write_name(binding, 0), "local-a1");
    assert_string_equal(
        czs_write_patch(binding, 0),
        "{\"metadata\":{\"annotations\":{\"pv.kubernetes.io/bound-by-controller\":\"yes\"},"
        "\"resourceVersion\":\"10\"},\"spec\":{\"claimRef\":{\"apiVersion\":\"v1\",\"kind\":"
        "\"PersistentVolumeClaim\",\"name\":\"data-web-0\",\"namespace\":\"shop\",\"uid\":"
        "\"uid-data-web-0\"}}}");
    assert_string_equal(czs_write_kind(binding, 1), "PersistentVolumeClaim");
    assert_string_equal(czs_write_namespace(binding, 1), "shop");
    assert_string_equal(czs_write_name(binding, 1), "log-web-0");
    assert_string_equal(
        czs_write_patch(binding, 1),
        "{\"metadata\":{\"annotations\":{\"volume.kubernetes.io/selected-node\":\"a1\"},"
        "\"resourceVersion\":\"20\"}}");
}

TEST(what_is_assumed_is_taken_for_others_until_it_is_reverted)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    assert_int_equal(count_fitting(cluster, "web-1"), 2);
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);
    assert_int_equal(count_fitting(cluster, "web-1"), 1);
    must_czs(czs_revert(cluster, binding, &error));
    assert_int_equal(count_fitting(cluster, "web-1"), 2);
    assert_int_equal(count_fitting(cluster, "web-0"), 1);
    uint64_t generation = czs_cluster_generation(cluster);
    must_czs(czs_revert(cluster, binding, &error));
    assert_int_equal(czs_cluster_generation(cluster), generation);
    must_refuse_czs(czs_bound(cluster, binding, &error), CZS_REFUSED, "reverted");
}

TEST(a_check_of_an_older_generation_is_stale)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    _cleanup_czs_check_ struct czs_check *other = library_check(cluster, "web-1");
    _cleanup_czs_binding_ struct czs_binding *binding = NULL;
    struct czs_binding *none = NULL;

    must_czs(czs_assume(cluster, check, 0, &binding, &error));
    must_refuse_czs(czs_assume(cluster, other, 0, &none, &error), CZS_STALE, "check the pod again");
    must_refuse_czs(czs_assume(cluster, check, 0, &none, &error), CZS_STALE, "check the pod again");
    must_czs(czs_cluster_remove(cluster, "Pod", "shop", "web-1", &error));
    must_refuse_czs(czs_assume(cluster, other, 0, &none, &error), CZS_STALE, "check the pod again");
    assert_null(none);
}

TEST(a_row_that_does_not_fit_and_a_pod_with_a_node_are_refused)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    struct czs_binding *none = NULL;

    must_refuse_czs(czs_assume(cluster, check, 1, &none, &error), CZS_REFUSED,
                    "does not fit on node 'a2': node(s) didn't find");
    library_put(cluster, POD("\"nodeName\": \"a1\", "));
    _cleanup_czs_check_ struct czs_check *placed = library_check(cluster, "web-0");
    must_refuse_czs(czs_assume(cluster, placed, 0, &none, &error), CZS_REFUSED,
                    "on node 'a1' already");
}

/* Nodes of the cluster take two volumes of rbd; here one. */
TEST(an_assumed_pod_counts_for_the_limits_of_its_node)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    library_put(cluster, "{\"kind\": \"CSINode\", \"metadata\": {\"name\": \"a1\"}, \"spec\":"
                         " {\"drivers\": [{\"name\": \"rbd.csi.ceph.com\", \"nodeID\": \"a1\","
                         " \"topologyKeys\": [\"topology.kubernetes.io/zone\"],"
                         " \"allocatable\": {\"count\": 1}}]}}");
    library_put(cluster, PV("11", CLAIM_REF)); /* the other volume of web-0, out of the way */
    library_put(cluster, "{\"kind\": \"PersistentVolume\", \"metadata\": {\"name\": \"more\"},"
                         " \"spec\": {\"storageClassName\": \"local\", \"capacity\":"
                         " {\"storage\": \"9Gi\"}, \"accessModes\": [\"ReadWriteOnce\"]},"
                         " \"status\": {\"phase\": \"Available\"}}");
    _cleanup_czs_check_ struct czs_check *before = library_check(cluster, "web-1");
    assert_true(czs_check_fits(before, 0));

    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);
    for (int i = 0; i < 2; i++) {
        _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-1");

        assert_int_equal(czs_check_plugin(check, 0), CZS_VOLUME_LIMITS);
        /* an event from before the pod was bound does not take it off the node */
        library_put(cluster, POD(""));
    }
    must_czs(czs_revert(cluster, binding, &error));
    _cleanup_czs_check_ struct czs_check *after = library_check(cluster, "web-1");
    assert_true(czs_check_fits(after, 0));
}

TEST(a_pod_that_the_api_server_has_bound_is_not_taken_off_by_a_revert)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);
    struct czs_binding *none = NULL;

    library_put(cluster, POD("\"nodeName\": \"a1\", "));
    must_czs(czs_revert(cluster, binding, &error));
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    must_refuse_czs(czs_assume(cluster, check, 0, &none, &error), CZS_REFUSED,
                    "on node 'a1' already");
}

TEST(a_pod_made_anew_is_another_one)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *first = assume(cluster);

    must_czs(czs_cluster_remove(cluster, "Pod", "shop", "web-0", &error));
    must_refuse_czs(czs_bound(cluster, first, &error), CZS_REFUSED, "web-0");
    library_put(cluster, POD(""));
    _cleanup_czs_binding_ struct czs_binding *second = assume(cluster);
    assert_string_equal(czs_binding_node(second), "a1");
    must_czs(czs_revert(cluster, first, &error));
    /* still on its node: the first binding has no say in it */
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    struct czs_binding *none = NULL;
    must_refuse_czs(czs_assume(cluster, check, 0, &none, &error), CZS_REFUSED, "already");
}

TEST(volumes_are_bound_when_the_events_say_so)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);

    must_czs(czs_written(binding, 0, "100", &error));
    must_czs(czs_written(binding, 1, "101", &error));
    assert_int_equal(czs_bound(cluster, binding, NULL), CZS_WAITING);
    library_put(cluster, PV("100", CLAIM_REF));
    library_put(cluster, CLAIM("log-web-0", "rbd", "101", SELECTED("a1"), ""));
    assert_int_equal(czs_bound(cluster, binding, NULL), CZS_WAITING);
    library_put(cluster,
                CLAIM("data-web-0", "local", "102", COMPLETED, ", \"volumeName\": \"local-a1\""));
    assert_int_equal(czs_bound(cluster, binding, NULL), CZS_WAITING);
    library_put(cluster, "{\"kind\": \"PersistentVolume\", \"metadata\": {\"name\": \"pvc-1\"},"
                         " \"spec\": {\"capacity\": {\"storage\": \"20Gi\"}}}");
    library_put(cluster, CLAIM("log-web-0", "rbd", "103", SELECTED("a1") ", " COMPLETED,
                               ", \"volumeName\": \"pvc-1\""));
    must_czs(czs_bound(cluster, binding, &error));
    /* and a pod with bound claims needs no writes */
    must_czs(czs_revert(cluster, binding, &error));
    _cleanup_czs_binding_ struct czs_binding *again = assume(cluster);
    assert_int_equal(czs_binding_writes(again), 0);
    must_czs(czs_bound(cluster, again, &error));
}

TEST(events_from_before_the_write_decide_nothing)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);

    must_czs(czs_written(binding, 0, "100", &error));
    library_put(cluster, PV("50", ""));
    assert_int_equal(czs_bound(cluster, binding, NULL), CZS_WAITING);
    library_put(cluster, PV("100", ""));
    must_refuse_czs(czs_bound(cluster, binding, &error), CZS_REFUSED, "ClaimRef got reset");
}

TEST(without_the_version_of_the_write_any_other_one_decides)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);

    assert_int_equal(czs_bound(cluster, binding, NULL), CZS_WAITING);
    library_put(cluster, PV("50", ""));
    must_refuse_czs(czs_bound(cluster, binding, &error), CZS_REFUSED, "ClaimRef got reset");
}

TEST(a_volume_that_names_the_claim_already_is_not_written)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    library_put(cluster, PV("11", CLAIM_REF));
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);
    assert_int_equal(czs_binding_writes(binding), 1);
    assert_string_equal(czs_write_name(binding, 0), "log-web-0");
}

TEST(a_provisioner_that_gives_the_claim_back_ends_the_wait)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);

    must_czs(czs_written(binding, 1, "101", &error));
    library_put(cluster, PV("100", CLAIM_REF));
    library_put(cluster,
                CLAIM("data-web-0", "local", "102", COMPLETED, ", \"volumeName\": \"local-a1\""));
    library_put(cluster, CLAIM("log-web-0", "rbd", "102", "\"a\": \"b\"", ""));
    must_refuse_czs(czs_bound(cluster, binding, &error), CZS_REFUSED, "log-web-0");
}

TEST(handles_outlive_their_cluster)
{
    struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);

    czs_cluster_free(cluster);
    assert_string_equal(czs_binding_node(binding), "a1");
    assert_string_equal(czs_write_name(binding, 0), "local-a1");
}

TEST(nothing_given_and_numbers_too_large_are_refused)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_cluster_ struct czs_cluster *other = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    struct czs_binding *none = NULL;

    must_refuse_czs(czs_assume(NULL, check, 0, &none, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_assume(cluster, NULL, 0, &none, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_assume(cluster, check, 0, NULL, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_assume(cluster, check, 3, &none, &error), CZS_INVALID, "no row 3");
    must_refuse_czs(czs_assume(other, check, 0, &none, &error), CZS_INVALID, "another cluster");
    _cleanup_czs_binding_ struct czs_binding *binding = assume(cluster);
    must_refuse_czs(czs_revert(other, binding, &error), CZS_INVALID, "a binding of it");
    must_refuse_czs(czs_revert(cluster, NULL, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_bound(other, binding, &error), CZS_INVALID, "a binding of it");
    must_refuse_czs(czs_bound(NULL, binding, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_written(binding, 2, "1", &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_written(binding, 0, NULL, &error), CZS_INVALID, "missing");
    assert_null(czs_write_kind(binding, 2));
    assert_null(czs_write_namespace(binding, 2));
    assert_null(czs_write_name(NULL, 0));
    assert_null(czs_write_patch(binding, SIZE_MAX));
    assert_null(czs_binding_node(NULL));
    assert_int_equal(czs_binding_writes(NULL), 0);
    assert_null(none);
    czs_binding_free(NULL);
}
