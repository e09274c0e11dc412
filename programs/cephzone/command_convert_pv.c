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
#include "programs/cephzone/command_objects.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/tool.h"

static void print_command(const char *name, const json_t *patch)
{
    char *text = json_dumps(patch, JSON_COMPACT | JSON_ENSURE_ASCII);

    /* neither names nor label keys and values that were checked can hold a quote */
    printf("kubectl patch pv %s --type=merge -p '%s'\n", name, text);
    free(text);
}

/* Why there is nothing to do is told about a volume that was asked for by name. Returns 1 if
 * something was printed, 0 if there is nothing to do, -1 if it cannot be done. */
static int convert_one(const struct kube_pv *pv, bool new_keys, bool is_named, json_t *patches,
                       bool is_json)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *patch = NULL;
    char *remark = NULL;

    if (volume_zone_convert(pv, new_keys, &patch, &remark, &err) < 0) {
        fprintf(stderr, "cephzone convert-pv: volume '%s': %s\n", pv->meta.name, err.message);
        return -1;
    }
    if ((patch || is_named) && remark[0] != '\0')
        fprintf(stderr, "cephzone convert-pv: volume '%s' %s\n", pv->meta.name, remark);
    free(remark);
    if (patch && is_json)
        json_array_append_new(patches,
                              json_pack("{s:s, s:O}", "name", pv->meta.name, "patch", patch));
    else if (patch)
        print_command(pv->meta.name, patch);
    return patch != NULL;
}

int convert_objects(const struct cluster_objects *cluster, const struct string_list *names,
                    bool new_keys, bool is_json)
{
    json_auto_t *patches = json_array();
    int code = 0;

    for (size_t i = 0; i < names->count; i++)
        if (!cluster_find_pv(cluster, names->items[i])) {
            fprintf(stderr, "cephzone convert-pv: there is no volume '%s'\n", names->items[i]);
            code = TOOL_BLIND;
        }
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++) {
        const struct kube_pv *pv = cluster_at(cluster, KUBE_PV, i);

        if ((names->count == 0 || string_list_has(names, pv->meta.name)) &&
            convert_one(pv, new_keys, names->count > 0, patches, is_json) < 0 && code == 0)
            code = TOOL_FOUND;
    }
    if (is_json) {
        json_dumpf(patches, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    return code;
}

static void print_help(const struct flag *flags, size_t count)
{
    puts(
        "Usage: cephzone convert-pv [NAME...] [--from=FILE|FOLDER] [flags]\n\n"
        "Prints for each volume that has zone or region labels and no node affinity on them the\n"
        "command that adds the affinity; the labels stay. Zones joined by '__' become a set.\n"
        "Exit code: 0 all well, 1 a label makes no sense, 2 bad command line, 3 could not look.\n\n"
        "  kubectl get pv -o json >pvs.json\n"
        "  cephzone convert-pv --from=pvs.json\n");
    flags_print_usage(stdout, flags, count);
}

int command_convert_pv(int argc, char **argv)
{
    struct objects_flags values = OBJECTS_FLAGS_INIT;
    bool new_keys = false;
    _cleanup_string_list_ struct string_list names = {0};
    const struct flag flags[] = {
        OBJECTS_SOURCE_FLAGS(values),
        {"new-keys", FLAG_BOOL, &new_keys, NULL,
         "write topology.kubernetes.io keys for failure-domain.beta labels, and rename keys of old "
         "in node affinity"},
        {"o", FLAG_STRING, &values.output, "FORMAT", "table (commands) or json"},
    };
    _cleanup_error_ struct error err = {0};
    _cleanup_cluster_ struct cluster_objects cluster = {0};

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_help(flags, ARRAY_LENGTH(flags));
        return 0;
    }
    if (objects_parse_flags(flags, ARRAY_LENGTH(flags), argc, argv, &names, &err) < 0) {
        fprintf(stderr, "cephzone convert-pv: %s\n", err.message);
        return TOOL_USAGE;
    }
    bool is_json = strcmp(values.output, "json") == 0;
    if (!is_json && strcmp(values.output, "table") != 0) {
        fputs("cephzone convert-pv: -o is neither 'table' nor 'json'\n", stderr);
        return TOOL_USAGE;
    }
    if (objects_get(&values, &cluster, &err) < 0) {
        fprintf(stderr, "cephzone convert-pv: %s\n", err.message);
        return TOOL_BLIND;
    }
    return convert_objects(&cluster, &names, new_keys, is_json);
}
