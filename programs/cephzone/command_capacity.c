/*
 * cephzone capacity: how much free space each StorageClass has in each place. The arithmetic is in
 * common/topology/free_space.h, questions to the clusters are in programs/cephzone/clusters.h.
 */
#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/clusters.h"
#include "programs/cephzone/output.h"

static void add_json(void *object, const struct storage_class *class,
                     const struct pool_entry *entry, const struct pool_figures *figures)
{
    _cleanup_free_ char *place = pool_entry_place(entry);
    json_t *quota =
        figures->quota_bytes ? json_integer((json_int_t)figures->quota_bytes) : json_null();

    json_array_append_new(
        object,
        json_pack("{s:s, s:s, s:s, s:s, s:s?, s:I, s:I, s:o, s:s}", "class", class->name, "cluster",
                  class_pools_cluster(&class->pools, entry), "domain", place, "pool", entry->pool,
                  "dataPool", entry->data_pool, "roomBytes", (json_int_t)figures->room.bytes,
                  "usedBytes", (json_int_t)figures->used_bytes, "quotaBytes", quota, "remark",
                  figures->room.remark));
}

static void add_row(void *object, const struct storage_class *class, const struct pool_entry *entry,
                    const struct pool_figures *figures)
{
    struct columns *columns = object;

    columns_add(columns, class->name);
    columns_take(columns, pool_entry_place(entry));
    columns_add(columns, entry->pool);
    columns_add(columns, entry->data_pool);
    columns_take(columns, text_size(figures->room.bytes));
    columns_take(columns, text_size(figures->used_bytes));
    columns_take(columns, figures->quota_bytes ? text_size(figures->quota_bytes) : NULL);
    columns_add(columns, figures->room.remark);
}

static int print_capacity(struct clusters *clusters, struct tool_flags *flags)
{
    static const char *const titles[] = {"CLASS", "DOMAIN", "POOL",  "DATA POOL",
                                         "ROOM",  "USED",   "QUOTA", "REMARK"};
    _cleanup_columns_ struct columns columns = {.right = 1 << 4 | 1 << 5 | 1 << 6};
    json_auto_t *rows = json_array();
    bool as_json = tool_prints_json(flags);
    const struct pool_visitor visitor = {
        .visit = as_json ? add_json : add_row,
        .object = as_json ? (void *)rows : &columns,
        .wants_home = true,
    };
    _cleanup_error_ struct error err = {0};

    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    if (clusters_open(clusters, "capacity", flags, &err) < 0 ||
        clusters_visit(clusters, flags, &visitor, &err) < 0)
        return tool_fail("capacity", TOOL_BLIND, &err);
    if (as_json)
        output_json(
            json_pack("{s:O, s:o}", "rows", rows, "errors", json_from_strings(&clusters->errors)),
            stdout);
    else
        columns_write(&columns, stdout);
    return clusters->code;
}

static int check_flags(void *values, struct error *err)
{
    return clusters_check_flags(values, TOOL_FORMATS("table", "json"), err);
}

static int run_capacity(void *values)
{
    struct clusters clusters = {0};
    int code = print_capacity(&clusters, values);

    return clusters_close(&clusters, code);
}

static const char HELP[] =
    "Usage: cephzone capacity [flags]\n"
    "       cephzone capacity --config=FILE (--secrets=FILE | --keyring=FILE) --classes=FILE\n\n"
    "Prints how much free space each StorageClass has in each place of its pools. Without files\n"
    "classes, config.json and the Ceph user come from the live cluster.\n"
    "Exit code: 0 all well, 1 something is wrong with a class, 2 bad command line, 3 a file\n"
    "or cluster could not be read.\n\n"
    "  kubectl cephzone capacity\n"
    "  kubectl get storageclass -o json >classes.json\n"
    "  cephzone capacity --config=config.json --keyring=/etc/ceph/keyring --classes=classes.json\n";

int command_capacity(int argc, char **argv)
{
    struct tool_flags values = TOOL_FLAGS_INIT(TOOL_TIMEOUT_MS);
    const struct flag flags[] = {
        TOOL_CLUSTER_FLAGS(values),
        {"classes", FLAG_STRING, &values.classes, "FILE",
         "output of 'kubectl get storageclass -o json' or -o yaml"},
        CLUSTERS_CLASS_FLAGS(values, "table|json"),
        LIVE_CLUSTER_FLAGS(values),
    };
    const struct tool_command command = {.name = "capacity",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .check = check_flags,
                                         .run = run_capacity};

    return tool_run(&command, argc, argv);
}
