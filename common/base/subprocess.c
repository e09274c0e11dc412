#include "common/base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/worker.h"

/*
 * One loop polls the child's pidfd together with its pipes, so the calling thread is the only one
 * involved and no signal handler is needed. pidfd_open() is in Linux since 5.3 and waitid() on a
 * pidfd since 5.4, older than any kernel that Debian 12 or a supported Kubernetes runs on; hence no
 * fallback.
 *
 * We keep our own copy of the read end of the stdin pipe until all input is written: a pipe with a
 * reader never raises SIGPIPE, whatever the child does, and that the child is gone we see on the
 * pidfd. A pipe, unlike a memfd, is never swapped out.
 */
#define TERM_GRACE_MS 2000
#define LOCK_FD 3 /* in the program */
#define REAP_WAIT_MS 1000
#define REAP_INTERVAL_MS 5
/* What a descendant keeps writing after the program has ended is read up to here. */
#define DRAIN_LIMIT ((size_t)1024 * 1024)
#define CHUNK_BYTES 4096
/* Of what the program said on stderr, in an error message. */
#define TAIL_LINES 3
#define TAIL_BYTES ((size_t)512)
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum pipe_end { READ_END, WRITE_END };

struct run {
    const struct subprocess *spec;
    struct subprocess_result *result;
    pid_t pid;
    int pid_fd;
    int input[2]; /* both ends until all is written, then -1 */
    int output[2];
    int errors[2];
    size_t input_done;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipe(int fds[2])
{
    close_end(&fds[READ_END]);
    close_end(&fds[WRITE_END]);
}

static void run_done(struct run *run)
{
    close_pipe(run->input);
    close_pipe(run->output);
    close_pipe(run->errors);
    close_end(&run->pid_fd);
}

/* Only our end is non-blocking: the program expects ordinary descriptors. */
static int open_pipe(int fds[2], enum pipe_end ours, struct error *err)
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set_errno(err, -errno, "make a pipe");
    if (fcntl(fds[ours], F_SETFL, O_NONBLOCK) < 0)
        return error_set_errno(err, -errno, "make a pipe non-blocking");
    return 0;
}

static const char *search_path(void)
{
    const char *path = getenv("PATH");

    return path ? path : DEFAULT_PATH;
}

/* Returns an error number, 0 on success. */
static int spawn_program(struct run *run)
{
    const struct subprocess *spec = run->spec;
    _cleanup_free_ char *path = xasprintf("PATH=%s", search_path());
    const char *const minimal[] = {path, "LANG=C", NULL};
    const char *const *environment = spec->environment ? spec->environment : minimal;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int failed = spec->input
                     ? posix_spawn_file_actions_adddup2(&actions, run->input[READ_END], 0)
                     : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, run->output[WRITE_END], 1);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, run->errors[WRITE_END], 2);
    if (!failed && spec->lock_fd)
        failed = posix_spawn_file_actions_adddup2(&actions, spec->lock_fd, LOCK_FD);
    if (!failed) /* libraries do not mark all of theirs close-on-exec */
        failed =
            posix_spawn_file_actions_addclosefrom_np(&actions, spec->lock_fd ? LOCK_FD + 1 : 3);
    if (!failed)
        failed = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    if (!failed)
        failed = posix_spawnattr_setsigmask(&attributes, &none);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!failed) /* changes neither array */
        failed = posix_spawnp(&run->pid, spec->argv[0], &actions, &attributes,
                              (char *const *)(uintptr_t)spec->argv,
                              (char *const *)(uintptr_t)environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int refuse_start(const char *program, int number, struct error *err)
{
    if (number != ENOENT) {
        error_set_errno(err, -number, "start program '%s'", program);
        return error_recode(err, STATUS_INTERNAL);
    }
    if (strchr(program, '/'))
        error_set(err, STATUS_INTERNAL, "program '%s' does not exist", program);
    else
        error_set(err, STATUS_INTERNAL, "program '%s' is not installed (not in PATH '%s')", program,
                  search_path());
    err->sys_errno = ENOENT;
    return -1;
}

static int start_program(struct run *run, struct error *err)
{
    const char *program = run->spec->argv[0];

    if (deadline_has_passed(run->spec->deadline))
        return error_set(err, STATUS_DEADLINE_EXCEEDED,
                         "program '%s' was not started: the deadline has passed", program);
    if ((run->spec->input && open_pipe(run->input, WRITE_END, err) < 0) ||
        open_pipe(run->output, READ_END, err) < 0 || open_pipe(run->errors, READ_END, err) < 0) {
        error_recode(err, STATUS_INTERNAL);
        return error_wrap(err, "start program '%s'", program);
    }
    int failed = spawn_program(run);
    if (failed)
        return refuse_start(program, failed, err);
    close_end(&run->output[WRITE_END]);
    close_end(&run->errors[WRITE_END]);
    run->pid_fd = pidfd_open(run->pid, 0);
    if (run->pid_fd >= 0)
        return 0;
    error_set_errno(err, -errno, "watch program '%s'", program);
    kill(-run->pid, SIGKILL);
    TEMP_FAILURE_RETRY(waitpid(run->pid, NULL, 0));
    return error_recode(err, STATUS_INTERNAL);
}

/* Returns the number of bytes read, 0 when there are none now. */
static size_t read_some(int *fd, struct text *text)
{
    char chunk[CHUNK_BYTES];
    ssize_t count = *fd >= 0 ? read(*fd, chunk, sizeof(chunk)) : 0;

    if (count > 0)
        text_add_bytes(text, chunk, (size_t)count);
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
        close_end(fd);
    return count > 0 ? (size_t)count : 0;
}

static void write_some(struct run *run)
{
    const char *rest = (const char *)run->spec->input + run->input_done;
    size_t length = run->spec->input_length - run->input_done;
    ssize_t count = length > 0 ? write(run->input[WRITE_END], rest, length) : 0;

    if (count > 0)
        run->input_done += (size_t)count;
    if (run->input_done == run->spec->input_length ||
        (count < 0 && errno != EAGAIN && errno != EINTR))
        close_pipe(run->input);
}

/* Moves input and output until the program has ended or, then false, @until has passed or
 * @cancel_fd can be read. */
static bool pump_pipes(struct run *run, struct deadline until, int cancel_fd)
{
    for (;;) {
        struct pollfd fds[] = {
            {.fd = run->pid_fd, .events = POLLIN},
            {.fd = run->output[READ_END], .events = POLLIN},
            {.fd = run->errors[READ_END], .events = POLLIN},
            {.fd = run->input[WRITE_END], .events = POLLOUT},
            {.fd = cancel_fd > 0 ? cancel_fd : -1, .events = POLLIN},
        };

        int64_t remaining = deadline_remaining_ms(until);

        poll(fds, ARRAY_LENGTH(fds), remaining < INT32_MAX ? (int)remaining : INT32_MAX);
        if (fds[1].revents)
            read_some(&run->output[READ_END], &run->result->output);
        if (fds[2].revents)
            read_some(&run->errors[READ_END], &run->result->errors);
        if (fds[3].revents)
            write_some(run);
        if (fds[0].revents)
            return true;
        run->result->was_cancelled = run->result->was_cancelled || fds[4].revents;
        if (fds[4].revents || deadline_has_passed(until))
            return false;
    }
}

/* What the program wrote before it ended is in the pipe. A daemon that it left behind may hold the
 * other end for ever, so there is no waiting for the end of file. */
static void drain_pipe(int *fd, struct text *text)
{
    size_t total = 0;
    size_t count = 0;

    do {
        count = read_some(fd, text);
        total += count;
    } while (count > 0 && total < DRAIN_LIMIT);
}

/* True when the program has been reaped and its end is in the result. */
static bool try_reap(struct run *run)
{
    siginfo_t end = {0};

    if (TEMP_FAILURE_RETRY(waitid(P_PIDFD, (id_t)run->pid_fd, &end, WEXITED | WNOHANG)) < 0)
        return true; /* somebody else has: no exit code, no signal */
    if (end.si_pid == 0)
        return false;
    if (end.si_code == CLD_EXITED)
        run->result->exit_code = end.si_status;
    else
        run->result->signal = end.si_status;
    return true;
}

static void *wait_for_end(void *context)
{
    int *pid_fd = context;
    siginfo_t end = {0};

    TEMP_FAILURE_RETRY(waitid(P_PIDFD, (id_t)*pid_fd, &end, WEXITED));
    close(*pid_fd);
    free(pid_fd);
    return NULL;
}

/* Without a thread the process stays a zombie until we exit, which harms nobody. */
static void leave_to_reaper(struct run *run)
{
    int *pid_fd = xmalloc(sizeof(*pid_fd));

    log_warn(NULL, "program '%s' (pid %d) hangs in the kernel or is traced; not waiting any longer",
             run->spec->argv[0], run->pid);
    *pid_fd = run->pid_fd;
    if (worker_start_detached(wait_for_end, pid_fd) == 0)
        run->pid_fd = -1;
    else
        free(pid_fd);
}

/* The pidfd reports the end before a debugger that traces the program has been notified of it, and
 * that this has happened is no event. */
static void reap_program(struct run *run)
{
    struct deadline until = deadline_in_ms(REAP_WAIT_MS);

    while (!try_reap(run)) {
        if (deadline_has_passed(until)) {
            leave_to_reaper(run);
            return;
        }
        poll(NULL, 0, REAP_INTERVAL_MS);
    }
}

int subprocess_run(const struct subprocess *spec, struct subprocess_result *result,
                   struct error *err)
{
    _cleanup_(run_done) struct run run = {
        .spec = spec,
        .result = result,
        .pid_fd = -1,
        .input = {-1, -1},
        .output = {-1, -1},
        .errors = {-1, -1},
    };
    int64_t started_ms = clock_monotonic_ms();

    result->output.limit = spec->output_limit ? spec->output_limit : SUBPROCESS_OUTPUT_LIMIT;
    result->errors.limit = SUBPROCESS_OUTPUT_LIMIT;
    result->exit_code = -1;
    if (start_program(&run, err) < 0)
        return -1;
    if (!pump_pipes(&run, spec->deadline, spec->cancel_fd)) {
        result->timed_out = !result->was_cancelled;
        /* the leader is not yet reaped, so the group's number cannot belong to anybody else */
        kill(-run.pid, SIGTERM);
        pump_pipes(&run, deadline_in_ms(spec->grace_ms ? spec->grace_ms : TERM_GRACE_MS), 0);
        kill(-run.pid, SIGKILL);
    }
    reap_program(&run);
    drain_pipe(&run.output[READ_END], &result->output);
    drain_pipe(&run.errors[READ_END], &result->errors);
    result->duration_ms = clock_monotonic_ms() - started_ms;
    return 0;
}

/* Start of the last @lines lines of @chars, without going back more than TAIL_BYTES. */
static const char *tail_of(const char *chars, size_t length, int lines)
{
    const char *start = chars + length;

    while (start > chars && (size_t)(chars + length - start) < TAIL_BYTES) {
        if (start[-1] == '\n' && start < chars + length && --lines == 0)
            break;
        start--;
    }
    return start;
}

/* The last words of the program, on one line: an error message has no line breaks. */
static char *last_words(const struct text *errors)
{
    _cleanup_text_ struct text words = TEXT_INIT(2 * TAIL_BYTES);
    const char *chars = text_chars(errors);
    size_t length = errors->length;

    while (length > 0 && (unsigned char)chars[length - 1] <= ' ')
        length--;
    const char *at = tail_of(chars, length, TAIL_LINES);
    while ((*at & 0xc0) == 0x80) /* not from the middle of a character */
        at++;
    for (; at < chars + length; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte == '\n')
            text_add(&words, "; ");
        else
            text_add_bytes(&words, byte < ' ' || byte == 0x7f ? " " : at, 1);
    }
    return text_take(&words);
}

static int refuse_end(const struct subprocess *spec, const struct subprocess_result *result,
                      struct error *err)
{
    const char *program = spec->argv[0];
    double seconds = (double)result->duration_ms / 1000;
    _cleanup_free_ char *words = last_words(&result->errors);
    const char *separator = words[0] != '\0' ? ": " : "";

    if (result->was_cancelled)
        return error_set(err, STATUS_CANCELLED, "program '%s' was cancelled after %.1f s%s%s",
                         program, seconds, separator, words);
    if (result->timed_out)
        return error_set(err, STATUS_DEADLINE_EXCEEDED,
                         "program '%s' was killed at its deadline after %.1f s%s%s", program,
                         seconds, separator, words);
    if (result->signal) {
        const char *name = sigabbrev_np(result->signal);

        return error_set(err, STATUS_INTERNAL, "program '%s' died of SIG%s after %.1f s%s%s",
                         program, name ? name : "RT", /* real-time signals have no names */
                         seconds, separator, words);
    }
    return error_set(err, STATUS_INTERNAL, "program '%s' ended with status %d after %.1f s%s%s",
                     program, result->exit_code, seconds, separator, words);
}

int subprocess_check(const struct subprocess *spec, struct subprocess_result *result,
                     struct error *err)
{
    _cleanup_subprocess_result_ struct subprocess_result own = {0};

    if (!result)
        result = &own;
    if (subprocess_run(spec, result, err) < 0)
        return -1;
    if (result->timed_out || result->was_cancelled || result->exit_code != 0)
        return refuse_end(spec, result, err);
    return 0;
}

void subprocess_result_done(struct subprocess_result *result)
{
    text_done(&result->output);
    text_done(&result->errors);
}
