/*
 * cephzone simulate: schedules what is pending in a snapshot, after a domain failed or with more
 * pods, and tells what finds a place. The thinking is in common/scheduling/simulation/simulate.h;
 * here are flags, loading, the progress bar and the exit code. simulate_objects() takes objects
 * wherever they come from.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/command_objects.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/simulate_print.h"
#include "programs/cephzone/tool.h"

#define BAR_CELLS 40
#define BAR_PAUSE_MS 100
#define BAR_ESTIMATE_MS 2000 /* before that what is left is a guess */

struct bar {
    FILE *file;
    int64_t start_ms;
    int64_t shown_ms;
};

static void show_left(const struct bar *bar, size_t done, size_t total)
{
    int64_t spent_ms = bar->shown_ms - bar->start_ms;

    if (spent_ms >= BAR_ESTIMATE_MS && done > 0)
        fprintf(bar->file, ", about %lld s left",
                (long long)((double)spent_ms * (double)(total - done) / (double)done / 1000));
    fputs("\033[K", bar->file);
}

/* On a terminal only, over itself. Pods that are tried again take longer than the figure says. */
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
    show_left(bar, done, total);
    if (done == total)
        fputs("\r\033[K", bar->file);
    fflush(bar->file);
}

static void print(const struct simulation *simulation, const char *output)
{
    if (strcmp(output, "json") == 0)
        simulate_print_json(simulation, stdout);
    else if (strcmp(output, "svg") == 0)
        simulate_print_svg(simulation, stdout);
    else
        simulate_print_table(simulation, strcmp(output, "wide") == 0, stdout);
}

int simulate_objects(struct cluster_objects *cluster, const struct objects_flags *flags,
                     const struct simulation_request *request)
{
    struct simulation_request with_progress = *request;
    _cleanup_simulation_ struct simulation simulation = {0};
    _cleanup_error_ struct error err = {0};
    struct binding_options options;
    struct bar bar = {stderr, clock_monotonic_ms(), 0};

    if (objects_options(flags, &options, &err) < 0) {
        fprintf(stderr, "cephzone simulate: %s\n", err.message);
        return TOOL_USAGE;
    }
    cluster->rules = options.rules;
    if (isatty(STDERR_FILENO)) {
        with_progress.progress = show_progress;
        with_progress.progress_object = &bar;
    }
    if (simulate(cluster, &options, &with_progress, &simulation, &err) < 0) {
        fprintf(stderr, "cephzone simulate: %s\n", err.message);
        return err.status == STATUS_INVALID_ARGUMENT ? TOOL_USAGE : TOOL_BLIND;
    }
    print(&simulation, flags->output);
    return simulation.placed == simulation.count ? 0 : TOOL_FOUND;
}

static int check(const struct objects_flags *flags, const struct string_list *arguments,
                 const struct simulation_request *request, struct error *err)
{
    static const char *const FORMATS[] = {"table", "wide", "json", "svg"};

    if (arguments->count > 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no flag", arguments->items[0]);
    if (request->add_pods > 0 && request->class_name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--add-pods needs --class");
    if (request->takeover[0] != '\0' && request->fail[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--takeover needs --fail");
    for (size_t i = 0; i < ARRAY_LENGTH(FORMATS); i++)
        if (strcmp(flags->output, FORMATS[i]) == 0)
            return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "-o takes 'table', 'wide', 'json' or 'svg', not '%s'", flags->output);
}

static int parse_via(const char *text, bool *via_nodeinfo, struct error *err)
{
    *via_nodeinfo = strcmp(text, "nodeinfo") == 0;
    if (*via_nodeinfo || strcmp(text, "labels") == 0)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "--takeover-via takes 'labels' or 'nodeinfo', not '%s'", text);
}

static int parse_size(const char *text, struct quantity *size, struct error *err)
{
    if (quantity_parse(text, size, err) < 0)
        return error_wrap(err, "--size");
    if (size->nano <= 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--size must be more than nothing");
    return 0;
}

static int run(const struct objects_flags *flags, const struct simulation_request *request)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_cluster_ struct cluster_objects cluster = {0};

    if (objects_get(flags, &cluster, &err) < 0) {
        fprintf(stderr, "cephzone simulate: %s\n", err.message);
        return TOOL_BLIND;
    }
    return simulate_objects(&cluster, flags, request);
}

static void print_help(const struct flag *flags, size_t count)
{
    puts("Usage: cephzone simulate [--from=FILE|FOLDER] [flags]\n\n"
         "Schedules all pending pods of a snapshot, one after the other, with volumes bound and\n"
         "provisioned as Kubernetes would. Volumes, labels and taints count; processors and\n"
         "memory do not. Exit code: 0 all find a place, 1 some do not, 2 bad command line,\n"
         "3 could not look.\n\n"
         "  cephzone simulate --from=cluster.json --fail zone=zone-a --takeover zone-b\n"
         "  cephzone simulate --from=cluster.json --add-pods 100 --class rbd --size 20Gi -o svg\n");
    flags_print_usage(stdout, flags, count);
}

int command_simulate(int argc, char **argv)
{
    struct objects_flags values = OBJECTS_FLAGS_INIT;
    struct simulation_request request = {.fail = "", .takeover = "", .class_name = ""};
    const char *size = "1Gi";
    const char *via = "labels";
    uint64_t add_pods = 0;
    _cleanup_string_list_ struct string_list arguments = {0};
    const struct flag flags[] = {
        OBJECTS_SOURCE_FLAGS(values),
        {"fail", FLAG_STRING, &request.fail, "LEVEL=VALUE", "nodes of this domain are gone"},
        {"takeover", FLAG_STRING, &request.takeover, "VALUE|all",
         "domains that serve the failed one's volumes"},
        {"takeover-via", FLAG_STRING, &via, "labels|nodeinfo",
         "how, as the driver's flag of that name; labels by default"},
        {"add-pods", FLAG_UINT, &add_pods, "N", "pods to add, with one claim each"},
        {"class", FLAG_STRING, &request.class_name, "NAME", "of the added claims"},
        {"size", FLAG_STRING, &size, "QUANTITY", "of the added claims"},
        {"o", FLAG_STRING, &values.output, "FORMAT", "table, wide, json or svg"},
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
    int result = objects_parse_flags(flags, ARRAY_LENGTH(flags), argc, argv, &arguments, &err);
    request.add_pods = add_pods;
    if (result < 0 || parse_via(via, &request.via_nodeinfo, &err) < 0 ||
        check(&values, &arguments, &request, &err) < 0 ||
        parse_size(size, &request.size, &err) < 0) {
        fprintf(stderr, "cephzone simulate: %s\n", err.message);
        return TOOL_USAGE;
    }
    return run(&values, &request);
}
