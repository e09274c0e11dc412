#include <stdbool.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

/* One flag of each kind, as a program has them. */
struct options {
    const char *endpoint;
    bool metadata;
    int64_t verbosity;
    uint64_t port;
    int64_t timeout_ms;
    struct string_list labels;
};

struct fixture {
    struct options options;
    struct flag table[8];
    int next;
    struct error err;
};

static void fixture_init(struct fixture *fixture)
{
    struct options *options = &fixture->options;
    const struct flag table[] = {
        {"endpoint", FLAG_STRING, &options->endpoint, "url", "Where to listen."},
        {"metadata", FLAG_BOOL, &options->metadata, NULL, "Keep metadata."},
        {"v", FLAG_INT, &options->verbosity, NULL, "Verbosity."},
        {"metricsport", FLAG_UINT, &options->port, NULL, "Port of the metrics."},
        {"timeout", FLAG_DURATION, &options->timeout_ms, NULL, "Longest wait."},
        {"label", FLAG_STRING_LIST, &options->labels, NULL, "A label."},
        {"histogramoption", FLAG_IGNORED_VALUE, NULL, NULL, "fixed"},
        {"enableprofiling", FLAG_IGNORED_BOOL, NULL, NULL, "no Go"},
    };

    *fixture = (struct fixture){.options = {.endpoint = "unix:///csi.sock", .timeout_ms = 60000},
                                .next = -1};
    _Static_assert(sizeof(table) == sizeof(fixture->table), "one flag of each kind");
    memcpy(fixture->table, table, sizeof(table));
}

static void fixture_done(struct fixture *fixture)
{
    string_list_done(&fixture->options.labels);
    error_clear(&fixture->err);
}

/* Parses the words of @line, which are separated by single spaces. */
static int parse(struct fixture *fixture, char *line)
{
    char *argv[32] = {(char[]){"program"}};
    int argc = 1;

    for (char *word = line; word && word[0] != '\0'; argc++) {
        assert_true(argc < 31);
        argv[argc] = strsep(&word, " ");
    }
    return flags_parse(fixture->table, ARRAY_LENGTH(fixture->table), argc, argv, &fixture->next,
                       &fixture->err);
}

#define PARSE(fixture, line) parse((fixture), (char[]){line})

TEST(without_flags_the_defaults_stay)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, ""), 0);
    assert_int_equal(f.next, 1);
    assert_string_equal(f.options.endpoint, "unix:///csi.sock");
    assert_int_equal(f.options.timeout_ms, 60000);
    assert_false(f.options.metadata);
}

TEST(all_spellings_of_a_flag_mean_the_same)
{
    char lines[][32] = {"-endpoint=x", "--endpoint=x", "-endpoint x", "--endpoint x"};

    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        _cleanup_(fixture_done) struct fixture f;

        fixture_init(&f);
        assert_int_equal(parse(&f, lines[i]), 0);
        assert_string_equal(f.options.endpoint, "x");
    }
}

TEST(every_kind_is_converted)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(
        PARSE(&f, "--metadata --v -5 --metricsport=8080 --timeout 1m30s --label a --label=b"), 0);
    assert_true(f.options.metadata);
    assert_int_equal(f.options.verbosity, -5);
    assert_int_equal(f.options.port, 8080);
    assert_int_equal(f.options.timeout_ms, 90000);
    assert_int_equal(f.options.labels.count, 2);
    assert_string_equal(f.options.labels.items[0], "a");
    assert_string_equal(f.options.labels.items[1], "b");
}

TEST(value_may_hold_an_equals_sign_or_be_empty)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, "--endpoint= --label zone=a --label=rack=b=c"), 0);
    assert_string_equal(f.options.endpoint, "");
    assert_string_equal(f.options.labels.items[0], "zone=a");
    assert_string_equal(f.options.labels.items[1], "rack=b=c");
}

TEST(value_may_look_like_a_flag)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, "--endpoint --metadata"), 0);
    assert_string_equal(f.options.endpoint, "--metadata");
    assert_false(f.options.metadata);
}

TEST(boolean_takes_no_separate_value)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, "--metadata false"), 0);
    assert_true(f.options.metadata);
    assert_int_equal(f.next, 2);
    assert_int_equal(PARSE(&f, "--metadata=false"), 0);
    assert_false(f.options.metadata);
    assert_int_equal(PARSE(&f, "--metadata=T"), 0);
    assert_true(f.options.metadata);
}

TEST(last_of_several_wins)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, "--v=1 --endpoint=a -v=3 --endpoint b"), 0);
    assert_int_equal(f.options.verbosity, 3);
    assert_string_equal(f.options.endpoint, "b");
}

TEST(parsing_stops_at_the_first_other_argument)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, "--v=1 explain --v=2"), 0);
    assert_int_equal(f.next, 2);
    assert_int_equal(f.options.verbosity, 1);
}

TEST(two_dashes_end_the_flags_and_one_dash_is_none)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, "--v=1 -- --v=2"), 0);
    assert_int_equal(f.next, 3);
    assert_int_equal(f.options.verbosity, 1);
    assert_int_equal(PARSE(&f, "--v=4 - --v=5"), 0);
    assert_int_equal(f.next, 2);
    assert_int_equal(f.options.verbosity, 4);
}

TEST(legacy_flags_are_accepted_and_ignored)
{
    _cleanup_(fixture_done) struct fixture f;

    fixture_init(&f);
    assert_int_equal(PARSE(&f, "--histogramoption 0.5,2,6 --histogramoption=1 --enableprofiling "
                               "-enableprofiling=maybe --v 7"),
                     0);
    assert_int_equal(f.options.verbosity, 7);
    assert_int_equal(f.next, 8);
}

TEST(mistakes_are_told_in_the_words_of_go)
{
    static struct {
        char line[64];
        const char *message;
    } cases[] = {
        {"--nonsense", "flag provided but not defined: -nonsense"},
        {"-nonsense=1", "flag provided but not defined: -nonsense"},
        {"--end=x", "flag provided but not defined: -end"},
        {"--endpont=x", "flag provided but not defined: -endpont; did you mean '--endpoint'?"},
        {"--Timeout 1s", "flag provided but not defined: -Timeout; did you mean '--timeout'?"},
        {"--endpoint", "flag needs an argument: -endpoint"},
        {"--histogramoption", "flag needs an argument: -histogramoption"},
        {"---v=1", "bad flag syntax: ---v=1"},
        {"--=1", "bad flag syntax: --=1"},
        {"-=1", "bad flag syntax: -=1"},
        {"--v=abc", "invalid value \"abc\" for flag -v: 'abc' is not a whole number"},
        {"--metricsport -1", "invalid value \"-1\" for flag -metricsport: '-1' is not a whole "
                             "number"},
        {"--metadata=maybe", "invalid boolean value \"maybe\" for -metadata: 'maybe' is not a "
                             "boolean (true or false)"},
        {"--timeout=60", "invalid value \"60\" for flag -timeout: '60' is not a duration (write "
                         "60s, 500ms or 1h2m3s)"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_(fixture_done) struct fixture f;

        fixture_init(&f);
        assert_int_equal(parse(&f, cases[i].line), -1);
        assert_int_equal(f.err.status, STATUS_INVALID_ARGUMENT);
        assert_string_equal(f.err.message, cases[i].message);
        assert_int_equal(f.next, -1);
    }
}

TEST(subcommand_arguments_are_parsed_from_its_name_on)
{
    _cleanup_(fixture_done) struct fixture f;
    char *argv[] = {(char[]){"cephzone"}, (char[]){"explain"}, (char[]){"--v=2"}, (char[]){"pvc-1"},
                    NULL};

    fixture_init(&f);
    assert_int_equal(flags_parse(f.table, ARRAY_LENGTH(f.table), 3, argv + 1, &f.next, &f.err), 0);
    assert_int_equal(f.options.verbosity, 2);
    assert_int_equal(f.next, 2);
}

TEST(usage_lists_kinds_help_and_defaults)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_free_ char *usage = NULL;
    size_t length = 0;

    fixture_init(&f);
    f.options.port = 8080;
    string_list_add(&f.options.labels, "a");
    FILE *file = open_memstream(&usage, &length);
    flags_print_usage(file, f.table, ARRAY_LENGTH(f.table));
    fclose(file);
    assert_string_equal(usage, "  --endpoint url\n"
                               "        Where to listen. (default \"unix:///csi.sock\")\n"
                               "  --metadata\n"
                               "        Keep metadata.\n"
                               "  --v int\n"
                               "        Verbosity.\n"
                               "  --metricsport uint\n"
                               "        Port of the metrics. (default 8080)\n"
                               "  --timeout duration\n"
                               "        Longest wait. (default 60s)\n"
                               "  --label string\n"
                               "        A label. (default \"a\") (may be repeated)\n"
                               "  --histogramoption value\n"
                               "        ignored: fixed\n"
                               "  --enableprofiling\n"
                               "        ignored: no Go\n");
}

TEST(usage_of_plain_flags_has_no_line_about_ignored_ones)
{
    bool value = true;
    int64_t delay_ms = 1500;
    const struct flag table[] = {{"on", FLAG_BOOL, &value, NULL, "On."},
                                 {"delay", FLAG_DURATION, &delay_ms, NULL, "Delay."}};
    _cleanup_free_ char *usage = NULL;
    size_t length = 0;

    FILE *file = open_memstream(&usage, &length);
    flags_print_usage(file, table, ARRAY_LENGTH(table));
    fclose(file);
    assert_string_equal(usage, "  --on\n        On. (default true)\n"
                               "  --delay duration\n        Delay. (default 1500ms)\n");
}

/* As commands of the tool have them. */
struct short_fixture {
    const char *output;
    bool everywhere;
    struct flag table[4];
};

static void short_fixture_init(struct short_fixture *fixture)
{
    const struct flag table[] = {
        {"o", FLAG_STRING, &fixture->output, NULL, NULL},
        {"output", FLAG_STRING, &fixture->output, "table|json", "Format."},
        {"A", FLAG_BOOL, &fixture->everywhere, NULL, NULL},
        {"all-namespaces", FLAG_BOOL, &fixture->everywhere, NULL, "Everywhere."},
    };

    *fixture = (struct short_fixture){.output = "table"};
    memcpy(fixture->table, table, sizeof(table));
}

TEST(short_form_is_the_same_flag)
{
    static const char *const spellings[] = {"-o=json", "-ojson", "--output=json", "-output=json"};

    for (size_t i = 0; i < ARRAY_LENGTH(spellings); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *word = xstrdup(spellings[i]);
        char *argv[] = {(char[]){"explain"}, word, (char[]){"-A"}, NULL};
        struct short_fixture f;
        int next = 0;

        short_fixture_init(&f);
        assert_int_equal(flags_parse(f.table, ARRAY_LENGTH(f.table), 3, argv, &next, &err), 0);
        assert_string_equal(f.output, "json");
        assert_true(f.everywhere);
        assert_int_equal(next, 3);
    }
}

TEST(switch_takes_no_value_that_follows_at_once)
{
    _cleanup_error_ struct error err = {0};
    char *argv[] = {(char[]){"explain"}, (char[]){"-Ax"}, NULL};
    struct short_fixture f;
    int next = 0;

    short_fixture_init(&f);
    assert_int_equal(flags_parse(f.table, ARRAY_LENGTH(f.table), 2, argv, &next, &err), -1);
    assert_string_equal(err.message, "flag provided but not defined: -Ax");
}

TEST(long_flag_with_two_dashes_is_no_short_form_with_a_value)
{
    _cleanup_error_ struct error err = {0};
    char *argv[] = {(char[]){"explain"}, (char[]){"--outptu"}, NULL};
    struct short_fixture f;
    int next = 0;

    short_fixture_init(&f);
    assert_int_equal(flags_parse(f.table, ARRAY_LENGTH(f.table), 2, argv, &next, &err), -1);
    assert_string_equal(err.message,
                        "flag provided but not defined: -outptu; did you mean '--output'?");
}

TEST(usage_shows_short_forms_before_their_flags)
{
    _cleanup_free_ char *usage = NULL;
    struct short_fixture f;
    size_t length = 0;

    short_fixture_init(&f);
    FILE *file = open_memstream(&usage, &length);
    flags_print_usage(file, f.table, ARRAY_LENGTH(f.table));
    fclose(file);
    assert_string_equal(usage, "  -o, --output table|json\n"
                               "        Format. (default \"table\")\n"
                               "  -A, --all-namespaces\n"
                               "        Everywhere.\n");
}
