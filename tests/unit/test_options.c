/*
 * The driver's command line. Each row of LINES is what one deployment of Ceph-CSI passes to one of
 * its containers, with the longest set of options that it can be made to pass: each must be taken.
 */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "programs/cephcsi/options.h"
#include "tests/test.h"
#include "tests/unit/fixtures/files.h"

#define ARGUMENTS 64

/* @line at its spaces, "cephcsi" first. The words point into *@copy, which the caller frees. */
static int split(const char *line, char **copy, char *argv[ARGUMENTS])
{
    static char program[] = "cephcsi";
    char *rest = NULL;
    int argc = 0;

    *copy = xstrdup(line);
    argv[argc++] = program;
    for (char *word = strtok_r(*copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(argc < ARGUMENTS - 1);
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return argc;
}

/* What options_read() returns; *@text, if wanted, is what it wrote to @stream. Caller frees both.
 */
static int read_line(const char *line, struct options *options, char **copy, FILE **stream,
                     char **text)
{
    char *argv[ARGUMENTS];
    int argc = split(line, copy, argv);
    size_t size = 0;

    if (!stream)
        return options_read(options, argc, argv);
    FILE *saved = *stream;
    *stream = open_memstream(text, &size);
    int code = options_read(options, argc, argv);
    fclose(*stream);
    *stream = saved;
    return code;
}

#define LOG_FLAGS "--logtostderr=false --alsologtostderr=true "
#define LIVENESS "--type=liveness --endpoint=unix:///csi/csi.sock --metricspath=/metrics "
#define OPERATOR_CTRL                                                                              \
    "--v=0 --endpoint=unix:///csi/csi.sock --nodeid=node-1 --controllerserver=true "               \
    "--pidlimit=-1 --enable-fencing=false --clustername=c1 "                                       \
    "--csi-addons-endpoint=unix:///csi/csi-addons.sock " LOG_FLAGS
#define OPERATOR_NODE                                                                              \
    "--v=5 --nodeserver=true --nodeid=node-1 --enable-fencing=true "                               \
    "--endpoint=unix:///csi/csi.sock --pidlimit=-1 "                                               \
    "--csi-addons-endpoint=unix:///csi/csi-addons.sock " LOG_FLAGS
#define ROOK_CTRL                                                                                  \
    "--nodeid=node-1 --endpoint=unix:///csi/csi-provisioner.sock --v=0 --controllerserver=true "   \
    "--pidlimit=-1 " LOG_FLAGS
#define ROOK_NODE                                                                                  \
    "--nodeid=node-1 --endpoint=unix:///csi/csi.sock --v=0 --nodeserver=true "                     \
    "--pidlimit=-1 " LOG_FLAGS
#define ROOK_OLD "--metricsport=9090 --metricspath=/metrics --enablegrpcmetrics=false "
#define CHART_LIMITS                                                                               \
    "--rbdhardmaxclonedepth=8 --rbdsoftmaxclonedepth=4 --maxsnapshotsonimage=450 "                 \
    "--minsnapshotsonimage=250 --skipforceflatten=false "
#define STAGING "--stagingpath=/var/lib/kubelet/plugins/kubernetes.io/csi/ "

static const struct line {
    const char *deployment;
    const char *type;
    const char *driver;
    bool controller;
    bool node;
    const char *arguments;
} LINES[] = {
    {"operator, rbd controller", "rbd", "rook-ceph.rbd.csi.ceph.com", true, false,
     "--type=rbd " OPERATOR_CTRL
     "--drivername=rook-ceph.rbd.csi.ceph.com --log_file=csi-logs/csi-rbdplugin.log"},
    {"operator, cephfs controller", "cephfs", "rook-ceph.cephfs.csi.ceph.com", true, false,
     "--type=cephfs " OPERATOR_CTRL "--drivername=rook-ceph.cephfs.csi.ceph.com "
     "--forcecephkernelclient=true --log_file=csi-logs/csi-cephfsplugin.log"},
    {"operator, rbd node", "rbd", "rook-ceph.rbd.csi.ceph.com", false, true,
     "--type=rbd " OPERATOR_NODE STAGING "--drivername=rook-ceph.rbd.csi.ceph.com "
     "--domainlabels=topology.kubernetes.io/region,topology.kubernetes.io/zone "
     "--log_file=csi-logs/csi-rbdplugin.log"},
    {"operator, cephfs node", "cephfs", "rook-ceph.cephfs.csi.ceph.com", false, true,
     "--type=cephfs " OPERATOR_NODE "--drivername=rook-ceph.cephfs.csi.ceph.com "
     "--forcecephkernelclient=true --kernelmountoptions=ms_mode=secure,recover_session=clean "
     "--fusemountoptions=debug --log_file=csi-logs/csi-cephfsplugin.log"},
    {"operator, cephfs node with extra arguments", "cephfs", "cephfs.csi.ceph.com", false, true,
     "--type=cephfs " OPERATOR_NODE "--drivername=cephfs.csi.ceph.com "
     "--domainlabels=topology.kubernetes.io/zone"},
    {"operator, omap generator", "controller", "rook-ceph.rbd.csi.ceph.com", false, false,
     "--v=0 --type=controller --drivernamespace=rook-ceph "
     "--drivername=rook-ceph.rbd.csi.ceph.com --clustername=c1"},
    {"operator, cephfs omap generator", "controller", "rook-ceph.cephfs.csi.ceph.com", false, false,
     "--v=0 --type=controller --drivernamespace=rook-ceph "
     "--drivername=rook-ceph.cephfs.csi.ceph.com --clustername=c1"},
    {"operator, rbd controller that fences", "rbd", "rook-ceph.rbd.csi.ceph.com", true, false,
     "--type=rbd " OPERATOR_CTRL "--enable-fencing=true --drivername=rook-ceph.rbd.csi.ceph.com"},
    {"operator, rbd controller without logs, addons and cluster name", "rbd", "rbd.csi.ceph.com",
     true, false,
     "--type=rbd --v=0 --endpoint=unix:///csi/csi.sock --nodeid=node-1 --controllerserver=true "
     "--drivername=rbd.csi.ceph.com --pidlimit=-1 --enable-fencing=false"},
    {"Ceph-CSI 3.17 without the restart of slow calls", "rbd", "rbd.csi.ceph.com", false, true,
     "--type=rbd " OPERATOR_NODE STAGING "--drivername=rbd.csi.ceph.com "
     "--feature-gates=SlowGRPCRestart=false"},
    {"Rook 1.20 with what this driver adds, rbd controller", "rbd", "rook-ceph.rbd.csi.ceph.com",
     true, false,
     "--type=rbd " OPERATOR_CTRL "--drivername=rook-ceph.rbd.csi.ceph.com "
     "--domainlabels=topology.kubernetes.io/region,topology.kubernetes.io/zone "
     "--publish-capacity=true"},
    {"operator, liveness", "liveness", "liveness.csi.ceph.com", false, false,
     LIVENESS "--metricsport=9080 --polltime=60s --timeout=3s"},
    {"later operator, gates", "rbd", "rbd.csi.ceph.com", true, false,
     "--type=rbd " OPERATOR_CTRL "--drivername=rbd.csi.ceph.com "
     "--feature-gates=SlowGRPCRestart=true --automaxprocs=true"},
    {"Rook 1.19 direct, rbd controller", "rbd", "rook-ceph.rbd.csi.ceph.com", true, false,
     ROOK_CTRL
     "--type=rbd --drivername=rook-ceph.rbd.csi.ceph.com "
     "--log_file=/var/lib/rook/rook-ceph.rbd.csi.ceph.com/log/controller-plugin/csi-rbdplugin.log "
     "--csi-addons-endpoint=unix:///csi/csi-addons.sock --setmetadata=true --clustername=c1"},
    {"Rook 1.19 direct, cephfs controller", "cephfs", "rook-ceph.cephfs.csi.ceph.com", true, false,
     ROOK_CTRL "--type=cephfs --drivername=rook-ceph.cephfs.csi.ceph.com --setmetadata=true "
               "--forcecephkernelclient=false --clustername=c1"},
    {"Rook 1.19 direct, rbd node", "rbd", "rook-ceph.rbd.csi.ceph.com", false, true,
     ROOK_NODE "--type=rbd --drivername=rook-ceph.rbd.csi.ceph.com " STAGING
               "--csi-addons-endpoint=unix:///csi/csi-addons.sock "
               "--domainlabels=kubernetes.io/hostname,topology.rook.io/rack"},
    {"Rook 1.19 direct, cephfs node", "cephfs", "rook-ceph.cephfs.csi.ceph.com", false, true,
     ROOK_NODE "--type=cephfs --drivername=rook-ceph.cephfs.csi.ceph.com "
               "--forcecephkernelclient=true --kernelmountoptions=ms_mode=prefer-crc"},
    {"Rook 1.19 direct, omap generator", "controller", "rook-ceph.rbd.csi.ceph.com", false, false,
     "--type=controller --v=0 --drivernamespace=rook-ceph --setmetadata=true "
     "--drivername=rook-ceph.rbd.csi.ceph.com --clustername=c1"},
    {"Rook 1.19 direct, liveness", "liveness", "liveness.csi.ceph.com", false, false,
     LIVENESS "--metricsport=9081 --polltime=60s --timeout=3s"},
    {"Rook 1.14, rbd controller", "rbd", "rook-ceph.rbd.csi.ceph.com", true, false,
     ROOK_CTRL ROOK_OLD "--type=rbd --drivername=rook-ceph.rbd.csi.ceph.com --setmetadata=true "
                        "--csi-addons-endpoint=unix:///csi/csi-addons.sock --clustername=c1"},
    {"Rook 1.14, cephfs controller", "cephfs", "rook-ceph.cephfs.csi.ceph.com", true, false,
     ROOK_CTRL ROOK_OLD "--type=cephfs --drivername=rook-ceph.cephfs.csi.ceph.com "
                        "--forcecephkernelclient=true --setmetadata=true --clustername=c1"},
    {"Rook 1.14, rbd node", "rbd", "rook-ceph.rbd.csi.ceph.com", false, true,
     ROOK_NODE ROOK_OLD
     "--type=rbd --drivername=rook-ceph.rbd.csi.ceph.com " STAGING
     "--domainlabels=topology.kubernetes.io/zone --enable-read-affinity=true "
     "--crush-location-labels=kubernetes.io/hostname,topology.kubernetes.io/zone"},
    {"Rook 1.14, cephfs node", "cephfs", "rook-ceph.cephfs.csi.ceph.com", false, true,
     ROOK_NODE ROOK_OLD "--type=cephfs --drivername=rook-ceph.cephfs.csi.ceph.com "
                        "--forcecephkernelclient=true --kernelmountoptions=ms_mode=secure"},
    {"Rook 1.14, liveness", "liveness", "liveness.csi.ceph.com", false, false,
     LIVENESS "--metricsport=9080 --polltime=60s --timeout=3s"},
    {"chart, rbd controller", "rbd", "rbd.csi.ceph.com", true, false,
     "--nodeid=node-1 --type=rbd --controllerserver=true --pidlimit=-1 "
     "--endpoint=unix:///csi/csi-provisioner.sock "
     "--csi-addons-endpoint=unix:///csi/csi-addons.sock --v=5 "
     "--drivername=rbd.csi.ceph.com " CHART_LIMITS
     "--instanceid=i1 --enableprofiling=false --clustername=c1 --setmetadata=true "
     "--logslowopinterval=30s"},
    {"chart, cephfs controller", "cephfs", "cephfs.csi.ceph.com", true, false,
     "--nodeid=node-1 --type=cephfs --controllerserver=true --pidlimit=-1 "
     "--endpoint=unix:///csi/csi-provisioner.sock --v=5 --drivername=cephfs.csi.ceph.com "
     "--instanceid=i1 --enableprofiling=false --clustername=c1 --setmetadata=true "
     "--radosnamespacecephfs=csi --logslowopinterval=30s"},
    {"chart, rbd node", "rbd", "rbd.csi.ceph.com", false, true,
     "--nodeid=node-1 --pluginpath=/var/lib/kubelet/plugins " STAGING "--type=rbd "
     "--nodeserver=true --pidlimit=-1 --endpoint=unix:///csi/csi.sock "
     "--csi-addons-endpoint=unix:///csi/csi-addons.sock --v=5 --drivername=rbd.csi.ceph.com "
     "--domainlabels=failure-domain/region,failure-domain/zone --instanceid=i1 "
     "--enableprofiling=false --enable-read-affinity=true "
     "--crush-location-labels=topology.kubernetes.io/zone --logslowopinterval=30s"},
    {"chart, cephfs node", "cephfs", "cephfs.csi.ceph.com", false, true,
     "--nodeid=node-1 --type=cephfs --nodeserver=true --pidlimit=-1 "
     "--endpoint=unix:///csi/csi.sock --v=5 --drivername=cephfs.csi.ceph.com "
     "--kernelmountoptions= --fusemountoptions= --forcecephkernelclient=true "
     "--radosnamespacecephfs=csi --enable-read-affinity=false --logslowopinterval=30s"},
    {"chart, omap generator", "controller", "rbd.csi.ceph.com", false, false,
     "--type=controller --v=5 --drivername=rbd.csi.ceph.com --drivernamespace=ceph-csi-rbd "
     "--clustername=c1 --setmetadata=true"},
    {"chart, liveness", "liveness", "liveness.csi.ceph.com", false, false,
     LIVENESS "--metricsport=8080 --polltime=60s --timeout=3s"},
    {"plain, rbd controller", "rbd", "rbd.csi.ceph.com", true, false,
     "--nodeid=node-1 --type=rbd --controllerserver=true "
     "--endpoint=unix:///csi/csi-provisioner.sock "
     "--csi-addons-endpoint=unix:///csi/csi-addons.sock --v=5 --drivername=rbd.csi.ceph.com "
     "--pidlimit=-1 " CHART_LIMITS "--enableprofiling=false --setmetadata=true"},
    {"plain, cephfs controller", "cephfs", "cephfs.csi.ceph.com", true, false,
     "--nodeid=node-1 --type=cephfs --controllerserver=true "
     "--endpoint=unix:///csi/csi-provisioner.sock --v=5 --drivername=cephfs.csi.ceph.com "
     "--pidlimit=-1 --enableprofiling=false --setmetadata=true"},
    {"plain, rbd node", "rbd", "rbd.csi.ceph.com", false, true,
     "--nodeid=node-1 --pluginpath=/var/lib/kubelet/plugins " STAGING "--type=rbd "
     "--nodeserver=true --endpoint=unix:///csi/csi.sock "
     "--csi-addons-endpoint=unix:///csi/csi-addons.sock --v=5 --drivername=rbd.csi.ceph.com "
     "--enableprofiling=false"},
    {"plain, cephfs node", "cephfs", "cephfs.csi.ceph.com", false, true,
     "--nodeid=node-1 --type=cephfs --nodeserver=true --endpoint=unix:///csi/csi.sock --v=5 "
     "--drivername=cephfs.csi.ceph.com --enableprofiling=false "
     "--domainlabels=failure-domain/region,failure-domain/zone"},
    {"plain, omap generator", "controller", "rbd.csi.ceph.com", false, false,
     "--type=controller --v=5 --drivername=rbd.csi.ceph.com --drivernamespace=default "
     "--setmetadata=true"},
    {"plain, liveness", "liveness", "liveness.csi.ceph.com", false, false,
     LIVENESS "--metricsport=8680 --polltime=60s --timeout=3s"},
    {"Ceph-CSI 2.0", "rbd", "rbd.csi.ceph.com", false, true,
     "--nodeid=node-1 --type=rbd --nodeserver=true --endpoint=unix:///csi/csi.sock --v=5 "
     "--drivername=rbd.csi.ceph.com --metadatastorage=k8s_configmap --mountcachedir=/mount-cache "
     "--histogramoption=0.5,2,6 --enablegrpcmetrics"},
    {"flags of klog", "rbd", "rbd.csi.ceph.com", true, true,
     "-type rbd -nodeid node-1 -controllerserver -nodeserver -v 4 -log_dir=/tmp "
     "-log_file_max_size 1800 -stderrthreshold=2 -vmodule= -skip_headers -skip_log_headers "
     "-add_dir_header -one_output -log_backtrace_at :0"},
};

/* A test of its own for each line, named after the deployment. */
static void line_is_taken(void **state)
{
    const struct line *line = *state;
    _cleanup_free_ char *copy = NULL;
    struct options options;

    assert_int_equal(read_line(line->arguments, &options, &copy, NULL, NULL), -1);
    assert_string_equal(options.type, line->type);
    assert_string_equal(options.driver_name, line->driver);
    assert_int_equal(options.controller_server, line->controller);
    assert_int_equal(options.node_server, line->node);
}

/* Also with each flag in Go's other spelling, and with the order turned round. */
TEST(order_and_dashes_do_not_matter)
{
    for (size_t i = 0; i < ARRAY_LENGTH(LINES) - 1; i++) {
        _cleanup_free_ char *copy = NULL;
        char *argv[ARGUMENTS];
        struct options options;
        int argc = split(LINES[i].arguments, &copy, argv);

        for (int k = 1; k < argc; k++)
            argv[k]++; /* --x becomes -x */
        for (int left = 1, right = argc - 1; left < right; left++, right--) {
            char *word = argv[left];
            argv[left] = argv[right];
            argv[right] = word;
        }
        if (options_read(&options, argc, argv) != -1)
            fail_msg("%s: refused when turned round", LINES[i].deployment);
        assert_string_equal(options.driver_name, LINES[i].driver);
    }
}

TEST(version_is_found_where_rook_looks_for_it)
{
    _cleanup_free_ char *copy = NULL;
    _cleanup_free_ char *text = NULL;
    struct options options;
    unsigned major = 0, minor = 0, patch = 0;

    assert_int_equal(read_line("--version", &options, &copy, &stdout, &text), 0);
    assert_int_equal(sscanf(text, "Cephcsi Version: v%u.%u.%u", &major, &minor, &patch), 3);
    assert_non_null(strstr(text, "\nGit Commit: "));
    assert_non_null(strstr(text, "\nPlatform: linux/"));
    assert_non_null(strstr(text, "\nCeph libraries: "));
}

TEST(types_that_are_not_served_say_what_to_do)
{
    static const struct {
        const char *arguments;
        int code;
        const char *message;
    } cases[] = {
        {"--nodeid=n", 1, "--type is missing"},
        {"--type=nfs --nodeid=n --drivername=nfs.csi.ceph.com", 1, "NFS exports are not served"},
        {"--type=nvmeof --nodeid=n", 1, "NVMe-oF is not served"},
        {"--type=rdb --nodeid=n", 1, "only rbd, cephfs, liveness and controller"},
        {"--type=rbd", 1, "--nodeid is missing"},
        {"--type=rbd --nodeid=n --rbdhardmaxclonedepth=15", 1, "--rbdhardmaxclonedepth"},
        {"--type=rbd --nodeid=n --instanceid=", 1, "--instanceid is empty"},
        {"--type=rbd --nodeid=n --drivername=a_b", 1, "--drivername must be a DNS name"},
        {"--typ=rbd", 2, "flag provided but not defined: -typ"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *copy = NULL;
        _cleanup_free_ char *text = NULL;
        struct options options;

        assert_int_equal(read_line(cases[i].arguments, &options, &copy, &stderr, &text),
                         cases[i].code);
        assert_non_null(strstr(text, cases[i].message));
    }
}

/* How many lines the log then has, and whether one says @warning. */
static size_t count_warnings(const char *arguments, const char *warning, bool *is_there)
{
    _cleanup_free_ char *line = xasprintf("--type=rbd --nodeid=n %s", arguments);
    _cleanup_free_ char *path = path_of("log");
    _cleanup_free_ char *copy = NULL;
    struct options options;

    assert_int_equal(read_line(line, &options, &copy, NULL, NULL), -1);
    unlink(path);
    int saved = divert_stderr(path);
    options_warn_of_ignored(&options);
    restore_stderr(saved);
    *is_there = count_lines(path, warning) > 0;
    return count_lines(path, "");
}

TEST(ignored_flag_is_warned_of_once, WITH_FOLDER)
{
    static const struct {
        const char *arguments;
        const char *warning; /* NULL: none */
    } cases[] = {
        {"--pidlimit=-1", "flag --pidlimit=-1 has no effect: threads are few"},
        {"--pidlimit=5 --pidlimit=-1", "flag --pidlimit=-1 has no effect"},
        {"--pidlimit=-1 --pidlimit=0", NULL},
        {"--skipforceflatten", "flag --skipforceflatten=true has no effect: clones are always"},
        {"--skipforceflatten=T", "flag --skipforceflatten=T has no effect"},
        {"--skipforceflatten=false", NULL},
        {"--skipforceflatten=F", NULL},
        {"--skip_log_headers=maybe", "flag --skip_log_headers=maybe has no effect"},
        {"--setmetadata=true", NULL},
        {"--setmetadata", NULL},
        {"--setmetadata=false", "flag --setmetadata=false has no effect: names are always"},
        {"--feature-gates=SlowGRPCRestart=true", NULL},
        {"--feature-gates=SlowGRPCRestart=false", "flag --feature-gates=SlowGRPCRestart=false"},
        {"--vmodule= --log_dir=", NULL},
        {"--pluginpath=/var/lib/kubelet/plugins --pidlimit=0", NULL},
        {"--stagingpath=/data/csi", "flag --stagingpath=/data/csi has no effect"},
        {"--log_file_max_size 1800 --stderrthreshold=2 --log_backtrace_at :0", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *warning = cases[i].warning ? cases[i].warning : "";
        bool is_there = false;
        size_t lines = count_warnings(cases[i].arguments, warning, &is_there);

        if (lines != (cases[i].warning ? 1 : 0) || is_there != (cases[i].warning != NULL))
            fail_msg("%s: %zu warning(s), wanted '%s'", cases[i].arguments, lines, warning);
    }
}

/* --- what others are told of a command line --- */

struct judgement {
    struct text lines;
};

static void keep_judgement(void *context, enum option_use use, const char *flag, const char *reason)
{
    static const char *const uses[] = {"used", "ignored", "refused"};
    struct judgement *judgement = context;

    text_addf(&judgement->lines, "%s [%s] %s\n", uses[use], flag, reason);
}

/* What is reported of the line. Caller frees. */
static char *judge(const char *line, struct options *options, char **copy)
{
    struct judgement judgement = {TEXT_INIT(65536)};
    char *argv[ARGUMENTS];
    int argc = split(line, copy, argv);

    options_judge(options, argc, argv, keep_judgement, &judgement);
    return judgement.lines.chars ? judgement.lines.chars : xstrdup("");
}

TEST(each_fault_of_a_line_is_reported)
{
    _cleanup_free_ char *copy = NULL;
    struct options options;
    _cleanup_free_ char *lines = judge(
        "--type=rbd --nodeid n --domainlabel=a --pidlimit -1 -controllerserver --v=x --other y "
        "--stagingpath=/data z --drivername=d.rbd.csi.ceph.com",
        &options, &copy);

    assert_string_equal(
        lines,
        "refused [--domainlabel=a] flag provided but not defined: -domainlabel; did you mean "
        "'--domainlabels'?\n"
        "refused [--v=x] invalid value \"x\" for flag -v: 'x' is not a whole number\n"
        "refused [--other] flag provided but not defined: -other\n"
        "refused [z] it is no flag; what follows is not read\n"
        "ignored [--pidlimit=-1] threads are few and bounded; the limit of the pod stays as it is\n"
        "ignored [--stagingpath=/data] the orchestrator names every path\n");
    assert_true(options.controller_server);
    assert_string_equal(options.driver_name, "d.rbd.csi.ceph.com");
}

TEST(line_as_a_whole_is_judged)
{
    _cleanup_free_ char *copy = NULL;
    _cleanup_free_ char *empty_copy = NULL;
    struct options options;
    _cleanup_free_ char *lines = judge("--type=nfs --nodeid=n", &options, &copy);
    _cleanup_free_ char *empty = judge("", &options, &empty_copy);

    assert_non_null(strstr(lines, "refused [] --type=nfs: NFS exports are not served"));
    assert_non_null(strstr(empty, "refused [] --type is missing"));
}

static void add_lines(void)
{
    static struct line lines[ARRAY_LENGTH(LINES)];

    memcpy(lines, LINES, sizeof(LINES)); /* cmocka's states are not const */
    for (size_t i = 0; i < ARRAY_LENGTH(LINES); i++)
        test_add((struct CMUnitTest){
            .name = LINES[i].deployment, .test_func = line_is_taken, .initial_state = &lines[i]});
}

TEST_CASES(add_lines)
