/* The driver's command line: each that a deployment of Ceph-CSI has must be taken. */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "programs/cephcsi/options.h"
#include "tests/test.h"
#include "tests/unit/fixtures/command_lines.h"
#include "tests/unit/fixtures/files.h"

/* What options_read() returns; *@text, if wanted, is what it wrote to @stream. Caller frees both.
 */
static int read_line(const char *line, struct options *options, char **copy, FILE **stream,
                     char **text)
{
    char *argv[COMMAND_LINE_WORDS];
    int argc = command_line_split(line, copy, argv);
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

/* A test of its own for each line, named after the deployment. */
static void line_is_taken(void **state)
{
    const struct command_line *line = *state;
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
    for (size_t i = 0; i < COMMAND_LINE_COUNT - 1; i++) {
        _cleanup_free_ char *copy = NULL;
        char *argv[COMMAND_LINE_WORDS];
        struct options options;
        int argc = command_line_split(COMMAND_LINES[i].arguments, &copy, argv);

        for (int k = 1; k < argc; k++)
            argv[k]++; /* --x becomes -x */
        for (int left = 1, right = argc - 1; left < right; left++, right--) {
            char *word = argv[left];
            argv[left] = argv[right];
            argv[right] = word;
        }
        if (options_read(&options, argc, argv) != -1)
            fail_msg("%s: refused when turned round", COMMAND_LINES[i].deployment);
        assert_string_equal(options.driver_name, COMMAND_LINES[i].driver);
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

/* The command line of the design that Ceph-CSI's topology came from. */
TEST(labels_may_be_given_as_the_design_spells_them)
{
    _cleanup_free_ char *copy = NULL;
    struct options options;

    assert_int_equal(read_line("--type=rbd --nodeid=n --orchestrator=kubernetes "
                               "--domain-labels=failure-domain.beta.kubernetes.io/region;a.io/rack",
                               &options, &copy, NULL, NULL),
                     -1);
    assert_string_equal(options.domain_labels,
                        "failure-domain.beta.kubernetes.io/region;a.io/rack");
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
        {"--type=rbd --nodeid=n --orchestrator=nomad", 1, "--orchestrator: only kubernetes"},
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
    char *argv[COMMAND_LINE_WORDS];
    int argc = command_line_split(line, copy, argv);

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
    for (size_t i = 0; i < COMMAND_LINE_COUNT; i++)
        test_add((struct CMUnitTest){.name = COMMAND_LINES[i].deployment,
                                     .test_func = line_is_taken,
                                     .initial_state = (void *)(uintptr_t)&COMMAND_LINES[i]});
}

TEST_CASES(add_lines)
