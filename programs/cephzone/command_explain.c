/*
 * cephzone explain: why a pod is pending, or where a claim can go. The thinking is in
 * common/scheduling/explain.h; here are flags, loading and the exit code. explain_objects() takes
 * objects wherever they come from.
 */
#include <stdio.h>
#include <string.h>

#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/command_objects.h"
#include "programs/cephzone/explain_print.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/tool.h"

int explain_objects(struct cluster_objects *cluster, const struct objects_flags *flags,
                    const char *kind, const char *name)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_explanation_ struct explanation explanation = {0};
    struct binding_options options;

    if (objects_options(flags, &options, &err) < 0) {
        fprintf(stderr, "cephzone explain: %s\n", err.message);
        return TOOL_USAGE;
    }
    cluster->rules = options.rules;
    int result = strcmp(kind, "pod") == 0
                     ? explain_pod(cluster, &options, flags->ns, name, &explanation, &err)
                     : explain_claim(cluster, &options, flags->ns, name, &explanation, &err);
    if (result < 0) {
        fprintf(stderr, "cephzone explain: %s\n", err.message);
        return TOOL_BLIND;
    }
    if (strcmp(flags->output, "json") == 0)
        explain_print_json(&explanation, stdout);
    else
        explain_print_table(&explanation, strcmp(flags->output, "wide") == 0, stdout);
    return explanation.fitting > 0 ? 0 : TOOL_FOUND;
}

static int check(const struct objects_flags *flags, const struct string_list *arguments,
                 struct error *err)
{
    if (arguments->count != 2 ||
        (strcmp(arguments->items[0], "pod") != 0 && strcmp(arguments->items[0], "pvc") != 0))
        return error_set(err, STATUS_INVALID_ARGUMENT, "expected 'pod NAME' or 'pvc NAME'");
    if (strcmp(flags->output, "table") != 0 && strcmp(flags->output, "wide") != 0 &&
        strcmp(flags->output, "json") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "-o takes 'table', 'wide' or 'json', not '%s'", flags->output);
    return 0;
}

static int run(const struct objects_flags *flags, const struct string_list *arguments)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_cluster_ struct cluster_objects cluster = {0};

    if (objects_get(flags, &cluster, &err) < 0) {
        fprintf(stderr, "cephzone explain: %s\n", err.message);
        return TOOL_BLIND;
    }
    return explain_objects(&cluster, flags, arguments->items[0], arguments->items[1]);
}

static void print_help(const struct flag *flags, size_t count)
{
    puts("Usage: cephzone explain pod|pvc NAME [--from=FILE|FOLDER] [flags]\n\n"
         "Tells per node whether the pod's volumes can be had there, why not, and what would\n"
         "help; the first line names the cause. Exit code: 0 it fits somewhere, 1 it fits\n"
         "nowhere, 2 bad command line, 3 could not look.\n\n"
         "  kubectl get nodes,pv,pvc,pods,sc,csidrivers,csinodes,csistoragecapacities,\\\n"
         "      volumeattachments -A -o json >cluster.json\n"
         "  cephzone explain pod web-0 -n shop --from=cluster.json\n");
    flags_print_usage(stdout, flags, count);
}

int command_explain(int argc, char **argv)
{
    struct objects_flags values = OBJECTS_FLAGS_INIT;
    _cleanup_string_list_ struct string_list arguments = {0};
    const struct flag flags[] = {
        OBJECTS_SOURCE_FLAGS(values),
        {"n", FLAG_STRING, &values.ns, "NAMESPACE", "of the pod or claim"},
        {"namespace", FLAG_STRING, &values.ns, "NAMESPACE", "the same"},
        {"o", FLAG_STRING, &values.output, "FORMAT", "table, wide or json"},
        {"kubernetes-version", FLAG_STRING, &values.version, "VERSION",
         "whose rules to apply, '1.33'; the newest by default; 'original' for the design's order"},
        {"shape", FLAG_STRING, &values.shape, "POINTS",
         "the scheduler's scoring shape, UTILIZATION:SCORE,..."},
    };
    _cleanup_error_ struct error err = {0};

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_help(flags, ARRAY_LENGTH(flags));
        return 0;
    }
    if (objects_parse_flags(flags, ARRAY_LENGTH(flags), argc, argv, &arguments, &err) < 0 ||
        check(&values, &arguments, &err) < 0) {
        fprintf(stderr, "cephzone explain: %s\n", err.message);
        return TOOL_USAGE;
    }
    return run(&values, &arguments);
}
