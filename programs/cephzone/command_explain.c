/* cephzone explain: why a pod is pending, or where a claim can go. The logic is in
 * common/scheduling/explain.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/scheduling/explain_print.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/tool.h"

struct explain_flags {
    struct object_flags objects;
    const char *ns;
    struct string_list arguments;
    struct binding_options options;
};

static int check_flags(void *values, struct error *err)
{
    struct explain_flags *flags = values;
    const struct string_list *arguments = &flags->arguments;

    if (arguments->count != 2 ||
        (strcmp(arguments->items[0], "pod") != 0 && strcmp(arguments->items[0], "pvc") != 0))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected 'pod NAME' or 'pvc NAME'");
    if (tool_check_output(flags->objects.output, TOOL_FORMATS("table", "wide", "json"), err) < 0)
        return -1;
    if (object_flags_options(&flags->objects, &flags->options, err) < 0)
        return -1;
    if (flags->objects.from[0] == '\0') /* a dump is as old as it is */
        flags->options.now = time(NULL);
    return 0;
}

static int run_explain(void *values)
{
    const struct explain_flags *flags = values;
    const char *name = flags->arguments.items[1];
    const char *output = flags->objects.output;
    bool is_pod = strcmp(flags->arguments.items[0], "pod") == 0;
    _cleanup_error_ struct error err = {0};
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation explanation = {0};

    if (objects_get(&flags->objects, &cluster, &err) < 0)
        return tool_fail("explain", TOOL_BLIND, &err);
    cluster.rules = flags->options.rules;
    if ((is_pod ? explain_pod : explain_claim)(&cluster, &flags->options, flags->ns, name,
                                               &explanation, &err) < 0)
        return tool_fail("explain", TOOL_BLIND, &err);
    if (strcmp(output, "json") == 0)
        output_json(explain_to_json(&explanation), stdout);
    else
        explain_print_table(&explanation, strcmp(output, "wide") == 0, stdout);
    return explanation.fitting > 0 ? 0 : TOOL_FOUND;
}

static const char HELP[] =
    "Usage: cephzone explain pod|pvc NAME [--from=FILE|FOLDER] [flags]\n\n"
    "Reports per node whether the pod's volumes can be had there, why not, and what would\n"
    "help; the first line names the cause. Exit code: 0 it fits somewhere, 1 it fits\n"
    "nowhere, 2 bad command line, 3 the cluster could not be read.\n\n"
    "  kubectl get nodes,pv,pvc,pods,sc,csidrivers,csinodes,csistoragecapacities,\\\n"
    "      volumeattachments -A -o json >cluster.json\n"
    "  cephzone explain pod web-0 -n shop --from=cluster.json\n";

int command_explain(int argc, char **argv)
{
    struct explain_flags values = {.objects = {.output = "table"}, .ns = "default"};
    const struct flag flags[] = {
        OBJECT_SOURCE_FLAGS(values.objects),
        {"n", FLAG_STRING, &values.ns, "NAMESPACE", "of the pod or claim"},
        {"namespace", FLAG_STRING, &values.ns, "NAMESPACE", "the same"},
        {"o", FLAG_STRING, &values.objects.output, "FORMAT", "table, wide or json"},
        OBJECT_RULES_FLAGS(values.objects),
    };
    const struct tool_command command = {"explain",           HELP,       flags,
                                         ARRAY_LENGTH(flags), &values,    &values.arguments,
                                         check_flags,         run_explain};

    int code = tool_run(&command, argc, argv);
    string_list_done(&values.arguments);
    return code;
}
