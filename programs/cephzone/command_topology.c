/*
 * cephzone topology: the places of StorageClasses as a tree, their pools, the origin of each
 * pool's place, free space and takeovers.
 */
#include <stdio.h>
#include <string.h>

#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/topology_tree.h"

struct topology_run {
    struct clusters clusters;
    struct topology_levels levels;
    struct tool_takeover takeover;
    struct tree_place root;
};

static void add_pool(void *object, const struct storage_class *class,
                     const struct pool_entry *entry, const struct pool_figures *figures)
{
    struct topology_run *run = object;

    tree_add(&run->root, &run->levels, class, entry, figures);
}

static int print_topology(struct topology_run *run, struct tool_flags *flags)
{
    const struct pool_visitor visitor = {.visit = add_pool, .object = run};
    _cleanup_error_ struct error err = {0};

    if (clusters_open(&run->clusters, "topology", flags, &err) < 0)
        return tool_fail("topology", TOOL_BLIND, &err);
    if (topology_levels_parse(flags->driver, flags->domain_labels, &run->levels, &err) < 0) {
        error_wrap(&err, "--domainlabels");
        return tool_fail("topology", TOOL_USAGE, &err);
    }
    if (tool_read_takeover(flags->takeover, run->clusters.config, &run->takeover, &err) < 0 ||
        clusters_visit(&run->clusters, flags, &visitor, &err) < 0)
        return tool_fail("topology", TOOL_BLIND, &err);
    tree_finish(&run->root, run->takeover.map);
    if (tool_prints_json(flags))
        output_json(tree_to_json(&run->root), stdout);
    else if (strcmp(flags->output, "svg") == 0)
        tree_print_svg(&run->root, stdout);
    else
        tree_print_text(&run->root, stdout);
    return run->clusters.code;
}

static int check_flags(void *values, struct error *err)
{
    return clusters_check_flags(values, TOOL_FORMATS("table", "json", "svg"), err);
}

static int run_topology(void *values)
{
    struct topology_run run = {0};
    int code = print_topology(&run, values);

    tree_done(&run.root);
    tool_takeover_done(&run.takeover);
    topology_levels_done(&run.levels);
    return clusters_close(&run.clusters, code);
}

static const char HELP[] =
    "Usage: cephzone topology [flags]\n"
    "       cephzone topology --config=FILE (--secrets=FILE | --keyring=FILE) --classes=FILE\n\n"
    "Prints the places of StorageClasses, their pools, free space and takeovers as a tree.\n"
    "Without files classes, config.json and the Ceph user come from the live cluster.\n"
    "Exit code: 0 all well, 1 something is wrong with a class, 2 bad command line, 3 a file\n"
    "or cluster could not be read.\n\n"
    "  kubectl cephzone topology\n"
    "  kubectl get storageclass -o yaml >classes.yaml\n"
    "  cephzone topology --config=config.json --keyring=/etc/ceph/keyring --classes=classes.yaml\n"
    "  cephzone topology ... -o svg >topology.svg\n";

int command_topology(int argc, char **argv)
{
    struct tool_flags values = TOOL_FLAGS_INIT(TOOL_TIMEOUT_MS);
    const struct flag flags[] = {
        TOOL_CLUSTER_FLAGS(values),
        {"classes", FLAG_STRING, &values.classes, "FILE", "StorageClasses, JSON or YAML"},
        {"domainlabels", FLAG_STRING, &values.domain_labels, "LABELS",
         "the driver's flag: gives the order of levels, outermost first"},
        {"takeover-file", FLAG_STRING, &values.takeover, "FILE",
         "the driver's flag: the takeover map; else that of --config"},
        CLUSTERS_CLASS_FLAGS(values, "table|json|svg"),
        LIVE_CLUSTER_FLAGS(values),
    };
    const struct tool_command command = {.name = "topology",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .check = check_flags,
                                         .run = run_topology};

    return tool_run(&command, argc, argv);
}
