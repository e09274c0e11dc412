/*
 * cephzone capacity: how much room each StorageClass has in each place. Decoding and arithmetic are
 * in common/volume/{storage_class,cluster_usage}.h and common/topology/room.h, questions to the
 * clusters in programs/cephzone/clusters.h; here are flags and printing. A cluster that does not
 * answer, or a class that makes no sense, costs its own rows only.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/clusters.h"

struct capacity_flags {
    struct tool_flags tool;
    const char *classes;
    const char *driver;
    int64_t timeout_ms;
};

struct capacity_row {
    const struct storage_class *class;
    char *cluster_id;
    char *place;
    char *pool;
    char *data_pool; /* NULL: none */
    uint64_t used_bytes;
    uint64_t quota_bytes; /* 0: none */
    struct room room;
};

struct capacity_run {
    const struct capacity_flags *flags;
    struct clusters clusters;
    struct storage_class_dump dump;
    struct capacity_row *rows;
    size_t row_count;
};

/* --- looking --- */

/* The room of one place: that of the data pool where there is one. */
static void look_at_place(struct capacity_run *run, const struct storage_class *class,
                          const struct pool_entry *entry)
{
    _cleanup_pool_figures_ struct pool_figures figures = {0};

    if (!clusters_look(&run->clusters, &class->pools, entry, &figures))
        return;
    *array_add(run->rows, run->row_count) = (struct capacity_row){
        .class = class,
        .cluster_id = xstrdup(figures.cluster_id),
        .place = pool_entry_place(entry),
        .pool = xstrdup(entry->pool),
        .data_pool = entry->data_pool ? xstrdup(entry->data_pool) : NULL,
        .used_bytes = figures.used_bytes,
        .quota_bytes = figures.quota_bytes,
        .room = figures.room,
    };
    if (figures.is_missing && run->clusters.code == 0)
        run->clusters.code = TOOL_FOUND;
}

static void look_at_class(struct capacity_run *run, const struct storage_class *class)
{
    _cleanup_pool_entries_ struct pool_entries found = {0};

    if (class->fault) {
        clusters_report(&run->clusters, TOOL_FOUND, "class", class->name, class->fault);
        return;
    }
    if (class->pools.home) {
        struct pool_entry plain = clusters_plain(&run->clusters, &class->pools);

        look_at_place(run, class, &plain);
        pool_entry_done(&plain);
    }
    const struct pool_entries *entries =
        clusters_entries(&run->clusters, &class->pools, NULL, &found);
    for (size_t i = 0; i < entries->count; i++)
        look_at_place(run, class, &entries->items[i]);
}

/* --- printing --- */

#define OUTPUT_LIMIT ((size_t)64 << 20)

static void add_row(const struct capacity_row *row, struct columns *columns)
{
    columns_add(columns, row->class->name);
    columns_add(columns, row->place);
    columns_add(columns, row->pool);
    columns_add(columns, row->data_pool ? row->data_pool : "-");
    columns_take(columns, text_size(row->room.bytes));
    columns_take(columns, text_size(row->used_bytes));
    columns_take(columns, row->quota_bytes ? text_size(row->quota_bytes) : xstrdup("-"));
    columns_add(columns, row->room.remark);
}

static void print_table(const struct capacity_run *run)
{
    static const char *const titles[] = {"CLASS", "DOMAIN", "POOL",  "DATA POOL",
                                         "ROOM",  "USED",   "QUOTA", "REMARK"};
    _cleanup_columns_ struct columns columns = {.count = ARRAY_LENGTH(titles),
                                                .right = 1 << 4 | 1 << 5 | 1 << 6};
    _cleanup_text_ struct text table = TEXT_INIT(OUTPUT_LIMIT);

    for (size_t i = 0; i < ARRAY_LENGTH(titles); i++)
        columns_add(&columns, titles[i]);
    for (size_t i = 0; i < run->row_count; i++)
        add_row(&run->rows[i], &columns);
    columns_print(&columns, &table);
    fputs(text_chars(&table), stdout);
}

static json_t *row_json(const struct capacity_row *row)
{
    json_t *quota = row->quota_bytes ? json_integer((json_int_t)row->quota_bytes) : json_null();

    return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:I, s:I, s:o, s:s}", "class", row->class->name,
                     "cluster", row->cluster_id, "domain", row->place, "pool", row->pool,
                     "dataPool", row->data_pool, "roomBytes", (json_int_t)row->room.bytes,
                     "usedBytes", (json_int_t)row->used_bytes, "quotaBytes", quota, "remark",
                     row->room.remark);
}

static void print_json(const struct capacity_run *run)
{
    json_t *rows = json_array();
    json_t *errors = json_array();

    for (size_t i = 0; i < run->row_count; i++)
        json_array_append_new(rows, row_json(&run->rows[i]));
    for (size_t i = 0; i < run->clusters.errors.count; i++)
        json_array_append_new(errors, json_string(run->clusters.errors.items[i]));
    json_auto_t *root = json_pack("{s:o, s:o}", "rows", rows, "errors", errors);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
}

/* --- the run --- */

static int run_all(struct capacity_run *run)
{
    _cleanup_error_ struct error err = {0};
    const struct capacity_flags *flags = run->flags;

    if (clusters_open(&run->clusters, "capacity", &flags->tool, flags->driver, flags->timeout_ms,
                      &err) < 0 ||
        storage_class_dump_load(flags->classes, flags->driver, &run->dump, &err) < 0) {
        fprintf(stderr, "cephzone capacity: %s\n", err.message);
        return TOOL_BLIND;
    }
    for (size_t i = 0; i < run->dump.count; i++)
        look_at_class(run, &run->dump.items[i]);
    if (run->dump.count == 0)
        fprintf(stderr, "cephzone capacity: no class in '%s' has the provisioner '%s'\n",
                flags->classes, flags->driver);
    if (tool_prints_json(&flags->tool))
        print_json(run);
    else
        print_table(run);
    return run->clusters.code;
}

static int run_with_ceph(const struct capacity_flags *flags)
{
    struct capacity_run run = {.flags = flags};
    int code = run_all(&run);

    for (size_t i = 0; i < run.row_count; i++) {
        free(run.rows[i].cluster_id);
        free(run.rows[i].place);
        free(run.rows[i].pool);
        free(run.rows[i].data_pool);
    }
    free(run.rows);
    storage_class_dump_done(&run.dump);
    return clusters_close(&run.clusters, code);
}

static int check_flags(const struct capacity_flags *flags, struct error *err)
{
    if (tool_check_flags(&flags->tool, err) < 0)
        return -1;
    if (flags->classes[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "--classes is missing");
    if (flags->timeout_ms <= 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--timeout must be positive");
    return 0;
}

static void print_help(const struct flag *flags, size_t count)
{
    puts("Usage: cephzone capacity --config=FILE (--secrets=FILE | --keyring=FILE) --classes=FILE\n"
         "                         [flags]\n\n"
         "Prints how much room each StorageClass has in each place of its pools.\n"
         "Exit code: 0 all well, 1 something is wrong with a class, 2 bad command line, 3 could\n"
         "not look.\n\n"
         "  kubectl get storageclass -o json >classes.json\n"
         "  cephzone capacity --config=config.json --keyring=/etc/ceph/keyring "
         "--classes=classes.json\n");
    flags_print_usage(stdout, flags, count);
}

int command_capacity(int argc, char **argv)
{
    struct capacity_flags values = {
        .tool = TOOL_FLAGS_INIT,
        .classes = "",
        .driver = "rbd.csi.ceph.com",
        .timeout_ms = 60000,
    };
    const struct flag flags[] = {
        {"config", FLAG_STRING, &values.tool.config, "FILE", "the driver's config.json"},
        {"secrets", FLAG_STRING, &values.tool.secrets, "FILE", "JSON file with userID and userKey"},
        {"keyring", FLAG_STRING, &values.tool.keyring, "FILE",
         "Ceph keyring, instead of --secrets"},
        {"classes", FLAG_STRING, &values.classes, "FILE",
         "output of 'kubectl get storageclass -o json' or -o yaml"},
        {"driver", FLAG_STRING, &values.driver, "NAME", "whose classes to take from --classes"},
        {"o", FLAG_STRING, &values.tool.output, "FORMAT", "table or json"},
        {"timeout", FLAG_DURATION, &values.timeout_ms, NULL, "how long to wait for each cluster"},
    };
    _cleanup_error_ struct error err = {0};

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_help(flags, ARRAY_LENGTH(flags));
        return 0;
    }
    if (tool_parse_flags(flags, ARRAY_LENGTH(flags), argc, argv, &err) < 0 ||
        check_flags(&values, &err) < 0) {
        fprintf(stderr, "cephzone capacity: %s\n", err.message);
        return TOOL_USAGE;
    }
    return run_with_ceph(&values);
}
