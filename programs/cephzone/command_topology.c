/*
 * cephzone topology: the places of StorageClasses as a tree, their pools, where each pool's place
 * was said, room and takeovers. A cluster that does not answer, or a class that makes no sense,
 * costs its own pools only.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/topology_tree.h"

#define OUTPUT_LIMIT ((size_t)64 << 20)

struct topology_flags {
    struct tool_flags tool;
    const char *classes;
    const char *domain_labels;
    const char *takeover;
    const char *driver;
    int64_t timeout_ms;
};

struct topology_run {
    const struct topology_flags *flags;
    struct clusters clusters;
    struct storage_class_dump dump;
    struct topology_levels levels;
    struct tool_takeover takeover;
    struct tree_place root;
};

static void add_pool(struct topology_run *run, const struct storage_class *class,
                     const struct pool_entry *entry)
{
    _cleanup_pool_figures_ struct pool_figures figures = {0};

    if (!clusters_look(&run->clusters, &class->pools, entry, &figures))
        return;
    if (figures.is_missing && run->clusters.code == 0)
        run->clusters.code = TOOL_FOUND;
    tree_add(&run->root, &run->levels, class, entry, &figures);
}

static void add_class(struct topology_run *run, const struct storage_class *class)
{
    _cleanup_pool_entries_ struct pool_entries found = {0};

    if (class->fault) {
        clusters_report(&run->clusters, TOOL_FOUND, "class", class->name, class->fault);
        return;
    }
    if (!class_pools_have_places(&class->pools)) {
        struct pool_entry plain = clusters_plain(&run->clusters, &class->pools);

        add_pool(run, class, &plain);
        pool_entry_done(&plain);
        return;
    }
    const struct pool_entries *entries =
        clusters_entries(&run->clusters, &class->pools, NULL, &found);
    for (size_t i = 0; i < entries->count; i++)
        add_pool(run, class, &entries->items[i]);
}

static void print(const struct topology_run *run)
{
    const char *format = run->flags->tool.output;
    _cleanup_text_ struct text out = TEXT_INIT(OUTPUT_LIMIT);

    if (tool_prints_json(&run->flags->tool)) {
        json_auto_t *json = tree_to_json(&run->root);

        json_dumpf(json, stdout, JSON_INDENT(2));
        putchar('\n');
        return;
    }
    if (strcmp(format, "svg") == 0)
        tree_print_svg(&run->root, &out);
    else
        tree_print_text(&run->root, &out);
    fputs(text_chars(&out), stdout);
}

static int run_all(struct topology_run *run)
{
    _cleanup_error_ struct error err = {0};
    const struct topology_flags *flags = run->flags;

    if (topology_levels_parse(flags->driver, flags->domain_labels, &run->levels, &err) < 0) {
        fprintf(stderr, "cephzone topology: --domainlabels: %s\n", err.message);
        return TOOL_USAGE;
    }
    if (clusters_open(&run->clusters, "topology", &flags->tool, flags->driver, flags->timeout_ms,
                      &err) < 0 ||
        storage_class_dump_load(flags->classes, flags->driver, &run->dump, &err) < 0 ||
        tool_read_takeover(flags->takeover, run->clusters.config, &run->takeover, &err) < 0) {
        fprintf(stderr, "cephzone topology: %s\n", err.message);
        return TOOL_BLIND;
    }
    for (size_t i = 0; i < run->dump.count; i++)
        add_class(run, &run->dump.items[i]);
    if (run->dump.count == 0)
        fprintf(stderr, "cephzone topology: no class in '%s' has the provisioner '%s'\n",
                flags->classes, flags->driver);
    tree_finish(&run->root, run->takeover.map);
    print(run);
    return run->clusters.code;
}

static int run_and_clean_up(const struct topology_flags *flags)
{
    struct topology_run run = {.flags = flags};
    int code = run_all(&run);

    tree_done(&run.root);
    tool_takeover_done(&run.takeover);
    topology_levels_done(&run.levels);
    storage_class_dump_done(&run.dump);
    return clusters_close(&run.clusters, code);
}

static int check_flags(const struct topology_flags *flags, struct error *err)
{
    static const char *const formats[] = {"table", "json", "svg"};

    if (tool_check_cluster(&flags->tool, err) < 0 ||
        tool_check_output(&flags->tool, formats, ARRAY_LENGTH(formats), err) < 0)
        return -1;
    if (flags->classes[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--classes is missing");
    if (flags->timeout_ms <= 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--timeout must be positive");
    return 0;
}

static void print_help(const struct flag *flags, size_t count)
{
    puts("Usage: cephzone topology --config=FILE (--secrets=FILE | --keyring=FILE) --classes=FILE\n"
         "                         [flags]\n\n"
         "Prints the places of StorageClasses, their pools, room and takeovers as a tree.\n"
         "Exit code: 0 all well, 1 something is wrong with a class, 2 bad command line, 3 could\n"
         "not look.\n\n"
         "  kubectl get storageclass -o yaml >classes.yaml\n"
         "  cephzone topology --config=config.json --keyring=/etc/ceph/keyring "
         "--classes=classes.yaml\n"
         "  cephzone topology ... -o svg >topology.svg\n");
    flags_print_usage(stdout, flags, count);
}

int command_topology(int argc, char **argv)
{
    struct topology_flags values = {
        .tool = TOOL_FLAGS_INIT,
        .classes = "",
        .domain_labels = "",
        .takeover = "",
        .driver = "rbd.csi.ceph.com",
        .timeout_ms = 60000,
    };
    const struct flag flags[] = {
        {"config", FLAG_STRING, &values.tool.config, "FILE", "the driver's config.json"},
        {"secrets", FLAG_STRING, &values.tool.secrets, "FILE", "JSON file with userID and userKey"},
        {"keyring", FLAG_STRING, &values.tool.keyring, "FILE",
         "Ceph keyring, instead of --secrets"},
        {"classes", FLAG_STRING, &values.classes, "FILE", "StorageClasses, JSON or YAML"},
        {"domainlabels", FLAG_STRING, &values.domain_labels, "LABELS",
         "the driver's flag: gives the order of levels, outermost first"},
        {"takeover-file", FLAG_STRING, &values.takeover, "FILE",
         "the driver's flag: the takeover map; else that of --config"},
        {"driver", FLAG_STRING, &values.driver, "NAME", "whose classes to take from --classes"},
        {"o", FLAG_STRING, &values.tool.output, "FORMAT", "table, json or svg"},
        {"timeout", FLAG_DURATION, &values.timeout_ms, NULL, "how long to wait for each cluster"},
    };
    _cleanup_error_ struct error err = {0};

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_help(flags, ARRAY_LENGTH(flags));
        return 0;
    }
    if (tool_parse_flags(flags, ARRAY_LENGTH(flags), argc, argv, &err) < 0 ||
        check_flags(&values, &err) < 0) {
        fprintf(stderr, "cephzone topology: %s\n", err.message);
        return TOOL_USAGE;
    }
    return run_and_clean_up(&values);
}
