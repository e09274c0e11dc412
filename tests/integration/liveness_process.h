#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "tests/integration/harness.h"

/* --type=liveness beside a driver, asked over HTTP. Every failure ends the test. */
struct liveness_process {
    pid_t pid;
    char *log_path;
    uint16_t port;
};

/* Starts it for @driver's socket, which need not be there, and waits until it listens. */
void liveness_start(struct liveness_process *liveness, const struct driver_process *driver);
/* The second half of it, for one that the caller started with a log of its own. */
void liveness_find_port(struct liveness_process *liveness);
/* Ends it, which it must do well, and removes its log. */
void liveness_stop(struct liveness_process *liveness);

/* Asks until the answer has that status and, in headers or body, @part; at most 10 s. */
void liveness_assert_answers(const struct liveness_process *liveness, const char *path,
                             const char *status, const char *part);
