/* cephzone settle: releases what this driver left half-made, so that Ceph-CSI can take over. The
 * logic is in controller/settle_names.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/usage/storage_class.h"
#include "controller/backend.h"
#include "controller/rbd/purge.h"
#include "controller/settle_names.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/live_cluster.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/tool.h"

#define TASKS_STOP_MS 5000

struct settle_flags {
    struct tool_flags tool;
    const char *cephfs_namespace;
    bool apply;
    bool move_names;
};

/* --- output --- */

static const char *kind_name(enum journal_kind kind)
{
    static const char *const names[] = {
        [JOURNAL_VOLUME] = "volume", [JOURNAL_SNAPSHOT] = "snapshot", [JOURNAL_GROUP] = "group"};

    return names[kind];
}

static void print_table(const struct settle_report *report)
{
    static const char *const titles[] = {"STATE", "KIND", "POOL", "NAME", "IMAGE", "REMARK"};
    _cleanup_columns_ struct columns columns = {.has_dashes = true};

    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    for (size_t i = 0; i < report->count; i++) {
        const struct settle_name *name = &report->names[i];

        columns_add(&columns, settle_state_text(name->state));
        columns_add(&columns, kind_name(name->kind));
        columns_take(&columns, xasprintf("%s/%s", name->cluster_id, name->pool));
        columns_add(&columns, name->name);
        columns_add(&columns, name->what);
        columns_add(&columns, name->remark);
    }
    if (report->count > 0)
        columns_write(&columns, stdout);
    printf("looked at %zu names; %zu are listed above", report->looked, report->count);
    if (report->foreign > 0)
        printf("; %zu incomplete ones are Ceph-CSI's own and stay", report->foreign);
    putchar('\n');
}

static void print_json(const struct settle_report *report)
{
    json_t *names = json_array();

    for (size_t i = 0; i < report->count; i++) {
        const struct settle_name *name = &report->names[i];

        json_array_append_new(names, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "state",
                                               settle_state_text(name->state), "kind",
                                               kind_name(name->kind), "cluster", name->cluster_id,
                                               "pool", name->pool, "name", name->name, "image",
                                               name->what, "remark", name->remark));
    }
    output_json(json_pack("{s:o, s:I, s:I}", "names", names, "looked", (json_int_t)report->looked,
                          "foreign", (json_int_t)report->foreign),
                stdout);
}

/* --- the command --- */

static int settle_cluster(const struct controller *controller, const struct settle_flags *flags,
                          const char *cluster_id, const struct credentials *credentials,
                          struct settle_report *report, struct error *err)
{
    const struct settle_options options = {
        .cluster_id = cluster_id,
        .credentials = credentials,
        .pools = &flags->tool.pools,
        .apply = flags->apply,
        .moves_names = flags->move_names,
    };
    struct call call;

    call_init(&call, 1, "settle", deadline_in_ms(flags->tool.timeout_ms));
    int result = settle_names(controller, &call, &options, report, err);
    call_done(&call);
    return result;
}

static int settle_clusters(const struct controller *controller, const struct settle_flags *flags,
                           struct settle_report *report, struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_config_ struct config *config = NULL;
    int result = 0;

    if (tool_read_credentials(&flags->tool, &credentials, err) < 0)
        return -1;
    if (flags->tool.cluster[0])
        return settle_cluster(controller, flags, flags->tool.cluster, &credentials, report, err);
    if (config_file_get(controller->config, &config, err) < 0)
        return -1;
    for (size_t i = 0; i < config_cluster_count(config) && result == 0; i++)
        result = settle_cluster(controller, flags, config_cluster_id(config, i), &credentials,
                                report, err);
    return result;
}

static bool is_settled(const struct settle_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->names[i].state != SETTLE_RELEASED && report->names[i].state != SETTLE_MOVED)
            return false;
    return true;
}

static int run_settle(const struct controller *controller, const struct settle_flags *flags)
{
    _cleanup_settle_report_ struct settle_report report = {0};
    _cleanup_error_ struct error err = {0};
    int result = settle_clusters(controller, flags, &report, &err);

    tasks_run_here(controller->tasks); /* the data of what was removed */
    if (result < 0 && report.count == 0)
        return tool_fail("settle", TOOL_BLIND, &err);
    if (tool_prints_json(&flags->tool))
        print_json(&report);
    else
        print_table(&report);
    if (result < 0)
        return tool_fail("settle", TOOL_BLIND, &err);
    return is_settled(&report) ? 0 : TOOL_FOUND;
}

static int check_driver(const struct settle_flags *flags, struct error *err)
{
    if (flags->move_names && storage_class_is_cephfs(flags->tool.driver))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--move-names: names of CephFS' volumes are where Ceph-CSI looks for "
                         "them; it is for RBD");
    return 0;
}

/* A controller of the driver, without a socket and without threads for background work. */
static int run_with_controller(void *values)
{
    struct settle_flags *flags = values;
    _cleanup_live_cluster_ struct live_cluster live = {0};
    _cleanup_error_ struct error err = {0};

    if (live_cluster_is_wanted(&flags->tool) &&
        (live_cluster_fill(&live, "settle", &flags->tool, NULL, &err) < 0 ||
         check_driver(flags, &err) < 0))
        return tool_fail("settle", TOOL_BLIND, &err);
    struct controller controller = {
        .backend = storage_class_is_cephfs(flags->tool.driver) ? &CEPHFS_BACKEND : &RBD_BACKEND,
        .ceph = ceph_new(&(struct ceph_options){0}),
        .config = config_file_new(flags->tool.config),
        .operations = operations_new(),
        .tasks = tasks_new(0),
        .purger = purger_new(0),
        .process_id = uuid_text_generate(),
        .instance_id = flags->tool.instance,
        .cephfs_namespace = flags->cephfs_namespace,
        .cluster_name = "",
    };
    int code = run_settle(&controller, flags);

    if (tasks_stop(controller.tasks, TASKS_STOP_MS))
        tasks_free(controller.tasks);
    purger_free(controller.purger);
    operations_free(controller.operations);
    config_file_free(controller.config);
    return tool_leave_ceph(controller.ceph, code);
}

static int check_flags(void *values, struct error *err)
{
    const struct settle_flags *flags = values;

    if ((!live_cluster_is_wanted(&flags->tool) && tool_check_cluster(&flags->tool, err) < 0) ||
        tool_check_output(flags->tool.output, TOOL_FORMATS("table", "json"), err) < 0 ||
        tool_check_timeout(&flags->tool, err) < 0)
        return -1;
    return check_driver(flags, err);
}

static const char HELP[] =
    "Usage: cephzone settle [--apply] [flags]\n"
    "       cephzone settle --config=FILE (--secrets=FILE | --keyring=FILE) [--apply] [flags]\n\n"
    "Lists request names that this driver has claimed and not completed, whose makers are\n"
    "dead or do something else. The driver's own retry would finish them; Ceph-CSI refuses\n"
    "them for ever. With --apply they are released: image or subvolume, journal entry and\n"
    "name go; nobody has their handles. Run it when the driver has ended and before Ceph-CSI\n"
    "starts. What Ceph-CSI began is left alone. Without files config.json and the Ceph user come\n"
    "from the live cluster.\n"
    "Exit code: 0 nothing is left, 1 there are such names, 2 bad command line, 3 a file or\n"
    "cluster could not be read.\n";

int command_settle(int argc, char **argv)
{
    struct settle_flags values = {.tool = TOOL_FLAGS_INIT(TOOL_SCAN_TIMEOUT_MS)};
    const struct flag flags[] = {
        TOOL_CLUSTER_FLAGS(values.tool),
        {"cluster", FLAG_STRING, &values.tool.cluster, "ID", "this cluster only"},
        {"pool", FLAG_STRING_LIST, &values.tool.pools, "NAME",
         "names in this pool only, for CephFS the metadata pool; default: all with a journal"},
        {"driver", FLAG_STRING, &values.tool.driver, "NAME",
         "whose names: of RBD, or of CephFS if it ends with cephfs.csi.ceph.com"},
        {"instanceid", FLAG_STRING, &values.tool.instance, NULL, "--instanceid of the driver"},
        {"radosnamespacecephfs", FLAG_STRING, &values.cephfs_namespace, NULL,
         "--radosnamespacecephfs of the driver"},
        {"apply", FLAG_BOOL, &values.apply, NULL, "do it; without, names are only listed"},
        {"move-names", FLAG_BOOL, &values.move_names, NULL,
         "RBD with places: also put names that are in the class's pool beside their volumes, where "
         "Ceph-CSI from 3.11 on looks for them"},
        TOOL_OUTPUT_FLAGS(values.tool.output, "table|json"),
        {"timeout", FLAG_DURATION, &values.tool.timeout_ms, NULL, "how long a cluster may take"},
        LIVE_CLUSTER_FLAGS(values.tool),
    };
    const struct tool_command command = {.name = "settle",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .check = check_flags,
                                         .run = run_with_controller};

    int code = tool_run(&command, argc, argv);
    string_list_done(&values.tool.pools);
    return code;
}
