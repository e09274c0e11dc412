#include <jansson.h>

#include "tests/unit/fixtures/library_cluster.h"

static char *explain(struct czs_cluster *cluster, const char *pod, enum czs_format format,
                     size_t *fitting)
{
    char *text = NULL;

    must_czs(czs_explain_pod(cluster, "shop", pod, format, &text, fitting, &error));
    return text;
}

TEST(a_table_names_the_nodes_and_what_would_help)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    size_t fitting = 0;
    _cleanup_free_ char *text = explain(cluster, "web-0", CZS_TABLE, &fitting);
    _cleanup_free_ char *wide = explain(cluster, "web-0", CZS_WIDE, NULL);

    assert_int_equal(fitting, 1);
    assert_non_null(strstr(text, "fits on 1 of 3 nodes; best is a1 in zone-a"));
    assert_non_null(strstr(text, "zone-b has room for 5.0 GiB"));
    assert_null(strstr(text, "make room there"));
    assert_non_null(strstr(wide, "make room there"));
}

TEST(json_has_the_fields_of_the_tool)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    _cleanup_free_ char *text = explain(cluster, "web-1", CZS_JSON, NULL);
    json_auto_t *json = json_loads(text, 0, NULL);
    const json_t *nodes = json_object_get(json, "nodes");

    assert_int_equal(json_integer_value(json_object_get(json, "fitting")), 2);
    assert_int_equal(json_array_size(nodes), 3);
    assert_true(json_is_true(json_object_get(json_array_get(nodes, 2), "fits")));
}

TEST(a_claim_is_explained_as_well)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    char *text = NULL;

    must_czs(czs_explain_claim(cluster, "shop", "log-web-0", CZS_TABLE, &text, NULL, &error));
    assert_non_null(strstr(text, "a1"));
    czs_text_free(text);
}

TEST(unknown_names_formats_and_nothing_given_are_refused)
{
    _cleanup_czs_cluster_ struct czs_cluster *cluster = library_cluster();
    char *text = NULL;

    must_refuse_czs(czs_explain_pod(cluster, "shop", "web-9", CZS_TABLE, &text, NULL, &error),
                    CZS_NOT_FOUND, "web-9");
    must_refuse_czs(czs_explain_claim(cluster, "shop", "none", CZS_TABLE, &text, NULL, &error),
                    CZS_NOT_FOUND, "none");
    must_refuse_czs(
        czs_explain_pod(cluster, "shop", "web-0", (enum czs_format)9, &text, NULL, &error),
        CZS_INVALID, "9");
    must_refuse_czs(czs_explain_pod(NULL, "shop", "web-0", CZS_TABLE, &text, NULL, &error),
                    CZS_INVALID, "missing");
    must_refuse_czs(czs_explain_pod(cluster, NULL, "web-0", CZS_TABLE, &text, NULL, &error),
                    CZS_INVALID, "missing");
    must_refuse_czs(czs_explain_claim(cluster, "shop", NULL, CZS_TABLE, &text, NULL, &error),
                    CZS_INVALID, "missing");
    must_refuse_czs(czs_explain_pod(cluster, "shop", "web-0", CZS_TABLE, NULL, NULL, &error),
                    CZS_INVALID, "missing");
    assert_null(text);
}
