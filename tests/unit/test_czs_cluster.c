#include <pthread.h>

#include "common/base/memory.h"
#include "tests/unit/fixtures/library_cluster.h"

#define NODE(name) "{\"kind\": \"Node\", \"metadata\": {\"name\": \"" name "\"}}"

static int put(struct czs_cluster *cluster, const char *json, char **error)
{
    return czs_cluster_put(cluster, json, strlen(json), error);
}

TEST(a_cluster_follows_a_version_that_is_known)
{
    static const char *const good[] = {"", "1.19", "v1.32.4", "1.37", "1.31.0+k3s1"};
    struct czs_cluster *cluster = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        must_czs(czs_cluster_new(good[i], &cluster, &error));
        czs_cluster_free(TAKE(cluster));
    }
    must_refuse_czs(czs_cluster_new("1.18", &cluster, &error), CZS_INVALID, "before 1.19");
    must_refuse_czs(czs_cluster_new("two", &cluster, &error), CZS_INVALID, "'two'");
    assert_null(cluster);
    assert_int_equal(czs_cluster_new("two", &cluster, NULL), CZS_INVALID);
    assert_string_not_equal(czs_version(), "");
}

TEST(objects_come_as_list_array_or_one_by_one)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    assert_int_equal(czs_cluster_count(cluster, "Node"), 3);
    assert_int_equal(czs_cluster_count(cluster, "PersistentVolumeClaim"), 4);
    library_put(cluster, NODE("c1"));
    library_put(cluster, "[" NODE("c2") ", {\"kind\": \"ConfigMap\"}, " NODE("c1") "]");
    library_put(cluster,
                "{\"kind\": \"NodeList\", \"items\": [{\"metadata\": {\"name\": \"c3\"}}]}");
    assert_int_equal(czs_cluster_count(cluster, "Node"), 6);
    must_czs(czs_cluster_remove(cluster, "Node", NULL, "c2", &error));
    must_czs(czs_cluster_remove(cluster, "Node", "", "never-there", &error));
    assert_int_equal(czs_cluster_count(cluster, "Node"), 5);
    must_czs(czs_cluster_remove(cluster, "PersistentVolumeClaim", "shop", "data-web-0", &error));
    assert_int_equal(czs_cluster_count(cluster, "PersistentVolumeClaim"), 3);
    assert_int_equal(czs_cluster_count(cluster, "ConfigMap"), 0);
}

TEST(a_document_with_a_mistake_changes_nothing)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    uint64_t generation = czs_cluster_generation(cluster);

    must_refuse_czs(put(cluster, "[" NODE("c1") ", {\"kind\": \"Node\"}]", &error), CZS_INVALID,
                    "[1]: ");
    must_refuse_czs(put(cluster, "[" NODE("c1") ", 7]", &error), CZS_INVALID, "[1]: ");
    must_refuse_czs(put(cluster, "[" NODE("c1"), &error), CZS_INVALID, "line 1");
    must_refuse_czs(put(cluster, "", &error), CZS_INVALID, "objects");
    must_refuse_czs(put(cluster, "{}", &error), CZS_INVALID, "kind is missing");
    must_refuse_czs(czs_cluster_remove(cluster, "Shoe", NULL, "a", &error), CZS_INVALID, "'Shoe'");
    assert_int_equal(czs_cluster_count(cluster, "Node"), 3);
    assert_int_equal(czs_cluster_generation(cluster), generation);
}

TEST(json_that_is_too_large_or_too_deep_is_refused_unread)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    char *deep = xmalloc(100001);

    must_refuse_czs(czs_cluster_put(cluster, "{}", CZS_INPUT_MAX + 1, &error), CZS_TOO_LARGE,
                    "pass it in parts");
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    must_refuse_czs(put(cluster, deep, &error), CZS_INVALID, "objects");
    free(deep);
}

TEST(every_change_is_another_generation)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    uint64_t generation = czs_cluster_generation(cluster);

    library_put(cluster, NODE("c1"));
    assert_true(czs_cluster_generation(cluster) > generation);
    generation = czs_cluster_generation(cluster);
    must_czs(czs_cluster_remove(cluster, "Node", NULL, "c1", &error));
    assert_true(czs_cluster_generation(cluster) > generation);
    generation = czs_cluster_generation(cluster);
    must_czs(czs_cluster_set_shape(cluster, "0:0,100:10", &error));
    assert_true(czs_cluster_generation(cluster) > generation);
}

TEST(a_shape_needs_the_version_that_has_it)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = NULL;

    must_czs(czs_cluster_new("1.30", &cluster, &error));
    must_refuse_czs(czs_cluster_set_shape(cluster, "0:0", &error), CZS_INVALID, "1.30");
}

static void *check_often(void *object)
{
    struct czs_cluster *cluster = object;

    for (int i = 0; i < 200; i++) {
        struct czs_check *check = NULL;

        if (czs_check_pod(cluster, "shop", i % 2 ? "web-0" : "web-1", NULL, &check, NULL) != CZS_OK)
            return NULL;
        czs_check_free(check);
    }
    return cluster;
}

/* For 'make tsan'. */
TEST(clusters_of_several_threads_are_independent)
{
    struct czs_cluster *clusters[2] = {library_cluster(), library_cluster()};
    pthread_t threads[2];

    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, check_often, clusters[i]), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        void *result = NULL;

        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, clusters[i]);
        czs_cluster_free(clusters[i]);
    }
}

TEST(nothing_given_is_invalid_and_never_a_crash)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();

    must_refuse_czs(czs_cluster_new(NULL, NULL, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_cluster_put(NULL, "{}", 2, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_cluster_put(cluster, NULL, 2, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_cluster_remove(NULL, "Node", NULL, "a", &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_cluster_remove(cluster, NULL, NULL, "a", &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_cluster_remove(cluster, "Node", NULL, NULL, &error), CZS_INVALID,
                    "missing");
    must_refuse_czs(czs_cluster_set_shape(cluster, NULL, &error), CZS_INVALID, "missing");
    must_refuse_czs(czs_cluster_set_shape(NULL, "0:0", &error), CZS_INVALID, "missing");
    assert_int_equal(czs_cluster_put(NULL, NULL, 0, NULL), CZS_INVALID);
    assert_int_equal(czs_cluster_count(NULL, "Node"), 0);
    assert_int_equal(czs_cluster_count(cluster, NULL), 0);
    assert_int_equal(czs_cluster_generation(NULL), 0);
    czs_cluster_free(NULL);
    czs_text_free(NULL);
}
