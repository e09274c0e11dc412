#include "tests/unit/fixtures/library_cluster.h"

#define NO_VOLUMES "node(s) didn't find available persistent volumes to bind"
#define NO_SPACE "node(s) did not have enough free storage"

TEST(a_check_has_a_row_for_each_node_with_its_reasons)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");

    assert_int_equal(czs_check_count(check), 3);
    assert_int_equal(czs_check_fitting(check), 1);
    assert_string_equal(czs_check_node(check, 0), "a1");
    assert_true(czs_check_fits(check, 0));
    assert_int_equal(czs_check_score(check, 0), 0);
    assert_int_equal(czs_check_plugin(check, 0), 0);
    assert_null(czs_check_reason(check, 0, 0));
    assert_string_equal(czs_check_node(check, 1), "a2");
    assert_false(czs_check_fits(check, 1));
    assert_int_equal(czs_check_score(check, 1), -1);
    assert_string_equal(czs_check_reason(check, 1, 0), NO_VOLUMES);
    assert_null(czs_check_reason(check, 1, 1));
    assert_int_equal(czs_check_plugin(check, 1), CZS_VOLUME_BINDING);
    assert_false(czs_check_is_error(check, 1));
    assert_string_equal(czs_check_reason(check, 2, 0), NO_SPACE);
    assert_int_equal(czs_check_plugins(check), CZS_VOLUME_BINDING);
    assert_null(czs_check_summary(check));
}

TEST(one_node_alone_is_looked_at)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = NULL;

    must_czs(czs_check_pod(cluster, "shop", "web-1", "b1", &check, &error));
    assert_int_equal(czs_check_count(check), 1);
    assert_string_equal(czs_check_node(check, 0), "b1");
    assert_true(czs_check_fits(check, 0));
    assert_int_equal(czs_check_score(check, 0), 60);
    czs_check_free(TAKE(check));
    must_czs(czs_check_pod(cluster, "shop", "web-1", "a2", &check, &error));
    assert_int_equal(czs_check_fitting(check), 0);
    assert_null(czs_check_summary(check));
}

TEST(rows_are_sorted_by_name_whichever_came_first)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    library_put(cluster, "{\"kind\": \"Node\", \"metadata\": {\"name\": \"a0\"}}");
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    assert_string_equal(czs_check_node(check, 0), "a0");
    assert_string_equal(czs_check_node(check, 1), "a1");
}

TEST(a_pod_that_fits_nowhere_has_the_schedulers_summary)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = NULL;

    must_czs(czs_cluster_remove(cluster, "PersistentVolume", NULL, "local-a1", &error));
    check = library_check(cluster, "web-0");
    assert_int_equal(czs_check_fitting(check), 0);
    assert_string_equal(czs_check_summary(check),
                        "0/3 nodes are available: 2 " NO_VOLUMES ", 1 " NO_SPACE);
}

TEST(a_pod_that_is_rejected_unseen_is_rejected_on_every_row)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = NULL;

    must_czs(czs_cluster_remove(cluster, "PersistentVolumeClaim", "shop", "data-web-0", &error));
    check = library_check(cluster, "web-0");
    assert_int_equal(czs_check_count(check), 3);
    assert_int_equal(czs_check_fitting(check), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(czs_check_reason(check, i, 0),
                            "persistentvolumeclaim \"data-web-0\" not found");
        assert_int_equal(czs_check_plugin(check, i), CZS_VOLUME_RESTRICTIONS);
    }
    assert_string_equal(czs_check_summary(check),
                        "0/3 nodes are available: persistentvolumeclaim \"data-web-0\" not found");
}

TEST(taints_and_preferences_are_looked_at)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = NULL;

    library_put(cluster,
                "{\"kind\": \"Node\", \"metadata\": {\"name\": \"c1\"},"
                " \"spec\": {\"taints\": [{\"key\": \"k\", \"effect\": \"NoSchedule\"}]}}");
    library_put(
        cluster,
        "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"q\", \"namespace\": \"shop\"},"
        " \"spec\": {\"affinity\": {\"nodeAffinity\": {"
        "\"preferredDuringSchedulingIgnoredDuringExecution\": [{\"weight\": 7,"
        " \"preference\": {\"matchExpressions\": [{\"key\": \"topology.kubernetes.io/zone\","
        " \"operator\": \"In\", \"values\": [\"zone-b\"]}]}}]}}}}");
    check = library_check(cluster, "q");
    assert_int_equal(czs_check_fitting(check), 3);
    assert_int_equal(czs_check_preference(check, 0), 0);
    assert_int_equal(czs_check_preference(check, 2), 7);
    assert_string_equal(czs_check_node(check, 3), "c1");
    assert_int_equal(czs_check_plugin(check, 3), CZS_PLACEMENT);
}

TEST(a_check_can_be_read_when_its_cluster_has_changed_or_is_gone)
{
    struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");

    must_czs(czs_cluster_remove(cluster, "Node", NULL, "a1", &error));
    must_czs(czs_cluster_remove(cluster, "Pod", "shop", "web-0", &error));
    assert_string_equal(czs_check_node(check, 0), "a1");
    czs_cluster_free(cluster);
    assert_string_equal(czs_check_node(check, 0), "a1");
    assert_string_equal(czs_check_reason(check, 1, 0), NO_VOLUMES);
}

TEST(objects_that_come_after_a_check_are_seen_by_the_next)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    czs_check_free(library_check(cluster, "web-0"));
    library_put(cluster,
                "{\"kind\": \"CSIStorageCapacity\", \"metadata\": {\"name\": \"rbd-zone-b\","
                " \"namespace\": \"ceph\"}, \"storageClassName\": \"rbd\","
                " \"capacity\": \"1Ti\", \"nodeTopology\": {\"matchLabels\":"
                " {\"topology.kubernetes.io/zone\": \"zone-b\"}}}");
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    assert_int_equal(czs_check_fitting(check), 2);
}

TEST(unknown_names_and_nothing_given_are_refused)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    struct czs_check *check = NULL;

    must_refuse_czs(czs_check_pod(cluster, "shop", "web-9", NULL, &check, &error), CZS_NOT_FOUND,
                    "'web-9'");
    must_refuse_czs(czs_check_pod(cluster, "shop", "web-0", "z9", &check, &error), CZS_NOT_FOUND,
                    "'z9'");
    must_refuse_czs(czs_check_pod(NULL, "shop", "web-0", NULL, &check, &error), CZS_INVALID,
                    "missing");
    must_refuse_czs(czs_check_pod(cluster, NULL, "web-0", NULL, &check, &error), CZS_INVALID,
                    "missing");
    must_refuse_czs(czs_check_pod(cluster, "shop", NULL, NULL, &check, &error), CZS_INVALID,
                    "missing");
    must_refuse_czs(czs_check_pod(cluster, "shop", "web-0", NULL, NULL, &error), CZS_INVALID,
                    "missing");
    assert_null(check);
}

TEST(getters_take_nothing_and_numbers_that_are_too_large)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_czs_check_ struct czs_check *check = library_check(cluster, "web-0");
    const struct czs_check *const none[] = {NULL, check};

    for (size_t i = 0; i < ARRAY_LENGTH(none); i++) {
        assert_null(czs_check_node(none[i], SIZE_MAX));
        assert_false(czs_check_fits(none[i], 3));
        assert_int_equal(czs_check_score(none[i], 3), -1);
        assert_int_equal(czs_check_preference(none[i], 3), 0);
        assert_int_equal(czs_check_plugin(none[i], 3), 0);
        assert_false(czs_check_is_error(none[i], 3));
        assert_null(czs_check_reason(none[i], 3, 0));
    }
    assert_int_equal(czs_check_count(NULL), 0);
    assert_int_equal(czs_check_fitting(NULL), 0);
    assert_int_equal(czs_check_plugins(NULL), 0);
    assert_null(czs_check_summary(NULL));
    czs_check_free(NULL);
}
