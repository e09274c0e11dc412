/* cephzone check: is the cluster ready for this driver, and for the way back? The logic is in
 * programs/cephzone/check/check.h; here are flags and where things are read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/library_version.h"
#include "common/config/class_parameters.h"
#include "common/config/session.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"
#include "common/kube/kube_client.h"
#include "programs/cephzone/cephzone.h"
#include "programs/cephzone/check/check.h"
#include "programs/cephzone/check/check_print.h"
#include "programs/cephzone/object_source.h"
#include "programs/cephzone/tool.h"

struct check_flags {
    struct object_flags objects;
    struct tool_flags tool;
    const char *caps;
    const char *library;
};

static int read_live(const struct check_flags *flags, struct check_world *world, struct error *err)
{
    _cleanup_kube_config_ struct kube_config config = {0};
    struct call call;

    if (kube_config_load(flags->objects.kubeconfig, flags->objects.context, &config, err) < 0)
        return -1;
    _cleanup_(kube_freep) struct kube *kube = kube_client_new(&config);
    call_init(&call, 1, "check", deadline_in_ms(flags->tool.timeout_ms));
    int result = check_world_list(world, kube, &call, err);
    call_done(&call);
    return result;
}

static int read_objects(const struct check_flags *flags, struct check_world *world,
                        struct error *err)
{
    if (flags->objects.from[0] == '\0')
        return read_live(flags, world, err);
    if (objects_each_document(flags->objects.from, check_world_read, world, err) < 0)
        return -1;
    check_world_settle(world);
    if (cluster_count(&world->cluster, KUBE_CLASS) == 0 &&
        cluster_count(&world->cluster, KUBE_CSI_DRIVER) == 0 && world->workload_count == 0)
        return error_set(err, STATUS_NOT_FOUND,
                         "'%s' has neither StorageClasses nor CSIDrivers nor workloads",
                         flags->objects.from);
    return 0;
}

/* --- the users of Ceph --- */

static int ask_cluster(const struct check_flags *flags, struct ceph *ceph,
                       struct config_file *config, const char *cluster_id,
                       struct check_world *world, struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_session_ struct session session = {0};
    _cleanup_free_ char *reply = NULL;
    json_auto_t *users = NULL;
    struct call call;

    if (tool_read_credentials(&flags->tool, &credentials, err) < 0)
        return -1;
    call_init(&call, 2, "check", deadline_in_ms(flags->tool.timeout_ms));
    int result = session_open(ceph, config, &call, cluster_id, &credentials, &session, err);
    if (result == 0)
        result = session.cluster->ops->mon_command(
            session.cluster, &call, "{\"prefix\": \"auth ls\", \"format\": \"json\"}", &reply, err);
    call_done(&call);
    if (result < 0 || !reply)
        return result;
    result = json_load_large(reply, strlen(reply), "auth ls", &users, err);
    explicit_bzero(reply, strlen(reply)); /* it has the keys of all users */
    return result < 0 ? -1 : check_world_add_caps(world, users, err);
}

/* A cluster that cannot be asked is a gap: the rest of the report counts all the same. */
static void ask_clusters(const struct check_flags *flags, struct ceph *ceph,
                         struct check_world *world)
{
    _cleanup_(config_file_freep) struct config_file *config = config_file_new(flags->tool.config);
    _cleanup_string_list_ struct string_list asked = {0};

    for (size_t i = 0; i < cluster_count(&world->cluster, KUBE_CLASS); i++) {
        const struct kube_class *class = cluster_at(&world->cluster, KUBE_CLASS, i);
        const char *id = class_parameter_get(&class->parameters, PARAM_CLUSTER_ID);
        _cleanup_error_ struct error err = {0};

        if (!check_driver_is_ceph(kube_or_empty(class->provisioner)) || !id ||
            string_list_has(&asked, id))
            continue;
        string_list_add(&asked, id);
        if (ask_cluster(flags, ceph, config, id, world, &err) < 0) {
            _cleanup_free_ char *what = xasprintf("users of cluster '%s'", id);

            check_world_add_gap(world, what, err.message);
        }
    }
}

static int read_caps(const struct check_flags *flags, struct ceph *ceph, struct check_world *world,
                     struct error *err)
{
    json_auto_t *users = NULL;

    if (flags->tool.config[0] != '\0')
        ask_clusters(flags, ceph, world);
    if (flags->caps[0] == '\0')
        return 0;
    if (json_load_path(flags->caps, JSON_TEXT_LIMIT, &users, err) < 0)
        return -1;
    return check_world_add_caps(world, users, err) < 0 ? error_wrap(err, "'%s'", flags->caps) : 0;
}

/* --- the command --- */

static int check_flags(void *values, struct error *err)
{
    const struct check_flags *flags = values;

    if (tool_check_output(flags->objects.output, TOOL_FORMATS("table", "json"), err) < 0 ||
        tool_check_timeout(&flags->tool, err) < 0)
        return -1;
    if (flags->tool.config[0] == '\0' && flags->tool.keyring[0] == '\0' &&
        flags->tool.secrets[0] == '\0')
        return 0;
    if (flags->caps[0] != '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "--caps and --config exclude each other: the users come from one of them");
    return tool_check_cluster(&flags->tool, err);
}

static int judge_cluster(const struct check_flags *flags, struct ceph *ceph)
{
    _cleanup_check_world_ struct check_world world = {
        .library_version = flags->library[0] ? flags->library : ceph_library_version()};
    _cleanup_check_report_ struct check_report report = {0};
    _cleanup_error_ struct error err = {0};

    if (read_objects(flags, &world, &err) < 0 || read_caps(flags, ceph, &world, &err) < 0)
        return tool_fail("check", TOOL_BLIND, &err);
    check_run(&world, &report);
    if (strcmp(flags->objects.output, "json") == 0)
        check_print_json(&report, stdout);
    else
        check_print_table(&report, stdout);
    return report.counts[CHECK_FAIL] > 0 ? TOOL_FOUND : 0;
}

static int run_check(void *values)
{
    const struct check_flags *flags = values;
    struct ceph *ceph = flags->tool.config[0] ? ceph_new(&(struct ceph_options){0}) : NULL;

    return tool_leave_ceph(ceph, judge_cluster(flags, ceph));
}

static const char HELP[] =
    "Usage: cephzone check [--from=FILE|FOLDER] [--caps=FILE] [flags]\n\n"
    "Looks at a cluster before a switch from Ceph-CSI to this driver, or back, whichever of\n"
    "the two runs: drivers, images and flags, CSIDrivers, finalizers, nodes, classes, Secrets,\n"
    "key types and, given --caps or --config, the Ceph users. Writes nothing.\n"
    "Exit code: 0 nothing fails (there may be warnings), 1 something does, 2 bad command line,\n"
    "3 the cluster could not be read.\n\n"
    "  kubectl get deployments,daemonsets,nodes,pv,sc,csidrivers,csinodes,\\\n"
    "      csistoragecapacities,volumeattachments,volumesnapshotclasses -A -o json >cluster.json\n"
    "  ceph auth ls --format json >caps.json\n"
    "  cephzone check --from=cluster.json --caps=caps.json\n";

int command_check(int argc, char **argv)
{
    struct check_flags values = {.objects = {.output = "table"},
                                 .tool = TOOL_FLAGS_INIT(TOOL_TIMEOUT_MS)};
    const struct flag flags[] = {
        OBJECT_SOURCE_FLAGS(values.objects),
        TOOL_OUTPUT_FLAGS(values.objects.output, "table|json"),
        {"caps", FLAG_STRING, &values.caps, "FILE",
         "output of 'ceph auth ls --format json', to look at the caps of the Ceph users"},
        TOOL_CLUSTER_FLAGS(values.tool),
        {"librados", FLAG_STRING, &values.library, "VERSION",
         "of the driver's image, to judge key types; by default that of this tool"},
        {"timeout", FLAG_DURATION, &values.tool.timeout_ms, NULL, "how long one cluster may take"},
    };
    const struct tool_command command = {.name = "check",
                                         .help = HELP,
                                         .flags = flags,
                                         .count = ARRAY_LENGTH(flags),
                                         .values = &values,
                                         .check = check_flags,
                                         .run = run_check};

    return tool_run(&command, argc, argv);
}
