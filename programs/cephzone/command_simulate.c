/*
 * cephzone simulate: schedules what is pending in a snapshot, after a domain failed or with more
 * pods, and reports what finds a place. The logic is in common/scheduling/simulation/simulate.h;
 * here are flags, loading, the progress bar and the exit code.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/simulate_print.h"
#include "programs/cephzone/tool.h"

#define BAR_CELLS 40
#define BAR_PAUSE_MS 100
#define BAR_ESTIMATE_MS 2000 /* earlier estimates are mere guesses */

struct bar {
    FILE *file;
    int64_t start_ms;
    int64_t shown_ms;
};

/* On a terminal only, over itself. Pods that are retried take longer than the estimate. */
static void show_progress(void *object, size_t done, size_t total, size_t stuck)
{
    struct bar *bar = object;
    size_t cells = total ? done * BAR_CELLS / total : BAR_CELLS;
    int64_t now_ms = clock_monotonic_ms();

    if (done < total && now_ms - bar->shown_ms < BAR_PAUSE_MS)
        return;
    bar->shown_ms = now_ms;
    fputs("\r[", bar->file);
    for (size_t i = 0; i < BAR_CELLS; i++)
        fputc(i < cells ? '#' : '.', bar->file);
    fprintf(bar->file, "] %zu of %zu pods, %zu stuck", done, total, stuck);
    int64_t spent_ms = now_ms - bar->start_ms;
    if (spent_ms >= BAR_ESTIMATE_MS && done > 0)
        fprintf(bar->file, ", about %lld s left",
                (long long)((double)spent_ms * (double)(total - done) / (double)done / 1000));
    fputs("\033[K", bar->file);
    if (done == total)
        fputs("\r\033[K", bar->file);
    fflush(bar->file);
}

struct simulate_flags {
    struct object_flags objects;
    const char *size;
    const char *via;
    uint64_t add_pods;
    struct simulation_request request;
    struct binding_options options;
};

static int run_simulate(void *values)
{
    const struct simulate_flags *flags = values;
    const char *output = flags->objects.output;
    struct simulation_request with_progress = flags->request;
    _cleanup_error_ struct error err = {0};
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_simulation_ struct simulation simulation = {0};
    struct bar bar = {stderr, clock_monotonic_ms(), 0};

    if (objects_get(&flags->objects, &cluster, &err) < 0)
        return tool_fail("simulate", TOOL_BLIND, &err);
    cluster.rules = flags->options.rules;
    if (isatty(STDERR_FILENO)) {
        with_progress.progress = show_progress;
        with_progress.progress_object = &bar;
    }
    if (simulate(&cluster, &flags->options, &with_progress, &simulation, &err) < 0)
        return tool_fail("simulate",
                         err.status == STATUS_INVALID_ARGUMENT ? TOOL_USAGE : TOOL_BLIND, &err);
    if (strcmp(output, "json") == 0)
        simulate_print_json(&simulation, stdout);
    else if (strcmp(output, "svg") == 0)
        simulate_print_svg(&simulation, stdout);
    else
        simulate_print_table(&simulation, strcmp(output, "wide") == 0, stdout);
    return simulation.placed == simulation.count ? 0 : TOOL_FOUND;
}

/* Checks the flags, and completes the request. */
static int check_flags(void *values, struct error *err)
{
    struct simulate_flags *flags = values;
    struct simulation_request *request = &flags->request;

    request->add_pods = flags->add_pods;
    request->via_nodeinfo = strcmp(flags->via, "nodeinfo") == 0;
    if (!request->via_nodeinfo && strcmp(flags->via, "labels") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--takeover-via takes 'labels' or 'nodeinfo', not '%s'", flags->via);
    if (request->add_pods > 0 && request->class_name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--add-pods needs --class");
    if (request->takeover[0] != '\0' && request->fail[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--takeover needs --fail");
    if (quantity_parse(flags->size, &request->size, err) < 0)
        return error_wrap(err, "--size");
    if (request->size.nano <= 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--size must be more than nothing");
    if (tool_check_output(flags->objects.output, TOOL_FORMATS("table", "wide", "json", "svg"),
                          err) < 0)
        return -1;
    return object_flags_options(&flags->objects, &flags->options, err);
}

static const char HELP[] =
    "Usage: cephzone simulate [--from=FILE|FOLDER] [flags]\n\n"
    "Schedules all pending pods of a snapshot, one after the other, with volumes bound and\n"
    "provisioned as Kubernetes would. Volumes, labels and taints count; processors and\n"
    "memory do not. Exit code: 0 all find a place, 1 some do not, 2 bad command line,\n"
    "3 the cluster could not be read.\n\n"
    "  cephzone simulate --from=cluster.json --fail zone=zone-a --takeover zone-b\n"
    "  cephzone simulate --from=cluster.json --add-pods 100 --class rbd --size 20Gi -o svg\n";

int command_simulate(int argc, char **argv)
{
    struct simulate_flags values = {.objects = {.output = "table"}, .size = "1Gi", .via = "labels"};
    const struct flag flags[] = {
        OBJECT_SOURCE_FLAGS(values.objects),
        {"fail", FLAG_STRING, &values.request.fail, "LEVEL=VALUE", "nodes of this domain are gone"},
        {"takeover", FLAG_STRING, &values.request.takeover, "VALUE|all",
         "domains that serve the failed one's volumes"},
        {"takeover-via", FLAG_STRING, &values.via, "labels|nodeinfo",
         "how, as the driver's flag of that name; labels by default"},
        {"add-pods", FLAG_UINT, &values.add_pods, "N", "pods to add, with one claim each"},
        {"class", FLAG_STRING, &values.request.class_name, "NAME", "of the added claims"},
        {"size", FLAG_STRING, &values.size, "QUANTITY", "of the added claims"},
        TOOL_OUTPUT_FLAGS(values.objects.output, "table|wide|json|svg"),
        OBJECT_RULES_FLAGS(values.objects),
    };
    const struct tool_command command = {.name = "simulate",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .check = check_flags,
                                         .run = run_simulate};

    return tool_run(&command, argc, argv);
}
