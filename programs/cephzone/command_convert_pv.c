/*
 * cephzone convert-pv: prints, for volumes with zone labels and no node affinity, the patch that
 * gives them the affinity which the labels mean. Changes nothing: the operator applies it.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scheduling/volume_zone.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/tool.h"

struct convert_flags {
    struct object_flags objects;
    struct string_list names;
    bool new_keys;
};

/* Prints the command, or adds the patch to @patches if that is not NULL. Why there is nothing to do
 * is reported for a volume that was named. */
static int convert_volume(const struct kube_pv *pv, bool new_keys, bool is_named, json_t *patches)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *patch = NULL;
    _cleanup_free_ char *remark = NULL;

    if (volume_zone_convert(pv, new_keys, &patch, &remark, &err) < 0) {
        fprintf(stderr, "cephzone convert-pv: volume '%s': %s\n", pv->meta.name, err.message);
        return -1;
    }
    if ((patch || is_named) && remark[0] != '\0')
        fprintf(stderr, "cephzone convert-pv: volume '%s' %s\n", pv->meta.name, remark);
    if (patch && patches) {
        json_array_append_new(patches,
                              json_pack("{s:s, s:O}", "name", pv->meta.name, "patch", patch));
    } else if (patch) {
        _cleanup_free_ char *text = json_dumps(patch, JSON_COMPACT | JSON_ENSURE_ASCII);

        /* neither names nor label keys and values that were checked can hold a quote */
        printf("kubectl patch pv %s --type=merge -p '%s'\n", pv->meta.name, text);
    }
    return 0;
}

static int check_flags(void *values, struct error *err)
{
    const struct convert_flags *flags = values;

    return tool_check_output(flags->objects.output, TOOL_FORMATS("table", "json"), err);
}

/* Volumes of the names in @values, all if there are none. */
static int run_convert(void *values)
{
    const struct convert_flags *flags = values;
    const struct string_list *names = &flags->names;
    bool as_json = strcmp(flags->objects.output, "json") == 0;
    _cleanup_error_ struct error err = {0};
    _cleanup_cluster_ struct cluster_objects objects = {0};
    const struct cluster_objects *cluster = &objects;
    int code = 0;

    if (objects_get(&flags->objects, &objects, &err) < 0)
        return tool_fail("convert-pv", TOOL_BLIND, &err);
    json_t *patches = as_json ? json_array() : NULL;
    for (size_t i = 0; i < names->count; i++)
        if (!cluster_find_pv(cluster, names->items[i])) {
            fprintf(stderr, "cephzone convert-pv: there is no volume '%s'\n", names->items[i]);
            code = TOOL_BLIND;
        }
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++) {
        const struct kube_pv *pv = cluster_at(cluster, KUBE_PV, i);

        if ((names->count == 0 || string_list_has(names, pv->meta.name)) &&
            convert_volume(pv, flags->new_keys, names->count > 0, patches) < 0 && code == 0)
            code = TOOL_FOUND;
    }
    if (as_json)
        output_json(patches, stdout);
    return code;
}

static const char HELP[] =
    "Usage: cephzone convert-pv [NAME...] [--from=FILE|FOLDER] [flags]\n\n"
    "Prints for each volume that has zone or region labels and no node affinity on them the\n"
    "command that adds the affinity; the labels stay. Zones joined by '__' become a set.\n"
    "Exit code: 0 all well, 1 a label is invalid, 2 bad command line, 3 the volumes could not be\n"
    "read.\n\n"
    "  kubectl get pv -o json >pvs.json\n"
    "  cephzone convert-pv --from=pvs.json\n";

int command_convert_pv(int argc, char **argv)
{
    struct convert_flags values = {.objects = {.output = "table"}};
    const struct flag flags[] = {
        OBJECT_SOURCE_FLAGS(values.objects),
        {"new-keys", FLAG_BOOL, &values.new_keys, NULL,
         "write topology.kubernetes.io keys for failure-domain.beta labels, and rename old keys "
         "in node affinity"},
        TOOL_OUTPUT_FLAGS(values.objects.output, "table|json"),
    };
    const struct tool_command command = {.name = "convert-pv",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .arguments = &values.names,
                                         .check = check_flags,
                                         .run = run_convert};

    int code = tool_run(&command, argc, argv);
    string_list_done(&values.names);
    return code;
}
