/*
 * The library's side of the comparison, by its public interface alone. Each line of the input is
 * {"objects": [...], "pods": [["NAMESPACE", "NAME"], ...]}, each line of the output {"pods": [...]}
 * with the verdicts of the nodes, by name, for each of the pods; or {"error": "..."}.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scheduling/library/include/cephzone/scheduling.h"

static const struct {
    enum czs_plugin plugin;
    const char *name;
} NAMES[] = {
    {CZS_PLACEMENT, "Placement"},
    {CZS_VOLUME_RESTRICTIONS, "VolumeRestrictions"},
    {CZS_VOLUME_LIMITS, "NodeVolumeLimits"},
    {CZS_VOLUME_BINDING, "VolumeBinding"},
    {CZS_VOLUME_ZONE, "VolumeZone"},
};

static const char *plugin_name(unsigned plugin)
{
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        if (plugin == NAMES[i].plugin)
            return NAMES[i].name;
    return "";
}

static json_t *verdict_json(const struct czs_check *check, size_t row)
{
    json_t *reasons = json_array();

    for (size_t i = 0; czs_check_reason(check, row, i); i++)
        json_array_append_new(reasons, json_string(czs_check_reason(check, row, i)));
    return json_pack("{s:s, s:s, s:b, s:o}", "node", czs_check_node(check, row), "plugin",
                     plugin_name(czs_check_plugin(check, row)), "error",
                     czs_check_is_error(check, row), "reasons", reasons);
}

/* NULL, with the error, if the library refuses. */
static json_t *pod_json(struct czs_cluster *cluster, const json_t *pod, char **error)
{
    struct czs_check *check = NULL;

    if (czs_check_pod(cluster, json_string_value(json_array_get(pod, 0)),
                      json_string_value(json_array_get(pod, 1)), NULL, &check, error) != CZS_OK)
        return NULL;
    json_t *verdicts = json_array();
    for (size_t i = 0; i < czs_check_count(check); i++)
        json_array_append_new(verdicts, verdict_json(check, i));
    czs_check_free(check);
    return verdicts;
}

static json_t *pods_json(struct czs_cluster *cluster, const json_t *pods, char **error)
{
    json_t *all = json_array();

    for (size_t i = 0; i < json_array_size(pods); i++) {
        json_t *verdicts = pod_json(cluster, json_array_get(pods, i), error);

        if (!verdicts) {
            json_decref(all);
            return NULL;
        }
        json_array_append_new(all, verdicts);
    }
    return all;
}

static json_t *answer_json(const json_t *request, const char *version)
{
    char *objects = json_dumps(json_object_get(request, "objects"), 0);
    struct czs_cluster *cluster = NULL;
    char *error = NULL;
    json_t *pods = NULL;

    if (czs_cluster_new(version, &cluster, &error) == CZS_OK &&
        czs_cluster_put(cluster, objects, strlen(objects), &error) == CZS_OK)
        pods = pods_json(cluster, json_object_get(request, "pods"), &error);
    json_t *answer = pods ? json_pack("{s:o}", "pods", pods)
                          : json_pack("{s:s}", "error", error ? error : "without a reason");
    czs_text_free(error);
    czs_cluster_free(cluster);
    free(objects);
    return answer;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s KUBERNETES-VERSION <clusters >verdicts\n", argv[0]);
        return 2;
    }
    while (getline(&line, &size, stdin) > 0) {
        json_t *request = json_loads(line, 0, NULL);
        json_t *answer = answer_json(request, argv[1]);
        char *text = json_dumps(answer, JSON_COMPACT);

        puts(text);
        fflush(stdout);
        free(text);
        json_decref(answer);
        json_decref(request);
    }
    free(line);
    return ferror(stdin) ? 1 : 0;
}
