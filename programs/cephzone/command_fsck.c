/*
 * cephzone fsck: compares journal, images, trash and Kubernetes' volumes, and repairs what is safe
 * to repair. The logic is in controller/fsck/fsck.h; here are flags, files and confirmations.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "common/ceph/ceph.h"
#include "common/usage/storage_class.h"
#include "controller/fsck/fsck.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/fsck_print.h"
#include "programs/cephzone/live_cluster.h"
#include "programs/cephzone/tool.h"

struct fsck_flags {
    struct tool_flags tool;
    const char *pvs;
    int64_t min_age_ms;
    bool scan;
    bool repair;
    bool yes;
};

struct fsck_run {
    const struct fsck_flags *flags;
    struct fsck_options options;
    struct credentials credentials;
    struct pv_dump pvs;
    struct fsck_report report;
    bool *repaired; /* of each finding */
};

static int read_files(struct fsck_run *run, struct error *err)
{
    const char *path = run->flags->pvs;
    struct stat status;

    if (tool_read_credentials(&run->flags->tool, &run->credentials, err) < 0)
        return -1;
    if (path[0] == '\0')
        return 0;
    if (stat(path, &status) < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    if (pv_dump_load(path, run->flags->tool.driver, &run->pvs, err) < 0)
        return -1;
    run->options.pvs = &run->pvs;
    run->options.pvs_taken = status.st_mtime;
    return 0;
}

static bool confirm_repair(const struct fsck_run *run, const struct fsck_finding *finding)
{
    char answer[16];

    fprintf(stderr, "%s '%s' in pool '%s': %s?", fsck_kind_name(finding->kind), finding->object,
            finding->pool, fsck_action_text(finding->repair.action));
    if (run->flags->yes) {
        fputs(" yes\n", stderr);
        return true;
    }
    fputs(" [y/N] ", stderr);
    if (!fgets(answer, sizeof(answer), stdin))
        return false;
    return answer[0] == 'y' || answer[0] == 'Y';
}

static void repair_finding(struct fsck_run *run, size_t index)
{
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, index + 2, "fsck", deadline_in_ms(run->flags->tool.timeout_ms));
    if (fsck_repair(&run->options, &call, &run->report.findings[index], &run->repaired[index],
                    &err) < 0)
        fprintf(stderr, "  failed: %s\n", err.message);
    else
        fputs(run->repaired[index] ? "  done\n" : "  has changed meanwhile; left alone\n", stderr);
    call_done(&call);
}

static int check_pools(struct fsck_run *run)
{
    _cleanup_error_ struct error err = {0};
    const struct fsck_report *report = &run->report;
    bool as_json = tool_prints_json(&run->flags->tool);
    struct call call;
    int code = 0;

    call_init(&call, 1, "fsck", deadline_in_ms(run->flags->tool.timeout_ms));
    int result =
        read_files(run, &err) < 0 ? -1 : fsck_scan(&run->options, &call, &run->report, &err);
    call_done(&call);
    if (result < 0)
        return tool_fail("fsck", TOOL_BLIND, &err);
    run->repaired = xcalloc(report->count + 1, sizeof(bool));
    if (!as_json)
        fsck_print_table(report);
    for (size_t i = 0; i < report->count; i++) {
        const struct fsck_finding *finding = &report->findings[i];

        if (run->flags->repair && finding->repair.action != FSCK_NO_REPAIR &&
            confirm_repair(run, finding))
            repair_finding(run, i);
        if (finding->severity > FSCK_NOTE && !run->repaired[i])
            code = TOOL_FOUND;
    }
    if (as_json)
        fsck_print_json(report, run->repaired);
    return code;
}

/* Without a file all comes from the live cluster. */
static bool is_live(const struct fsck_flags *flags)
{
    return live_cluster_is_wanted(&flags->tool) && flags->pvs[0] == '\0';
}

static int check_driver(const struct fsck_flags *flags, struct error *err)
{
    if (storage_class_is_cephfs(flags->tool.driver))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--driver '%s': fsck knows the journals of RBD; those of CephFS, in the "
                         "metadata pools, are not looked at",
                         flags->tool.driver);
    return 0;
}

static int run_fsck(void *values)
{
    struct fsck_flags *flags = values;
    _cleanup_live_cluster_ struct live_cluster live = {0};
    _cleanup_error_ struct error err = {0};

    if (is_live(flags) && (live_cluster_fill(&live, "fsck", &flags->tool, &flags->pvs, &err) < 0 ||
                           check_driver(flags, &err) < 0))
        return tool_fail("fsck", TOOL_BLIND, &err);
    struct fsck_run run = {
        .flags = flags,
        .options =
            {
                .ceph = ceph_new(&(struct ceph_options){0}),
                .config = config_file_new(flags->tool.config),
                .instance_id = flags->tool.instance,
                .cluster_id = flags->tool.cluster[0] ? flags->tool.cluster : NULL,
                .pools = &flags->tool.pools,
                .scan = flags->scan,
                .min_age_s = (flags->min_age_ms + 999) / 1000,
            },
    };

    run.options.credentials = &run.credentials;
    int code = check_pools(&run);
    free(run.repaired);
    fsck_report_done(&run.report);
    pv_dump_done(&run.pvs);
    credentials_done(&run.credentials);
    config_file_free(run.options.config);
    return tool_leave_ceph(run.options.ceph, code);
}

static int check_flags(void *values, struct error *err)
{
    const struct fsck_flags *flags = values;

    if ((!is_live(flags) && tool_check_cluster(&flags->tool, err) < 0) ||
        tool_check_output(flags->tool.output, TOOL_FORMATS("table", "json"), err) < 0)
        return -1;
    if (flags->min_age_ms < 0 || flags->tool.timeout_ms <= 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--min-age must not be negative and --timeout must be positive");
    if (check_driver(flags, err) < 0)
        return -1;
    if (flags->yes && !flags->repair)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--yes makes sense only with --repair");
    if (flags->repair && !flags->yes && !isatty(STDIN_FILENO))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--repair asks before each repair, but standard input is no terminal; "
                         "--yes answers yes to all");
    return 0;
}

static const char HELP[] =
    "Usage: cephzone fsck [flags]\n"
    "       cephzone fsck --config=FILE (--secrets=FILE | --keyring=FILE) [--pvs=FILE] [flags]\n\n"
    "Compares RBD's journal with images, trash and, given a dump, Kubernetes' volumes;\n"
    "reports what does not fit, its likely cause and what would help. Writes nothing without\n"
    "--repair. CephFS' journals are not checked. Without files config.json, the Ceph user and the\n"
    "volumes come from the live cluster.\n"
    "Exit code: 0 nothing but notes, 1 findings, 2 bad command line, 3 a file or cluster could\n"
    "not be read.\n\n"
    "  kubectl cephzone fsck\n"
    "  kubectl get pv -o json >pvs.json\n"
    "  cephzone fsck --config=config.json --keyring=/etc/ceph/keyring --pvs=pvs.json\n";

int command_fsck(int argc, char **argv)
{
    struct fsck_flags values = {
        .tool = TOOL_FLAGS_INIT(TOOL_SCAN_TIMEOUT_MS),
        .min_age_ms = 300000,
        .scan = true,
    };
    const struct flag flags[] = {
        TOOL_CLUSTER_FLAGS(values.tool),
        {"cluster", FLAG_STRING, &values.tool.cluster, "ID", "check this cluster only"},
        {"pool", FLAG_STRING_LIST, &values.tool.pools, "NAME",
         "check this pool and those that its names lead to; default: all pools with a journal"},
        {"instanceid", FLAG_STRING, &values.tool.instance, NULL, "--instanceid of the driver"},
        {"pvs", FLAG_STRING, &values.pvs, "FILE", "output of 'kubectl get pv -o json'"},
        {"driver", FLAG_STRING, &values.tool.driver, "NAME", "whose PVs to take from --pvs"},
        TOOL_OUTPUT_FLAGS(values.tool.output, "table|json"),
        {"scan", FLAG_BOOL, &values.scan, NULL,
         "go over all objects of the pools; without, objects that have neither name nor image are "
         "not found"},
        {"min-age", FLAG_DURATION, &values.min_age_ms, NULL,
         "what is younger may be under way and is not repaired"},
        {"timeout", FLAG_DURATION, &values.tool.timeout_ms, NULL, "how long the check may take"},
        {"repair", FLAG_BOOL, &values.repair, NULL, "offer to repair what is safe to repair"},
        {"yes", FLAG_BOOL, &values.yes, NULL, "repair without asking"},
        LIVE_CLUSTER_FLAGS(values.tool),
    };
    const struct tool_command command = {.name = "fsck",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .check = check_flags,
                                         .run = run_fsck};

    int code = tool_run(&command, argc, argv);
    string_list_done(&values.tool.pools);
    return code;
}
