/*
 * cephzone fsck: compares journal, images, trash and Kubernetes' volumes, and repairs what is safe
 * to repair. The logic is in controller/fsck/fsck.h; here are flags, files and questions.
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
#include "programs/cephzone/tool.h"

struct fsck_flags {
    struct tool_flags tool;
    const char *cluster;
    struct string_list pools;
    const char *instance;
    const char *pvs;
    const char *driver;
    int64_t min_age_ms;
    int64_t timeout_ms;
    bool scan;
    bool repair;
    bool yes;
};

/* What the run works on. */
struct fsck_run {
    const struct fsck_flags *flags;
    struct fsck_options options;
    struct credentials credentials;
    struct pv_dump pvs;
    struct fsck_report report;
    bool *repaired; /* of each finding */
};

/* --- files --- */

static int read_pvs(struct fsck_run *run, struct error *err)
{
    const char *path = run->flags->pvs;
    struct stat status;

    if (path[0] == '\0')
        return 0;
    if (stat(path, &status) < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    if (pv_dump_load(path, run->flags->driver, &run->pvs, err) < 0)
        return -1;
    run->options.pvs = &run->pvs;
    run->options.pvs_taken = status.st_mtime;
    return 0;
}

static int read_files(struct fsck_run *run, struct error *err)
{
    if (tool_read_credentials(&run->flags->tool, &run->credentials, err) < 0)
        return -1;
    return read_pvs(run, err);
}

/* --- looking and repairing --- */

static int look(struct fsck_run *run, struct error *err)
{
    struct call call;

    call_init(&call, 1, "fsck", deadline_in_ms(run->flags->timeout_ms));
    int result = fsck_look(&run->options, &call, &run->report, err);
    call_done(&call);
    return result;
}

static bool ask(const struct fsck_run *run, const struct fsck_finding *finding)
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

static void repair_one(struct fsck_run *run, size_t index)
{
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, index + 2, "fsck", deadline_in_ms(run->flags->timeout_ms));
    if (fsck_repair(&run->options, &call, &run->report.findings[index], &run->repaired[index],
                    &err) < 0)
        fprintf(stderr, "  failed: %s\n", err.message);
    else
        fputs(run->repaired[index] ? "  done\n" : "  has changed meanwhile; left alone\n", stderr);
    call_done(&call);
}

static void repair_all(struct fsck_run *run)
{
    for (size_t i = 0; i < run->report.count; i++) {
        const struct fsck_finding *finding = &run->report.findings[i];

        if (finding->repair.action != FSCK_NO_REPAIR && ask(run, finding))
            repair_one(run, i);
    }
}

static int exit_code(const struct fsck_run *run)
{
    for (size_t i = 0; i < run->report.count; i++)
        if (run->report.findings[i].severity > FSCK_NOTE && !run->repaired[i])
            return TOOL_FOUND;
    return 0;
}

static int run_all(struct fsck_run *run)
{
    _cleanup_error_ struct error err = {0};
    bool as_json = tool_prints_json(&run->flags->tool);

    if (read_files(run, &err) < 0 || look(run, &err) < 0) {
        fprintf(stderr, "cephzone fsck: %s\n", err.message);
        return TOOL_BLIND;
    }
    run->repaired = xcalloc(run->report.count + 1, sizeof(bool));
    if (!as_json)
        fsck_print_table(&run->report);
    if (run->flags->repair)
        repair_all(run);
    if (as_json)
        fsck_print_json(&run->report, run->repaired);
    return exit_code(run);
}

static int run_with_ceph(const struct fsck_flags *flags)
{
    struct fsck_run run = {
        .flags = flags,
        .options =
            {
                .ceph = ceph_new(&(struct ceph_options){0}),
                .config = config_file_new(flags->tool.config),
                .instance_id = flags->instance,
                .cluster_id = flags->cluster[0] ? flags->cluster : NULL,
                .pools = &flags->pools,
                .scan = flags->scan,
                .min_age_s = (flags->min_age_ms + 999) / 1000,
            },
    };

    run.options.credentials = &run.credentials;
    int code = run_all(&run);
    free(run.repaired);
    fsck_report_done(&run.report);
    pv_dump_done(&run.pvs);
    credentials_done(&run.credentials);
    config_file_free(run.options.config);
    return tool_leave_ceph(run.options.ceph, code);
}

/* --- command line --- */

static int check_flags(const struct fsck_flags *flags, struct error *err)
{
    if (tool_check_flags(&flags->tool, err) < 0)
        return -1;
    if (flags->min_age_ms < 0 || flags->timeout_ms <= 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--min-age must not be negative and --timeout must be positive");
    if (storage_class_is_cephfs(flags->driver))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--driver '%s': fsck knows the journals of RBD; those of CephFS, in the "
                         "metadata pools, are not looked at",
                         flags->driver);
    if (flags->yes && !flags->repair)
        return error_set(err, STATUS_INVALID_ARGUMENT, "--yes makes sense only with --repair");
    if (flags->repair && !flags->yes && !isatty(STDIN_FILENO))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--repair asks before each repair, but standard input is no terminal; "
                         "--yes answers yes to all");
    return 0;
}

static void print_help(const struct flag *flags, size_t count)
{
    puts("Usage: cephzone fsck --config=FILE (--secrets=FILE | --keyring=FILE) [flags]\n\n"
         "Compares RBD's journal with images, trash and, given a dump, Kubernetes' volumes;\n"
         "reports what does not fit, its likely cause and what would help. Writes nothing without\n"
         "--repair. CephFS' journals are not looked at.\n"
         "Exit code: 0 nothing but notes, 1 findings, 2 bad command line, 3 could not look.\n\n"
         "  kubectl get pv -o json >pvs.json\n"
         "  cephzone fsck --config=config.json --keyring=/etc/ceph/keyring --pvs=pvs.json\n");
    flags_print_usage(stdout, flags, count);
}

static int run_command(struct fsck_flags *values, int argc, char **argv)
{
    const struct flag flags[] = {
        {"config", FLAG_STRING, &values->tool.config, "FILE", "the driver's config.json"},
        {"secrets", FLAG_STRING, &values->tool.secrets, "FILE",
         "JSON file with userID and userKey"},
        {"keyring", FLAG_STRING, &values->tool.keyring, "FILE",
         "Ceph keyring, instead of --secrets"},
        {"cluster", FLAG_STRING, &values->cluster, "ID", "look at this cluster only"},
        {"pool", FLAG_STRING_LIST, &values->pools, "NAME",
         "look at this pool and those that its names lead to; default: all pools with "
         "a journal"},
        {"instanceid", FLAG_STRING, &values->instance, NULL, "--instanceid of the driver"},
        {"pvs", FLAG_STRING, &values->pvs, "FILE", "output of 'kubectl get pv -o json'"},
        {"driver", FLAG_STRING, &values->driver, "NAME", "whose PVs to take from --pvs"},
        {"o", FLAG_STRING, &values->tool.output, "FORMAT", "table or json"},
        {"scan", FLAG_BOOL, &values->scan, NULL,
         "go over all objects of the pools; without, objects that have neither name nor image are "
         "not found"},
        {"min-age", FLAG_DURATION, &values->min_age_ms, NULL,
         "what is younger may be under way and is not repaired"},
        {"timeout", FLAG_DURATION, &values->timeout_ms, NULL, "how long to look"},
        {"repair", FLAG_BOOL, &values->repair, NULL, "offer to repair what is safe to repair"},
        {"yes", FLAG_BOOL, &values->yes, NULL, "repair without asking"},
    };
    _cleanup_error_ struct error err = {0};

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_help(flags, ARRAY_LENGTH(flags));
        return 0;
    }
    if (tool_parse_flags(flags, ARRAY_LENGTH(flags), argc, argv, &err) < 0 ||
        check_flags(values, &err) < 0) {
        fprintf(stderr, "cephzone fsck: %s\n", err.message);
        return TOOL_USAGE;
    }
    return run_with_ceph(values);
}

int command_fsck(int argc, char **argv)
{
    struct fsck_flags values = {
        .tool = TOOL_FLAGS_INIT,
        .cluster = "",
        .instance = "default",
        .pvs = "",
        .driver = "rbd.csi.ceph.com",
        .min_age_ms = 300000,
        .timeout_ms = 600000,
        .scan = true,
    };
    int code = run_command(&values, argc, argv);

    string_list_done(&values.pools);
    return code;
}
