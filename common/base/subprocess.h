#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/deadline.h"
#include "common/base/error.h"
#include "common/base/text.h"

/*
 * Running a program to its end, without a shell. The child has default signal dispositions, no
 * blocked signals, no descriptors but stdin, stdout, stderr and @lock_fd, and a session of its own,
 * which is a process group as well: what happens to our terminal or group does not reach it.
 *
 * At the deadline the whole group gets SIGTERM and, @grace_ms later, SIGKILL. If even that does
 * not end the program within a second (it hangs in the kernel on dead storage), the call returns
 * and a thread of its own, which takes no part in anything else, waits for the program to be
 * reaped. A program that leaves a daemon behind keeps it: after an exit in time nothing is killed
 * and nobody waits for the daemon to close the output.
 *
 * Any thread. Descriptors 0 to 2 of this process must be open, SIGCHLD must not be ignored, and
 * nobody else may reap the children started here.
 */
struct subprocess {
    const char *const *argv; /* ends with NULL; argv[0] is looked up in PATH unless it has a '/' */
    const char *const *environment; /* ends with NULL; NULL: our PATH and LANG=C */
    const void *input; /* for stdin, written from here without a copy; NULL: /dev/null */
    size_t input_length;
    struct deadline deadline;
    int cancel_fd;       /* ends it as the deadline does, once it can be read; 0: none */
    int64_t grace_ms;    /* 0: two seconds */
    int lock_fd;         /* the program keeps it open until it ends; 0: none */
    size_t output_limit; /* of stdout; 0: SUBPROCESS_OUTPUT_LIMIT, as of stderr */
};

#define SUBPROCESS_OUTPUT_LIMIT ((size_t)64 * 1024)

struct subprocess_result {
    struct text output; /* what exceeds the limit was read and dropped: see truncated */
    struct text errors;
    int exit_code; /* -1 when it did not exit by itself */
    int signal;    /* that ended it; 0 for none */
    bool timed_out;
    bool was_cancelled;
    int64_t duration_ms;
};

/*
 * Runs the program and waits for it. *@result must be zero and is freed by the caller with
 * subprocess_result_done().
 *
 * Fails only when the program could not be started: DEADLINE_EXCEEDED when the deadline had passed
 * already, else INTERNAL with sys_errno, which is ENOENT for a program that is not installed. (Not
 * NOT_FOUND: to a caller that means the volume.) How the program ended is in the result.
 */
_must_check_ int subprocess_run(const struct subprocess *spec, struct subprocess_result *result,
                                struct error *err);

/*
 * As subprocess_run(), but fails unless the program exits with 0 in time: DEADLINE_EXCEEDED after
 * the deadline, else INTERNAL. The message has the program, its exit status, the last lines of
 * stderr and the duration. @result may be NULL; it is filled in either case, for callers to which
 * some exit codes mean more.
 */
_must_check_ int subprocess_check(const struct subprocess *spec, struct subprocess_result *result,
                                  struct error *err);

void subprocess_result_done(struct subprocess_result *result);

#define _cleanup_subprocess_result_ _cleanup_(subprocess_result_done)
