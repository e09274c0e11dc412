/* The command line of cephzone, as kubectl's users are used to it. */
#include <unistd.h>

#include "common/base/memory.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/test.h"
#include "tests/unit/fixtures/command_run.h"
#include "tests/unit/fixtures/live_cluster.h"

#define DUMP "tests/data/explain/full-zone.json"

/* Words that are separated by single spaces; an empty one at the end counts. */
static void run_line(const char *line, struct command_result *result)
{
    _cleanup_free_ char *copy = xstrdup(line);
    const char *words[32] = {NULL};
    size_t count = 0;

    for (char *rest = copy; rest; count++) {
        assert_true(count < 31);
        words[count] = strsep(&rest, " ");
    }
    command_run(words, result);
}

static void assert_line(const char *line, int code, const char *out, const char *err)
{
    _cleanup_command_result_ struct command_result result = {0};

    run_line(line, &result);
    if (result.code != code || (out && !strstr(result.out, out)) ||
        (err && strcmp(result.err, err) != 0))
        fail_msg("cephzone %s: exit code %d, printed '%s', complained '%s'", line, result.code,
                 result.out, result.err);
}

TEST(mistakes_are_one_line_with_a_hint)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"exlpain", "cephzone: there is no command 'exlpain'; did you mean 'explain'?\n"},
        {"nonsense", "cephzone: there is no command 'nonsense'; see 'cephzone --help'\n"},
        {"help exlpain", "cephzone: there is no command 'exlpain'; did you mean 'explain'?\n"},
        {"explain --namespaze=x", "cephzone explain: flag provided but not defined: -namespaze; "
                                  "did you mean '--namespace'?\n"},
        {"explain --nonsense", "cephzone explain: flag provided but not defined: -nonsense; see "
                               "'cephzone explain --help'\n"},
        {"fsck --nonsense", "cephzone fsck: flag provided but not defined: -nonsense; see "
                            "'cephzone fsck --help'\n"},
        {"simulate pods", "cephzone simulate: 'pods' is no flag; see 'cephzone simulate --help'\n"},
        {"takeover", "cephzone takeover: expected 'status', 'start DOMAIN' or 'giveback DOMAIN'\n"},
        {"takeover pause zone-a",
         "cephzone takeover: 'pause' is none of start, status and giveback\n"},
        {"takeover start --to=zone-b", "cephzone takeover: the domain is missing\n"},
        {"takeover status zone-a", "cephzone takeover: 'zone-a' is one argument too many\n"},
        {"takeover giveback zone-a -w", "cephzone takeover: -w follows 'status' alone\n"},
        {"call", "cephzone call: one METHOD and at most one REQUEST are needed, none with "
                 "--batch\n"},
        {"call Probe {} more", "cephzone call: one METHOD and at most one REQUEST are needed, none "
                               "with --batch\n"},
        {"call Prob", "cephzone call: CSI has no method 'Prob'; did you mean 'Probe'?\n"},
        {"completion tcsh", "cephzone completion: expected one of bash, zsh and fish\n"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_line(cases[i].line, 2, NULL, cases[i].message);
}

TEST(help_is_found_in_every_way)
{
    static const char *const lines[] = {"help explain", "explain --help", "explain -h",
                                        "explain pod/web-0 -n shop --help"};

    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++)
        assert_line(lines[i], 0, "Usage: cephzone explain", "");
    assert_line("help", 0, "Exit code: 0 all is well", "");
    assert_line("--help", 0, "Commands:", "");
    assert_line("-h", 0, "Commands:", "");
    assert_line("version", 0, "cephzone ", "");
    assert_line("--version", 0, "cephzone ", "");
}

TEST(every_command_has_help_with_its_exit_codes)
{
    static const char *const names[] = {"call",     "capacity", "check",   "convert-pv",
                                        "explain",  "fsck",     "place",   "settle",
                                        "simulate", "topology", "takeover"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        _cleanup_free_ char *line = xasprintf("help %s", names[i]);

        assert_line(line, 0, "Exit code: 0", "");
    }
}

TEST(help_shows_short_flags_as_such)
{
    assert_line("help explain", 0, "\n  -n, --namespace NAMESPACE\n", "");
    assert_line("help explain", 0, "\n  -A, --all-namespaces\n", "");
    assert_line("help explain", 0, "\n  -w, --watch\n", "");
    assert_line("help fsck", 0, "\n  -o, --output table|json\n", "");
    assert_line("help takeover", 0, "\n  -n, --namespace NAMESPACE\n", "");
}

TEST(no_command_is_a_mistake)
{
    _cleanup_command_result_ struct command_result result = {0};

    command_run(COMMAND(NULL), &result);
    assert_int_equal(result.code, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "Commands:"));
}

/* --- explain --- */

#define CAUSE "zone-b has room for 40.0 GiB of class 'rbd-zoned'"

TEST(pod_is_explained_however_it_is_named)
{
    static const char *const lines[] = {
        "explain pod web-0 -n shop --from=" DUMP,
        "explain pod/web-0 -n shop --from=" DUMP,
        "explain pods web-0 -n shop --from " DUMP,
        "explain pods/web-0 --from=" DUMP " -nshop",
        "explain po/web-0 --namespace=shop --from=" DUMP,
        "explain --from=" DUMP " -n shop pod/web-0",
        "explain -n shop pod --from=" DUMP " web-0",
        "-n shop explain pod/web-0 --from=" DUMP,
        "--namespace=shop explain po web-0 --from=" DUMP,
        "explain -n shop --from=" DUMP " -- pod web-0",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        _cleanup_command_result_ struct command_result result = {0};

        run_line(lines[i], &result);
        if (result.code != 1 || strncmp(result.out, CAUSE, strlen(CAUSE)) != 0)
            fail_msg("cephzone %s: %d, '%s', '%s'", lines[i], result.code, result.out, result.err);
    }
}

TEST(claim_is_explained_however_it_is_named)
{
    static const char *const names[] = {"pvc data", "pvc/data", "pvcs data",
                                        "persistentvolumeclaim/data",
                                        "persistentvolumeclaims data"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        _cleanup_free_ char *line = xasprintf("explain %s -n shop --from=" DUMP, names[i]);

        assert_line(line, 1, CAUSE, "");
    }
}

TEST(several_are_explained_one_after_the_other)
{
    assert_line("explain pod/web-0 pvc/data -n shop --from=" DUMP, 1,
                "pod/web-0 in namespace 'shop':\n" CAUSE, "");
    assert_line("explain pod/web-0 pvc/data -n shop --from=" DUMP, 1,
                "pvc/data in namespace 'shop':\n" CAUSE, "");
}

TEST(without_a_name_all_that_is_pending_is_listed)
{
    static const char row[] = "NAMESPACE  NAME   WHY\nshop       web-0  " CAUSE;

    assert_line("explain pods -A --from=" DUMP, 1, row, "");
    assert_line("explain -n shop --from=" DUMP, 1, row, "");
    assert_line("explain --all-namespaces --from=" DUMP, 1, row, "");
    assert_line("explain pvc -A --from=" DUMP, 1, "\nshop       data  " CAUSE, "");
    assert_line("explain pods -A -o wide --from=" DUMP, 1, "KUBERNETES", "");
    assert_line("explain -A -ojson --from=" DUMP, 1, "\"name\": \"web-0\"", "");
    assert_line("explain pods --from=" DUMP, 0,
                "no pod is pending in namespace 'default'; -A looks at all namespaces\n", "");
    assert_line("explain pvc -n empty --from=" DUMP, 0, "no claim is pending in namespace 'empty'",
                "");
}

TEST(live_cluster_is_asked_in_the_namespace_of_its_context)
{
    char path[] = "/tmp/cephzone-kubeconfig-XXXXXX";
    _cleanup_fake_kube_ struct fake_kube *fake = fake_kube_new();
    struct flapping_kube flapping = {.permille = 0};

    close(mkstemp(path));
    _cleanup_free_ char *named = xasprintf("explain pod/web-0 --kubeconfig=%s", path);
    _cleanup_free_ char *elsewhere = xasprintf("explain pods -n other --kubeconfig=%s", path);
    live_cluster_put_dump(fake, DUMP);
    flapping_kube_start(&flapping, fake);
    live_cluster_write_kubeconfig(path, flapping_server_url(flapping.server));
    assert_line(named, 1, CAUSE, "");
    assert_line(elsewhere, 0, "no pod is pending in namespace 'other'", "");
    flapping_kube_stop(&flapping);
    assert_line(named, 3, "", NULL);
    unlink(path);
}

TEST(json_of_one_pod_is_one_object)
{
    _cleanup_command_result_ struct command_result result = {0};

    run_line("explain pod/web-0 -n shop -o json --from=" DUMP, &result);
    assert_int_equal(result.code, 1);
    assert_int_equal(result.out[0], '{');
}

TEST(what_cannot_be_explained_is_refused)
{
    static const struct {
        const char *line;
        int code;
        const char *message;
    } cases[] = {
        {"explain svc/web --from=" DUMP, 2,
         "cephzone explain: 'svc' is neither 'pod' nor 'pvc'; write 'pod NAME', 'pod/NAME', or "
         "'pods' for all that are pending\n"},
        {"explain web-0 --from=" DUMP, 2,
         "cephzone explain: 'web-0' is neither 'pod' nor 'pvc'; write 'pod NAME', 'pod/NAME', or "
         "'pods' for all that are pending\n"},
        {"explain pod/ --from=" DUMP, 2,
         "cephzone explain: 'pod/': either all arguments are KIND/NAME, or the first is a kind and "
         "the others are names\n"},
        {"explain pod pod/web-0 --from=" DUMP, 2,
         "cephzone explain: 'pod/web-0': either all arguments are KIND/NAME, or the first is a "
         "kind and the others are names\n"},
        {"explain pod/web-0 -A --from=" DUMP, 2,
         "cephzone explain: a name and -A exclude each other\n"},
        {"explain pods -o yaml --from=" DUMP, 2,
         "cephzone explain: -o takes 'table', 'wide' or 'json', not 'yaml'\n"},
        {"explain pod/web-9 -n shop --from=" DUMP, 3, NULL},
        {"explain pods --from=/nonexistent", 3, NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_line(cases[i].line, cases[i].code, "", cases[i].message);
}

/* --- completion --- */

static void assert_completes(const char *line, const char *wanted)
{
    _cleanup_command_result_ struct command_result result = {0};
    _cleanup_free_ char *whole = xasprintf("__complete %s", line);

    run_line(whole, &result);
    if (result.code != 0 || strcmp(result.out, wanted) != 0)
        fail_msg("'%s' is completed by '%s', not '%s'", line, result.out, wanted);
}

TEST(commands_are_completed)
{
    assert_completes("expl", "explain\texplain why a pod is pending, node by node, and what would "
                             "help\n:4\n");
    assert_completes("hel", "help\tprint help for a command\n:4\n");
    assert_completes("help expl", "explain\texplain why a pod is pending, node by node, and what "
                                  "would help\n:4\n");
    assert_completes("docs", ":4\n");
    assert_completes("nonsense ", ":4\n");
}

TEST(flags_and_their_values_are_completed)
{
    assert_completes("explain --all", "--all-namespaces\twhat is pending in all of them\n:4\n");
    assert_completes("explain pod/web-0 --wat", "--watch\tprint it again when it changes\n:4\n");
    assert_completes("explain -o j", "json\thow to print it\n:4\n");
    assert_completes("explain --output j", "json\thow to print it\n:4\n");
    assert_completes("explain --output=j", "--output=json\thow to print it\n:4\n");
    /* as bash cuts it */
    assert_completes("explain --output = j", "json\thow to print it\n:4\n");
    assert_completes("topology --output =",
                     "table\thow to print it\njson\thow to print it\nsvg\thow to print it\n:4\n");
    assert_completes("takeover --type ce", "cephfs\tof the driver\n:4\n");
}

TEST(files_are_completed_where_a_flag_names_one)
{
    assert_completes("explain --from ", ":0\n");
    assert_completes("explain --from=x", ":0\n");
    assert_completes("explain --namespace ", ":4\n");
}

TEST(first_argument_is_completed_wherever_the_flags_are)
{
    assert_completes("takeover g", "giveback\t\n:4\n");
    assert_completes("takeover -n ceph --dry-run g", "giveback\t\n:4\n");
    assert_completes("takeover start g", ":4\n");
    assert_completes("completion f", "fish\t\n:4\n");
}
