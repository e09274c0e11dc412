#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "tests/test.h"

#define ARGV(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* The tests need programs of every behaviour; a shell is the easiest way to get them. */
#define SHELL(script) ARGV("sh", "-c", script)

static struct subprocess program(const char *const *argv)
{
    return (struct subprocess){.argv = argv, .deadline = deadline_in_ms(30000)};
}

static void run(const struct subprocess *spec, struct subprocess_result *result)
{
    _cleanup_error_ struct error err = {0};

    if (subprocess_run(spec, result, &err) < 0)
        fail_msg("%s", err.message);
}

/* Runs a program that does not end before its deadline; on a slow machine it gets more time until
 * it prints @wanted. Returns the time it had. */
static int64_t run_past_deadline(const char *const *argv, const char *wanted,
                                 struct subprocess_result *result)
{
    for (int64_t patience_ms = 500;; patience_ms *= 2) {
        const struct subprocess spec = {.argv = argv, .deadline = deadline_in_ms(patience_ms)};

        run(&spec, result);
        if (strcmp(text_chars(&result->output), wanted) == 0 || patience_ms > 60000)
            return patience_ms;
        subprocess_result_done(result);
        *result = (struct subprocess_result){0};
    }
}

/* A FIFO to learn when all processes that hold its other end are gone. */
struct fifo {
    char folder[32];
    char *path;
    int fd;
};

static void fifo_make(struct fifo *fifo)
{
    *fifo = (struct fifo){.folder = "/tmp/test_subprocess.XXXXXX"};
    assert_non_null(mkdtemp(fifo->folder));
    fifo->path = xasprintf("%s/fifo", fifo->folder);
    assert_int_equal(mkfifo(fifo->path, 0600), 0);
    fifo->fd = open(fifo->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fifo->fd >= 0);
}

static void fifo_done(struct fifo *fifo)
{
    close(fifo->fd);
    unlink(fifo->path);
    rmdir(fifo->folder);
    free(fifo->path);
}

static bool fifo_is_released(const struct fifo *fifo)
{
    struct pollfd event = {.fd = fifo->fd, .events = POLLIN};

    return poll(&event, 1, 120000) == 1 && (event.revents & POLLHUP);
}

TEST(output_and_exit_code_are_returned)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = program(SHELL("echo out; echo err >&2; exit 7"));

    run(&spec, &result);
    assert_string_equal(text_chars(&result.output), "out\n");
    assert_string_equal(text_chars(&result.errors), "err\n");
    assert_int_equal(result.exit_code, 7);
    assert_int_equal(result.signal, 0);
    assert_false(result.timed_out);
}

TEST(arguments_are_passed_as_they_are)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = program(ARGV("printf", "%s|", "a b", "$HOME", "*", "'", ""));

    run(&spec, &result);
    assert_string_equal(text_chars(&result.output), "a b|$HOME|*|'||");
}

TEST(deadly_signal_is_returned)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = program(SHELL("kill -USR1 $$"));

    run(&spec, &result);
    assert_int_equal(result.signal, SIGUSR1);
    assert_int_equal(result.exit_code, -1);
}

TEST(missing_program_is_told_with_the_path)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = program(ARGV("mkfs.nonexistent"));

    assert_int_equal(subprocess_run(&spec, &result, &err), -1);
    assert_int_equal(err.status, STATUS_INTERNAL);
    assert_int_equal(err.sys_errno, ENOENT);
    _cleanup_free_ char *expected =
        xasprintf("program 'mkfs.nonexistent' is not installed (not in PATH '%s')", getenv("PATH"));
    assert_string_equal(err.message, expected);
}

TEST(missing_file_is_told_without_the_path)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = program(ARGV("/nonexistent/program"));

    assert_int_equal(subprocess_run(&spec, &result, &err), -1);
    assert_string_equal(err.message, "program '/nonexistent/program' does not exist");
}

TEST(file_that_is_no_program_is_refused)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = program(ARGV("/etc/passwd"));

    assert_int_equal(subprocess_run(&spec, &result, &err), -1);
    assert_int_equal(err.status, STATUS_INTERNAL);
    assert_int_equal(err.sys_errno, EACCES);
    assert_string_equal(err.message, "start program '/etc/passwd': Permission denied");
}

TEST(nothing_is_started_after_the_deadline)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = {.argv = ARGV("true"), .deadline = deadline_in_ms(0)};

    assert_int_equal(subprocess_run(&spec, &result, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    assert_string_equal(err.message, "program 'true' was not started: the deadline has passed");
}

TEST(program_without_deadline_may_run)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = {.argv = ARGV("true"), .deadline = deadline_never()};

    run(&spec, &result);
    assert_int_equal(result.exit_code, 0);
}

TEST(stdin_is_empty_unless_given)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = program(ARGV("cat"));

    run(&spec, &result);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.output.length, 0);
}

TEST(input_of_no_bytes_ends_at_once)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    struct subprocess spec = program(ARGV("cat"));

    spec.input = "";
    run(&spec, &result);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.output.length, 0);
}

TEST(input_reaches_the_program)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    struct subprocess spec = program(ARGV("cat"));

    spec.input = "pass\0phrase";
    spec.input_length = 11;
    run(&spec, &result);
    assert_int_equal(result.output.length, 11);
    assert_memory_equal(result.output.chars, "pass\0phrase", 11);
}

TEST(large_input_and_output_flow_together)
{
    const size_t length = 3 << 20;
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_free_ char *input = xmalloc(length);
    struct subprocess spec = program(ARGV("cat"));

    for (size_t i = 0; i < length; i++)
        input[i] = (char)('a' + i % 26);
    spec.input = input;
    spec.input_length = length;
    spec.output_limit = length;
    run(&spec, &result);
    assert_false(result.output.truncated);
    assert_int_equal(result.output.length, length);
    assert_memory_equal(result.output.chars, input, length);
}

TEST(program_that_does_not_read_its_input_does_no_harm)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_free_ char *input = xcalloc(1, 1 << 20);
    struct subprocess spec = program(SHELL("exec <&-; echo done"));

    spec.input = input;
    spec.input_length = 1 << 20;
    run(&spec, &result);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_chars(&result.output), "done\n");
}

TEST(output_beyond_the_limit_is_dropped)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    struct subprocess spec =
        program(SHELL("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; exit 3"));

    spec.output_limit = 1000;
    run(&spec, &result);
    assert_int_equal(result.exit_code, 3);
    assert_int_equal(result.output.length, 1000);
    assert_true(result.output.truncated);
    assert_int_equal(result.errors.length, SUBPROCESS_OUTPUT_LIMIT);
    assert_true(result.errors.truncated);
}

TEST(environment_is_minimal)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = program(ARGV("env"));

    run(&spec, &result);
    _cleanup_free_ char *expected = xasprintf("PATH=%s\nLANG=C\n", getenv("PATH"));
    assert_string_equal(text_chars(&result.output), expected);
}

TEST(environment_can_be_given)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    struct subprocess spec = program(ARGV("env"));

    spec.environment = ARGV("A=1", "B=2");
    run(&spec, &result);
    assert_string_equal(text_chars(&result.output), "A=1\nB=2\n");
}

TEST(program_has_no_descriptors_but_three)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    struct subprocess spec = program(ARGV("ls", "/proc/self/fd")); /* itself opens the folder, 3 */
    _cleanup_close_ int leaked = dup(STDERR_FILENO);

    assert_true(leaked > STDERR_FILENO);
    spec.input = "x";
    spec.input_length = 1;
    run(&spec, &result);
    assert_string_equal(text_chars(&result.output), "0\n1\n2\n3\n");
}

TEST(program_starts_with_default_signals)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec =
        program(ARGV("grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"));
    sigset_t blocked;
    sigset_t before;

    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    signal(SIGPIPE, SIG_IGN);
    run(&spec, &result);
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    const char *expected = "SigBlk:\t0000000000000000\nSigIgn:\t";
    assert_true(text_has_prefix(text_chars(&result.output), expected));
    uint64_t ignored = strtoull(text_chars(&result.output) + strlen(expected), NULL, 16);
    /* signals 32 and 33 belong to the C library, which looks after them itself */
    assert_true((ignored & ~(UINT64_C(3) << 31)) == 0);
}

TEST(program_leads_its_own_group_and_session)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec =
        program(SHELL("test \"$(cut -d' ' -f5,6 /proc/$$/stat)\" = \"$$ $$\""));

    run(&spec, &result);
    assert_int_equal(result.exit_code, 0);
}

TEST(duration_lies_within_the_call)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = program(ARGV("sleep", "0.05"));
    const int64_t before_ms = clock_monotonic_ms();

    run(&spec, &result);
    assert_true(result.duration_ms > 0);
    assert_true(result.duration_ms <= clock_monotonic_ms() - before_ms);
}

TEST(deadline_kills_the_whole_group)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_(fifo_done) struct fifo fifo;

    fifo_make(&fifo);
    run_past_deadline(
        ARGV("sh", "-c", "exec 9>\"$0\"; echo started; sleep 600 & sleep 600", fifo.path),
        "started\n", &result);
    assert_true(result.timed_out);
    assert_int_equal(result.signal, SIGTERM);
    assert_int_equal(result.exit_code, -1);
    assert_string_equal(text_chars(&result.output), "started\n");
    assert_true(fifo_is_released(&fifo));
}

TEST(program_may_clean_up_at_the_deadline)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    run_past_deadline(SHELL("trap 'echo cleaned; exit 5' TERM; while :; do sleep 0.05; done"),
                      "cleaned\n", &result);
    assert_true(result.timed_out);
    assert_int_equal(result.exit_code, 5);
    assert_string_equal(text_chars(&result.output), "cleaned\n");
}

TEST(group_that_ignores_the_first_signal_is_killed_by_the_second)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_(fifo_done) struct fifo fifo;

    fifo_make(&fifo);
    run_past_deadline(ARGV("sh", "-c",
                           "trap '' TERM; exec 9>\"$0\"; echo deaf; sleep 600 & sleep 600",
                           fifo.path),
                      "deaf\n", &result);
    assert_true(result.timed_out);
    assert_int_equal(result.signal, SIGKILL);
    assert_true(fifo_is_released(&fifo));
}

TEST(daemon_left_behind_lives_and_is_not_waited_for)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_(fifo_done) struct fifo fifo;
    struct pollfd event;

    fifo_make(&fifo);
    const struct subprocess spec =
        program(ARGV("sh", "-c", "(exec 9>\"$0\"; exec sleep 600) & echo $!", fifo.path));
    run(&spec, &result);
    assert_int_equal(result.exit_code, 0);
    assert_false(result.timed_out);
    event = (struct pollfd){.fd = fifo.fd, .events = POLLIN};
    poll(&event, 1, 100);
    assert_false(event.revents & POLLHUP);
    kill((pid_t)strtol(text_chars(&result.output), NULL, 10), SIGKILL);
}

/* Makes itself the debugger of the process whose number comes through the FIFO, and then neglects
 * it: a process that its parent cannot reap, like one that hangs in the kernel. */
static pid_t start_debugger(const char *fifo_path)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    FILE *file = fopen(fifo_path, "r+e"); /* does not wait for a writer, who may have gone */
    char number[16] = {0};
    if (!file || !fgets(number, sizeof(number), file) ||
        ptrace(PTRACE_SEIZE, (pid_t)strtol(number, NULL, 10), NULL, NULL) < 0)
        _exit(1);
    for (;;)
        pause();
}

static bool is_reaped(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

TEST(program_that_cannot_be_reaped_is_left_to_the_background)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_(fifo_done) struct fifo fifo;
    const char *script = "echo $$; echo $$ >\"$0\"; while :; do while read key value; do "
                         "[ $key$value = TracerPid:0 ] || [ $key != TracerPid: ] || exit 0; "
                         "done </proc/$$/status; done";

    fifo_make(&fifo);
    pid_t debugger = start_debugger(fifo.path);
    /* ends as soon as it is traced */
    const struct subprocess spec = {
        .argv = ARGV("sh", "-c", script, fifo.path),
        .deadline = deadline_in_ms(20000),
    };
    run(&spec, &result);
    if (waitpid(debugger, NULL, WNOHANG) == debugger)
        fail_msg("the program was not traced; the tests need root, or ptrace_scope 0");
    assert_int_equal(result.exit_code, -1);
    assert_int_equal(result.signal, 0);
    kill(debugger, SIGKILL);
    assert_int_equal(waitpid(debugger, NULL, 0), debugger);
    /* reaping is no event for a third party */
    wait_until(is_reaped((pid_t)strtol(text_chars(&result.output), NULL, 10)));
}

TEST(check_is_content_with_exit_code_zero)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = program(SHELL("echo fine; echo warning >&2"));

    assert_int_equal(subprocess_check(&spec, &result, &err), 0);
    assert_string_equal(text_chars(&result.output), "fine\n");
    assert_int_equal(subprocess_check(&spec, NULL, &err), 0);
}

/* The message without the duration, which is " after 0.0 s" in a good hour. */
static void assert_check_fails(const struct subprocess *spec, enum status status, const char *head,
                               const char *tail)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(subprocess_check(spec, NULL, &err), -1);
    assert_int_equal(err.status, status);
    if (!text_has_prefix(err.message, head) || !text_has_suffix(err.message, tail))
        fail_msg("unexpected message: %s", err.message);
    assert_null(strchr(err.message, '\n'));
}

TEST(check_tells_exit_code_and_last_lines)
{
    const struct subprocess three =
        program(SHELL("for i in 1 2 3 4 5; do echo line $i >&2; done; exit 2"));
    const struct subprocess none = program(ARGV("false"));
    const struct subprocess control = program(SHELL("printf 'a\\tb\\033[0m\\r\\n\\n' >&2; exit 1"));
    const struct subprocess signalled = program(SHELL("echo last words >&2; kill -KILL $$"));

    assert_check_fails(&three, STATUS_INTERNAL, "program 'sh' ended with status 2 after ",
                       " s: line 3; line 4; line 5");
    assert_check_fails(&none, STATUS_INTERNAL, "program 'false' ended with status 1 after ", " s");
    assert_check_fails(&control, STATUS_INTERNAL, "program 'sh' ended with status 1 after ",
                       " s: a b [0m");
    assert_check_fails(&signalled, STATUS_INTERNAL, "program 'sh' died of SIGKILL after ",
                       " s: last words");
}

TEST(check_tells_a_missed_deadline)
{
    struct subprocess_result result = {0};

    /* so long it takes on this machine until it has said something */
    int64_t patience_ms = run_past_deadline(SHELL("echo busy; exec sleep 600"), "busy\n", &result);
    subprocess_result_done(&result);
    const struct subprocess spec = {.argv = SHELL("echo busy >&2; exec sleep 600"),
                                    .deadline = deadline_in_ms(10 * patience_ms)};
    assert_check_fails(&spec, STATUS_DEADLINE_EXCEEDED,
                       "program 'sh' was killed at its deadline after ", " s: busy");
}

TEST(check_keeps_long_last_words_short)
{
    const struct subprocess spec =
        program(SHELL("head -c 5000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1"));
    _cleanup_error_ struct error err = {0};

    assert_int_equal(subprocess_check(&spec, NULL, &err), -1);
    assert_true(text_has_suffix(err.message, "xxxend"));
    assert_between(strlen(err.message), 500, 600);
}

TEST(check_leaves_the_result_to_the_caller)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = program(SHELL("echo out; exit 4"));

    assert_int_equal(subprocess_check(&spec, &result, &err), -1);
    assert_int_equal(result.exit_code, 4);
    assert_string_equal(text_chars(&result.output), "out\n");
}

static void *run_often(void *context)
{
    const int number = *(const int *)context;
    _cleanup_free_ char *code = xasprintf("%d", number);
    _cleanup_free_ char *expected = xasprintf("input of %d", number);

    for (int i = 0; i < 20; i++) {
        _cleanup_subprocess_result_ struct subprocess_result result = {0};
        _cleanup_error_ struct error err = {0};
        struct subprocess spec = program(ARGV("sh", "-c", "cat; echo $0 >&2; exit $0", code));

        spec.input = expected;
        spec.input_length = strlen(expected);
        if (subprocess_run(&spec, &result, &err) < 0 || result.exit_code != number ||
            strcmp(text_chars(&result.output), expected) != 0 || result.errors.length != 2)
            return context;
    }
    return NULL;
}

TEST(eight_threads_run_programs_at_once)
{
    pthread_t threads[8];
    int numbers[8];

    for (int i = 0; i < 8; i++) {
        numbers[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &numbers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        void *failed = NULL;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}
