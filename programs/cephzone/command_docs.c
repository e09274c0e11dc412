/* cephzone docs: tables of the pages in docs/, for docs/generate alone. */
#include "programs/cephzone/cephzone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/config/class_parameters.h"
#include "programs/cephcsi/options.h"

static void print_calls(unsigned calls)
{
    static const struct {
        enum class_call call;
        const char *name;
    } names[] = {
        {CLASS_CREATE_VOLUME, "CreateVolume"},
        {CLASS_CREATE_SNAPSHOT, "CreateSnapshot"},
        {CLASS_CREATE_GROUP, "CreateVolumeGroupSnapshot"},
        {CLASS_MODIFY_VOLUME, "ControllerModifyVolume"},
        {CLASS_STAGE_VOLUME, "NodeStageVolume"},
    };
    const char *separator = "";

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (calls & names[i].call) {
            printf("%s%s", separator, names[i].name);
            separator = ", ";
        }
}

static void print_parameters(void)
{
    size_t count = 0;
    const struct class_parameter *table = class_parameters(&count);

    puts("| parameter | driver | calls that take it | values | default | meaning |\n"
         "| --- | --- | --- | --- | --- | --- |");
    for (size_t i = 0; i < count; i++) {
        const struct class_parameter *row = &table[i];

        printf("| `%s%s` | %s | ", row->key, row->is_family ? "..." : "",
               row->drivers == CLASS_ANY_DRIVER ? "both"
               : row->drivers == CLASS_RBD      ? "rbd"
                                                : "cephfs");
        print_calls(row->calls);
        printf(" | %s | %s%s%s | %s |\n", row->values, row->fallback ? "`" : "",
               row->fallback ? row->fallback : "", row->fallback ? "`" : "", row->help);
    }
}

/* --- Ceph-CSI's flags --- */

/* Each with a value that is not its default. */
static const char *const CEPH_CSI_FLAGS[] = {
    "--type=rbd",
    "--type=cephfs",
    "--type=liveness",
    "--type=controller",
    "--type=nfs",
    "--type=nvmeof",
    "--endpoint=unix:///csi/csi.sock",
    "--csi-addons-endpoint=unix:///csi/csi-addons.sock",
    "--drivername=rook-ceph.rbd.csi.ceph.com",
    "--drivernamespace=rook-ceph",
    "--nodeid=node-1",
    "--controllerserver=true",
    "--nodeserver=true",
    "--instanceid=i1",
    "--clustername=c1",
    "--setmetadata=true",
    "--enable-fencing=true",
    "--domainlabels=topology.kubernetes.io/zone",
    "--enable-read-affinity=true",
    "--crush-location-labels=topology.kubernetes.io/zone",
    "--forcecephkernelclient=true",
    "--kernelmountoptions=ms_mode=secure",
    "--fusemountoptions=debug",
    "--radosnamespacecephfs=csi2",
    "--metricsport=8681",
    "--metricspath=/m",
    "--polltime=30s",
    "--timeout=5s",
    "--logslowopinterval=60s",
    "--rbdhardmaxclonedepth=6",
    "--rbdhardmaxclonedepth=15",
    "--rbdsoftmaxclonedepth=3",
    "--maxsnapshotsonimage=400",
    "--maxsnapshotsonimage=501",
    "--minsnapshotsonimage=200",
    "--skipforceflatten=true",
    "--feature-gates=SlowGRPCRestart=false",
    "--pidlimit=-1",
    "--automaxprocs=true",
    "--pluginpath=/data/plugins",
    "--stagingpath=/data/csi",
    "--enableprofiling=true",
    "--enablegrpcmetrics=true",
    "--histogramoption=1,2,3",
    "--metadatastorage=k8s_configmap",
    "--mountcachedir=/cache",
    "--v=5",
    "--logtostderr=false",
    "--alsologtostderr=true",
    "--log_file=csi-logs/csi-rbdplugin.log",
    "--log_dir=/tmp",
    "--log_file_max_size=100",
    "--log_backtrace_at=a.go:1",
    "--stderrthreshold=1",
    "--vmodule=a=1",
    "--skip_headers=true",
    "--skip_log_headers=true",
    "--add_dir_header=true",
    "--one_output=true",
};

struct flag_verdict {
    enum option_use use;
    char *reason;
};

static void keep_verdict(void *context, enum option_use use, const char *flag, const char *reason)
{
    struct flag_verdict *verdict = context;

    (void)flag;
    if (use <= verdict->use)
        return;
    free(verdict->reason);
    *verdict = (struct flag_verdict){use, xstrdup(reason)};
}

/* Each flag by itself, beside what every line has. */
static void print_flags(void)
{
    static const char *const uses[] = {
        [OPTION_USED] = "used",
        [OPTION_IGNORED] = "accepted without effect, with a warning",
        [OPTION_REFUSED] = "refused",
    };

    puts("| flag of Ceph-CSI, for example | here | why |\n| --- | --- | --- |");
    for (size_t i = 0; i < ARRAY_LENGTH(CEPH_CSI_FLAGS); i++) {
        _cleanup_free_ char *flag = xstrdup(CEPH_CSI_FLAGS[i]);
        char program[] = "cephcsi";
        char type[] = "--type=rbd";
        char node[] = "--nodeid=n";
        char *argv[] = {program, type, node, flag, NULL};
        struct flag_verdict verdict = {OPTION_USED, NULL};
        struct options options;

        options_judge(&options, ARRAY_LENGTH(argv) - 1, argv, keep_verdict, &verdict);
        printf("| `%s` | %s | %s |\n", flag, uses[verdict.use],
               verdict.reason ? verdict.reason : "");
        free(verdict.reason);
    }
}

int command_docs(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "parameters") == 0)
        print_parameters();
    else if (argc == 2 && strcmp(argv[1], "flags") == 0)
        print_flags();
    else {
        fputs("Usage: cephzone docs parameters|flags\n", stderr);
        return 2;
    }
    return 0;
}
