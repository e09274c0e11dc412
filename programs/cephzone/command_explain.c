/* cephzone explain: why a pod is pending, or where a claim can go. The logic is in
 * common/scheduling/explain.h. */
#include <stdio.h>
#include <string.h>

#include "common/scheduling/explain_print.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/tool.h"

static int check_arguments(const struct string_list *arguments, struct error *err)
{
    if (arguments->count != 2 ||
        (strcmp(arguments->items[0], "pod") != 0 && strcmp(arguments->items[0], "pvc") != 0))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected 'pod NAME' or 'pvc NAME'");
    return 0;
}

int command_explain(int argc, char **argv)
{
    struct object_flags values = {.output = "table"};
    const char *ns = "default";
    const struct flag flags[] = {
        OBJECT_SOURCE_FLAGS(values),
        {"n", FLAG_STRING, &ns, "NAMESPACE", "of the pod or claim"},
        {"namespace", FLAG_STRING, &ns, "NAMESPACE", "the same"},
        {"o", FLAG_STRING, &values.output, "FORMAT", "table, wide or json"},
        OBJECT_RULES_FLAGS(values),
    };
    const struct tool_command command = {
        "explain",
        "Usage: cephzone explain pod|pvc NAME [--from=FILE|FOLDER] [flags]\n\n"
        "Reports per node whether the pod's volumes can be had there, why not, and what would\n"
        "help; the first line names the cause. Exit code: 0 it fits somewhere, 1 it fits\n"
        "nowhere, 2 bad command line, 3 the cluster could not be read.\n\n"
        "  kubectl get nodes,pv,pvc,pods,sc,csidrivers,csinodes,csistoragecapacities,\\\n"
        "      volumeattachments -A -o json >cluster.json\n"
        "  cephzone explain pod web-0 -n shop --from=cluster.json\n",
        flags, ARRAY_LENGTH(flags)};
    _cleanup_error_ struct error err = {0};
    _cleanup_string_list_ struct string_list arguments = {0};
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation explanation = {0};
    struct binding_options options;

    if (tool_handle_help(&command, argc, argv))
        return 0;
    if (tool_parse_flags(&command, argc, argv, &arguments, &err) < 0 ||
        check_arguments(&arguments, &err) < 0 ||
        tool_check_output(values.output, TOOL_FORMATS("table", "wide", "json"), &err) < 0 ||
        object_flags_options(&values, &options, &err) < 0)
        return tool_fail("explain", TOOL_USAGE, &err);
    if (objects_get(&values, &cluster, &err) < 0)
        return tool_fail("explain", TOOL_BLIND, &err);
    cluster.rules = options.rules;
    const char *name = arguments.items[1];
    int result = strcmp(arguments.items[0], "pod") == 0
                     ? explain_pod(&cluster, &options, ns, name, &explanation, &err)
                     : explain_claim(&cluster, &options, ns, name, &explanation, &err);
    if (result < 0)
        return tool_fail("explain", TOOL_BLIND, &err);
    if (strcmp(values.output, "json") == 0)
        output_json(explain_to_json(&explanation), stdout);
    else
        explain_print_table(&explanation, strcmp(values.output, "wide") == 0, stdout);
    return explanation.fitting > 0 ? 0 : TOOL_FOUND;
}
