/* A file of cases that is empty, misread or malformed must not look like one that passed. */
#include <signal.h>
#include <unistd.h>

#include "common/base/subprocess.h"
#include "tests/fakes/case_file.h"
#include "tests/unit/fixtures/files.h"

static void run_nothing(void **state)
{
    (void)state;
}

int test_child(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    case_files_add(argv[1], run_nothing);
    return 0;
}

/* This program as a test program that reads the cases of the pattern. */
static void read_in_child(const char *pattern, struct subprocess_result *result)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
    const char *argv[] = {self, pattern, NULL};

    const struct subprocess spec = {.argv = argv, .deadline = deadline_in_ms(60000)};

    assert_int_equal(subprocess_run(&spec, result, &err), 0);
    assert_false(result->timed_out);
}

static void assert_ends_the_program(const char *pattern, const char *why)
{
    struct subprocess_result result = {0};

    read_in_child(pattern, &result);
    assert_int_equal(result.signal, SIGABRT);
    assert_true(text_has_prefix(text_chars(&result.errors), why));
    subprocess_result_done(&result);
}

static void assert_text_ends_the_program(const char *text, const char *why)
{
    _cleanup_free_ char *path = path_of("x.cases");

    write_bytes(path, text, strlen(text));
    assert_ends_the_program(path, why);
}

TEST(missing_file_ends_the_program, WITH_FOLDER)
{
    _cleanup_free_ char *pattern = path_of("*.cases");

    assert_ends_the_program(pattern, "no file of this name: ");
}

TEST(file_that_cannot_be_opened_ends_the_program, WITH_FOLDER)
{
    _cleanup_free_ char *path = path_of("x.cases");

    assert_int_equal(symlink("nowhere", path), 0);
    assert_ends_the_program(path, "cannot be opened: ");
}

TEST(file_that_cannot_be_read_ends_the_program, WITH_FOLDER)
{
    _cleanup_free_ char *path = path_of("x.cases");

    assert_int_equal(mkdir(path, 0755), 0);
    assert_ends_the_program(path, "cannot be read: ");
}

TEST(file_without_a_case_ends_the_program, WITH_FOLDER)
{
    assert_text_ends_the_program("", "no case in it: ");
    assert_text_ends_the_program("# == a | b\n\n", "no case in it: ");
}

TEST(empty_file_beside_a_good_one_ends_the_program, WITH_FOLDER)
{
    _cleanup_free_ char *good = path_of("a.cases");
    _cleanup_free_ char *empty = path_of("b.cases");
    _cleanup_free_ char *pattern = path_of("*.cases");
    struct subprocess_result result = {0};

    replace_file(good, "== a | b\nline\n");
    read_in_child(pattern, &result);
    assert_int_equal(result.signal, 0);
    assert_int_equal(result.exit_code, 0);
    subprocess_result_done(&result);
    replace_file(empty, "");
    assert_ends_the_program(pattern, "no case in it: ");
}

TEST(malformed_text_ends_the_program, WITH_FOLDER)
{
    assert_text_ends_the_program("== a name\nline\n", "no rule: ");
    assert_text_ends_the_program("line\n== a | b\n", "a line before the first case: ");
}

/* --- what is read becomes tests of this program --- */

static size_t cases_run;

static void check_case(void **state)
{
    static const struct {
        const char *name;
        size_t lines;
        const char *first;
    } wanted[] = {{"one | rule 1", 2, "put  a  b"}, {"two | rule 2", 0, NULL}, {"3 | r", 1, "z"}};
    const struct case_lines *found = *state;

    assert_true(cases_run < ARRAY_LENGTH(wanted));
    assert_string_equal(found->name, wanted[cases_run].name);
    assert_int_equal(found->lines.count, wanted[cases_run].lines);
    if (wanted[cases_run].first)
        assert_string_equal(found->lines.items[0], wanted[cases_run].first);
    cases_run++;
}

static void add_own_cases(void)
{
    static const char text[] = "# a comment\n== one | rule 1\n  put  a  b\n\n# another\nget\n"
                               "== two | rule 2\n== 3 | r\nz";

    make_folder(NULL);
    _cleanup_free_ char *path = path_of("own.cases");
    write_bytes(path, text, strlen(text));
    case_files_add(path, check_case);
    remove_folder(NULL);
}

TEST_CASES(add_own_cases)

/* With TEST_ONLY some may be left out, but then none of the three is expected. */
static int expect_all_cases(void **state)
{
    (void)state;
    return cases_run == 3 || getenv("TEST_ONLY") ? 0 : -1;
}

TEST_GROUP(NULL, expect_all_cases)

TEST(words_are_cut_off_one_by_one)
{
    const char *line = "  put  a b ";
    static const char *const words[] = {"put", "a", "b", ""};

    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        _cleanup_free_ char *word = case_next_word(&line);

        assert_string_equal(word, words[i]);
    }
    assert_string_equal(line, "");
}
