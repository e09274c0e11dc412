/*
 * cephzone capacity: how much room each StorageClass has in each place. Decoding and arithmetic are
 * in common/volume/{storage_class,cluster_usage}.h and common/topology/room.h; here are flags,
 * questions to the clusters and printing. A cluster is asked once, however many classes it serves.
 * One that does not answer, or a class that makes no sense, costs its own rows only.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/volume/cluster_usage.h"
#include "common/volume/session.h"
#include "common/volume/storage_class.h"
#include "programs/cephzone.h"
#include "programs/tool.h"

struct capacity_flags {
    struct tool_flags tool;
    const char *classes;
    const char *driver;
    int64_t timeout_ms;
};

/* What a cluster said, or that it said nothing. */
struct asked_cluster {
    char *id;
    struct cluster_usage usage;
    bool failed;
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
    struct ceph *ceph;
    struct config_file *config;
    struct credentials credentials;
    struct storage_class_dump dump;
    struct asked_cluster *clusters;
    size_t cluster_count;
    struct capacity_row *rows;
    size_t row_count;
    struct string_list errors;
    int code;
};

/* --- looking ------------------------------------------------------------------------------------
 */

/* Tells of a failure that does not end the run. */
static void report(struct capacity_run *run, int code, const char *kind, const char *name,
                   const char *message)
{
    _cleanup_free_ char *text = xasprintf("%s '%s': %s", kind, name, message);

    fprintf(stderr, "cephzone capacity: %s\n", text);
    string_list_add(&run->errors, text);
    if (code > run->code)
        run->code = code;
}

static int ask_cluster(struct capacity_run *run, const char *id, struct cluster_usage *usage,
                       struct error *err)
{
    struct session session = {0};
    struct call call;

    call_init(&call, run->cluster_count, "capacity", deadline_in_ms(run->flags->timeout_ms));
    int result = session_open(run->ceph, run->config, &call, id, &run->credentials, &session, err);
    if (result == 0)
        result = cluster_usage_ask(session.cluster, &call, usage, err);
    session_close(&session);
    call_done(&call);
    return result;
}

static const struct asked_cluster *find_cluster(struct capacity_run *run, const char *id)
{
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < run->cluster_count; i++)
        if (strcmp(run->clusters[i].id, id) == 0)
            return &run->clusters[i];
    run->clusters = xreallocarray(run->clusters, run->cluster_count + 1, sizeof(*run->clusters));
    struct asked_cluster *cluster = &run->clusters[run->cluster_count++];
    *cluster = (struct asked_cluster){.id = xstrdup(id)};
    if (ask_cluster(run, id, &cluster->usage, &err) < 0) {
        cluster->failed = true;
        report(run, TOOL_BLIND, "cluster", id, err.message);
    }
    return cluster;
}

/* The room of one place: that of the data pool where there is one. */
static void look_at_place(struct capacity_run *run, const struct storage_class *class,
                          const struct pool_entry *entry)
{
    const char *cluster_id = entry->cluster_id ? entry->cluster_id : class->pools.cluster_id;
    const struct asked_cluster *cluster = find_cluster(run, cluster_id);

    if (cluster->failed)
        return;
    const struct cluster_pool *pool = cluster_usage_find(&cluster->usage, entry->pool);
    const struct cluster_pool *data =
        entry->data_pool ? cluster_usage_find(&cluster->usage, entry->data_pool) : pool;
    run->rows = xreallocarray(run->rows, run->row_count + 1, sizeof(*run->rows));
    struct capacity_row *row = &run->rows[run->row_count++];
    *row = (struct capacity_row){
        .class = class,
        .cluster_id = xstrdup(cluster_id),
        .place = pool_entry_place(entry),
        .pool = xstrdup(entry->pool),
        .data_pool = entry->data_pool ? xstrdup(entry->data_pool) : NULL,
        .room = {.remark = pool ? "no such data pool" : "no such pool"},
    };
    if (pool && data) {
        row->room = room_of_pool(&data->usage, NULL, 0);
        row->used_bytes = data->usage.stored_bytes;
        row->quota_bytes = data->usage.quota_bytes;
    } else if (run->code == 0) {
        run->code = TOOL_FOUND;
    }
}

static void look_at_entries(struct capacity_run *run, const struct storage_class *class,
                            const struct pool_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        look_at_place(run, class, &entries->items[i]);
}

static void look_at_class(struct capacity_run *run, const struct storage_class *class)
{
    if (class->fault) {
        report(run, TOOL_FOUND, "class", class->name, class->fault);
        return;
    }
    if (class->pools.pool) {
        struct pool_entry plain = class_pools_plain(&class->pools);

        look_at_place(run, class, &plain);
        pool_entry_done(&plain);
    }
    look_at_entries(run, class, &class->pools.entries);
    if (class->pools.is_auto) {
        _cleanup_pool_entries_ struct pool_entries found = {0};
        const struct asked_cluster *cluster = find_cluster(run, class->pools.cluster_id);

        class_pools_find(&class->pools, &cluster->usage, NULL, &found);
        look_at_entries(run, class, &found);
    }
}

/* --- printing -----------------------------------------------------------------------------------
 */

enum column {
    COLUMN_CLASS,
    COLUMN_DOMAIN,
    COLUMN_POOL,
    COLUMN_DATA_POOL,
    COLUMN_ROOM,
    COLUMN_USED,
    COLUMN_QUOTA,
    COLUMN_COUNT
};

static const char *const TITLES[] = {"CLASS", "DOMAIN", "POOL", "DATA POOL",
                                     "ROOM",  "USED",   "QUOTA"};

static char *cell(const struct capacity_row *row, enum column column)
{
    switch (column) {
    case COLUMN_CLASS:
        return xstrdup(row->class->name);
    case COLUMN_DOMAIN:
        return xstrdup(row->place);
    case COLUMN_POOL:
        return xstrdup(row->pool);
    case COLUMN_DATA_POOL:
        return xstrdup(row->data_pool ? row->data_pool : "-");
    case COLUMN_ROOM:
        return text_size(row->room.bytes);
    case COLUMN_USED:
        return text_size(row->used_bytes);
    default:
        return row->quota_bytes ? text_size(row->quota_bytes) : xstrdup("-");
    }
}

static void print_cell(enum column column, const char *text, size_t width)
{
    /* sizes to the right, names to the left */
    printf(column >= COLUMN_ROOM ? "%*s  " : "%-*s  ", (int)width, text);
}

static void print_table(const struct capacity_run *run)
{
    size_t widths[COLUMN_COUNT];

    for (int column = 0; column < COLUMN_COUNT; column++) {
        widths[column] = strlen(TITLES[column]);
        for (size_t i = 0; i < run->row_count; i++) {
            _cleanup_free_ char *text = cell(&run->rows[i], (enum column)column);

            if (strlen(text) > widths[column])
                widths[column] = strlen(text);
        }
        print_cell((enum column)column, TITLES[column], widths[column]);
    }
    puts("REMARK");
    for (size_t i = 0; i < run->row_count; i++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            _cleanup_free_ char *text = cell(&run->rows[i], (enum column)column);

            print_cell((enum column)column, text, widths[column]);
        }
        puts(run->rows[i].room.remark);
    }
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
    for (size_t i = 0; i < run->errors.count; i++)
        json_array_append_new(errors, json_string(run->errors.items[i]));
    json_auto_t *root = json_pack("{s:o, s:o}", "rows", rows, "errors", errors);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
}

/* --- the run ------------------------------------------------------------------------------------
 */

static int run_all(struct capacity_run *run)
{
    _cleanup_error_ struct error err = {0};
    const struct capacity_flags *flags = run->flags;

    if (tool_read_credentials(&flags->tool, &run->credentials, &err) < 0 ||
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
    return run->code;
}

static int run_with_ceph(const struct capacity_flags *flags)
{
    struct capacity_run run = {
        .flags = flags,
        .ceph = ceph_new(&(struct ceph_options){0}),
        .config = config_file_new(flags->tool.config),
    };
    int code = run_all(&run);

    for (size_t i = 0; i < run.cluster_count; i++) {
        cluster_usage_done(&run.clusters[i].usage);
        free(run.clusters[i].id);
    }
    free(run.clusters);
    for (size_t i = 0; i < run.row_count; i++) {
        free(run.rows[i].cluster_id);
        free(run.rows[i].place);
        free(run.rows[i].pool);
        free(run.rows[i].data_pool);
    }
    free(run.rows);
    string_list_done(&run.errors);
    storage_class_dump_done(&run.dump);
    credentials_done(&run.credentials);
    config_file_free(run.config);
    return tool_leave_ceph(run.ceph, code);
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
         "output of 'kubectl get storageclass -o json'"},
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
